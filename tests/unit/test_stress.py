"""Stress tables: the fleet as bought, standard scenarios, and where there is no answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import gridplan
from gridplan.errors import ContractError
from gridplan.report.stress_page import share_text
from gridplan.sensitivity.library import library_scenarios

FLEET = """schema: 1
workload: {arrival_rate: 60, peak_to_average: 3, output_tokens: 100, prompt_tokens: 100}
deployment: {gpus_per_node: 8, usd_per_node_hour: 32, FURTHER}
capacity: {capacity_model: measured, lambda_instance_given: 10, applies_to: any}
policy: {rho_target: 0.7, POLICY}
scenarios: {nominal: {}, SCENARIOS}
"""
MODEL = """schema: 1
workload:
  classes:
    - {name: chat, weight: 0.8, prompt_tokens: 600, output_tokens: 250, prefix_hit_ratio: 0.5}
    - {name: long, weight: 0.2, prompt_tokens: 6000, output_tokens: 400, ttft: {limit: 3 s}}
  arrival_rate: 40
  peak_to_average: 2.5
slo: {tpot: {limit: 60 ms}}
deployment: {model: llama-3.3-70b, weight_dtype: fp8, tensor_parallel: 4, gpus_per_node: 8, usd_per_node_hour: 30}
policy: {rho_target: 0.65}
axes: {gpu: [h100-sxm, b200]}
"""


def fleet(scenarios: str = "same: {}", policy: str = "redundancy: 1", further: str = "") -> gridplan.Grid:
    text = FLEET.replace("SCENARIOS", scenarios).replace("POLICY", policy).replace("FURTHER", further)
    return gridplan.loads_grid(text.replace(", }", "}"))


def row(table: xr.Dataset, scenario: str, *names: str) -> list[Any]:
    return [table[name].sel(scenario=scenario).item() for name in names]


def test_all_spot_nodes_taken_back() -> None:
    """10 replicas on 2 nodes of 8, half of them on spot: 8 replicas are left, 56 safe, 80 within limits."""
    table = gridplan.stress(fleet(policy="redundancy: 1, spot_share: 0.5", further="spot_usd_per_node_hour: 10"), True)
    names = ("bought_replicas", "bought_replicas_left", "bought_arrival_rate_safe", "bought_breaks")
    assert row(table, "spot_loss", *names) == [16, 8, pytest.approx(56), "headroom"]
    assert row(table, "nominal", *names[:2]) == [16, 16]


def test_what_breaks_first() -> None:
    scenarios = ", ".join(f"r{rate}: {{arrival_rate: {rate}}}" for rate in (112, 113, 160, 161))
    table = gridplan.stress(fleet(scenarios))
    found = [row(table, f"r{rate}", "bought_breaks")[0] for rate in (112, 113, 160, 161)]
    assert found == ["nothing", "headroom", "headroom", "limits"]


def test_losses_beyond_the_fleet_leave_nothing() -> None:
    table = gridplan.stress(fleet("all: {lost_units: 5, lost_domain: node}"))
    assert row(table, "all", "bought_replicas_left", "bought_headroom_kept", "bought_breaks") == [0, 0, "limits"]
    assert np.isnan(row(table, "all", "bought_utilization")[0])


def test_a_replica_of_another_size_is_not_the_fleet_as_bought() -> None:
    table = gridplan.stress(fleet("wide: {tensor_parallel: 2}"))
    assert row(table, "wide", "bought_note", "bought_breaks") == ["replica_changed", None]
    assert np.isnan(row(table, "wide", "bought_replicas_left")[0])
    assert row(table, "wide", "replicas", "nodes") == [10, 3]


def test_a_budget_caps_what_is_bought_and_not_what_stands() -> None:
    """Two nodes cost 32 x 730 x 2 = 46,720 a month; three would be needed for 130 req/s."""
    table = gridplan.stress(fleet("surge: {arrival_rate: 130}", "redundancy: 1, budget_usd_per_month: 50000"))
    names = ("infeasible_reason", "bought_arrival_rate_slo", "bought_breaks")
    assert row(table, "surge", *names) == ["budget_exceeded", pytest.approx(160), "headroom"]
    assert np.isnan(row(table, "surge", "replicas_delta")[0])


def test_a_nominal_plan_that_is_none_has_no_fleet() -> None:
    table = gridplan.stress(fleet("calm: {arrival_rate: 6}", "redundancy: 1, budget_usd_per_month: 30000"))
    names = ("bought_note", "bought_breaks", "replicas")
    assert row(table, "calm", *names) == ["no_nominal_plan", None, 2]


def test_slots_say_nothing_of_limits() -> None:
    text = """schema: 1
workload: {prompt_tokens: 1000, output_tokens: 200, arrival_rate: 5}
deployment: {gpu: h100-sxm, model: llama-3.1-8b}
capacity: {capacity_model: littles_law, e2e_latency_s: 4}
policy: {rho_target: 0.7}
scenarios: {nominal: {}, surge: {arrival_rate: {multiply: 3}}}
"""
    table = gridplan.stress(gridplan.loads_grid(text))
    assert np.isnan(table.bought_slo_held.values).all()
    assert set(table.bought_breaks.values.tolist()) <= {"nothing", "headroom"}


def test_a_measured_rate_that_does_not_follow_is_marked() -> None:
    text = MODEL.replace(
        "policy:", "capacity: {capacity_model: measured, lambda_instance_given: 6, applies_to: any}\npolicy:"
    )
    table = gridplan.stress(gridplan.loads_grid(text), True, {"gpu": "h100-sxm"})
    notes = {str(name): row(table, str(name), "rate_note")[0] for name in table.scenario.values}
    marked = {name for name, note in notes.items() if note == "measured_rate_not_moved"}
    assert marked == {"prompt_x2", "output_x1.5", "fp8_kv", "limits_x0.8", "no_prefix_cache"}


def test_the_library_moves_what_it_says() -> None:
    grid = gridplan.loads_grid(MODEL)
    table = gridplan.stress(grid, library=True)
    plain = gridplan.evaluate(grid, ["lambda_safe", "replicas", "usd_per_month"])
    for name in plain.data_vars:
        np.testing.assert_array_equal(table[name].sel(scenario="nominal").values, plain[name].values)
    names = list(table.scenario.values)
    assert names[0] == "nominal"
    assert "zone_loss: the fleet has one zone" in table.attrs["left_out"]
    moved = [n for n in names if not n.endswith("_loss") and n not in ("nominal", "price_x1.2", "surge_x1.5")]
    assert moved == ["prompt_x2", "output_x1.5", "fp8_kv", "limits_x0.8", "slower_x0.85", "no_prefix_cache"]
    slower = {"prompt_x2", "output_x1.5", "limits_x0.8", "slower_x0.85", "no_prefix_cache"}
    for name in slower:
        assert (table.lambda_safe.sel(scenario=name) < table.lambda_safe.sel(scenario="nominal")).all(), name
    assert (table.usd_per_month_delta_pct.sel(scenario="price_x1.2") == pytest.approx(20)).all()


def test_as_bought_is_the_scenario_s_rate_times_replicas_left() -> None:
    """Each cell against a plain recomputation of the scenario's own plan."""
    grid = gridplan.loads_grid(MODEL + "scenarios: {nominal: {}, loss: {lost_units: 2, lost_domain: gpu, mbu: 0.5}}\n")
    table, cube = gridplan.stress(grid), gridplan.evaluate(grid)
    for gpu in ("h100-sxm", "b200"):
        cell = {"scenario": "loss", "gpu": gpu}
        left = cube.replicas_deployed.sel(scenario="nominal", gpu=gpu).item() - 2
        assert table.bought_arrival_rate_safe.sel(cell).item() == left * cube.lambda_safe.sel(cell).item()
        assert table.bought_arrival_rate_slo.sel(cell).item() == left * cube.lambda_instance.sel(cell).item()


@settings(max_examples=25, deadline=None)
@given(rate=st.floats(1, 500), lost=st.integers(0, 40), per_node=st.sampled_from([1, 4, 8]))
def test_headroom_goes_before_limits(rate: float, lost: int, per_node: int) -> None:
    text = FLEET.replace("gpus_per_node: 8", f"gpus_per_node: {per_node}").replace("POLICY", "redundancy: 1")
    text = text.replace(", FURTHER", "").replace("SCENARIOS", f"s: {{arrival_rate: {rate!r}, lost_units: {lost}}}")
    table = gridplan.stress(gridplan.loads_grid(text))
    kept, held, breaks = row(table, "s", "bought_headroom_kept", "bought_slo_held", "bought_breaks")
    assert kept <= held
    assert breaks == ("nothing" if kept else "headroom" if held else "limits")
    left = max(0.0, row(table, "s", "bought_replicas")[0] - lost)
    assert held == (rate <= left * 10 * (1 + 1e-9))


def test_fixed_axes_give_the_same_rows(grids: Path) -> None:
    grid = gridplan.load_grid(grids / "lesson.yaml")
    whole, part = gridplan.stress(grid), gridplan.stress(grid, at={"instance": "fractional"})
    xr.testing.assert_equal(whole.sel(instance=["fractional"]), part)


@pytest.mark.parametrize(
    ("at", "text"),
    [
        ({"scenario": "same"}, "scenarios are the rows"),
        ({"gpuu": "x"}, "gpuu is not an axis of this grid"),
    ],
)
def test_what_is_refused(at: dict[str, str], text: str) -> None:
    with pytest.raises(ContractError, match=text):
        gridplan.stress(fleet(), at=at)


def test_a_grid_without_scenarios_is_refused() -> None:
    with pytest.raises(ContractError, match="no scenarios: state some, or ask for the standard ones"):
        gridplan.stress(gridplan.loads_grid(MODEL))


def test_a_rate_that_is_an_axis_is_moved_beside_its_labels() -> None:
    text = MODEL.replace("  arrival_rate: 40\n", "").replace("axes: {", "axes: {arrival_rate: [20, 40], ")
    table = gridplan.stress(gridplan.loads_grid(text), library=True)
    assert table.arrival_rate_in_scenario.sel(scenario="surge_x1.5", gpu="b200").values.tolist() == [30, 60]
    plain = gridplan.stress(gridplan.loads_grid(MODEL), library=True)
    for name in ("replicas", "bought_arrival_rate_safe", "bought_breaks", "nodes_delta"):
        np.testing.assert_array_equal(table[name].sel(arrival_rate=40).values, plain[name].values)


def test_the_library_multiplies_only_what_the_plain_contract_has(grids: Path) -> None:
    table = gridplan.stress(gridplan.load_grid(grids / "lesson-opening.yaml"), library=True)
    assert "slower_x0.85" in table.scenario.values


@pytest.mark.parametrize("reserved", ["reserved_discount: 0.4", "reserved_usd_per_node_hour: 19.2"])
def test_a_price_under_a_commitment_rises_once(reserved: str) -> None:
    # 40% off 32 USD/h is 19.20; a list price that is 1.2 times as high takes the discounted one along.
    table = gridplan.stress(fleet(further=f"purchase: reserved, {reserved}"), library=True)
    bill = table["usd_per_month"]
    assert float(bill.sel(scenario="price_x1.2") / bill.sel(scenario="nominal")) == pytest.approx(1.2, rel=1e-12)


def test_prices_of_what_is_not_bought_are_not_moved() -> None:
    grid = fleet(further="spot_usd_per_node_hour: 9")
    moved = {scenario.name: scenario for scenario in library_scenarios(grid)[0]}["price_x1.2"]
    assert set(moved.changes) == {"usd_per_node_hour"}


def test_what_is_barely_too_much_does_not_read_as_all_of_it() -> None:
    assert [share_text(value) for value in (0.54, 1.0, 60 / 59.73, 1.00001, None)] == [
        "54%",
        "100%",
        "100.5%",
        "100.001%",
        None,
    ]
