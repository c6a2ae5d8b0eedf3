"""The cheapest plan of each point: against a loop over all cells, by hand, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from choice_cubes import LEVERS, WORLD, cells, random_cube, reason
from hypothesis import given
from hypothesis import strategies as st

import gridplan
from gridplan.errors import ContractError
from gridplan.sensitivity.axes import split_axes
from gridplan.sensitivity.constraints import conditions
from gridplan.sensitivity.ranking import least

GRIDS = Path(__file__).parents[2] / "grids"


@pytest.mark.parametrize("seed", range(200))
def test_the_cheapest_is_what_a_loop_over_all_cells_finds(seed: int) -> None:
    cube = random_cube(seed)
    levers = [str(name) for name in cube.coords if name in LEVERS]
    by = [str(name) for name in cube.coords if name in WORLD]
    found = gridplan.cheapest(cube, "usd_per_hour", where="nodes <= 2")
    assert set(map(str, found.sizes)) - {"reason"} == set(by)
    points: dict[tuple[Any, ...], list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for labels, values in cells(cube):
        points.setdefault(tuple(labels[name] for name in by), []).append((labels, values))
    for point, members in points.items():
        own = found.sel(dict(zip(by, point, strict=True)))
        why = [reason(values, ("usd_per_hour",), 2) for _, values in members]
        may = [member for member, left in zip(members, why, strict=True) if left is None]
        counts = {str(name): int(count) for name, count in own.left_out_by_reason.to_series().items() if count}
        assert counts == {name: why.count(name) for name in set(why) if name is not None}
        assert (int(own.cells), int(own.candidates)) == (len(members), len(may))
        assert int(own.left_out) == len(members) - len(may)
        if not may:
            assert np.isnan(own.usd_per_hour)
            assert all(own[name].item() is None or np.isnan(own[name].item()) for name in levers)
            continue
        best = min(values["usd_per_hour"] for _, values in may)
        tied = [labels for labels, values in may if values["usd_per_hour"] == best]
        above = sorted(values["usd_per_hour"] for _, values in may if values["usd_per_hour"] > best)
        assert float(own.usd_per_hour) == best
        assert {name: own[name].item() for name in levers} == {name: tied[0][name] for name in levers}
        assert int(own.ties_count) == len(tied) - 1
        assert (own.ties.item() is None) == (len(tied) == 1)
        if above:
            assert float(own.usd_per_hour_runner_up) == above[0]
            assert float(own.usd_per_hour_gap) == above[0] - best
        else:
            assert np.isnan(own.usd_per_hour_runner_up)
            assert own.runner_up.item() is None


def cube_of(**measures: Any) -> xr.Dataset:
    """Two GPUs by three loads."""
    labels = {"gpu": np.array(["a", "b"], dtype=object), "arrival_rate": [1.0, 2.0, 3.0]}
    ok = np.full((2, 3), "ok", dtype=object)
    data = {"status": ok, "usd_per_hour": np.array([[1.0, 5.0, 3.0], [2.0, 4.0, 3.0]]), **measures}
    return xr.Dataset({name: (("gpu", "arrival_rate"), values) for name, values in data.items()}, labels)


def test_a_choice_by_hand_with_a_tie() -> None:
    found = gridplan.cheapest(cube_of(), "usd_per_hour")
    assert found.gpu.values.tolist() == ["a", "b", "a"]
    assert found.usd_per_hour.values.tolist() == [1.0, 4.0, 3.0]
    assert found.usd_per_hour_gap.values.tolist()[:2] == [1.0, 1.0]
    assert found.ties.values.tolist() == [None, None, "gpu=b"]
    assert found.runner_up.values.tolist() == ["gpu=b", "gpu=a", None]
    assert found.usd_per_hour.attrs["unit"] == "USD/h"


def test_what_was_measured_is_not_ranked_beside_what_was_scaled() -> None:
    source = np.array([["measured", "scaled", "scaled"], ["scaled", "scaled", "analytical"]], dtype=object)
    anchor = np.array([[np.nan, 0.2, 1.5], [0.9, 0.9, np.nan]])
    cube = cube_of(capacity_source=source, anchor_ratio=anchor)
    cube["usd_per_hour"][1, 0] = 0.5
    found = gridplan.cheapest(cube, "usd_per_hour")
    assert found.gpu.values.tolist() == ["a", "b", "a"]
    said = ["scaled beside measured 1", "anchor_ratio outside 0.5 to 2 1", None]
    assert found.left_out_because.values.tolist() == said
    mixed = gridplan.cheapest(cube, "usd_per_hour", mixed=True)
    assert mixed.gpu.values.tolist() == ["b", "b", "a"]
    assert "mixed" in mixed.attrs["warnings"]


def test_a_cube_that_may_be_measured_and_does_not_say_how_far_it_was_scaled_is_refused() -> None:
    cube = cube_of().assign_coords(capacity_model=np.array("measured", dtype=object))
    with pytest.raises(ContractError, match="no anchor_ratio, capacity_source"):
        gridplan.cheapest(cube, "usd_per_hour")
    assert gridplan.cheapest(cube, "usd_per_hour", mixed=True).gpu.values.tolist() == ["a", "b", "a"]


def test_a_precision_that_nobody_accepted_is_warned_of() -> None:
    cube = cube_of().rename(gpu="kv_dtype")
    assert "kv_dtype chosen freely" in gridplan.cheapest(cube, "usd_per_hour").attrs["warnings"]
    found = gridplan.cheapest(cube, "usd_per_hour", accept={"kv_dtype": ["b"]})
    assert "warnings" not in found.attrs
    assert found.kv_dtype.values.tolist() == ["b", "b", "b"]
    assert found.left_out_because.values.tolist() == ["kv_dtype not accepted 1"] * 3


def test_promises_chosen_freely_are_warned_of() -> None:
    cube = cube_of().rename(gpu="model")
    assert "model chosen freely" in gridplan.cheapest(cube, "usd_per_hour").attrs["warnings"]
    assert "warnings" not in gridplan.cheapest(cube, "usd_per_hour", by="model,arrival_rate").attrs


def test_survival_counts_spot_nodes_as_a_run_does() -> None:
    survives = np.array([[1.0, 0.0, np.nan], [1.0, 1.0, 1.0]])
    spot = np.array([[0.0, 1.0, 1.0], [1.0, 1.0, np.nan]])
    cube = cube_of(survives_node_loss_slo=survives, slo_held_without_spot=spot)
    found = gridplan.cheapest(cube, "usd_per_hour", survives="node")
    assert found.gpu.values.tolist() == ["b", "b", "b"]
    said = ["slo_held_without_spot false 1", "survives_node_loss_slo false 1", "survives_node_loss_slo null 1"]
    assert found.left_out_because.values.tolist() == said


def test_a_price_that_is_missing_is_said_by_its_flag() -> None:
    flag = np.array([["no_spot_price", None, None], [None, None, None]], dtype=object)
    cube = cube_of(price_flag=flag)
    cube["usd_per_hour"][0, 0:2] = np.nan
    found = gridplan.cheapest(cube, "usd_per_hour")
    assert found.left_out_because.values.tolist() == ["no_spot_price 1", "usd_per_hour null 1", None]


def test_everything_wrong_with_a_question_is_said() -> None:
    cube = cube_of()
    for kwargs, said in (
        ({"measure": "usd_per_hours"}, "did you mean usd_per_hour"),
        ({"by": "gpus"}, "gpus is not an axis of this cube"),
        ({"by": "gpu"}, "arrival_rate is not chosen, it happens"),
        ({"by": "arrival_rate", "levers": "arrival_rate,gpu"}, "is in levers too"),
        ({"where": "usd_per_hour"}, "is no condition"),
        ({"where": ["usd_per_hour < x", "a b"]}, "(?s)not a number.*no condition"),
        ({"where": ["gpu = c", "usd_per_hour = d"]}, "(?s)no gpu of this cube is c.*is a number, not 'd'"),
        ({"where": "gpu < 3"}, "gpu is a label"),
        ({"survives": "nod"}, "did you mean node"),
        ({"at": {"gpu": "c"}}, "c is not on the axis"),
        ({"at": {"nodes": "c"}}, "nodes is not an axis"),
        ({"measure": "status"}, "status is a label and has no order"),
        ({"where": "provider = aws"}, "nobody knows its provider"),
    ):
        with pytest.raises(ContractError, match=said):
            gridplan.cheapest(cube, **{"measure": "usd_per_hour", **kwargs})
    with pytest.raises(ContractError, match="no status"):
        gridplan.cheapest(cube.drop_vars("status"), "usd_per_hour")


def test_a_cube_that_was_changed_by_hand_may_hold_other_types() -> None:
    cube = cube_of(fleet_sufficient=np.array([[True, True, False], [True, False, True]]))
    cube = cube.assign_coords(gpu=["a", "b"], arrival_rate=[1, 2, 3])
    cube["usd_per_hour"] = cube.usd_per_hour.astype(np.int64)
    found = gridplan.cheapest(cube, "usd_per_hour", at={"arrival_rate": 2})
    assert (found.gpu.item(), found.usd_per_hour.item()) == ("a", 5.0)
    assert gridplan.cheapest(cube, "usd_per_hour", where="gpu = b").candidates.values.tolist() == [1, 0, 1]
    # No GPU serves all three loads.
    assert gridplan.regret(cube, "usd_per_hour").fails.values.tolist() == [1, 1]


def test_conditions_on_labels_numbers_and_providers() -> None:
    cube = cube_of(nodes=np.array([[1.0, 2.0, 3.0], [1.0, 1.0, np.nan]]))
    names = np.array(["aws-p5-48xlarge", "lambda-gpu-8x-h100-sxm"], dtype=object)
    cube = cube.assign_coords(instance=("gpu", names))

    def left(where: str) -> list[int]:
        return [int(n) for n in gridplan.cheapest(cube, "usd_per_hour", where=where).left_out]

    assert left("nodes <= 2") == [0, 0, 2]
    assert left("nodes != 1") == [2, 1, 1]
    assert left("gpu in a, b") == [0, 0, 0]
    assert left("gpu not in a") == left("gpu = b") == left("gpu != a") == [1, 1, 1]
    assert left("arrival_rate = 2") == [2, 0, 2]
    assert left("provider = aws") == [1, 1, 1]
    assert left("usd_per_hour < 4,000") == [0, 0, 0]


def test_a_grid_is_planned_with_what_is_needed_and_gives_what_its_cube_gives() -> None:
    grid = gridplan.load_grid("grids/quickstart.yaml")
    at = {"context_tokens": 8192, "rho_target": 0.7, "arrival_rate": 10, "kv_dtype": "fp8"}
    mine = gridplan.cheapest(grid, by="model", at=at, also="gpus_deployed")
    whole = gridplan.evaluate(grid).gridplan.cheapest(by="model", at=at, also="gpus_deployed")
    names = ["gpu", "usd_per_mtok_output", "usd_per_mtok_output_runner_up", "candidates", "ties", "gpus_deployed"]
    assert mine[names].equals(whole[names])
    # The table of the README, which DuckDB made.
    row = mine.sel(model="llama-3.3-70b").squeeze()
    assert (row.gpu.item(), float(row.usd_per_mtok_output), int(row.gpus_deployed)) == ("b200", 14.518229166666668, 32)


def test_split_axes_leaves_axes_with_one_label_alone() -> None:
    assert split_axes({"gpu": 2, "scenario": 1}, "gpu", ()) == (("gpu", "scenario"), ())
    assert split_axes({"gpu": 2, "arrival_rate": 3}, (), "arrival_rate,gpu") == ((), ("gpu", "arrival_rate"))


@given(
    st.lists(st.lists(st.sampled_from([-1.0, 0.0, 1.0, 1.0 + 1e-12, 2.0, np.inf]), min_size=3, max_size=3), max_size=5)
)
def test_least_is_the_first_within_the_tolerance(rows: list[list[float]]) -> None:
    values = np.array(rows).reshape(-1, 3)
    place, value, ties = least(values)
    for at, row in enumerate(rows):
        low = min(row)
        close = [i for i, item in enumerate(row) if item < np.inf and item <= low + 1e-9 * abs(low)]
        assert close == sorted({*np.flatnonzero(ties[at]).tolist(), *([int(place[at])] if close else [])})
        assert not close or (place[at] == close[0] and value[at] == row[close[0]])


@given(st.text(max_size=20))
def test_any_text_is_a_condition_or_refused(text: str) -> None:
    try:
        found = conditions(text)
    except ContractError:
        return
    assert found[0].name.isidentifier() or found[0].name[0].isdigit() or found[0].name


def test_conditions_take_units_and_truths_like_those_of_inverse_questions() -> None:
    cube = random_cube(3)
    plain = gridplan.cheapest(cube, "usd_per_hour", where="tpot_s <= 0.02")
    united = gridplan.cheapest(cube, "usd_per_hour", where="tpot_s <= 20 ms")
    assert np.array_equal(plain.candidates, united.candidates)
    assert int(plain.left_out.max()) > 0
    assert "not tpot_s <= 20 ms" in str(united.left_out_because.values)
    alone = gridplan.cheapest(cube, "usd_per_hour", where="fleet_sufficient")
    stated = gridplan.cheapest(cube, "usd_per_hour", where="fleet_sufficient = true")
    assert np.array_equal(alone.candidates, stated.candidates)
    with pytest.raises(ContractError, match="'20 tokens' is not a number"):
        gridplan.cheapest(cube, "usd_per_hour", where="tpot_s <= 20 tokens")


def test_budgets_of_the_contract_hold_in_a_choice() -> None:
    # By hand: ceil(60/7) replicas of one GPU are 9 and a spare, two nodes of 8 at 730 h x 40 USD = 58,400 USD a month.
    text = """schema: 1
workload: {arrival_rate: 60}
deployment: {gpus_per_node: 8}
capacity: {capacity_model: measured, lambda_instance_given: 10, applies_to: any}
policy: {rho_target: 0.7, redundancy: 1, hours_per_month: 730, budget_usd_per_month: BUDGET}
axes: {usd_per_node_hour: [40, 60]}
"""
    for budget, held, why in (("58400", 1, "budget_exceeded 1"), ("58399", 0, "budget_exceeded 2")):
        grid = gridplan.loads_grid(text.replace("BUDGET", budget))
        found = gridplan.cheapest(grid, "usd_per_month", levers="usd_per_node_hour")
        assert int(found.candidates) == held
        assert found.left_out_because.item() == why
        of_cube = gridplan.cheapest(gridplan.evaluate(grid), "usd_per_month", levers="usd_per_node_hour")
        assert (int(of_cube.candidates), of_cube.left_out_because.item()) == (held, why)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    for source in (random_cube(1), gridplan.load_grid(GRIDS / "lesson.yaml")):
        with pytest.raises(ContractError) as told:
            gridplan.cheapest(
                source,
                "usd_per_houri",
                by="arrival_rat",
                where="nodes <",
                survives="nod",
                also="nodez",
                at={"gpuu": "x"},
            )
        said = str(told.value)
        for wrong in ("usd_per_houri", "arrival_rat ", "nodes <", "nod is none of", "nodez", "gpuu"):
            assert wrong in said, wrong
