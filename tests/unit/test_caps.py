"""A budget and a limit of power: what exceeds them is no plan, and the rate within them is the largest that fits."""

from __future__ import annotations

import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import gridplan
from gridplan.errors import ContractError

NAMES = [
    *("status", "infeasible_reason", "replicas", "usd_per_month", "lambda_instance", "fleet_constraint"),
    *("gpus_within_caps", "replicas_within_caps", "arrival_rate_within_caps"),
    *("budget_shortfall_usd_per_month", "power_shortfall_kw"),
]
NODES = "gpu: h100-sxm, gpus_per_node: 8, usd_per_node_hour: 30, pue: 1.25"


def planned(policy: str, rate: str = "arrival_rate: 8", deployment: str = NODES, axes: str = "{}") -> xr.Dataset:
    return gridplan.evaluate(
        gridplan.loads_grid(f"""schema: 1
workload: {{{rate}, peak_to_average: 2, prompt_tokens: 100, output_tokens: 100}}
deployment: {{{deployment}}}
capacity: {{capacity_model: measured, lambda_instance_given: 1, applies_to: any}}
policy: {{rho_target: 0.5, {policy}}}
axes: {axes}
"""),
        NAMES,
    )


def test_a_plan_beyond_the_budget_is_none_and_says_by_how_much() -> None:
    # 16 active and a spare need three nodes: 3 x 30 x 730 = 65,700 USD a month
    cell = planned("budget_usd_per_month: 60000")
    assert (cell.status.item(), cell.infeasible_reason.item()) == ("infeasible", "budget_exceeded")
    assert cell.replicas.isnull()
    assert cell.usd_per_month.isnull()
    assert cell.lambda_instance.item() == 1  # a replica can run
    assert cell.budget_shortfall_usd_per_month.item() == pytest.approx(5700)
    assert (cell.fleet_constraint.item(), cell.gpus_within_caps.item()) == ("budget", 16)
    assert cell.arrival_rate_within_caps.item() == 15 * 0.5  # a spare is kept


def test_exactly_the_budget_is_within_it() -> None:
    cell = planned("budget_usd_per_month: 65700")
    assert (cell.status.item(), cell.usd_per_month.item()) == ("ok", 65700)
    assert cell.budget_shortfall_usd_per_month.item() == 0


def test_power_counts_whole_nodes_and_what_stands_beside_the_gpus() -> None:
    # a node draws 8 x 700 W + 1,000 W = 6.6 kW, 8.25 kW at the facility: two in 20 kW
    cell = planned("power_budget_kw: 20", deployment=f"{NODES}, power_w_per_node: 1000")
    assert cell.infeasible_reason.item() == "power_exceeded"
    assert cell.power_shortfall_kw.item() == pytest.approx(3 * 8.25 - 20)
    assert (cell.fleet_constraint.item(), cell.gpus_within_caps.item()) == ("power", 16)


def test_the_least_cap_is_named() -> None:
    both = "power_budget_kw: 50, budget_usd_per_month: 70000, nodes_given: 2, redundancy: 0"
    assert planned(both).fleet_constraint.item() == "nodes_given"
    assert planned(both.replace("nodes_given: 2, ", "")).fleet_constraint.item() == "budget"
    assert planned("redundancy: 0").fleet_constraint.item() is None


def test_without_a_cap_nothing_is_said() -> None:
    cell = planned("redundancy: 0")
    assert cell.status.item() == "ok"
    for name in (
        "gpus_within_caps",
        "arrival_rate_within_caps",
        "budget_shortfall_usd_per_month",
        "power_shortfall_kw",
    ):
        assert cell[name].isnull()


CAPS = st.one_of(
    st.integers(30_000, 2_000_000).map(lambda usd: f"budget_usd_per_month: {usd}"),
    st.integers(10, 500).map(lambda kw: f"power_budget_kw: {kw}"),
)
BUY = st.sampled_from(
    [
        *("purchase: on_demand", "purchase: reserved, reserved_discount: 0.35", "spot_share: 0.4"),
        "purchase: spot",
    ]
)
SHAPES = st.sampled_from(["tensor_parallel: 1", "tensor_parallel: 4", "tensor_parallel: 8, pipeline_parallel: 2"])
SPARES = st.sampled_from(
    [
        *("redundancy: 0", "redundancy: 2", "failure_domain: node", "failure_domain: zone, zones: 3"),
        "redundancy_basis: slo, failure_domain: node, maintenance_units: 1",
    ]
)


@given(CAPS, BUY, SHAPES, SPARES)
@settings(max_examples=25, deadline=None)
def test_the_rate_within_caps_is_the_largest_that_has_a_plan(cap: str, buy: str, shape: str, spares: str) -> None:
    deployment = f"{NODES}, spot_usd_per_node_hour: 11, scale_up_gpus: 8, {shape}"
    policy = f"{cap}, {buy.replace(', reserved_discount: 0.35', '')}, {spares}"
    if "reserved" in buy:
        deployment += ", reserved_discount: 0.35"
    found = planned(policy, deployment=deployment)
    most = found.arrival_rate_within_caps.item()
    if most == 0:
        assert found.status.item() == "infeasible"
        return
    inside = planned(policy, f"arrival_rate: {most!r}", deployment)
    beyond = planned(policy, f"arrival_rate: {most + 0.01!r}", deployment)
    assert (inside.status.item(), beyond.status.item()) == ("ok", "infeasible")


@given(st.lists(st.integers(1_000, 3_000_000), min_size=2, max_size=6, unique=True), BUY, SPARES)
@settings(max_examples=25, deadline=None)
def test_more_budget_never_carries_less(budgets: list[int], buy: str, spares: str) -> None:
    deployment = f"{NODES}, spot_usd_per_node_hour: 11, reserved_discount: 0.35"
    axes = f"{{budget_usd_per_month: {sorted(budgets)}}}"
    found = planned(f"{buy.split(',')[0]}, {spares}", deployment=deployment, axes=axes)
    rates = found.arrival_rate_within_caps.values.tolist()
    assert len(rates) == len(budgets)
    assert rates == sorted(rates)


@pytest.mark.parametrize(
    ("policy", "deployment", "said"),
    [
        ("power_budget_kw: 20", "gpu: h100-sxm", "pue is needed: power_budget_kw is power of the facility"),
        ("power_budget_kw: 20", "gpu: a10, pue: 1.2", "power_w_per_gpu is needed"),
        ("power_budget_kw: 0", NODES, "power_budget_kw must be > 0; 0 is not"),
        ("budget_usd_per_month: 10 EUR/month", NODES, "unknown unit"),
    ],
)
def test_caps_that_cannot_be_judged_are_refused(policy: str, deployment: str, said: str) -> None:
    with pytest.raises(ContractError, match=said):
        planned(policy, deployment=deployment)
