"""Laws of the bill: its parts sum to it, the pair sells it whole, and a break-even is where both bills are equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import gridplan
from gridplan import formulas as f

PARTS = tuple(f"usd_per_month_{part}" for part in ("used", "idle", "headroom", "redundancy", "stranded"))
PAIR = ("usd_per_mtok_input_allocated", "usd_per_mtok_output_allocated", "quota_units_per_output_token")
API = (
    *("api_usd_per_month", "api_usd_per_request", "api_saving_usd_per_month", "api_break_even_rate", "api_verdict"),
    *("api_break_even_utilization", "api_break_even_utilization_released", "api_verdict_released"),
)
FLEET = ("usd_per_month", "requests_per_month", "replicas", "replicas_deployed", "replicas_active", "gpus_paid")
OUTPUTS = (*FLEET, "arrival_rate_safe_deployed", *PARTS, *PAIR, *API)
FEW = settings(max_examples=60, deadline=None)
PAIRS = settings(max_examples=25, deadline=None)
"""Laws that plan twice an example."""

CONTRACT = """
schema: 1
workload:
  {{prompt_tokens: {prompt}, output_tokens: {output}, arrival_rate: {rate}, peak_to_average: {peak},
  prefix_hit_ratio: {hits}}}
deployment:
  {{tensor_parallel: {width}, scale_up_gpus: 24, {price},
  api_usd_per_mtok_input: {api_in}, api_usd_per_mtok_output: {api_out},
  step_weights_s: 7 ms, step_per_context_token_s: 30e-9, prefill_per_token_s: 36e-6}}
capacity: {{capacity_model: measured, lambda_instance_given: {each}, applies_to: any}}
policy:
  {{rho_target: {rho}, routing: join_shortest_queue, routing_credit: {credit}, redundancy: {spare}, zones: 4,
  {more}}}
"""


def number(low: str, high: str, places: int = 2) -> st.SearchStrategy[float]:
    return st.decimals(low, high, places=places).map(float)


nodes = st.tuples(number("0.5", "200"), st.integers(1, 16)).map(
    lambda drawn: f"usd_per_node_hour: {drawn[0]}, gpus_per_node: {drawn[1]}"
)
gpus = number("0.1", "20").map(lambda price: f"usd_per_gpu_hour: {price}")
gpus_in_nodes = st.tuples(gpus, st.integers(1, 16)).map(lambda drawn: f"{drawn[0]}, gpus_per_node: {drawn[1]}")
bought = st.integers(1, 40).map(lambda count: f"nodes_given: {count}")

contracts = st.fixed_dictionaries(
    {
        "prompt": st.integers(1, 100_000),
        "output": st.integers(1, 5_000),
        "rate": number("0.01", "2000"),
        "peak": number("1", "12"),
        "hits": number("0", "0.95"),
        "width": st.integers(1, 24),
        "price": nodes | gpus | gpus_in_nodes,
        "api_in": number("0", "20"),
        "api_out": number("0", "80"),
        "each": number("0.05", "60"),
        "rho": number("0.3", "1"),
        "credit": number("0.8", "1.6"),
        "spare": st.integers(0, 3),
        "more": st.just("failure_domain: gpu") | st.just("failure_domain: zone") | bought,
    }
)


def planned(stated: dict[str, Any]) -> xr.Dataset:
    assume("nodes_given" not in stated["more"] or "gpus_per_node" in stated["price"])
    return gridplan.evaluate(gridplan.loads_grid(CONTRACT.format(**stated)), OUTPUTS)


def whole(ds: xr.Dataset) -> None:
    """Every part is at least 0, and together they are the bill."""
    parts = np.stack([np.broadcast_to(ds[name].values, ds.usd_per_month.shape) for name in PARTS])
    assert (parts >= 0).all()
    np.testing.assert_allclose(parts.sum(axis=0), ds.usd_per_month.values, rtol=1e-9)


@given(stated=contracts)
@FEW
def test_every_law_of_one_bill(stated: dict[str, Any]) -> None:
    """One plan costs more than all that is asked of it."""
    ds = planned(stated)
    whole(ds)
    each_part_by_counting(stated, ds)
    the_pair_sells_the_bill_whole(stated, ds)
    at_break_even_both_bills_are_equal(stated, ds)
    a_verdict_is_a_comparison_of_bills(stated, ds)


def each_part_by_counting(stated: dict[str, Any], ds: xr.Dataset) -> None:
    there = min(int(ds.replicas), int(ds.replicas_deployed))
    active = min(int(ds.replicas_active), there)
    counted = stated["each"] * stated["credit"]
    peak = min(stated["rate"] / counted, active)
    average = min(stated["rate"] / stated["peak"] / counted, active)
    each = float(ds.usd_per_month) / float(ds.gpus_paid)
    beyond = float(ds.gpus_paid) - there * stated["width"]
    in_gpus = [stated["width"] * n for n in (average, peak - average, active - peak, there - active)]
    got = [float(ds[name]) for name in PARTS]
    assert got == pytest.approx([each * count for count in (*in_gpus, beyond)], rel=1e-9, abs=1e-9 * each)
    if "nodes_given" not in stated["more"]:
        assert there == int(ds.replicas)
        assert active == int(ds.replicas_active)


CUBE = """
schema: 1
workload: {{peak_to_average: {peak}}}
deployment: {{tensor_parallel: {width}, usd_per_node_hour: {price}, gpus_per_node: {size}, scale_up_gpus: 24}}
capacity: {{capacity_model: measured, lambda_instance_given: {each}, applies_to: any}}
policy: {{failure_domain: node}}
axes: {{rho_target: {rho}, redundancy: [0, 1, 3], nodes_given: {bought}, arrival_rate: {rate}}}
"""


def test_two_thousand_fleets() -> None:
    draw = np.random.default_rng(7)

    def several(low: float, high: float, count: int) -> list[float]:
        return sorted({round(float(value), 3) for value in draw.uniform(low, high, count)})

    cells = 0
    while cells < 2000:
        text = CUBE.format(
            **{"peak": round(draw.uniform(1, 9), 2), "width": draw.integers(1, 17), "size": draw.integers(1, 9)},
            **{"price": round(draw.uniform(1, 99), 2), "each": round(draw.uniform(0.1, 30), 2)},
            **{"rho": several(0.3, 1, 5), "rate": several(0.1, 900, 5)},
            bought=sorted({int(count) for count in draw.integers(1, 300, 4)}),
        )
        ds = gridplan.evaluate(gridplan.loads_grid(text), ["usd_per_month", *PARTS])
        full = max((ds[name] for name in PARTS), key=lambda part: part.size)
        whole(ds.broadcast_like(full))
        cells += full.size


def the_pair_sells_the_bill_whole(stated: dict[str, Any], ds: xr.Dataset) -> None:
    tokens = float(ds.requests_per_month) / 1e6
    price_in, price_out = float(ds[PAIR[0]]), float(ds[PAIR[1]])
    sold = tokens * (stated["prompt"] * price_in + stated["output"] * price_out)
    assert sold == pytest.approx(float(ds.usd_per_month), rel=1e-9)
    assert float(ds[PAIR[2]]) == pytest.approx(price_out / price_in, rel=1e-9)


def at_break_even_both_bills_are_equal(stated: dict[str, Any], ds: xr.Dataset) -> None:
    if stated["api_in"] + stated["api_out"] == 0:
        return
    rate, paid = float(ds.api_break_even_rate), float(ds.usd_per_month)
    assert f.requests_per_month(rate, 730) * float(ds.api_usd_per_request) == pytest.approx(paid, rel=1e-9)
    share = float(ds.api_break_even_utilization_released)
    busy = share * stated["each"] * 3600 * float(ds.api_usd_per_request)
    each = paid / 730 / float(ds.gpus_paid) * stated["width"]
    assert busy == pytest.approx(each, rel=1e-9)


def a_verdict_is_a_comparison_of_bills(stated: dict[str, Any], ds: xr.Dataset) -> None:
    """Against the same fleet at another load, where its bill is unchanged and that of the API is not."""
    own, api, request = (float(ds[name]) for name in ("usd_per_month", "api_usd_per_month", "api_usd_per_request"))
    held = float(ds.arrival_rate_safe_deployed)
    most = f.requests_per_month(held / stated["peak"], 730) * request
    near = abs(own - api) <= 1e-9 * own or abs(own - most) <= 1e-9 * own
    near = near or abs(held - stated["rate"]) <= 1e-9 * held
    if near:
        return
    verdict = ds.api_verdict.item()
    if own < api:
        assert verdict == ("self_host" if stated["rate"] < held else None)
    else:
        assert verdict == ("api" if own < most else "never")
    saving = float(ds.api_saving_usd_per_month)
    assert saving == pytest.approx(api - own, rel=1e-9) if stated["rate"] < held else np.isnan(saving)


@given(stated=contracts, dearer=number("1", "3"))
@PAIRS
def test_a_dearer_fleet_never_looks_better(stated: dict[str, Any], dearer: float) -> None:
    name, rest = stated["price"].split(": ", 1)
    price, *others = rest.split(", ")
    raised = {**stated, "price": ", ".join([f"{name}: {float(price) * dearer!r}", *others])}
    order = ("self_host", "api", "never")
    before, after = planned(stated), planned(raised)
    for verdict in ("api_verdict", "api_verdict_released"):
        if before[verdict].item() is not None and after[verdict].item() is not None:
            assert order.index(after[verdict].item()) >= order.index(before[verdict].item())
    for part in PARTS:
        assert float(after[part]) >= float(before[part]) * (1 - 1e-12)


@given(stated=contracts, steeper=number("1", "4"))
@PAIRS
def test_steeper_peaks_move_money_from_used_to_idle(stated: dict[str, Any], steeper: float) -> None:
    before = planned(stated)
    after = planned({**stated, "peak": stated["peak"] * steeper})
    assert float(after.usd_per_month_used) <= float(before.usd_per_month_used) * (1 + 1e-12)
    for part in PARTS[2:]:
        assert float(after[part]) == float(before[part])
    assert float(after.api_usd_per_month) <= float(before.api_usd_per_month) * (1 + 1e-12)
