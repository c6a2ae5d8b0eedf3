"""Thresholds and break-even of grids: numbers worked by hand, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import gridplan

GRID = """schema: 1
workload: {prompt_tokens: 2000, output_tokens: 300, peak_to_average: 2, arrival_rate: 50}
deployment:
  {gpus_per_node: 4, tensor_parallel: 2, usd_per_node_hour: 10, reserved_discount: 0.4, commitment_years: 1,
   api_usd_per_mtok_input: 0.5, api_usd_per_mtok_output: 2, kv_pool_tokens_given: 1e6}
capacity:
  capacity_model: measured
  lambda_instance_given: {value: 10, class: measurement, source: a load test}
  applies_to: any
policy: {rho_target: 0.7, redundancy: REDUNDANCY, hours_per_month: 730}
"""
"""Ten requests a second and replica, seven of them planned; two replicas a node at 10 USD an hour."""


def grid(add: str = "", redundancy: int = 0) -> gridplan.Grid:
    text = GRID.replace("REDUNDANCY", str(redundancy))
    return gridplan.loads_grid(f"{text}{add}")


def only(found: object, name: str) -> object:
    return found[name].values.item()  # type: ignore[index]


def test_a_budget_buys_two_nodes_and_four_replicas_carry_28_requests() -> None:
    found = gridplan.invert(grid(), "max:arrival_rate", where="usd_per_month <= 20000")
    assert only(found, "max_arrival_rate") == 28.0  # 2 nodes = 14,600 USD a month, 3 = 21,900
    assert only(found, "fails_at_arrival_rate") == 28.0000000001
    assert (only(found, "usd_per_month_at_answer"), only(found, "usd_per_month_at_failure")) == (14600.0, 21900.0)
    assert (only(found, "answer"), only(found, "method")) == ("between", "search")
    assert only(found, "fails_reason") == "usd_per_month <= 20000"
    assert found.max_arrival_rate.attrs["unit"] == "req/s"


@pytest.mark.parametrize(
    ("cap", "expected", "reason"),
    [({"budget": 20_000}, 28.0, "budget_exceeded"), ({"nodes": 3}, 42.0, "fleet_sufficient")],
)
def test_caps_have_an_exact_inverse(cap: dict[str, int], expected: float, reason: str) -> None:
    found = gridplan.invert(grid(), "max:arrival_rate", **cap)  # type: ignore[arg-type]
    assert (only(found, "max_arrival_rate"), only(found, "method")) == (expected, "exact")
    assert only(found, "fails_reason") == reason


def test_a_spare_takes_seven_requests_from_every_answer() -> None:
    assert only(gridplan.invert(grid(redundancy=1), "max:arrival_rate", nodes=3), "max_arrival_rate") == 35.0


def test_a_cap_that_buys_nothing_is_never_enough() -> None:
    found = gridplan.invert(grid(), "max:arrival_rate", budget=7000)
    assert only(found, "answer") == "never"
    assert np.isnan(only(found, "max_arrival_rate"))
    assert only(found, "fails_at_arrival_rate") == pytest.approx(0.05)
    assert only(found, "fails_reason") == "budget_exceeded"


def test_what_no_value_breaks_always_holds() -> None:
    found = gridplan.invert(grid(), "max:peak_to_average", where="nodes <= 4")
    assert (only(found, "answer"), only(found, "max_peak_to_average")) == ("always", 2000.0)
    assert np.isnan(only(found, "fails_at_peak_to_average"))
    assert only(found, "fails_reason") is None


def test_prices_whole_numbers_and_the_smallest_value() -> None:
    # 50 req/s take 8 replicas of 7: four nodes
    assert only(gridplan.invert(grid(), "max:usd_per_node_hour", where="usd_per_month <= 58400"), "answer") == "between"
    dear = gridplan.invert(grid(), "max:usd_per_node_hour", where="usd_per_month <= 58400")
    assert only(dear, "max_usd_per_node_hour") == pytest.approx(20.0, rel=2e-12)  # 4 x 20 x 730
    spares = gridplan.invert(grid(), "max:redundancy", where="nodes <= 6", high=100)
    assert (only(spares, "max_redundancy"), only(spares, "fails_at_redundancy")) == (4.0, 5.0)
    assert spares.max_redundancy.attrs["dtype"] == "int64"
    target = gridplan.invert(grid(), "min:rho_target", where="replicas <= 8")
    assert only(target, "min_rho_target") == 0.625  # 50 / (8 x 10)
    assert only(target, "fails_at_rho_target") == 0.624999999999


def test_the_next_step_of_replicas_and_nodes() -> None:
    replica = gridplan.invert(grid(), "next_replica")
    assert (only(replica, "arrival_rate_next_replica"), only(replica, "replicas_active_at_failure")) == (56.0, 9.0)
    node = gridplan.invert(grid(redundancy=1), "next_node")  # 9 replicas on 5 nodes, room for 10: nine may be active
    assert (only(node, "arrival_rate_next_node"), only(node, "nodes_at_failure")) == (63.0, 6.0)
    assert only(node, "method") == "exact"


def test_nodes_without_a_size_are_unknown() -> None:
    text = GRID.replace("REDUNDANCY", "0").replace("gpus_per_node: 4, ", "").replace("usd_per_node_hour: 10, ", "")
    text = text.replace("reserved_discount: 0.4, commitment_years: 1,", "")
    found = gridplan.invert(gridplan.loads_grid(text), "next_node")
    assert (only(found, "answer"), only(found, "fails_reason")) == ("unknown", "no_node_size")


def test_a_scenario_changes_what_the_contract_states() -> None:
    surge = grid("scenarios: {nominal: {}, surge: {arrival_rate: {multiply: 2}}, fixed: {arrival_rate: 10}}\n")
    found = gridplan.invert(surge, "max:arrival_rate", where="nodes <= 2")
    assert found.max_arrival_rate.sel(scenario=["nominal", "surge"]).values.tolist() == [28.0, 14.0]
    assert found.answer.values.tolist() == ["between", "between", "always"]
    worst = gridplan.invert(surge, "max:arrival_rate", where="nodes <= 2", by="")
    assert (only(worst, "max_arrival_rate"), only(worst, "worst_scenario")) == (14.0, "surge")


def test_a_null_measure_is_unknown_and_said() -> None:
    found = gridplan.invert(grid(), "max:rho_target", where="usd_per_user_month <= 3")
    assert (only(found, "answer"), only(found, "fails_reason")) == ("unknown", None)


def test_what_holds_again_is_not_monotone() -> None:
    found = gridplan.invert(grid(), "max:arrival_rate", where="nodes != 2", low=1, high=50)  # holds at one and at three
    assert only(found, "answer") == "not_monotone"
    assert np.isnan(only(found, "max_arrival_rate"))


def test_break_even_against_an_api_by_hand() -> None:
    # 4 nodes = 29,200 USD a month; a request costs 0.001 + 0.0006 USD
    found = gridplan.break_even(grid())
    assert only(found, "api_break_even_rate") == pytest.approx(29200 / (730 * 3600 * 0.0016))
    assert only(found, "break_even_arrival_rate") == pytest.approx(2 * 29200 / (730 * 3600 * 0.0016))
    assert only(found, "api_break_even_utilization_released") == pytest.approx(5 / (3600 * 10 * 0.0016))
    assert (only(found, "answer"), only(found, "answer_released")) == ("between", "between")
    cheap = GRID.replace("REDUNDANCY", "0").replace("0.5, api", "0.05, api").replace(": 2, kv", ": 0.1, kv")
    dear = gridplan.break_even(gridplan.loads_grid(cheap))
    assert (only(dear, "answer"), only(dear, "answer_released")) == ("never", "never")
    assert only(dear, "fails_reason") == "break_even_exceeds_fleet"


def test_each_step_of_a_stair_has_its_own_break_even() -> None:
    # A node costs what the API takes for 10 / (3600 x 0.0016) requests a second on average, 3.4722 at the peak.
    found = gridplan.break_even(grid(), "arrival_rate", low=1, high=20)
    per_node = 2 * 10 / (3600 * 0.0016)
    assert found.crossings.item() == 1.0  # two nodes are worth it where the second one is bought
    assert found.arrival_rate_above.values.tolist() == pytest.approx([per_node], rel=1e-11)
    assert found.cheaper_below.values.tolist() == ["api"]
    dearer = gridplan.loads_grid(GRID.replace("REDUNDANCY", "0").replace("node_hour: 10", "node_hour: 25"))
    twice = gridplan.break_even(dearer, "arrival_rate", low=1, high=20)
    assert twice.arrival_rate_below.values.tolist() == pytest.approx([2.5 * per_node, 14.0, 5 * per_node], rel=1e-11)
    assert twice.cheaper_above.values.tolist() == ["self_host", "api", "self_host"]


def test_a_reservation_pays_off_at_its_share_of_the_price() -> None:
    text = GRID.replace("REDUNDANCY", "0") + "axes: {purchase: [on_demand, reserved, spot]}\n"
    text = text.replace("usd_per_node_hour: 10", "usd_per_node_hour: 10, spot_usd_per_node_hour: 5")
    buy = gridplan.loads_grid(text)
    found = gridplan.break_even(buy, against="purchase=on_demand,reserved")
    assert (only(found, "break_even_hours_share"), only(found, "break_even_hours_per_month")) == (0.6, 438.0)
    never = gridplan.break_even(buy, against="purchase=spot,reserved")
    assert (only(never, "answer"), only(never, "fails_reason")) == ("never", "dearer_in_every_hour")
    price = gridplan.break_even(buy, "usd_per_node_hour", against="purchase=spot,on_demand", low=1, high=10)
    assert price.cheaper_below.values.tolist() == ["on_demand"]
    assert price.usd_per_node_hour_below.values.tolist() == [5.0]
    with pytest.raises(gridplan.ContractError, match="say which input is varied"):
        gridplan.break_even(buy, against="purchase=on_demand,spot")


def test_always_and_never_of_two_labels() -> None:
    text = GRID.replace("REDUNDANCY", "0") + "axes: {purchase: [on_demand, reserved]}\n"
    buy = gridplan.loads_grid(text)
    for against, answer in (("on_demand,reserved", "always"), ("reserved,on_demand", "never")):
        found = gridplan.break_even(buy, "arrival_rate", against=f"purchase={against}")
        assert (only(found, "answer"), only(found, "crossings")) == (answer, 0.0)
        assert np.isnan(found.arrival_rate_below).all()


def test_the_best_plan_is_that_of_the_cube() -> None:
    buy = gridplan.load_grid("grids/buy.yaml")
    names = ["usd_per_month", "survives_node_loss_slo", "fleet_sufficient"]
    cube = gridplan.evaluate(buy, names)
    held = cube.usd_per_month.where(cube.survives_node_loss_slo == 1.0)
    found = gridplan.best(buy, where="survives_node_loss_slo", by="model,arrival_rate")
    expected = held.min(["instance", "purchase", "failure_policy"])
    np.testing.assert_array_equal(found.least_usd_per_month.values, expected.values)
    assert found.candidates.values.sum() == held.notnull().sum()
    for at in ({"model": "qwen3-32b", "arrival_rate": 50.0}, {"model": "llama-3.3-70b", "arrival_rate": 1000.0}):
        row = found.sel(at)
        labels = {name: row[f"best_{name}"].item() for name in ("instance", "purchase", "failure_policy")}
        assert held.sel(at | labels).item() == row.least_usd_per_month.item()


@pytest.mark.parametrize(
    ("question", "said", "message"),
    [
        ("max:arival_rate", {}, "did you mean arrival_rate"),
        ("max:gpu", {}, "is a label"),
        ("largest:arrival_rate", {}, "is not asked so"),
        ("max:arrival_rate", {"where": ["nodez <= 2", "nodes"]}, "nodez is not a measure(.|\n)*nodes needs"),
        ("max:arrival_rate", {"where": "status <= ok"}, "is a label"),
        ("max:arrival_rate", {"where": "tpot_s <= 3 parsec"}, "unknown unit"),
        ("max:arrival_rate", {"low": 5.0, "high": 2.0}, "must rise"),
        ("max:rho_target", {"high": 2.0}, "must be > 0 and <= 1"),
        ("max:redundancy", {"low": 0.5, "high": 3}, "whole numbers"),
        ("max:ttft_slo_s", {}, "say where to look"),
        ("max:redundancy", {"factor": True}, "no factor"),
        ("max:arrival_rate", {"nodes": 0}, "at least 1"),
        ("max:arrival_rate", {"by": "gpuu"}, "is not an axis"),
        ("max:arrival_rate", {"at": {"gpu": "l4"}}, "gpu is not an axis"),
        ("next_node", {"low": 1.0, "factor": True}, "low: belongs to(.|\n)*factor: belongs to"),
    ],
)
def test_wrong_questions_are_refused_with_every_problem(question: str, said: dict[str, object], message: str) -> None:
    with pytest.raises(gridplan.ContractError, match=message):
        gridplan.invert(grid(), question, **said)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("vary", "said", "message"),
    [
        ("arrival_rate", {"against": "gpu"}, "names no two alternatives"),
        ("arrival_rate", {"against": "gpu=a,b"}, "gpu is not an axis"),
        (None, {"against": "gpu=a,b"}, "say which input is varied"),
        ("arrival_rate", {"measure": "nodes"}, "against an API"),
        ("arrival_rate", {"measure": "nodez"}, "did you mean nodes"),
        ("gpu", {}, "vary: gpu is a label"),
        ("arrival_rate", {"points": 1}, "at least 2"),
    ],
)
def test_wrong_comparisons_are_refused(vary: str | None, said: dict[str, object], message: str) -> None:
    with pytest.raises(gridplan.ContractError, match=message):
        gridplan.break_even(grid(), vary, **said)  # type: ignore[arg-type]


def test_folded_answers_are_the_worst_of_what_happens_and_the_best_of_what_is_chosen() -> None:
    text = GRID.replace("REDUNDANCY", "0").replace("rho_target: 0.7, ", "").replace(", arrival_rate: 50", "")
    text += "axes: {rho_target: [0.5, 0.7, 0.6], arrival_rate: [10, 50]}\n"
    both = gridplan.loads_grid(text + "scenarios: {nominal: {}, surge: {arrival_rate: {multiply: 2}}}\n")
    found = gridplan.invert(both, "max:arrival_rate", where="nodes <= 2", by="scenario")
    assert found.max_arrival_rate.values.tolist() == [28.0, 14.0]
    assert found.best_rho_target.values.tolist() == [0.7, 0.7]
    smallest = gridplan.invert(both, "min:usd_per_node_hour", where="usd_per_month >= 7300", by="", low=0.1, high=100)
    # the least load, 10 at 0.7: one node, 10 USD; of two scenarios the worse is the one that needs the higher price
    assert only(smallest, "worst_scenario") == "nominal"
    assert only(smallest, "worst_arrival_rate") == 10.0


def test_a_cell_without_an_answer_is_not_hidden_by_what_happens() -> None:
    text = GRID.replace("REDUNDANCY", "0").replace(", arrival_rate: 50", "") + "axes: {arrival_rate: [10, 50]}\n"
    found = gridplan.invert(gridplan.loads_grid(text), "max:rho_target", where="nodes != 2", by="", low=0.1)
    each = gridplan.invert(gridplan.loads_grid(text), "max:rho_target", where="nodes != 2", low=0.1)
    assert "not_monotone" in each.answer.values.tolist()
    assert only(found, "answer") == "not_monotone"
