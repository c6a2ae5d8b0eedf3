"""How the rate that a replica sustains follows its inputs: never down with more of what helps, never up with more work.

Output length is exempt: longer answers spread the weight read and the prompt over more tokens. Where a closed form
changes its branch it may step back by a few percent (one replica in ten thousand drawn), so that much is allowed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridplan
from gridplan.formulas import sustained_rate

STEP_BACK = 0.05

MORE_HELPS = {
    "memory": lambda load, by: load | {"slots": load["slots"] * by},
    "bandwidth": lambda load, by: (
        load | {name: load[name] / by for name in ("step_weights_s", "step_per_context_token_s")}
    ),
    "FLOP/s": lambda load, by: load | {"prefill_per_token_s": load["prefill_per_token_s"] / by},
    "TTFT limit": lambda load, by: load | {"ttft_slo_s": load["ttft_slo_s"] * by},
    "TPOT limit": lambda load, by: load | {"tpot_slo_s": load["tpot_slo_s"] * by},
    "E2E limit": lambda load, by: load | {"e2e_slo_s": load["e2e_slo_s"] * by},
}
MORE_HURTS = {
    "prompt": lambda load, by: (
        load | {name: [round(by * p) for p in load[name]] for name in ("prompt_tokens", "uncached_tokens")}
    ),
    "KV bytes": lambda load, by: (
        load
        | {"step_per_context_token_s": load["step_per_context_token_s"] * by, "slots": max(load["slots"] / by, 1.0)}
    ),
}


def spread(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(np.log(low), np.log(high)).map(lambda x: float(np.exp(x)))


@st.composite
def replicas(draw: Any) -> dict[str, Any]:
    """A replica, its requests of one or two classes, and three limits."""
    classes = draw(st.integers(1, 2))
    first = draw(st.floats(0.05, 0.95))
    prompt = [round(draw(spread(30, 8000))) for _ in range(classes)]
    step = draw(spread(3e-3, 30e-3))
    return {
        "class_weights": [1.0] if classes == 1 else [first, 1.0 - first],
        "prompt_tokens": prompt,
        "uncached_tokens": prompt,
        "output_tokens": [round(draw(spread(20, 1500))) for _ in range(classes)],
        "step_weights_s": step,
        "step_per_context_token_s": draw(spread(10e-9, 200e-9)),
        "prefill_per_token_s": draw(spread(5e-6, 150e-6)),
        "token_budget": draw(st.sampled_from([512, 2048, 8192])),
        "slots": draw(spread(4, 500)),
        "ttft_slo_s": draw(spread(0.1, 5.0)),
        "tpot_slo_s": step * draw(spread(1.3, 6.0)),
        "e2e_slo_s": draw(spread(2.0, 60.0)),
    }


def rate(load: dict[str, Any]) -> float:
    return float(sustained_rate(**load).lambda_instance)


@pytest.mark.parametrize("name", MORE_HELPS)
@given(load=replicas(), by=st.floats(1.0, 4.0))
@settings(max_examples=15)
def test_more_of_what_helps_never_lowers_the_rate(name: str, load: dict[str, Any], by: float) -> None:
    assert rate(MORE_HELPS[name](load, by)) >= rate(load) * (1.0 - STEP_BACK)


@pytest.mark.parametrize("name", MORE_HURTS)
@given(load=replicas(), by=st.floats(1.0, 4.0))
@settings(max_examples=15)
def test_more_work_never_raises_the_rate(name: str, load: dict[str, Any], by: float) -> None:
    assert rate(MORE_HURTS[name](load, by)) <= rate(load) * (1.0 + STEP_BACK)


@given(load=replicas(), by=st.floats(0.01, 100.0))
@settings(max_examples=15)
def test_the_rate_scales_with_time(load: dict[str, Any], by: float) -> None:
    """All times longer by a factor: the rate is lower by it, exactly."""
    slower = {name: value * by if name.endswith("_s") else value for name, value in load.items()}
    assert rate(slower) * by == pytest.approx(rate(load), rel=1e-6)


@given(load=replicas(), share=st.floats(0.1, 0.9))
@settings(max_examples=15)
def test_a_class_may_be_split_in_two(load: dict[str, Any], share: float) -> None:
    split = {name: [*value, value[-1]] for name, value in load.items() if isinstance(value, list)}
    last = load["class_weights"][-1]
    split["class_weights"] = [*load["class_weights"][:-1], share * last, (1.0 - share) * last]
    assert rate(load | split) == pytest.approx(rate(load), rel=1e-6)


GRID = """schema: 1
workload: {prompt_tokens: 1500, output_tokens: 300, arrival_rate: 500}
slo: {ttft: {limit: %g s, percentile: 95}, tpot: {limit: %g ms, percentile: 95}}
deployment: {model: llama-3.1-8b, gpu: %s, gpu_memory_utilization: %g, kv_dtype: fp8, max_num_batched_tokens: 2048}
capacity: {capacity_model: queueing}
policy: {rho_target: 0.8, redundancy: 0}
"""


@given(
    ttft=st.floats(0.3, 3.0),
    tpot=st.floats(15.0, 60.0),
    memory=st.floats(0.5, 0.85),
    by=st.floats(1.0, 2.0),
    gpu=st.sampled_from(["a100-sxm-80gb", "h100-sxm", "l40s"]),
)
@settings(max_examples=10)
def test_replicas_never_rise_with_memory_or_looser_limits(
    ttft: float, tpot: float, memory: float, by: float, gpu: str
) -> None:
    def replicas_active(*stated: float | str) -> float:
        return float(gridplan.evaluate(gridplan.loads_grid(GRID % stated), ["replicas_active"]).replicas_active)

    base = replicas_active(ttft, tpot, gpu, memory)
    for more in ((ttft * by, tpot, gpu, memory), (ttft, tpot * by, gpu, memory), (ttft, tpot, gpu, memory * 1.15)):
        found = replicas_active(*more)
        assert np.isnan(base) or found <= np.ceil(base * (1.0 + STEP_BACK))
