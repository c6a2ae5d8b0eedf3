"""Laws of weights on a rank, for every model of the catalog and any split: all ranks hold all, more ranks hold less."""

from __future__ import annotations

from functools import cache
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridplan
from gridplan.catalog import load_catalog
from gridplan.chain import STEPS, evaluate, needed
from gridplan.engine import labels as labels_module
from gridplan.engine.inputs import build_inputs

MODELS = sorted(name for name, model in load_catalog().models.items() if model.params_total is not None)
FORMATS = sorted(name for role, name in load_catalog().dtypes if role == "weight")
DEGREES = ("tensor_parallel", "pipeline_parallel", "moe_data_parallel", "moe_expert_parallel")
CHAIN = needed(STEPS, ["weights_bytes_per_gpu"])

powers = st.integers(0, 4).map(lambda n: 2**n)


@cache
def inputs(model: str, weight_dtype: str, stated: str = "") -> dict[str, np.ndarray]:
    text = f"""
schema: 1
workload: {{prompt_tokens: 100, output_tokens: 100, arrival_rate: 1}}
deployment: {{gpu: h100-sxm, model: {model}, weight_dtype: {weight_dtype}, workspace_bytes: 1 GB{stated}}}
policy: {{rho_target: 0.65}}
"""
    # Weights do not depend on how a model caches tokens.
    with mock.patch.object(labels_module, "planning_problem", return_value=None, create=True):
        found = build_inputs(gridplan.loads_grid(text), lenient=True)
    return {name: field.data for name, field in found.values.items()}


def on_a_rank(values: dict[str, np.ndarray], tp: int, pp: int, dp: int, ep: int) -> float:
    degrees = {name: np.asarray(float(n)) for name, n in zip(DEGREES, (tp, pp, dp, ep), strict=True)}
    return float(evaluate(CHAIN, {**values, **degrees})["weights_bytes_per_gpu"].item())


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(MODELS), st.sampled_from(FORMATS), powers, powers, powers, st.data())
def test_the_ranks_hold_all_weights(model: str, fmt: str, tp: int, pp: int, dp: int, data: st.DataObject) -> None:
    values = inputs(model, fmt)
    ep = data.draw(st.sampled_from([n for n in range(1, tp * dp + 1) if tp * dp % n == 0]))
    one = on_a_rank(values, tp, pp, dp, ep)
    total = float(values["weights_bytes"].item())
    assert one * tp * pp * dp >= total * (1 - 1e-12)
    assert one <= on_a_rank(values, 1, 1, 1, 1) * (1 + 1e-12)


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(MODELS), st.sampled_from(FORMATS), powers, powers, powers)
def test_more_tensor_parallel_ranks_hold_no_more_each(model: str, fmt: str, tp: int, pp: int, dp: int) -> None:
    values = inputs(model, fmt)
    assert on_a_rank(values, 2 * tp, pp, dp, 1) <= on_a_rank(values, tp, pp, dp, 1) * (1 + 1e-12)
    assert on_a_rank(values, tp, pp, 2 * dp, 1) <= on_a_rank(values, tp, pp, dp, 1) * (1 + 1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_parts_are_no_more_than_the_whole(model: str) -> None:
    values = inputs(model, "bf16")
    shares = [float(values[name].item()) for name in values if name.startswith("weights_share_")]
    assert len(shares) == 5
    assert min(shares) >= 0
    assert sum(shares) < 1


def test_given_bytes_are_held_and_split_like_the_catalog_ones() -> None:
    computed, given_bytes = inputs("gpt-oss-20b", "mxfp4"), inputs("gpt-oss-20b", "mxfp4", ", weights_bytes: 14 GB")
    assert on_a_rank(given_bytes, 1, 1, 1, 1) == 14e9
    assert on_a_rank(computed, 1, 1, 1, 1) > float(computed["weights_bytes"].item())  # padded as they are loaded
    v3 = {stated: inputs("deepseek-v3", "fp8", stated) for stated in ("", ", weights_bytes: 700 GB")}
    ratios = [on_a_rank(values, 8, 1, 1, 1) / float(values["weights_bytes"].item()) for values in v3.values()]
    assert ratios[0] == pytest.approx(ratios[1], rel=1e-12)
    assert ratios[0] > 1 / 8
