"""The load over the hours in a contract, and what a portfolio needs: every fault at its place, nothing in silence."""

from __future__ import annotations

import pytest

import gridplan
from gridplan.errors import ContractError

CONTRACT = """schema: 1
workload: {{arrival_rate: 60, prompt_tokens: 1000, output_tokens: 300, {0}}}
deployment: {{gpus_per_node: 8, usd_per_node_hour: 10, {2}}}
capacity: {{capacity_model: measured, lambda_instance_given: 1.0, applies_to: any}}
policy: {{rho_target: 0.5, {1}}}
{3}"""


def problems_of(
    load: str = "", policy: str = "", deployment: str = "", rest: str = ""
) -> list[tuple[int | None, str | None, str]]:
    with pytest.raises(ContractError) as caught:
        gridplan.evaluate(gridplan.loads_grid(CONTRACT.format(load, policy, deployment, rest), "f.yaml"))
    return [(problem.line, problem.key, problem.message) for problem in caught.value.problems]


def warnings_of(load: str = "", policy: str = "", deployment: str = "") -> list[str]:
    cube = gridplan.evaluate(gridplan.loads_grid(CONTRACT.format(load, policy, deployment, "")))
    return list(filter(None, cube.attrs.get("warnings", "").split("\n")))


def test_hours_are_shares_of_the_highest_and_set_the_ratio() -> None:
    grid = gridplan.loads_grid(CONTRACT.format("hourly_load: [10, 40, 20, 10]", "", "", ""))
    assert grid.workloads[0].hourly_load == (0.25, 1.0, 0.5, 0.25)
    cube = gridplan.evaluate(grid)
    assert cube["arrival_rate_average"].item() == 30.0
    assert "warnings" not in cube.attrs


@pytest.mark.parametrize("ratio", ["2", "2.0000001"])
def test_a_ratio_beside_the_hours_may_be_theirs(ratio: str) -> None:
    assert warnings_of(f"hourly_load: [10, 40, 20, 10], peak_to_average: {ratio}") == []


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        ("[]", "hourly_load is the load of each hour of a cycle: at least 2 numbers"),
        ("[3]", "hourly_load is the load of each hour of a cycle: at least 2 numbers"),
        ("[0, 0, 0]", "hourly_load is 0 in every hour: nothing arrives"),
        ("[1, -2]", "hourly_load must be >= 0; -2 is not"),
        ("[1, .inf]", ".inf is not a finite number"),
    ],
)
def test_hours_that_are_none(hours: str, said: str) -> None:
    line, key, message = problems_of(f"hourly_load: {hours}")[0]
    assert (line, message) == (2, said)
    assert str(key).startswith("workload.hourly_load")


def test_all_faults_of_the_hours_are_named_at_once() -> None:
    found = problems_of("hourly_load: [1, -2, many, 4 s]")
    assert [line for line, *_ in found] == [2, 2, 2]


@pytest.mark.parametrize(
    ("load", "rest", "line", "said"),
    [
        ("hourly_load: [10, 40, 20, 10], peak_to_average: 3", "", 2, "peak_to_average 3 contradicts hourly_load"),
        ("hourly_load: [1, 2]", "scenarios: {peaky: {peak_to_average: 3}}", None, "peak_to_average 3 contradicts"),
        ("hourly_load: [1, 2], load_floor: 0.1", "", 2, "hourly_load states the quietest hour, too"),
        ("hourly_load: [1, 2]", "axes: {load_floor: [0, 0.1]}", 2, "hourly_load states the quietest hour, too"),
        ("hourly_load: [1, 2]", "scenarios: {more: {load_floor: {add: 0.1}}}", 2, "hourly_load states the quietest"),
        ("peak_to_average: 2, load_floor: 0.5", "", 2, "load_floor 0.5 is not below the mean load, which is 1/2 = 0.5"),
        ("load_floor: 0.3", "axes: {peak_to_average: [1, 2, 4]}", 2, "load_floor 0.3 is not below the mean load"),
    ],
)
def test_hours_that_contradict(load: str, rest: str, line: int | None, said: str) -> None:
    found = problems_of(load, rest=rest)
    assert len(found) == 1
    assert found[0][0] == line
    assert found[0][2].startswith(said)


def test_a_constant_load_has_any_floor() -> None:
    assert warnings_of("peak_to_average: 1, load_floor: 0.9") == []


@pytest.mark.parametrize(
    ("load", "policy", "deployment", "said"),
    [
        ("", "purchase: portfolio", "", "purchase portfolio needs the load over the hours"),
        (
            "peak_to_average: 2",
            "purchase: portfolio, nodes_given: 5",
            "",
            "purchase portfolio chooses the nodes to buy",
        ),
    ],
)
def test_what_keeps_a_portfolio_from_being_bought(load: str, policy: str, deployment: str, said: str) -> None:
    found = problems_of(load, policy, deployment)
    assert len(found) == 1
    assert found[0][2].startswith(said)


@pytest.mark.parametrize(
    ("price", "said"),
    [
        ("usd_per_gpu_hour: 2, gpus_per_node: 8", "purchase portfolio buys whole nodes: give usd_per_node_hour"),
        ("gpus_per_node: 8", "purchase portfolio needs the price of a node: an instance, or usd_per_node_hour"),
        ("reserved_usd_per_node_hour: 8", "purchase portfolio needs the size of a node: an instance, or gpus_per_node"),
    ],
)
def test_a_portfolio_buys_whole_nodes_at_a_price(price: str, said: str) -> None:
    text = CONTRACT.replace("gpus_per_node: 8, usd_per_node_hour: 10, {2}", price)
    with pytest.raises(ContractError) as caught:
        gridplan.evaluate(gridplan.loads_grid(text.format("peak_to_average: 2", "purchase: portfolio", "", "")))
    assert [problem.message[: len(said)] for problem in caught.value.problems] == [said]


@pytest.mark.parametrize(
    ("policy", "deployment", "said"),
    [
        ("", "", "purchase portfolio commits nothing where no price of a commitment is known"),
        ("spot_share: 0.2", "reserved_discount: 0.4", "spot_share is not used where no spot price is known"),
        (
            "spot_share: 0.2",
            "reserved_discount: 0.4, spot_usd_per_node_hour: 10",
            "spot_share is not used where a spot price is no lower than the on-demand price",
        ),
    ],
)
def test_offers_that_a_portfolio_does_not_have(policy: str, deployment: str, said: str) -> None:
    offers = ", ".join(filter(None, (deployment, "commitment_years: 1")))
    found = warnings_of("peak_to_average: 2", f"purchase: portfolio, {policy}", offers)
    assert len(found) == 1
    assert found[0].startswith(said)


def test_a_floor_without_a_ratio_is_not_used() -> None:
    assert warnings_of("load_floor: 0.2") == ["load_floor is not used: peak_to_average is not given"]
