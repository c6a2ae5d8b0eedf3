"""What if: every input that is offered can be stated, at what it is already without a change, and as by hand."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import yaml
from whole_cube import cells_of

import gridplan
from gridplan.contract.grid import By
from gridplan.dictionary import dictionary
from gridplan.engine.inputs import build_inputs
from gridplan.errors import ContractError
from gridplan.explore.whatif import SOURCE, about_inputs, changed_contract, offered
from gridplan.report.explain import explain

GRIDS = Path(__file__).parents[2] / "grids"
NAMES = ("theory", "lesson", "lesson-opening", "chains-70b", "chains-price", "latency", "capacity", "memory")


@cache
def grid_of(name: str) -> gridplan.Grid:
    return gridplan.load_grid(GRIDS / f"{name}.yaml")


@cache
def cube_of(name: str) -> xr.Dataset:
    return gridplan.evaluate(grid_of(name))


def alike(found: xr.Dataset, due: xr.Dataset) -> None:
    """The same cells, whoever is named as the source of a price."""
    assert list(map(str, found.data_vars)) == list(map(str, due.data_vars))
    axes = list(map(str, due.sizes))
    place = tuple(range(size) for size in due.sizes.values())
    for name in map(str, due.data_vars):
        if name not in ("priced_by", "price_as_of", "price_kind"):
            left, right = (cells_of(item, name, place, axes) for item in (found, due))
            assert left.dtype == right.dtype
            # Of objects none is NaN, and None is None.
            equal = left == right if left.dtype == object else (left == right) | (np.isnan(left) & np.isnan(right))
            assert equal.all(), name


def present(grid: gridplan.Grid, name: str) -> list[str]:
    """What an input is in all cells, as text; empty where that is no one value, or a label or a scenario states it."""
    inputs = build_inputs(grid)
    item = inputs.labels.get(name) or inputs.stated.get(name) or inputs.values.get(name)
    given = grid.given.get(name)
    if item is None or (given is not None and isinstance(given.value, By)):
        return []
    if any(name in scenario.changes for scenario in grid.scenarios):
        return []
    values = {value for value in item.data.ravel().tolist() if value is not None and value == value}
    return [value if isinstance(value, str) else repr(value) for value in values] if len(values) == 1 else []


@pytest.mark.parametrize("name", ["chains-70b"])
def test_every_input_that_is_offered_can_be_stated_at_what_it_is(name: str) -> None:
    """Where that value is the catalog's or a default, stating it is another source and nothing else."""
    grid, due, tried = grid_of(name), cube_of(name), 0
    for item in offered(grid):
        for value in present(grid, item):
            if item == "usd_per_node_hour" and "gpus_per_node" not in grid.given and "instance" not in grid.given:
                with pytest.raises(ContractError, match="usd_per_node_hour needs the size of a node"):
                    gridplan.evaluate(changed_contract(grid, {item: value}))
                continue
            tried += 1
            alike(gridplan.evaluate(changed_contract(grid, {item: value})), due)
    assert tried > 20


@pytest.mark.parametrize("name", NAMES)
def test_all_at_once(name: str) -> None:
    grid = grid_of(name)
    found = {item: value for item in offered(grid) for value in present(grid, item) if not item.startswith("usd_per_")}
    alike(gridplan.evaluate(changed_contract(grid, found)), cube_of(name))


def edited(name: str, *places: tuple[str, Any]) -> gridplan.Grid:
    """The contract of a file with values stated by hand, each at a dotted place."""
    data: dict[str, Any] = yaml.safe_load((GRIDS / f"{name}.yaml").read_text(encoding="utf-8"))
    for place, value in places:
        *above, last = place.split(".")
        holder = data
        for key in above:
            holder = holder.setdefault(key, {})
        holder[last] = value
    return gridplan.loads_grid(yaml.safe_dump(data, sort_keys=False), str(GRIDS / f"{name}.yaml"))


@pytest.mark.parametrize(
    ("name", "item", "value", "place", "stated"),
    [
        ("lesson", "rho_target", "0.55", "policy.rho_target", 0.55),
        ("lesson", "redundancy", "3", "policy.redundancy", 3),
        ("lesson", "tpot_slo_s", "20 ms", "slo.tpot.limit", "20 ms"),
        ("lesson", "tpot_slo_s", "0.02", "slo.tpot.limit", 0.02),
        ("lesson", "tpot_slo_percentile", "mean", "slo.tpot.percentile", "mean"),
        ("latency", "ttft_slo_percentile", "99", "slo.ttft.percentile", 99),
        ("lesson", "e2e_slo_s", "3 s", "slo.e2e.limit", "3 s"),
        ("lesson", "hours_per_month", "8e2", "policy.hours_per_month", 800),
        ("lesson", "failure_domain", "node", "policy.failure_domain", "node"),
        ("lesson", "nodes_given", "4", "policy.nodes_given", 4),
        ("lesson", "budget_usd_per_month", "100000", "policy.budget_usd_per_month", 100_000),
        ("lesson", "usd_per_node_hour", "11.5", "deployment.usd_per_node_hour", 11.5),
        ("lesson", "max_num_seqs", "16", "deployment.max_num_seqs", 16),
        ("chains-70b", "reserve_bytes", "3 GiB", "deployment.reserve_bytes", "3 GiB"),
        ("chains-70b", "goodput_target", "0.9", "slo.goodput", 0.9),
        ("chains-70b", "tensor_parallel", "8", "deployment.tensor_parallel", 8),
        ("chains-70b", "usd_per_gpu_hour", "2.2", "deployment.usd_per_gpu_hour", 2.2),
        ("quickstart", "tensor_parallel", "8", "deployment.tensor_parallel", 8),
        ("buy", "spot_usd_per_node_hour", "20", "deployment.spot_usd_per_node_hour", 20),
        ("buy", "margin_forecast", "0.8", "policy.margin_forecast", 0.8),
    ],
)
def test_a_change_is_what_one_writes_by_hand(name: str, item: str, value: str, place: str, stated: Any) -> None:
    """Stated by label before, or not at all: one value for every label after."""
    grid = grid_of(name)
    assert item in offered(grid)
    outputs = None if name not in ("quickstart", "buy") else ["status", "gpus_deployed", "usd_per_hour", "tpot_s"]
    try:
        due = gridplan.evaluate(edited(name, (place, stated)), outputs=outputs)
    except ContractError as by_hand:
        with pytest.raises(ContractError) as refused:
            gridplan.evaluate(changed_contract(grid, {item: value}), outputs=outputs)
        said = {problem.message for problem in by_hand.problems}
        assert {problem.message for problem in refused.value.problems} == said
        return
    found = gridplan.evaluate(changed_contract(grid, {item: value}), outputs=outputs)
    xr.testing.assert_equal(found, due)
    after = present(changed_contract(grid, {item: value}), item)
    assert after
    assert after != present(grid, item)


def test_changes_that_are_only_right_together() -> None:
    grid = grid_of("chains-70b")
    found = changed_contract(grid, {"tensor_parallel": "8", "redundancy": "2", "rho_target": "0.5"})
    hand = edited("chains-70b", ("deployment.tensor_parallel", 8), ("policy.redundancy", 2), ("policy.rho_target", 0.5))
    xr.testing.assert_equal(gridplan.evaluate(found), gridplan.evaluate(hand))


def test_a_scenario_changes_what_was_changed() -> None:
    """`ttft_400ms` states a limit of its own: a new limit is that of the others."""
    found = gridplan.evaluate(changed_contract(grid_of("lesson"), {"ttft_slo_s": "0.7"}))
    limits = dict(zip(found["scenario"].values.tolist(), found["ttft_slo_s"].values.tolist(), strict=True))
    assert limits["nominal"] == 0.7
    assert limits["ttft_400ms"] == 0.4


@pytest.mark.parametrize(
    "value",
    ["-1", "1.5", "0", "nan", "inf", "-inf", "1e400", "60 parsec", "0.5 s", "x", "{}", "[]", "null", "true", "~"],
)
def test_a_value_that_no_contract_may_state_is_refused_under_its_name(value: str) -> None:
    with pytest.raises(ContractError) as found:
        gridplan.evaluate(changed_contract(grid_of("lesson"), {"rho_target": value}))
    problem = found.value.problems[0]
    assert "rho_target" in f"{problem.key} {problem.message}"
    assert problem.line is None


@pytest.mark.parametrize("name", ["chains-70b"])
def test_nonsense_is_refused_for_every_input(name: str) -> None:
    grid = grid_of(name)
    for item in offered(grid):
        for value in ("nan", "1e400", "parsec", "{by: gpu}", ""):
            with pytest.raises(ContractError) as found:
                build_inputs(changed_contract(grid, {item: value}))
            said = " ".join(f"{problem.key} {problem.message}" for problem in found.value.problems)
            stem = item.removesuffix("_slo_s").removesuffix("_slo_percentile").removesuffix("_target")
            assert stem in said, f"{item}={value}: {said}"


def test_where_a_value_comes_from_is_said() -> None:
    grid = changed_contract(grid_of("chains-70b"), {"rho_target": "0.5", "tpot_slo_s": "40 ms"})
    lines = {line["name"]: line for line in explain(grid).to_dict()["inputs"]}
    for item in ("rho_target", "tpot_slo_s"):
        assert SOURCE in str(lines[item]["source"])
    assert sum(SOURCE in str(line["source"]) for line in lines.values()) == 2


def test_what_is_offered_is_no_axis_and_can_be_described() -> None:
    for name in (*NAMES, "buy", "quickstart"):
        grid = grid_of(name)
        names = offered(grid)
        assert not set(names) & set(map(str, build_inputs(grid).space.names))
        assert sorted(item["name"] for item in about_inputs(grid)) == sorted(names)
        for item in about_inputs(grid):
            assert item["title"]
            assert item["stated"] == (item["name"] in grid.given)
            row = dictionary()[item["name"]]
            assert row.cls == "policy" or row.unit.startswith("USD") or row.name == "gpus_per_node"
            assert item["group"] in ("slo", "policy", "deployment", "capacity")
            assert "labels" in item or "bounds" in item
    assert "rho_target" not in offered(grid_of("buy"))
    assert not any(item.startswith("margin_") for item in offered(grid_of("lesson")))


def test_every_label_that_is_offered_is_one() -> None:
    grid = grid_of("chains-70b")
    for item in about_inputs(grid):
        for label in item.get("labels", ()):
            assert dictionary()[item["name"]].labels
            changed_contract(grid, {item["name"]: label})
