"""How the rate that a replica sustains follows its inputs: never down with more of what helps, never up with more work.

Output length is exempt: longer answers spread the weight read and the prompt over more tokens. Where a closed form
changes its branch it may step back by a few percent (one replica in ten thousand drawn), so that much is allowed.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridplan
from gridplan.formulas import sustained_rate

STEP_BACK = 0.06
"""The largest step seen is 5.3% (requests of 299 and 6,029 prompt tokens, both doubled; a TTFT limit of 0.23 s)."""

COUNT = 128
"""Replicas of one example: a search over many costs little more than one over one."""

FEW = settings(max_examples=2)
"""Each law holds for 256 replicas, then."""

Load = dict[str, np.ndarray]

MORE_HELPS = {
    "memory": ("slots",),
    "TTFT limit": ("ttft_slo_s",),
    "TPOT limit": ("tpot_slo_s",),
    "E2E limit": ("e2e_slo_s",),
}
LESS_HELPS = {
    "bandwidth": ("step_weights_s", "step_per_context_token_s"),
    "FLOP/s": ("prefill_per_token_s",),
    "prompt": ("prompt_tokens", "uncached_tokens"),
    "KV bytes": ("step_per_context_token_s",),
}


def replicas(seed: int) -> Load:
    """Random replicas, their requests of two classes, and three limits each."""
    rng = np.random.default_rng(seed)

    def spread(low: float, high: float, *shape: int) -> np.ndarray:
        return np.asarray(np.exp(rng.uniform(np.log(low), np.log(high), (COUNT, *shape))))

    first = rng.uniform(0.0, 1.0, COUNT)
    prompt, step = np.rint(spread(30, 8000, 2)), spread(3e-3, 30e-3)
    return {
        "class_weights": np.stack([first, 1.0 - first], axis=-1),
        "prompt_tokens": prompt,
        "uncached_tokens": prompt,
        "output_tokens": np.rint(spread(20, 1500, 2)),
        "step_weights_s": step,
        "step_per_context_token_s": spread(10e-9, 200e-9),
        "prefill_per_token_s": spread(5e-6, 150e-6),
        "token_budget": rng.choice([512.0, 2048.0, 8192.0], COUNT),
        "slots": spread(4, 500),
        "ttft_slo_s": spread(0.1, 5.0),
        "tpot_slo_s": step * spread(1.3, 6.0),
        "e2e_slo_s": spread(2.0, 60.0),
    }


def rate(load: Load) -> np.ndarray:
    return sustained_rate(**load).lambda_instance


def changed(load: Load, names: tuple[str, ...], most: float) -> Load:
    """The load with some of its inputs larger: by a factor of each replica, from 1 to `most`."""
    by = np.linspace(1.0, most, COUNT)
    larger = {name: (load[name].T * by).T for name in names}
    return load | {name: np.ceil(value) if "tokens" in name[-6:] else value for name, value in larger.items()}


@pytest.mark.parametrize("name", [*MORE_HELPS, *LESS_HELPS])
@given(seed=st.integers(0, 2**32 - 1), most=st.floats(1.5, 4.0))
@FEW
def test_more_of_what_helps_never_lowers_the_rate(name: str, seed: int, most: float) -> None:
    """More memory, bandwidth, FLOP/s and looser limits; fewer KV bytes and shorter prompts."""
    load = replicas(seed)
    if name in MORE_HELPS:
        less, more = load, changed(load, MORE_HELPS[name], most)
    else:
        less, more = changed(load, LESS_HELPS[name], most), load
    assert (rate(more) >= rate(less) * (1.0 - STEP_BACK)).all()


@given(seed=st.integers(0, 2**32 - 1), by=st.floats(0.01, 100.0))
@FEW
def test_the_rate_scales_with_time(seed: int, by: float) -> None:
    """All times longer by a factor: the rate is lower by it, exactly."""
    load = replicas(seed)
    slower = {name: value * by if name.endswith("_s") else value for name, value in load.items()}
    assert rate(slower) * by == pytest.approx(rate(load), rel=1e-6)


@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0.1, 0.9))
@FEW
def test_a_class_may_be_split_in_two(seed: int, share: float) -> None:
    load = replicas(seed)
    by_class = ("class_weights", "prompt_tokens", "uncached_tokens", "output_tokens")
    split = {name: np.concatenate([load[name], load[name][:, 1:]], axis=1) for name in by_class}
    split["class_weights"][:, 1:] *= [share, 1.0 - share]
    assert rate(load | split) == pytest.approx(rate(load), rel=1e-6)


GRID = """schema: 1
workload: {prompt_tokens: 1500, output_tokens: 300, arrival_rate: 500}
deployment: {model: llama-3.1-8b, gpu: %s, kv_dtype: fp8, max_num_batched_tokens: 2048}
axes:
  ttft_slo_s: [%g, %g]
  tpot_slo_s: [%g, %g]
  gpu_memory_utilization: [%g, %g]
slo: {ttft: {percentile: 95}, tpot: {percentile: 95}}
capacity: {capacity_model: queueing}
policy: {rho_target: 0.8, redundancy: 0}
"""


@given(
    ttft=st.floats(0.3, 3.0),
    tpot=st.floats(0.015, 0.060),
    memory=st.floats(0.5, 0.85),
    by=st.floats(1.01, 2.0),
    gpu=st.sampled_from(["a100-sxm-80gb", "h100-sxm", "l40s"]),
)
@settings(max_examples=10)
def test_replicas_never_rise_with_memory_or_looser_limits(
    ttft: float, tpot: float, memory: float, by: float, gpu: str
) -> None:
    """Along each axis of a cube that holds both values of each, so the other two are at either."""
    text = GRID % (gpu, ttft, ttft * by, tpot, tpot * by, memory, memory * 1.15)
    replicas_active = gridplan.evaluate(gridplan.loads_grid(text), ["replicas_active"]).replicas_active
    assert replicas_active.sizes == {"ttft_slo_s": 2, "tpot_slo_s": 2, "gpu_memory_utilization": 2}
    for axis in replicas_active.dims:
        base, found = (replicas_active.isel({axis: place}).values for place in (0, 1))
        assert (np.isnan(base) | (found <= np.ceil(base * (1.0 + STEP_BACK)))).all(), axis
