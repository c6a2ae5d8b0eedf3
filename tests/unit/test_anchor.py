"""A measured rate: used where it was measured, scaled by the analytical ratio elsewhere, never mixed silently.

The machine is that of test_capacity_models: 100 sequences and 20.5 ms a request give 100 / 3.05 = 32.787 req/s by
first principles. The sweep found 20 req/s, an anchor ratio of 0.61.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
import xarray as xr

import gridplan

D = 0.0205
ANALYTICAL = 100 / 3.05
BASE: dict[str, Any] = {
    "workload": {"prompt_tokens": 1000, "output_tokens": 100, "arrival_rate": 100},
    "slo": {"tpot": {"limit": 0.05, "percentile": 95}},
    "deployment": {
        **{"step_weights_s": 0.01, "step_per_context_token_s": 1e-7, "prefill_per_token_s": 1e-5},
        **{"kv_pool_tokens_given": 110_000},
    },
    "capacity": {"capacity_model": "measured", "lambda_instance_given": 20},
    "policy": {"rho_target": 0.5, "redundancy": 0},
}


def plan(**more: Any) -> xr.Dataset:
    """The cube of BASE with inputs added to its sections; a value of None takes an input out."""
    text: dict[str, Any] = {"schema": 1, **{name: dict(section) for name, section in BASE.items()}}
    for name, section in more.items():
        merged = {**text.get(name, {}), **section}
        text[name] = {key: value for key, value in merged.items() if value is not None}
    text = {name: section for name, section in text.items() if section}
    return gridplan.evaluate(gridplan.loads_grid(json.dumps(text)))


def shown(cube: xr.Dataset) -> list[tuple[Any, Any]]:
    """Rate (rounded) and source of every cell of a cube with one dimension."""
    rates = [None if math.isnan(rate) else round(rate, 9) for rate in cube["lambda_instance"].values.ravel().tolist()]
    return list(zip(rates, cube["capacity_source"].values.ravel().tolist(), strict=True))


def at(limit: float, percentile: int = 95) -> dict[str, Any]:
    return {"limit": limit, "percentile": percentile}


def test_a_measured_rate_holds_where_it_was_measured() -> None:
    cube = plan()
    assert cube["lambda_instance"] == 20
    assert (cube["capacity_source"], cube["binding_constraint"]) == ("measured", "measured")
    assert (cube["lambda_basis"], cube["slo_basis"]) == ("percentile_measured", "percentile")
    assert cube["lambda_analytical"] == pytest.approx(ANALYTICAL)
    assert math.isnan(cube["anchor_ratio"])
    assert cube["replicas_active"] == 10


def test_elsewhere_it_is_scaled_by_the_analytical_ratio() -> None:
    """Prompts of 2,000: d = 40.5 ms, 52 sequences of 2,100, 52 / (1 + 52 d) = 16.742; TPOT 20 ms: 0.5 / d = 24.390."""
    scenarios = {"long": {"prompt_tokens": 2000}, "tight": {"tpot_slo_s": 0.02}, "surge": {"arrival_rate": 200}}
    cube = plan(scenarios=scenarios)
    long, tight = 52 / (1 + 52 * 0.0405), 0.5 / D
    assert cube["scenario"].values.tolist() == ["nominal", "long", "tight", "surge"]
    assert cube["lambda_analytical"].values.tolist() == pytest.approx([ANALYTICAL, long, tight, ANALYTICAL])
    expected = [20, 20 * long / ANALYTICAL, 20 * tight / ANALYTICAL, 20]
    assert cube["lambda_instance"].values.tolist() == pytest.approx(expected)
    assert cube["lambda_instance"].values.tolist() == pytest.approx([20, 10.21249, 14.878049, 20], rel=1e-6)
    assert cube["capacity_source"].values.tolist() == ["measured", "scaled", "scaled", "measured"]
    ratios = cube["anchor_ratio"].values.tolist()
    assert [ratios[1], ratios[2]] == pytest.approx([0.61, 0.61])
    assert math.isnan(ratios[0])
    assert math.isnan(ratios[3])


def test_a_rate_stated_in_a_scenario_belongs_to_it_as_it_stands() -> None:
    """The sweep was repeated at TPOT 20 ms and found 15; a setting that nobody measured is still scaled from 20."""
    scenarios = {
        "tight_measured": {"tpot_slo_s": 0.02, "lambda_instance_given": 15},
        "tight": {"tpot_slo_s": 0.02},
        "other_rate": {"lambda_instance_given": 12},
    }
    found = shown(plan(scenarios=scenarios))
    assert found == [(20, "measured"), (15, "measured"), (14.87804878, "scaled"), (12, "measured")]


@pytest.mark.parametrize(
    ("applies_to", "expected"),
    [
        ("any", [(20, "measured")] * 3),
        ({"slo": "any"}, [(20, "measured"), (20, "measured"), (10.212491951, "scaled")]),
        ({"tpot_slo_s": "any"}, [(20, "measured"), (14.87804878, "scaled"), (10.212491951, "scaled")]),
        ({"classes": "any"}, [(20, "measured"), (14.87804878, "scaled"), (20, "measured")]),
        ({"classes": "any", "slo": "any"}, [(20, "measured")] * 3),
    ],
    ids=["any", "slo", "one limit of three", "classes", "both"],
)
def test_applies_to_widens_a_measurement(applies_to: Any, expected: list[tuple[float, str]]) -> None:
    """A name of one setting frees that setting alone; `slo` stands for all limits, so one of them is not all."""
    scenarios = {"tight": {"tpot_slo_s": 0.02}, "long": {"prompt_tokens": 2000}}
    assert shown(plan(capacity={"applies_to": applies_to}, scenarios=scenarios)) == expected


def test_an_axis_that_is_a_setting_must_say_where_it_was_measured() -> None:
    with pytest.raises(gridplan.ContractError) as caught:
        plan(axes={"max_num_seqs": [50, 1000], "tensor_parallel": [1, 2], "arrival_rate": [1, 2]},
             workload={"arrival_rate": None})  # fmt: skip
    messages = [str(problem) for problem in caught.value.problems]
    assert len(messages) == 2
    assert any("max_num_seqs is an axis" in text and "measured_at: {max_num_seqs: ...}" in text for text in messages)
    assert any("tensor_parallel is an axis" in text and "{tensor_parallel: any}" in text for text in messages)


def test_measured_at_names_the_label_of_the_measurement() -> None:
    """50 slots give 50 / (1 + 50 d) = 24.691 by first principles; at 1,000 memory binds and 20 becomes 26.557."""
    cube = plan(capacity={"measured_at": {"max_num_seqs": 50}}, axes={"max_num_seqs": [50, 1000]})
    assert shown(cube) == [(20, "measured"), (26.557377049, "scaled")]
    assert cube["lambda_analytical"].values.tolist() == pytest.approx([50 / (1 + 50 * D), ANALYTICAL])


def test_measured_at_may_lie_off_the_axis() -> None:
    """Measured at 100 slots, planned at 50: nothing is as measured, all is scaled."""
    cube = plan(capacity={"measured_at": {"max_num_seqs": 100}}, axes={"max_num_seqs": [50, 1000]})
    assert shown(cube) == [(round(20 * 50 / (1 + 50 * D) / ANALYTICAL, 9), "scaled"), (20, "scaled")]


def test_an_axis_of_one_label_is_where_it_was_measured() -> None:
    assert shown(plan(axes={"max_num_seqs": [50]})) == [(20, "measured")]


def test_an_axis_that_is_no_setting_needs_no_anchor() -> None:
    cube = plan(workload={"arrival_rate": None}, axes={"arrival_rate": [10, 100], "kv_efficiency": [0.9, 1.0]})
    assert set(shown(cube)) == {(20, "measured")}


def test_a_rate_by_label_is_measured_at_each_label() -> None:
    """Two models, two sweeps; a third model that has none is not measured, and is not guessed from the others."""
    machine = {"llama-3.1-8b": 30, "qwen3-8b": 25}
    cube = plan(
        deployment={"gpu": "h100-sxm", "workspace_bytes": "4 GiB"},
        capacity={"lambda_instance_given": {"by": "model", **machine}},
        axes={"model": ["llama-3.1-8b", "qwen3-8b", "qwen3-14b"]},
    )
    assert shown(cube) == [(30, "measured"), (25, "measured"), (None, None)]
    assert cube["infeasible_reason"].values.tolist() == [None, None, "not_measured"]


UNREACHABLE = {"tpot": at(0.005)}
"""A limit that first principles cannot meet, though the sweep did: 10 ms of weights against 5 ms."""


def test_without_an_analytical_anchor_nothing_is_scaled() -> None:
    scenarios = {"loose": {"tpot_slo_s": 0.05}, "surge": {"arrival_rate": 200}}
    cube = plan(slo=UNREACHABLE, scenarios=scenarios)
    assert shown(cube) == [(20, "measured"), (None, None), (20, "measured")]
    assert cube["infeasible_reason"].values.tolist() == [None, "not_measured", None]
    assert cube["status"].values.tolist() == ["ok", "infeasible", "ok"]


def test_fallback_analytical_must_be_written() -> None:
    scenarios = {"loose": {"tpot_slo_s": 0.05}}
    cube = plan(slo=UNREACHABLE, capacity={"fallback": "analytical"}, scenarios=scenarios)
    assert shown(cube) == [(20, "measured"), (round(ANALYTICAL, 9), "analytical")]
    assert cube["lambda_basis"].values.tolist() == ["percentile_measured", "mean_tpot"]
    assert cube["binding_constraint"].values.tolist() == ["measured", "memory"]


def test_fallback_does_not_replace_a_rate_that_can_be_scaled() -> None:
    cube = plan(capacity={"fallback": "analytical"}, scenarios={"tight": {"tpot_slo_s": 0.02}})
    assert shown(cube) == [(20, "measured"), (14.87804878, "scaled")]


def test_a_scaled_cell_still_passes_the_gates() -> None:
    """Scaling carries a rate, not the miracle of a step faster than its weight read."""
    scenarios = {"tpot": {"tpot_slo_s": 0.009}, "ttft": {"ttft_slo_s": 0.005}, "pool": {"prompt_tokens": 200_000}}
    cube = plan(scenarios=scenarios)
    reasons = [None, "tpot_unreachable", "ttft_unreachable", "sequence_exceeds_pool"]
    assert cube["infeasible_reason"].values.tolist() == reasons
    assert shown(cube)[1:] == [(None, None)] * 3


def test_a_workload_axis_is_a_setting() -> None:
    workloads = {
        "chat": {"prompt_tokens": 1000, "output_tokens": 100, "arrival_rate": 100},
        "long": {"prompt_tokens": 2000, "output_tokens": 100, "arrival_rate": 100},
    }
    none = dict.fromkeys(BASE["workload"])
    with pytest.raises(gridplan.ContractError, match="workload is an axis"):
        plan(workload=none, workloads=workloads)
    cube = plan(workload=none, workloads=workloads, capacity={"measured_at": {"workload": "chat"}})
    assert shown(cube) == [(20, "measured"), (10.212491951, "scaled")]


def test_a_measured_rate_needs_no_machine_where_nothing_differs() -> None:
    """All cells have the setting of the measurement, so no analytical rate is asked for: 21 / (0.7 x 1) is 30."""
    text = {
        "schema": 1,
        "capacity": {"capacity_model": "measured", "lambda_instance_given": 1.0},
        "policy": {"rho_target": 0.7, "redundancy": 0},
        "axes": {"arrival_rate": [21, 42]},
    }
    cube = gridplan.evaluate(gridplan.loads_grid(json.dumps(text)))
    assert cube["replicas"].values.tolist() == [30, 60]
    assert set(cube["capacity_source"].values.ravel().tolist()) == {"measured"}


def test_the_lesson_scales_as_it_says(cube: Callable[[str], xr.Dataset]) -> None:
    """ "Capacity Planning": FP8 KV gives 8 to 12% more.

    By hand: prefill 114.714 us x 99.2 tokens = 11.380 ms; a step reads 266.1 tokens of 131,072 B at 1,550 GB/s, times
    121.6 steps = 2.736 ms, half of that in FP8; TPOT binds both, so the rate goes as 14.116 / 12.748 = 1.1073.
    """
    lesson = cube("lesson").sel(instance="aws-p4de")
    fp8 = lesson.sel(scenario="fp8_kv")
    assert fp8["capacity_source"] == "scaled"
    assert 10.8 <= fp8["lambda_instance"] <= 11.2
    assert fp8["lambda_instance"] == pytest.approx(10 * 14.116 / 12.748, rel=2e-4)
    assert fp8["anchor_ratio"] == pytest.approx(10 / ((1 - 10.3613 / 25) / 0.014116), rel=2e-4)
    others = lesson.drop_sel(scenario="fp8_kv")
    assert set(others["capacity_source"].values.ravel().tolist()) == {"measured"}
