"""The lesson's fleet bought in other ways: bills, what a spot reclaim leaves, and where the price comes from."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import gridplan
from gridplan.dictionary import measures

LESSON = """
schema: 1
workload: {{prompt_tokens: 100, output_tokens: 122, arrival_rate: 60, peak_to_average: 3}}
slo: {{e2e: {{limit: 5 s}}}}
deployment: {{model: llama-3-8b, {deployment}}}
capacity: {{capacity_model: measured, lambda_instance_given: 10}}
policy: {{rho_target: 0.7, redundancy: 1, failure_domain: gpu, hours_per_month: 732, {policy}}}
catalog:
  instances:
    p4de: {{gpu: a100-sxm-80gb, gpus_per_node: 8, usd_per_node_hour: 40.96, as_of: 2025-04-28}}
{rest}
"""
"""Ten replicas of one GPU (nine and a spare) in two nodes of eight: "Capacity Planning", section 5.3."""

SPOT = (
    *("nodes_spot", "replicas_without_spot", "arrival_rate_safe_without_spot", "headroom_kept_without_spot"),
    *("slo_held_without_spot", "spot_share_max"),
)
PRICE = (
    *("priced_by", "price_as_of", "price_kind", "price_flag", "on_demand_usd_per_node_hour", "owned_usd_per_node_hour"),
    *("base_usd_per_node_hour", "base_usd_per_gpu_hour", "usd_committed"),
)
OWNED = "capital_usd_per_node: 175680 USD, amortization_years: 4, pue: 1.25, usd_per_kwh: 0.1, power_w_per_node: 0"
"""5 USD/h of capital (175,680 / 48 / 732), and 8 x 400 W x 1.25 x 0.1 USD/kWh = 0.4 USD/h."""


def cube(deployment: str = "instance: p4de", policy: str = "", rest: str = "") -> xr.Dataset:
    text = LESSON.format(deployment=deployment, policy=policy, rest=rest)
    return gridplan.evaluate(gridplan.loads_grid(text), ["default", *SPOT, *PRICE])


def told(found: xr.Dataset) -> list[str]:
    return [
        line for line in found.attrs.get("warnings", "").splitlines() if not line.startswith("headroom_counted_twice")
    ]


def text(array: xr.DataArray) -> object:
    return array.values.tolist()


def problems(deployment: str = "instance: p4de", policy: str = "") -> list[str]:
    with pytest.raises(gridplan.ContractError) as caught:
        gridplan.evaluate(gridplan.loads_grid(LESSON.format(deployment=deployment, policy=policy, rest="")))
    return [problem.message for problem in caught.value.problems]


def test_the_lessons_fleet_in_four_ways() -> None:
    stated = f"instance: p4de, spot_usd_per_node_hour: 16, reserved_discount: 25%, commitment_years: 3, {OWNED}"
    found = cube(stated, rest="axes: {purchase: [on_demand, reserved, spot, owned]}")
    assert found.nodes.item() == 2
    np.testing.assert_allclose(found.base_usd_per_node_hour, [40.96, 30.72, 16, 5.4])
    np.testing.assert_allclose(found.usd_per_hour, [81.92, 61.44, 32, 10.8])
    np.testing.assert_allclose(found.usd_per_month, [59965.44, 61.44 * 732, 32 * 732, 10.8 * 732])
    np.testing.assert_allclose(found.usd_per_gpu_hour_used, [5.12, 3.84, 2, 0.675])
    np.testing.assert_allclose(found.usd_committed, [np.nan, 61.44 * 732 * 36, np.nan, np.nan])
    assert text(found.price_kind) == ["on_demand", "reserved", "spot", "owned"]
    assert text(found.priced_by) == ["p4de", "p4de", "spot_usd_per_node_hour", "capital_usd_per_node"]
    assert text(found.price_as_of) == ["2025-04-28", "2025-04-28", None, None]
    assert text(found.price_flag) == [None] * 4
    assert told(found) == []


def test_half_of_the_lessons_nodes_on_spot() -> None:
    """A reclaim is the lesson's node loss: 8 replicas carry 56 req/s safely and 80 at the limits, and 60 come."""
    found = cube("instance: p4de, spot_usd_per_node_hour: 16", "spot_share: 0.5")
    assert found.nodes_spot.item() == 1
    assert found.usd_per_hour.item() == pytest.approx(40.96 + 16)
    assert found.replicas_without_spot.item() == 8
    assert found.arrival_rate_safe_without_spot.item() == pytest.approx(56)
    assert (found.headroom_kept_without_spot.item(), found.slo_held_without_spot.item()) == (0, 1)
    assert found.spot_share_max.item() == pytest.approx(1 - 60 / 160)


def test_all_on_spot_leaves_nothing() -> None:
    for policy in ("purchase: spot", "spot_share: 1"):
        found = cube("instance: p4de, spot_usd_per_node_hour: 16", policy)
        assert found.usd_per_hour.item() == pytest.approx(32)
        assert [found[name].item() for name in SPOT[:5]] == [2, 0, 0, 0, 0]


def test_without_spot_everything_is_kept_and_named() -> None:
    found = cube()
    assert [found[name].item() for name in SPOT[:5]] == [0, 16, pytest.approx(112), 1, 1]
    assert found.usd_per_hour.item() == pytest.approx(81.92)


def test_where_slots_are_counted_no_share_is_known_to_hold() -> None:
    slots = """
schema: 1
workload: {arrival_rate: 500}
deployment: {kv_pool_bytes_given: 40 GB, kv_bytes_per_sequence_given: 500 MB, gpus_per_node: 8, usd_per_node_hour: 20}
capacity: {capacity_model: littles_law, e2e_latency_s: 4.0}
policy: {redundancy: 0, rho_target: 0.9}
"""
    found = gridplan.evaluate(gridplan.loads_grid(slots), SPOT)
    assert np.isnan(found.spot_share_max)
    assert found.replicas_without_spot > 0
    assert np.isnan(found.slo_held_without_spot.astype(float))


def test_a_wide_replica_is_lost_with_any_of_its_nodes() -> None:
    """Ten replicas of sixteen GPUs take twenty nodes of eight; 0.25 are two and a half replicas, so two: four nodes."""
    wide = "instance: p4de, tensor_parallel: 8, pipeline_parallel: 2, spot_usd_per_node_hour: 16"
    found = cube(wide, "spot_share: 0.25")
    assert (found.nodes.item(), found.nodes_spot.item(), found.replicas_without_spot.item()) == (20, 4, 8)
    assert found.usd_per_hour.item() == pytest.approx(16 * 40.96 + 4 * 16)


def test_a_price_by_gpu_may_be_reserved_by_a_discount_and_not_be_on_spot() -> None:
    stated = "gpu: a100-sxm-80gb, usd_per_gpu_hour: 2.49, reserved_discount: 0.5, commitment_years: 1"
    found = cube(stated, rest="axes: {purchase: [on_demand, reserved, spot]}")
    np.testing.assert_allclose(found.usd_per_hour, [24.9, 12.45, np.nan])
    np.testing.assert_allclose(found.usd_committed, [np.nan, 12.45 * 732 * 12, np.nan])
    assert text(found.price_kind) == ["given", "reserved", None]
    assert text(found.price_flag) == [None, None, "no_spot_price"]
    assert told(found) == [
        "price_flag no_spot_price: no spot price, so these have no cost: give spot_usd_per_node_hour, or name an "
        "instance that has one: a100-sxm-80gb"
    ]


def test_spot_nodes_beside_single_gpus_hold_their_replicas() -> None:
    """Of ten replicas the one node on spot holds eight; two GPUs are left to rent."""
    stated = "gpu: a100-sxm-80gb, usd_per_gpu_hour: 2.5, gpus_per_node: 8, spot_usd_per_node_hour: 9"
    found = cube(stated, "spot_share: 0.5")
    assert found.usd_per_hour.item() == pytest.approx(9 + 2 * 2.5)
    bought = cube(stated, "spot_share: 0.5, nodes_given: 4")
    assert bought.usd_per_hour.item() == pytest.approx(2 * 9 + 16 * 2.5)


def test_own_hardware_without_a_node_size_has_no_price() -> None:
    found = cube(f"gpu: a100-sxm-80gb, usd_per_gpu_hour: 2.49, {OWNED}", "purchase: owned")
    assert np.isnan(found.usd_per_hour)
    assert (found.price_flag.item(), found.price_kind.item()) == ("needs_node_size", None)
    assert "needs_node_size" in told(found)[-1]


def test_spot_without_a_price_is_null_where_it_is_asked_for_alone() -> None:
    found = cube(rest="axes: {spot_share: [0, 0.5]}")
    np.testing.assert_allclose(found.usd_per_hour, [81.92, np.nan])
    assert text(found.price_flag) == [None, "no_spot_price"]
    assert found.nodes_spot.values.tolist() == [0, 1]
    assert found.priced_by.values.tolist() == "p4de"  # of the nodes that are not on spot


def test_reserved_without_a_price() -> None:
    found = cube(policy="purchase: reserved")
    assert (found.price_flag.item(), found.price_kind.item(), found.priced_by.item()) == (
        "no_reserved_price",
        None,
        None,
    )
    assert np.isnan(found.usd_per_hour)
    assert [line.partition(":")[0] for line in told(found)] == [
        "purchase reserved is a price without its commitment",
        "price_flag no_reserved_price",
    ]


def test_a_stated_reserved_price_counts_before_the_discount() -> None:
    stated = "instance: p4de, reserved_usd_per_node_hour: {value: 30, as_of: 2026-01-01}, commitment_years: 18 months"
    found = cube(stated, "purchase: reserved")
    assert (found.priced_by.item(), found.price_as_of.item()) == ("reserved_usd_per_node_hour", "2026-01-01")
    assert found.usd_committed.item() == pytest.approx(60 * 732 * 18)
    both = cube(f"{stated}, reserved_discount: 0.5", "purchase: reserved")
    assert both.usd_per_hour.item() == 60
    assert told(both) == ["reserved_discount is not used: reserved_usd_per_node_hour is given"]


def test_the_catalog_has_spot_prices() -> None:
    found = cube("instance: coreweave-hgx-b300", rest="axes: {purchase: [on_demand, spot]}")
    assert text(found.price_flag) == ["no_price", None]
    assert text(found.price_kind) == [None, "spot"]
    assert text(found.priced_by) == [None, "coreweave-hgx-b300"]
    assert found.base_usd_per_node_hour.values[1] == 35.84


@pytest.mark.parametrize(
    ("deployment", "kind"),
    [
        ("instance: coreweave-hgx-h100", "on_demand"),
        ("instance: together-gpu-cluster-on-demand-h100-b200-per-gpu", "list_equivalent"),  # a range in the catalog
        ("instance: aws-p4d-24xlarge-hist-2025-04", "historic"),
        ("instance: runpod-community-rtx-3090-per-gpu", "marketplace"),
        ("gpu: h100-sxm, usd_per_gpu_hour: 2", "given"),
        ("gpu: h100-sxm, usd_per_node_hour: 20, gpus_per_node: 8", "given"),
    ],
)
def test_kinds_of_a_price_on_demand(deployment: str, kind: str) -> None:
    found = cube(deployment)
    assert found.price_kind.item() == kind
    assert found.price_flag.item() is None


def test_a_list_price_that_a_scenario_scales_is_an_equivalent() -> None:
    rest = "scenarios: {dearer: {usd_per_node_hour: {multiply: 1.1}}, bought: {purchase: spot}}"
    found = cube("instance: coreweave-hgx-h100", rest=rest)
    assert text(found.price_kind) == ["on_demand", "list_equivalent", "spot"]
    np.testing.assert_allclose(found.base_usd_per_node_hour, [49.24, 54.164, 19.71])
    assert text(found.purchase) == ["on_demand", "on_demand", "spot"]


def test_a_contract_may_still_choose_instances_by_the_catalogs_kind() -> None:
    listed = "axes: {instance: {catalog: instances, where: {price_kind: list, gpu: h200-sxm}}}"
    found = cube("gpu_memory_utilization: 0.9", rest=listed)
    assert found.sizes["instance"] > 1
    assert set(found.price_kind.values.tolist()) <= {"on_demand"} or found.price_kind.item() == "on_demand"


@pytest.mark.parametrize("price", ["1e12", "0.01 USD/h"])
def test_an_absurd_price_is_flagged_and_said(price: str) -> None:
    found = cube(f"gpu: a100-sxm-80gb, gpus_per_node: 8, usd_per_node_hour: {price}")
    assert found.price_flag.item() == "absurd"
    stated = float(price.split()[0])
    assert told(found) == [
        "price_flag absurd: outside 0.01 to 1,000 USD per GPU-hour, as no rental is (a slip of unit or decimal "
        f"point?): usd_per_node_hour (a node at {stated:g} USD/h)"
    ]
    by_gpu = cube("gpu: a100-sxm-80gb, usd_per_gpu_hour: 2490")
    assert by_gpu.price_flag.item() == "absurd"
    assert "usd_per_gpu_hour (a GPU at 2490 USD/h)" in told(by_gpu)[0]


@pytest.mark.parametrize(("price", "flag"), [("1e12", "absurd"), ("0.05", "absurd"), ("0.1", None)])
def test_a_price_of_a_contracts_own_instance_is_looked_at_too(price: str, flag: str | None) -> None:
    text = LESSON.format(deployment="instance: p4de", policy="", rest="").replace("40.96", price)
    found = gridplan.evaluate(gridplan.loads_grid(text), PRICE)
    assert found.price_flag.item() == flag
    assert any("p4de (a node at" in line for line in told(found)) == (flag is not None)


@pytest.mark.parametrize("price", ["0", "-1", "40.96 EUR/h"])
def test_an_impossible_price_of_an_instance_is_refused(price: str) -> None:
    text = LESSON.format(deployment="instance: p4de", policy="", rest="").replace("40.96", price)
    with pytest.raises(gridplan.ContractError, match="usd_per_node_hour"):
        gridplan.loads_grid(text)


def test_a_share_on_spot_may_differ_by_purchase() -> None:
    shares = "spot_share: {by: purchase, spot: 0, default: 0.5}"
    found = cube("instance: coreweave-hgx-h100", shares, "axes: {purchase: [on_demand, spot]}")
    assert found.nodes_spot.values.tolist() == [1, 2]
    assert told(found) == []


def test_an_absurd_spot_price_beside_a_good_one() -> None:
    found = cube("instance: p4de, spot_usd_per_node_hour: 16384", "spot_share: 0.5")
    assert found.price_flag.item() == "absurd"
    assert "p4de (a node on spot at 16384 USD/h)" in told(found)[0]
    assert "a node at" not in told(found)[0]


@pytest.mark.parametrize(
    ("price", "said"),
    [
        ("0", "usd_per_node_hour must be > 0; 0 is not"),
        ("-40.96", "usd_per_node_hour must be > 0; -40.96 is not"),
        ("40.96 EUR/h", "'40.96 EUR/h' has an unknown unit"),
        (".inf", "inf is not a finite number"),
    ],
)
def test_impossible_prices_are_refused(price: str, said: str) -> None:
    found = problems(f"gpu: a100-sxm-80gb, gpus_per_node: 8, usd_per_node_hour: {price}")
    assert len(found) == 1
    assert said in found[0]


def test_an_old_price_is_stale_on_the_day_that_is_stated() -> None:
    day = "priced_on: 2025-10-25"  # 180 days after the price
    found = cube(rest=day)
    assert found.price_flag.item() is None
    found = cube(rest="priced_on: 2025-10-26")
    assert found.price_flag.item() == "stale"
    assert any("prices older than 180 days" in line for line in told(found))
    # The first reason counts, and a price without a date has no age.
    found = cube("instance: p4de, spot_usd_per_node_hour: 16", "purchase: spot", "priced_on: 2030-01-01")
    assert found.price_flag.item() is None


def test_own_hardware_names_all_that_is_missing() -> None:
    assert problems(policy="purchase: owned") == [
        "purchase owned needs capital_usd_per_node, amortization_years, pue, usd_per_kwh: an hour of a node of one's "
        "own is its capital over the hours of its years, hosting, and energy"
    ]
    assert (
        "purchase owned needs amortization_years, usd_per_kwh:"
        in problems("instance: p4de, capital_usd_per_node: 200 kUSD, pue: 1.2", "purchase: owned")[0]
    )


@pytest.mark.parametrize(
    ("stated", "policy"),
    [
        ("spot_usd_per_node_hour: 9", "spot_share: 0.1"),
        ("reserved_usd_per_node_hour: 9, commitment_years: 1", "purchase: reserved"),
        (OWNED, "purchase: owned"),
    ],
)
def test_a_price_of_a_node_needs_its_size(stated: str, policy: str) -> None:
    """Without an instance the size would be that of whatever shape is cheapest: not the node that the price is of."""
    name = stated.partition(":")[0]
    found = problems(f"gpu: h100-sxm, {stated}", policy)
    assert found == [f"{name} is of a node of how many GPUs? Name an instance, or give gpus_per_node"]


@pytest.mark.parametrize(
    ("stated", "policy", "said"),
    [
        ("capital_usd_per_node: 200000", "", "capital_usd_per_node is not used: no cell has purchase owned"),
        ("interest_rate: 0.05", "purchase: spot", "interest_rate is not used: no cell has purchase owned"),
        ("commitment_years: 1", "", "commitment_years is not used: no cell has purchase reserved"),
        ("reserved_discount: 0.1", "", "reserved_discount is not used: no cell has purchase reserved"),
        (
            "pue: 1.2",
            "spot_share: 0.5, purchase: spot",
            "spot_share is not used: every cell has purchase spot, which is a share of 1",
        ),
        (
            "usd_per_node_hour: 50",
            "purchase: spot",
            "usd_per_node_hour is not used: the bill of every cell is by purchase spot",
        ),
    ],
)
def test_what_no_cell_pays_by_is_said(stated: str, policy: str, said: str) -> None:
    found = cube(f"instance: coreweave-hgx-h100, {stated}", policy)
    assert told(found) == [said]


def test_a_spot_price_that_nobody_pays_is_said() -> None:
    said = "spot_usd_per_node_hour is not used: no cell has purchase spot or a spot_share above 0"
    assert told(cube("instance: p4de, spot_usd_per_node_hour: 16")) == [said]


def test_a_price_carries_no_dimension_of_a_purchase_that_is_not_made() -> None:
    rest = "axes: {usd_per_kwh: [0.1, 0.2], spot_usd_per_node_hour: [9, 16], capital_usd_per_node: [1e5, 2e5]}"
    found = cube("instance: p4de, pue: 1.2, amortization_years: 4", rest=rest)
    for name in (*measures(), "price_flag", "base_usd_per_node_hour"):
        assert found[name].dims == (), name
    owned = cube("instance: p4de, pue: 1.2, amortization_years: 4", "purchase: owned", rest)
    assert owned.usd_per_hour.dims == ("usd_per_kwh", "capital_usd_per_node")


def test_explain_prints_the_price_that_is_paid() -> None:
    rest = "axes: {purchase: [on_demand, reserved, owned]}"
    deployment = f"instance: p4de, reserved_discount: 0.25, commitment_years: 1, interest_rate: 6%, {OWNED}"
    grid = gridplan.loads_grid(LESSON.format(deployment=deployment, policy="", rest=rest))
    listed, reserved, owned = (
        str(gridplan.explain(grid, purchase=kind)) for kind in ("on_demand", "reserved", "owned")
    )
    assert "base_usd_per_node_hour" not in listed
    assert "nodes_spot" not in listed
    assert "2 * 40.96 USD/h" in listed
    assert "= 40.96 USD/h * (1 - 0.25)" in reserved
    assert "usd_committed = 539,688.96 USD" in reserved
    assert "* (1 - 0 * v) * 0.06 / 12 / (1 - v)" in owned
    assert "v = (1 + 0.06 / 12) ** (-12 * 4 years)" in owned
    assert [line.split()[-1] for line in owned.splitlines() if line.startswith("price_kind")] == ["owned"]
    line = next(line for line in owned.splitlines() if line.startswith("  capital_usd_per_node  "))
    assert line.split()[-2:] == ["assumption,", "contract"]


@pytest.mark.parametrize("offer", ["reserved_usd_per_node_hour: 0.00001", "reserved_discount: 0.9999999"])
def test_every_price_of_a_portfolio_may_be_absurd(offer: str) -> None:
    grid = f"""schema: 1
workload: {{arrival_rate: 60, peak_to_average: 2, prompt_tokens: 100, output_tokens: 100}}
deployment: {{gpus_per_node: 8, usd_per_node_hour: 30, {offer}}}
capacity: {{capacity_model: measured, lambda_instance_given: 10, applies_to: any}}
policy: {{rho_target: 0.7, purchase: portfolio}}
"""
    found = gridplan.evaluate(gridplan.loads_grid(grid), ["price_flag"])
    assert found.price_flag.item() == "absurd"
    assert "price_flag absurd" in found.attrs["warnings"]
