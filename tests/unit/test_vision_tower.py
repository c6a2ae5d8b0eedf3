"""The vision tower: loaded beside the text, split with the first stage, read by no decode step, excludable."""

from __future__ import annotations

from typing import Any

import pytest

import gridplan
from gridplan.catalog import load_catalog
from gridplan.engine.inputs import build_inputs

PLAN = """
schema: 1
workload: {{prompt_tokens: 2000, output_tokens: 300, arrival_rate: 2}}
slo: {{tpot_slo_s: 0.05}}
deployment: {{gpu: h200-sxm, {}}}
policy: {{rho_target: 0.65}}
"""


def value(more: str, name: str) -> Any:
    return float(build_inputs(gridplan.loads_grid(PLAN.format(more))).values[name].data.ravel()[0])


@pytest.mark.parametrize(
    ("model", "published", "padded_rows"),
    [
        # Parameters of the published files; Gemma 3's have 64 rows of vocabulary more than its text model
        ("gemma-3-4b", 4_300_079_472, 64),
        ("gemma-3-12b", 12_187_325_040, 64),
        ("gemma-3-27b", 27_432_406_640, 64),
        ("qwen2-vl-7b", 8_291_375_616, 0),
        ("llama-4-scout-17b-16e", 108_641_793_536, 0),
    ],
)
def test_text_and_tower_are_the_published_model(model: str, published: int, padded_rows: int) -> None:
    entry = load_catalog().model(model)
    assert entry.params_total is not None
    assert entry.params_vision is not None
    assert entry.params_total + entry.params_vision + padded_rows * entry.hidden_size == published


def test_gemma_3s_tower_by_hand() -> None:
    # SigLIP: 27 blocks of 4 projections of 1152, an MLP of 4304, two norms; patches of 3 x 14 x 14; 4096 positions
    block = 4 * (1152 * 1152 + 1152) + 2 * 1152 * 4304 + 4304 + 1152 + 2 * 2 * 1152
    tower = 27 * block + 3 * 14 * 14 * 1152 + 1152 + 4096 * 1152 + 2 * 1152
    assert load_catalog().model("gemma-3-4b").params_vision == tower + 1152 * 2560 + 1152


def test_a_tower_is_loaded_and_not_read() -> None:
    tower = 2 * load_catalog().model("gemma-3-4b").params_vision  # type: ignore[operator]
    held, read = (value("model: gemma-3-4b", name) for name in ("weights_bytes", "weights_read_bytes"))
    assert held - read == tower
    assert read == 2 * 3_880_099_328
    # It stays in 16 bits whatever the format of the text
    quantised = "model: gemma-3-4b, weight_dtype: fp8"
    assert value(quantised, "weights_bytes") - value(quantised, "weights_read_bytes") == tower


def test_a_tower_can_be_left_out() -> None:
    assert value("model: gemma-3-4b, params_vision: 0", "weights_bytes") == 2 * 3_880_099_328
    assert value("model: llama-3.1-8b", "params_vision") == 0


@pytest.mark.parametrize(("tp", "pp"), [(1, 1), (2, 1), (1, 2), (2, 2)])
def test_the_first_stage_holds_the_tower(tp: int, pp: int) -> None:
    def on_rank(more: str) -> float:
        at = f"model: gemma-3-4b, tensor_parallel: {tp}, pipeline_parallel: {pp}{more}"
        return float(gridplan.evaluate(gridplan.loads_grid(PLAN.format(at))).weights_bytes_per_gpu)

    assert on_rank("") - on_rank(", params_vision: 0") == pytest.approx(2 * 419_816_304 / tp, rel=1e-9)


def test_a_tower_that_is_not_counted_is_said() -> None:
    warnings = build_inputs(gridplan.loads_grid(PLAN.format("model: gemma-4-31b"))).warnings
    assert [text for text in warnings if "tower" in text] == [
        "the vision tower of gemma-4-31b is loaded and not counted in the weights: state params_vision (0 where it is "
        "not loaded) or weights_bytes"
    ]
    quiet = build_inputs(gridplan.loads_grid(PLAN.format("model: gemma-4-31b, params_vision: 0"))).warnings
    assert not any("tower" in text for text in quiet)


def test_an_entry_says_that_its_tower_is_not_counted() -> None:
    own = "\ncatalog: {models: {llama-3.1-8b: {params_vision: unknown}}}"
    given = build_inputs(gridplan.loads_grid(PLAN.format("model: llama-3.1-8b") + own))
    assert any("vision tower of llama-3.1-8b" in text for text in given.warnings)
