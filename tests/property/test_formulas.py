"""Laws that formulas obey for any input: kinds agree, NaN spreads, units scale, more is not less, plans invert."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gridplan import formulas as f

ROUTINES = {name: getattr(f, name) for name in f.__all__ if inspect.isroutine(getattr(f, name))}
ELEMENTWISE = sorted(
    name
    for name, function in ROUTINES.items()
    if not {"class_weight", "class_weights", "group_block_bytes"} & inspect.signature(function).parameters.keys()
    and name not in {"failure_domain_code", "length_nodes", "length_nodes_scv"}
    and not name.startswith(("load_", "portfolio"))  # these have an axis of levels
    and name not in {"first_fit_decreasing", "most_lost", "nodes_alone", "nodes_bound", "zone_spread"}  # one of kinds
    and name not in {"cheapest_pair", "nodes_of_one_kind", "units_beside"}
)
CODES = {"failure_domain_code", "lost_domain_code"}
SHARES = {
    *("rho", "rho_from", "rho_to", "rho_target", "busy", "prefix_hit_ratio", "params_16bit"),
    *("wait_probability", "blocking_probability", "class_prefix_hit_ratio"),
    *("availability", "target", "share", "discount", "residual", "interest"),
}
SHARES |= {"experts_per_token", "uncached_tokens"}  # of whole experts, of prompts that are longer
WHOLE = {
    *("servers", "replicas_active", "replicas_deployed", "replicas_per_node", "redundancy", "lost_units", "nodes"),
    *("gpus_per_node", "gpus_per_replica", "data_parallel", "kv_block_tokens", "num_experts"),
    *("tensor_parallel", "units", "units_kept", "lost_outright", "lost_zones", "replicas_kept", "nodes_per_replica"),
    *("needed", "parts"),
}
LOST = {"redundancy", "lost_zones"}  # fewer than there are zones
NAN_IS_UNUSED = {  # a NaN here may stand for "does not apply"
    "binding_constraint": "*",
    "lowest": "*",
    "tensor_parallel_legal": "*",
    "kv_pool_bytes_raw": {"fraction_of_free"},
    "dense_rank_ratio": {"num_layers"},
    "experts_rank_ratio": {"num_experts"},
    "kv_projection_rank_ratio": {"kv_heads"},
    "moe_stage_ratio": {"num_layers", "num_moe_layers"},
    "all_reduce_per_token_s": {"num_layers", "hidden_size", "link_bandwidth_bytes_per_s"},  # of one GPU
    "prefill_chunks": {"max_num_batched_tokens"},
    "replicas": {"replicas_per_node", "zones", "failure_domain_code"},
    "spare_replicas": {"replicas_per_node", "zones", "failure_domain_code"},
    "replicas_after_loss": {"replicas_per_node", "zones", "lost_domain_code"},
    "most_active": {"replicas_per_node", "zones", "failure_domain_code"},
    "lost_outright": {"replicas_per_node", "failure_domain_code"},
    "lost_zones": {"failure_domain_code"},
    **{name: {"tensor_parallel"} for name in ("gpus_stranded", "nodes_for", "nodes_per_replica", "replicas_in_nodes")},
    "bill_split": "*",  # a load that is not known leaves the spares known
    "api_verdict_code": "*",
    "api_verdict_released_code": "*",
}


def parameters(name: str) -> list[str]:
    names = list(inspect.signature(getattr(f, name)).parameters)
    return ["a", "b", "c"] if names == ["rates"] else names


def samples(name: str, shape: tuple[int, ...], seed: int) -> list[np.ndarray]:
    """One array per parameter: shares below 1 and sizes up to 20, whole numbers, codes and flags where they are due."""
    rng = np.random.default_rng(seed)
    values = []
    for parameter in parameters(name):
        if parameter in CODES:
            values.append(rng.integers(0, 4, shape).astype(float))
        elif parameter in WHOLE:
            values.append(rng.integers(1, 4 if parameter in LOST else 9, shape).astype(float))
        elif parameter == "zones":  # more than can be lost
            values.append(rng.integers(4, 9, shape).astype(float))
        elif parameter == "fraction_of_free":
            values.append(rng.integers(0, 2, shape).astype(float))
        elif parameter in SHARES:
            values.append(np.round(rng.uniform(0.05, 0.95, shape), 2))
        else:
            values.append(np.round(rng.uniform(0.1, 20.0, shape), rng.integers(0, 4)) + 0.5)
    return values


def as_tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_scalars_arrays_and_labelled_arrays_agree(name: str) -> None:
    function: Callable[..., Any] = getattr(f, name)
    values = samples(name, (4, 3), seed=7)
    arrays = as_tuple(function(*values))
    labelled = as_tuple(function(*(xr.DataArray(v, dims=("x", "y"), coords={"x": [*"abcd"]}) for v in values)))
    scalars = [as_tuple(function(*(v[i, j].item() for v in values))) for i in range(4) for j in range(3)]
    for position, (array, named) in enumerate(zip(arrays, labelled, strict=True)):
        assert type(array) is np.ndarray
        assert isinstance(named, xr.DataArray)
        assert named.dims == ("x", "y")
        np.testing.assert_array_equal(named.values, array)
        single = [row[position] for row in scalars]
        assert {type(value) for value in single} <= {int, float, str, bool}
        np.testing.assert_array_equal(np.array(single).reshape(4, 3), array)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_size_one_axes_broadcast_like_full_arrays(name: str) -> None:
    function: Callable[..., Any] = getattr(f, name)
    values = samples(name, (3, 4), seed=11)
    slim = [v[:1] if i % 3 == 0 else v[:, :1] if i % 3 == 1 else v for i, v in enumerate(values)]
    full = [np.ascontiguousarray(np.broadcast_to(v, (3, 4))) for v in slim]
    for got, expected in zip(as_tuple(function(*slim)), as_tuple(function(*full)), strict=True):
        np.testing.assert_array_equal(np.broadcast_to(got, (3, 4)), expected)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_inputs_are_never_changed(name: str) -> None:
    values = samples(name, (5,), seed=3)
    before = [v.copy() for v in values]
    getattr(f, name)(*values)
    for value, kept in zip(values, before, strict=True):
        np.testing.assert_array_equal(value, kept)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_nan_in_is_nan_out(name: str) -> None:
    unused = NAN_IS_UNUSED.get(name, set())
    for index, parameter in enumerate(parameters(name)):
        if unused == "*" or parameter in unused:
            continue
        values = samples(name, (3,), seed=5)
        values[index][1] = np.nan
        result = np.asarray(getattr(f, name)(*values))
        assert np.isnan(result).tolist() == [False, True, False], parameter


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_outputs_are_numbers_and_not_negative(name: str) -> None:
    if name in {"kv_pool_bytes_raw", "binding_constraint", "gpus_stranded", "weights_rank_ratio", "api_verdict_code"}:
        return  # may be negative, text, negative only for nodes that hold nothing, for shares above 1 in all, or null
    for result in as_tuple(getattr(f, name)(*samples(name, (200,), seed=13))):
        assert (np.asarray(result, dtype=float) >= 0).all()  # NaN is not


positive = st.floats(0.01, 1e3).map(lambda x: round(x, 4))
vectors = hnp.arrays(np.float64, 5, elements=positive)


@settings(deadline=None)
@given(positive, positive, positive, positive, positive, positive, st.floats(1e-3, 1e3))
def test_a_clock_in_other_units_scales_times_and_rates(
    p: float, k: float, t_w: float, prompt: float, output: float, cap: float, scale: float
) -> None:
    def plan(unit: float) -> tuple[float, float, float]:
        work = f.request_work_s(p * unit, prompt, 0.2, output, k * unit, prompt, 0.0)
        rate = f.rate_at_concurrency(cap, output, t_w * unit, work)
        return rate, f.latency_at_concurrency(cap, output, t_w * unit, work), f.busy(rate, 2, work)

    (rate, latency, busy), (rate_scaled, latency_scaled, busy_scaled) = plan(1.0), plan(scale)
    assert rate_scaled * scale == pytest.approx(rate, rel=1e-12)
    assert latency_scaled == pytest.approx(latency * scale, rel=1e-12)
    assert busy_scaled == pytest.approx(busy, rel=1e-12)


@settings(deadline=None)
@given(positive, positive, positive, st.floats(1e-6, 1e6))
def test_bytes_in_other_units_do_not_change_a_count(pool: float, each: float, efficiency: float, scale: float) -> None:
    share = min(efficiency, 1.0)
    assert f.concurrency_ceiling(pool * scale, each * scale, share) == f.concurrency_ceiling(pool, each, share)


@settings(deadline=None)
@given(positive, positive, positive)
def test_twice_the_hardware_halves_every_time(bytes_: float, rate: float, share: float) -> None:
    assert f.step_weights_s(bytes_, 2, rate, share) == pytest.approx(f.step_weights_s(bytes_, 1, rate, share) / 2)
    assert f.step_weights_s(bytes_, 1, 2 * rate, share) == pytest.approx(f.step_weights_s(bytes_, 2, rate, share))
    assert f.prefill_per_token_s(bytes_, 2, rate, share) == pytest.approx(
        f.prefill_per_token_s(bytes_, 1, 2 * rate, share)
    )


@settings(deadline=None)
@given(vectors, positive, positive, st.floats(0.05, 1.0))
def test_more_load_needs_no_fewer_replicas_and_more_slots_no_more(
    loads: np.ndarray, latency: float, slots: float, rho: float
) -> None:
    ordered = np.sort(loads)
    assert (np.diff(f.replicas_needed(ordered, latency, rho, slots)) >= 0).all()
    assert (np.diff(f.replicas_needed(slots, latency, rho, ordered)) <= 0).all()
    assert (np.diff(f.concurrency_ceiling(slots, ordered, 1.0)) <= 0).all()
    assert (np.diff(f.kv_pool_tokens(ordered * 1e4, latency, 16, 0.0)) >= 0).all()


@settings(deadline=None)
@given(positive, positive, positive)
def test_replicas_carry_the_load_and_one_fewer_does_not(load: float, rate: float, rho: float) -> None:
    safe = f.lambda_safe(rate, min(rho, 1.0))
    active = f.replicas_active(load, safe)
    assert f.holds(load, active, safe) == 1.0
    assert active == 0 or f.holds(load, active - 1, safe) == 0.0
    # subadditive: splitting a load in two fleets never saves a replica
    half = f.replicas_active(load / 2, safe)
    assert active <= 2 * half <= active + 1


@settings(deadline=None)
@given(vectors, vectors, vectors)
def test_lowest_is_the_minimum_and_its_index_ties(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    minimum, index, ties = f.lowest(a, b, c)
    stacked = np.stack([a, b, c])
    np.testing.assert_array_equal(minimum, stacked.min(axis=0))
    chosen = np.take_along_axis(stacked, index[np.newaxis], axis=0)[0]
    np.testing.assert_allclose(chosen, minimum, rtol=1e-9)
    assert ((ties >> index) & 1 == 1).all()
    assert (ties & ((1 << index) - 1) == 0).all()  # the first of those that tie


@settings(deadline=None)
@given(
    hnp.arrays(np.float64, 3, elements=st.floats(0.05, 1.0)),
    hnp.arrays(np.float64, 3, elements=st.integers(0, 10_000).map(float)),
    hnp.arrays(np.float64, 3, elements=st.integers(1, 5_000).map(float)),
    st.floats(0.0, 1.0),
)
def test_splitting_a_class_in_two_changes_nothing(
    weight: np.ndarray, prompt: np.ndarray, output: np.ndarray, share: float
) -> None:
    weight = weight / weight.sum()
    split = np.append(weight, weight[-1] * (1 - share))
    split[2] *= share
    twice = np.append(prompt, prompt[-1]), np.append(output, output[-1])
    for convention in f.RESIDENT_CONTEXTS:
        whole = f.resident_tokens(weight, prompt, output, convention)
        assert f.resident_tokens(split, *twice, convention) == pytest.approx(whole, rel=1e-9)
    whole = f.step_context_tokens_mean(weight, prompt, output)
    assert f.step_context_tokens_mean(split, *twice) == pytest.approx(whole, rel=1e-9)
    assert f.prompt_tokens_mean(split, twice[0]) == pytest.approx(f.prompt_tokens_mean(weight, prompt), rel=1e-9)


@settings(deadline=None)
@given(
    hnp.arrays(np.float64, 3, elements=st.floats(0.05, 1.0)),
    hnp.arrays(np.float64, 3, elements=st.integers(0, 10_000).map(float)),
    hnp.arrays(np.float64, 3, elements=st.integers(1, 5_000).map(float)),
)
def test_conventions_keep_their_order(weight: np.ndarray, prompt: np.ndarray, output: np.ndarray) -> None:
    weight = weight / weight.sum()
    mean, final, longest = (f.resident_tokens(weight, prompt, output, name) for name in ("mean", "final", "max"))
    assert mean <= final * (1 + 1e-12)
    assert final <= longest * (1 + 1e-12)
    weighted = f.resident_tokens(weight, prompt, output, "residence_weighted")
    assert f.step_context_tokens_mean(weight, prompt, output) <= weighted * (1 + 1e-12) <= longest * (1 + 1e-9)


@settings(deadline=None)
@given(st.integers(0, 200), st.integers(0, 3), st.sampled_from(range(4)), st.integers(0, 9), st.integers(4, 9))
def test_plans_and_their_inverse_enclose_each_other(
    active: int, redundancy: int, code: int, per_node: int, zones: int
) -> None:
    args = (redundancy, code, per_node, zones)
    plan = f.replicas(active, *args)
    assert f.most_active(plan, *args) == active
    assert f.most_active(plan - 1, *args) == max(active - 1, 0)
    assert f.replicas_after_loss(plan, *args) >= active


@settings(deadline=None)
@given(st.integers(0, 500), st.integers(1, 72), st.integers(1, 100))
def test_nodes_and_replicas_enclose_each_other(replicas: int, per_node: int, per_replica: int) -> None:
    nodes = f.nodes_for(replicas, per_node, per_replica)
    assert f.replicas_in_nodes(nodes, per_node, per_replica) >= replicas
    assert nodes == 0 or f.replicas_in_nodes(nodes - 1, per_node, per_replica) < replicas
    assert nodes * per_node >= replicas * per_replica


@settings(deadline=None)
@given(st.integers(1, 500), st.floats(0.05, 0.99))
def test_pooling_servers_shortens_the_wait(servers: int, rho: float) -> None:
    assert f.erlang_c(2 * servers, 2 * servers * rho) <= f.erlang_c(servers, servers * rho) * (1 + 1e-9)
    blocked, waits = f.erlang_b(servers, servers * rho), f.erlang_c(servers, servers * rho)
    assert 0.0 <= blocked <= waits <= 1.0


@settings(deadline=None)
@given(positive, positive, positive)
def test_price_times_tokens_is_the_bill(bill: float, requests: float, tokens: float) -> None:
    sold = f.tokens_per_month(requests * 1e6, tokens)
    assert f.usd_per_mtok(bill, sold) * sold / 1e6 == pytest.approx(bill, rel=1e-12)
