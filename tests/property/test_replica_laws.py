"""Laws that one replica obeys whatever its numbers: units, classes, order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gridplan.formulas import operating_point, tpot_at_concurrency

QUANTILES = ("ttft_quantile", "tpot_quantile", "e2e_quantile", "itl_quantile")


@st.composite
def replicas(draw: st.DrawFn) -> dict[str, Any]:
    """A replica whose percentiles are valid, of one to three classes."""
    classes = draw(st.integers(1, 3))

    def several(low: float, high: float) -> np.ndarray:
        return np.array([draw(st.floats(low, high)) for _ in range(classes)])

    weights = several(0.1, 1.0)
    prompt = several(30, 4000)
    found = {
        "class_weights": weights / weights.sum(),
        "prompt_tokens": prompt,
        "uncached_tokens": prompt * several(0.1, 1.0),
        "output_tokens": several(60, 1500),
        "step_weights_s": draw(st.floats(3e-3, 30e-3)),
        "step_per_context_token_s": draw(st.floats(1e-8, 2e-7)),
        "prefill_per_token_s": draw(st.floats(5e-6, 1.5e-4)),
        "token_budget": draw(st.sampled_from([2048, 8192])),
    }
    n, length = found["output_tokens"] - 1, prompt + found["output_tokens"] / 2
    work = found["prefill_per_token_s"] * found["uncached_tokens"] + found["step_per_context_token_s"] * n * length
    found["arrival_rate"] = draw(st.floats(0.02, 0.8)) / float(found["class_weights"] @ work)
    assume(bool(operating_point(**found).valid))
    return found


def figures(inputs: dict[str, Any]) -> dict[str, Any]:
    point = operating_point(**inputs)
    out = {name: getattr(point, name) for name in ("tpot_mean_s", "ttft_s", "e2e_s", "step_mean_s")}
    return out | {name: getattr(point, name)(0.95) for name in QUANTILES}


@settings(max_examples=40, deadline=None)
@given(replicas(), st.floats(0.01, 100.0))
def test_seconds_scale(inputs: dict[str, Any], factor: float) -> None:
    """All times longer by a factor and the rate lower by it: latencies scale, counts and shares stay."""
    times = ("step_weights_s", "step_per_context_token_s", "prefill_per_token_s")
    scaled = inputs | {name: inputs[name] * factor for name in times}
    scaled["arrival_rate"] = inputs["arrival_rate"] / factor
    before, after = operating_point(**inputs), operating_point(**scaled)
    assert after.batch_mean == pytest.approx(before.batch_mean, rel=1e-9)
    assert after.busy == pytest.approx(before.busy, rel=1e-9)
    assert after.token_budget_share == pytest.approx(before.token_budget_share, rel=1e-9)
    for name, value in figures(inputs).items():
        assert figures(scaled)[name] == pytest.approx(value * factor, rel=1e-6), name


@settings(max_examples=40, deadline=None)
@given(replicas(), st.floats(0.05, 0.95))
def test_a_class_in_two_parts_changes_nothing(inputs: dict[str, Any], part: float) -> None:
    split = {
        name: np.concatenate([inputs[name], inputs[name][-1:]])
        for name in ("class_weights", "prompt_tokens", "uncached_tokens", "output_tokens")
    }
    split["class_weights"][-2:] *= [part, 1.0 - part]
    after = figures(inputs | split)
    for name, value in figures(inputs).items():
        # Of two prompts in a step the parts count pairs, one of each, as two cases: the same law, other moments left.
        assert after[name] == pytest.approx(value, rel=1e-9 if name != "ttft_quantile" else 2e-2), name
    assert operating_point(**(inputs | split)).batch_mean == pytest.approx(operating_point(**inputs).batch_mean)


@settings(max_examples=60, deadline=None)
@given(replicas(), st.floats(1.001, 1.05))
def test_more_load_or_slower_steps_do_not_make_tpot_shorter(inputs: dict[str, Any], factor: float) -> None:
    before = operating_point(**inputs).tpot_mean_s
    for name in ("arrival_rate", "step_weights_s", "step_per_context_token_s", "prefill_per_token_s", "prompt_tokens"):
        more = operating_point(**(inputs | {name: inputs[name] * factor}))
        if more.tpot_valid:
            assert more.tpot_mean_s >= before * (1.0 - 1e-12), name


def test_longer_answers_may_have_a_shorter_tpot() -> None:
    """At one rate a request prefills once: more tokens spread the prompts that arrive with its own over more steps."""
    inputs = ([1.0], [1000], [1000], [[60], [62]], 0.010, 1e-8, 1e-4)
    short, longer = operating_point(2.98, *inputs, token_budget=8192).tpot_mean_s
    assert longer < short * (1.0 - 1e-3)


@settings(max_examples=40, deadline=None)
@given(replicas())
def test_littles_law_and_order(inputs: dict[str, Any]) -> None:
    point = operating_point(**inputs)
    n = inputs["output_tokens"] - 1
    assert point.batch_mean == pytest.approx(inputs["arrival_rate"] * (inputs["class_weights"] * n) @ point.tpot_s)
    assert point.e2e_by_class_s == pytest.approx(point.ttft_by_class_s + n * point.tpot_s)
    assert np.all(point.tpot_s >= inputs["step_weights_s"])
    for name in QUANTILES:
        values = getattr(point, name)([0.05, 0.5, 0.9, 0.95, 0.99, 0.999])
        assert np.all(np.diff(values) >= 0), name
        assert np.all(values > 0)


@settings(max_examples=40, deadline=None)
@given(replicas(), st.floats(0.02, 5.0), st.floats(0.005, 0.2), st.floats(0.5, 60.0))
def test_goodput_between_its_bounds(inputs: dict[str, Any], ttft: float, tpot: float, e2e: float) -> None:
    point = operating_point(**inputs)
    bound, estimate = point.goodput(ttft, tpot, e2e)
    assert 0.0 <= bound <= estimate <= 1.0
    for one in ({"ttft_slo_s": ttft}, {"tpot_slo_s": tpot}, {"e2e_slo_s": e2e}):
        assert bound <= point.goodput(**one)[0] + 1e-9


@settings(max_examples=40, deadline=None)
@given(replicas(), st.integers(1, 300))
def test_closed_loop_of_the_open_loop(inputs: dict[str, Any], clients: int) -> None:
    """Throughput does not fall with clients, and is below what time and weight reads allow."""
    shape = {name: value for name, value in inputs.items() if name != "arrival_rate"}
    few, more = tpot_at_concurrency(clients, **shape), tpot_at_concurrency(clients + 1, **shape)
    assert few.throughput_rps <= more.throughput_rps * (1.0 + 1e-9)
    busy = operating_point(few.throughput_rps, **shape).busy
    assert busy < 1.0
    assert few.ttft_s > 0.0
