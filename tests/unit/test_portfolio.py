"""The fleet over the hours of a month in a cube: levels, what is released, and the portfolio that pays it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gridplan
from gridplan.dictionary import measures
from gridplan.engine.blocks import BlockEvaluator
from gridplan.engine.columns import plan_columns
from gridplan.engine.hoist import Shared
from gridplan.engine.inputs import build_inputs
from gridplan.formulas import load_levels, portfolio
from gridplan.store.blocks import cut

NAMES = (
    *("nodes_committed", "nodes_on_demand_mean", "nodes_spot_mean", "nodes_paid_mean", "commitment_utilization"),
    *("usd_per_month_committed", "usd_per_month_swing", "usd_per_month_spot", "nodes_needed_mean"),
    "usd_per_month_released",
)
FLEET = """
schema: 1
workload: {{arrival_rate: 60, prompt_tokens: 1000, output_tokens: 300, {load}}}
deployment: {{gpus_per_node: 8, usd_per_node_hour: 10, {deployment}}}
capacity: {{capacity_model: measured, lambda_instance_given: 1.0, applies_to: any}}
policy: {{rho_target: 0.5, hours_per_month: 720, {policy}}}
{rest}
"""
"""A replica is one GPU and carries half a request per second as planned, so a node of eight carries 4."""


def cube(load: str = "", policy: str = "", deployment: str = "", rest: str = "", outputs: tuple[str, ...] = NAMES):  # type: ignore[no-untyped-def]
    text = FLEET.format(load=load, policy=policy, deployment=deployment, rest=rest)
    return gridplan.evaluate(gridplan.loads_grid(text), ["default", *outputs])


QUARTERS = "hourly_load: [60, 30, 15, 15]"
BOUGHT = "redundancy: 0, purchase: portfolio"


def test_a_portfolio_by_hand() -> None:
    """Sixty requests a second need 15 nodes, 30 need 8 and 15 need 4: committed are the four that are always needed."""
    found = cube(QUARTERS, BOUGHT, "reserved_usd_per_node_hour: 6")
    assert found["nodes"].item() == 15
    expected = {
        "nodes_committed": 4,
        "nodes_on_demand_mean": (11 + 4) / 4,
        "nodes_spot_mean": 0,
        "nodes_paid_mean": 7.75,
        "commitment_utilization": 1,
        "usd_per_month_committed": 4 * 6 * 720,
        "usd_per_month_swing": 3.75 * 10 * 720,
        "usd_per_month_spot": 0,
        "nodes_needed_mean": 7.75,
        "usd_per_month_released": 7.75 * 10 * 720,
        "usd_per_hour": 4 * 6 + 37.5,
        "usd_per_month": (4 * 6 + 37.5) * 720,
        "usd_per_gpu_hour_used": (4 * 6 + 37.5) / (7.75 * 8),
    }
    for name, value in expected.items():
        assert found[name].item() == pytest.approx(value, rel=1e-12), name


def test_spot_is_what_the_limits_do_without() -> None:
    """The limits need 8, 4, 2 and 2 nodes; at most half of 15, 8, 4 and 4 is on spot, which is what they do without.

    A third and a fourth committed node save 10 USD in two hours, and 3 USD of spot in the other two: 6.5 for 6 USD. A
    fifth saves 10 and 3 in one hour each. Beside four, 4 + 7 and 0 + 4 nodes are bought in the two busy hours.
    """
    found = cube(QUARTERS, f"{BOUGHT}, spot_share: 0.5", "spot_usd_per_node_hour: 3, reserved_discount: 0.4")
    assert found["nodes_committed"].item() == 4
    assert found["nodes_spot_mean"].item() == pytest.approx((7 + 4) / 4, rel=1e-12)
    assert found["nodes_on_demand_mean"].item() == pytest.approx(4 / 4, rel=1e-12)
    assert found["usd_per_hour"].item() == pytest.approx(4 * 6 + 10 + 3 * 11 / 4, rel=1e-12)


def test_prices_per_token_follow_the_mean_bill() -> None:
    found = cube(QUARTERS, BOUGHT, "reserved_discount: 0.4")
    tokens = 60 / 2 * 3600 * 720 * 300  # the ratio of the hours is 2
    assert found["usd_per_mtok_output"].item() == pytest.approx(found["usd_per_month"].item() / tokens * 1e6, rel=1e-12)
    assert found["usd_per_day"].item() == pytest.approx(found["usd_per_hour"].item() * 24, rel=1e-15)


def test_spares_stand_by_at_every_level() -> None:
    """A lost node leaves the plan: 16, 9, 5 and 5 nodes."""
    found = cube(QUARTERS, "redundancy: 1, failure_domain: node")
    assert found["nodes"].item() == 16
    assert found["nodes_needed_mean"].item() == pytest.approx((16 + 9 + 5 + 5) / 4, rel=1e-12)


def test_released_nodes_are_priced_beside_every_bill() -> None:
    found = cube("peak_to_average: 3", "redundancy: 0")
    needed = np.ceil(np.round(load_levels(3, 0) * 60 / 4, 9))
    assert found["usd_per_month_released"].item() == pytest.approx(needed.mean() * 10 * 720, rel=1e-12)
    assert found["usd_per_month"].item() == 15 * 10 * 720
    for name in NAMES[:-2]:
        assert math.isnan(found[name].item()), name


@pytest.mark.parametrize(("load", "policy"), [("", "redundancy: 0"), ("peak_to_average: 3", "nodes_given: 20")])
def test_without_hours_or_with_nodes_bought_nothing_is_released(load: str, policy: str) -> None:
    assert math.isnan(cube(load, policy)["usd_per_month_released"].item())


def test_an_infeasible_cell_has_no_portfolio() -> None:
    text = """
schema: 1
workload: {arrival_rate: 60, prompt_tokens: 1000, output_tokens: 300, peak_to_average: 3}
slo: {tpot_slo_s: 0.05}
deployment: {model: llama-3.3-70b, gpu: h100-sxm, weight_dtype: bf16, gpus_per_node: 8, usd_per_node_hour: 10}
policy: {rho_target: 0.5, purchase: portfolio}
axes: {tensor_parallel: [1, 4]}
"""
    found = gridplan.evaluate(gridplan.loads_grid(text), [*NAMES, "usd_per_hour", "infeasible_reason"])
    assert found["infeasible_reason"].sel(tensor_parallel=1).item() == "weights_exceed_memory"
    for name in (*NAMES, "usd_per_hour"):
        assert math.isnan(found[name].sel(tensor_parallel=1).item()), name
    assert found["usd_per_hour"].sel(tensor_parallel=4).item() > 0


def test_other_cells_do_not_change_beside_a_portfolio() -> None:
    alone = cube("peak_to_average: 3", "redundancy: 0", outputs=())
    axes = "axes: {purchase: [on_demand, portfolio]}"
    both = cube("peak_to_average: 3", "redundancy: 0", "reserved_discount: 0.4", axes, outputs=())
    assert set(alone.data_vars) == set(both.data_vars)
    for name in measures():
        first = both[name].sel(purchase="on_demand") if "purchase" in both[name].dims else both[name]
        assert np.array_equal(first.values, alone[name].values, equal_nan=first.dtype != object), name
    assert both["usd_per_hour"].sel(purchase="portfolio") < both["usd_per_hour"].sel(purchase="on_demand")


def test_every_cell_is_the_portfolio_of_its_levels() -> None:
    """A cube against the formula, with nodes counted level by level here."""
    rest = "axes: {arrival_rate: [1, 7, 60, 333], peak_to_average: [1, 1.5, 4], spot_share: [0, 0.1, 0.4]}"
    text = FLEET.replace("arrival_rate: 60, ", "")
    stated = {
        "load": "load_floor: 0.1",
        "policy": "redundancy: 2, purchase: portfolio",
        "deployment": "tensor_parallel: 2, reserved_discount: 0.35, spot_usd_per_node_hour: 3.5",
    }
    found = gridplan.evaluate(gridplan.loads_grid(text.format(rest=rest, **stated)), [*NAMES, "usd_per_hour"])
    assert found["nodes_needed_mean"].dims == ("arrival_rate", "peak_to_average")
    for rate in (1, 7, 60, 333):
        for ratio in (1, 1.5, 4):
            levels = load_levels(ratio, 0.1) * rate
            nodes = np.ceil((np.ceil(np.round(levels / 0.5, 9)) + 2) / 4)
            slo = np.ceil(np.ceil(np.round(levels, 9)) / 4)
            for share in (0, 0.1, 0.4):
                bought = portfolio(nodes, slo, [1 / 24] * 24, 6.5, 10.0, 3.5, share)
                cell = found.sel(arrival_rate=rate, peak_to_average=ratio, spot_share=share)
                assert cell["nodes_committed"].item() == bought.nodes_committed
                for name in ("nodes_on_demand_mean", "nodes_spot_mean", "usd_per_hour"):
                    assert cell[name].item() == pytest.approx(float(getattr(bought, name)), rel=1e-12, abs=1e-12)


def test_a_portfolio_costs_no_more_than_nodes_released_or_kept() -> None:
    rates = "arrival_rate: {geomspace: [1, 1000, 20]}, peak_to_average: [1, 2, 5]"
    rest = f"axes: {{{rates}, purchase: [on_demand, portfolio]}}"
    text = FLEET.replace("arrival_rate: 60, ", "")
    stated = {"load": "load_floor: 0.05", "policy": "spot_share: 0.2"}
    offers = "reserved_discount: 0.4, spot_usd_per_node_hour: 4"
    grid = gridplan.loads_grid(text.format(rest=rest, deployment=offers, **stated))
    found = gridplan.evaluate(grid, [*NAMES, "usd_per_month"])
    always, bought = (found["usd_per_month"].sel(purchase=name) for name in ("on_demand", "portfolio"))
    released = found["usd_per_month_released"]
    assert released.dims == ("arrival_rate", "peak_to_average")
    assert (bought <= released * (1 + 1e-12)).all()
    assert (bought <= always * (1 + 1e-12)).all()
    parts = [found[f"usd_per_month_{part}"].sel(purchase="portfolio").values for part in ("committed", "swing", "spot")]
    np.testing.assert_allclose(np.sum(parts, axis=0), bought.values, rtol=1e-12)


def test_workloads_may_differ_in_how_they_state_their_hours() -> None:
    text = """
schema: 1
workloads:
  day: {{arrival_rate: 60, prompt_tokens: 1000, output_tokens: 300, hourly_load: {hours}}}
  curve: {{arrival_rate: 60, prompt_tokens: 1000, output_tokens: 300, peak_to_average: 2, load_floor: 0.2}}
deployment: {{gpus_per_node: 8, usd_per_node_hour: 10, reserved_discount: 0.4}}
capacity: {{capacity_model: measured, lambda_instance_given: 1.0, applies_to: any}}
policy: {{rho_target: 0.5, redundancy: 0, purchase: portfolio}}
"""
    for hours in ([60, 30, 15, 15], [*range(1, 31)]):
        found = gridplan.evaluate(gridplan.loads_grid(text.format(hours=hours)), NAMES)
        single = FLEET.format(rest="", policy=BOUGHT, load="{load}", deployment="reserved_discount: 0.4")
        single = single.replace("hours_per_month: 720, ", "")
        for name, load in (("day", f"hourly_load: {hours}"), ("curve", "peak_to_average: 2, load_floor: 0.2")):
            alone = gridplan.evaluate(gridplan.loads_grid(single.replace("{load}", load)), NAMES)
            for measure in NAMES:
                value = found[measure].sel(workload=name).item()
                assert value == pytest.approx(alone[measure].item(), rel=1e-12), (name, measure)
    shown = str(gridplan.explain(gridplan.loads_grid(text.format(hours=hours)), workload="day"))
    assert "max / mean of hourly_load" in shown


def test_a_scenario_may_change_the_offers() -> None:
    rest = "scenarios: {dear: {reserved_discount: 0.1}, steady: {peak_to_average: 1}}"
    found = cube("peak_to_average: 4", BOUGHT, "reserved_discount: 0.5", rest)
    committed = found["nodes_committed"]
    assert committed.sel(scenario="dear") < committed.sel(scenario="nominal") < committed.sel(scenario="steady")
    assert committed.sel(scenario="steady") == 15


def test_blocks_hold_the_same_portfolios() -> None:
    rest = "axes: {arrival_rate: {geomspace: [1, 500, 11]}, reserved_discount: {linspace: [0.1, 0.7, 7]}}"
    text = FLEET.replace("arrival_rate: 60, ", "")
    grid = gridplan.loads_grid(text.format(rest=rest, load="peak_to_average: 3", policy=BOUGHT, deployment=""))
    inputs = build_inputs(grid)
    plan = plan_columns(inputs, [*NAMES, "usd_per_hour"])
    whole = gridplan.evaluate(grid, [*NAMES, "usd_per_hour"])
    evaluator = BlockEvaluator(inputs, plan, Shared({}, {}, plan.steps))
    compared = set()
    for block in cut(plan.layout.block, 10):
        place = tuple(slice(*bounds) for bounds in zip(block.start, block.stop, strict=True))
        for name, array in evaluator(block).items():
            if name in whole and whole[name].dims == tuple(inputs.space.names):
                np.testing.assert_array_equal(array, whole[name].values[place])
                compared.add(name)
    assert compared == {*NAMES, "usd_per_hour"} - {"nodes_needed_mean", "usd_per_month_released"}


def test_an_explanation_shows_the_portfolio() -> None:
    stated = {"load": QUARTERS, "policy": BOUGHT, "deployment": "reserved_discount: 0.4", "rest": ""}
    shown = str(gridplan.explain(gridplan.loads_grid(FLEET.format(**stated))))
    assert "nodes_committed = 4" in shown
    assert "= 4 * 6.00 USD/h * 720 h" in shown
    assert "max / mean of hourly_load" in shown
    assert "(usd_per_month_committed + usd_per_month_swing + usd_per_month_spot) / hours_per_month" in shown


PARTS = tuple(f"usd_per_month_{part}" for part in ("used", "idle", "headroom", "redundancy", "stranded"))


def test_the_parts_of_the_bill_of_a_portfolio_by_hand() -> None:
    """A replica sustains 1 and is planned for 0.5: 120, 60, 30 and 30 active ones in 15, 8, 4 and 4 nodes.

    30 requests a second on average fill 30 of the mean 60 active replicas of 62 that 7.75 nodes hold; all are needed.
    """
    found = cube(QUARTERS, BOUGHT, "reserved_usd_per_node_hour: 6", outputs=PARTS)
    each = found["usd_per_month"].item() / 62
    expected = dict(zip(PARTS, (30 * each, 0, 30 * each, 0, 2 * each), strict=True))
    for name, value in expected.items():
        assert found[name].item() == pytest.approx(value, rel=1e-12, abs=1e-9), name


def test_idle_is_what_is_committed_and_not_needed() -> None:
    """At 1 USD for a committed node all 15 are worth it; 7.75 are needed."""
    found = cube(QUARTERS, BOUGHT, "reserved_usd_per_node_hour: 1", outputs=(*NAMES, *PARTS))
    assert found["nodes_committed"].item() == 15
    assert found["usd_per_month_idle"].item() == pytest.approx((15 - 7.75) * 720)


@pytest.mark.parametrize("load", [QUARTERS, "peak_to_average: 3", "peak_to_average: 1.5, load_floor: 0.4"])
@pytest.mark.parametrize("spares", ["redundancy: 2", "redundancy: 1, failure_domain: node", "spot_share: 0.3"])
@pytest.mark.parametrize("basis", ["headroom", "slo"])
def test_the_parts_of_the_bill_of_a_portfolio_sum_to_it(load: str, spares: str, basis: str) -> None:
    policy = f"purchase: portfolio, {spares}, redundancy_basis: {basis}"
    offers = "reserved_discount: 0.45, spot_usd_per_node_hour: 3, tensor_parallel: 3"
    found = cube(load, policy, offers, outputs=PARTS)
    parts = [found[name].item() for name in PARTS]
    assert min(parts) >= 0
    assert sum(parts) == pytest.approx(found["usd_per_month"].item(), rel=1e-9)
