"""Cells that are planned as they are asked for are those of the cube that is planned at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import yaml
from hostile_labels import hostile_contract
from hypothesis import given, settings
from hypothesis import strategies as st
from whole_cube import decoded, draw_names, draw_place, hold_alike

import gridplan
from gridplan.errors import ContractError, StoreError
from gridplan.explore.planned import PlannedCells, planned_cells

GRIDS = Path(__file__).parents[2] / "grids"
NAMES = ("buy", "capacity", "latency", "lesson", "lesson-exercises", "lesson-opening", "memory", "theory", "chains-70b")
Cube = Callable[[str], xr.Dataset]


@cache
def grid_of(name: str) -> gridplan.Grid:
    """A grid of the folder; that of the quickstart cut to some thousand cells, the hostile one made here."""
    if name == "hostile":
        return gridplan.loads_grid(hostile_contract())
    if name != "quickstart":
        return gridplan.load_grid(GRIDS / f"{name}.yaml")
    data: dict[str, Any] = yaml.safe_load((GRIDS / "quickstart.yaml").read_text(encoding="utf-8"))
    data["axes"] |= {"context_tokens": [2048, 65536], "rho_target": [0.5, 0.9], "arrival_rate": [100, 0.1, 7]}
    return gridplan.loads_grid(yaml.safe_dump(data, sort_keys=False))


@cache
def cells_and_cube(name: str) -> tuple[PlannedCells, xr.Dataset]:
    return planned_cells(grid_of(name)), gridplan.evaluate(grid_of(name))


@pytest.mark.parametrize("name", ["quickstart", "hostile", *NAMES])
@settings(max_examples=12)
@given(data=st.data())
def test_any_box_is_that_of_the_cube(name: str, data: st.DataObject) -> None:
    cells, cube = cells_and_cube(name)
    place, names = draw_place(data, cells), draw_names(data, cells)
    box = cells.box(place, names)
    assert [column.name for column in box.columns] == names
    hold_alike(box, cube, place)


@pytest.mark.parametrize("name", ["quickstart", "hostile", *NAMES])
def test_all_columns_of_all_cells(name: str) -> None:
    cells, cube = cells_and_cube(name)
    place = tuple(range(len(axis.labels)) for axis in cells.axes)
    names = [column.name for column in cells.columns]
    assert set(names) == {str(item) for item in cube.variables} - {axis.name for axis in cells.axes}
    hold_alike(cells.box(place, names), cube, place)


@pytest.mark.parametrize("name", ["quickstart", "lesson", "hostile"])
def test_a_box_as_a_dataset_is_the_part_of_the_cube(name: str) -> None:
    cells, cube = cells_and_cube(name)
    place = tuple(range(len(axis.labels) // 2, len(axis.labels)) for axis in cells.axes)
    box = cells.box(place, [column.name for column in cells.columns])
    index = {axis.name: slice(own.start, own.stop) for axis, own in zip(cells.axes, place, strict=True)}
    xr.testing.assert_equal(box.dataset(), cube.isel(index))


def test_a_part_whose_labels_come_in_another_order() -> None:
    """Precisions by model: the first model of the part is not the first of the cube, and its label neither."""
    data: dict[str, Any] = yaml.safe_load((GRIDS / "quickstart.yaml").read_text(encoding="utf-8"))
    models = ["llama-3.1-8b", "qwen3-14b", "mistral-small-24b", "qwen3-32b"]
    data["axes"] = {"model": models, "gpu": ["h100-sxm"], "arrival_rate": [1.0]}
    data["workload"] |= {"prompt_tokens": 1000}
    data["deployment"] |= {"tensor_parallel": 1}
    data["deployment"]["kv_dtype"] = {"by": "model", **dict(zip(models, ("fp8", "bf16", "int8", "bf16"), strict=True))}
    data["policy"] |= {"rho_target": 0.7}
    grid = gridplan.loads_grid(yaml.safe_dump(data, sort_keys=False))
    cells, cube = planned_cells(grid), gridplan.evaluate(grid)
    whole = next(column for column in cells.columns if column.name == "kv_dtype").categories
    orders = set()
    for first in range(4):
        for last in range(first + 1, 5):
            place = (range(first, last), range(1), range(1))
            box = cells.box(place, ["kv_dtype", "replicas"])
            assert box.columns[0].categories == whole
            assert decoded(box, "kv_dtype").ravel().tolist() == cube["kv_dtype"].values[first:last].tolist()
            orders.add(tuple(dict.fromkeys(cube["kv_dtype"].values[first:last].tolist())))
            hold_alike(box, cube, place)
    assert any(order != tuple(label for label in whole if label in order) for order in orders)


def test_what_a_scenario_states_is_null_in_a_part_without_it() -> None:
    """The rate of decoding of the last scenario: the others have none, as in the cube."""
    cells, cube = cells_and_cube("lesson-opening")
    for place in ((range(1), range(2)), (range(1, 2), range(1)), (range(3), range(2))):
        box = cells.box(place, ["decode_tokens_per_s", "replicas"])
        hold_alike(box, cube, place)
        assert np.isnan(decoded(box, "decode_tokens_per_s")[0]).all()


def test_measures_that_are_asked_for_and_those_that_are_needed_besides() -> None:
    grid = grid_of("lesson")
    cells = planned_cells(grid, ["tpot_s"], ["status", "tpot_s"])
    assert [column.name for column in cells.columns if column.role == "measure"] == ["status", "tpot_s"]
    hold_alike(
        cells.box((range(10), range(2)), ["tpot_s", "status"]), cells_and_cube("lesson")[1], (range(10), range(2))
    )
    with pytest.raises(ContractError, match="did you mean tpot_s"):
        planned_cells(grid, ["tpot"])


def test_numbers_that_no_cube_can_hold_are_refused(grids: Path) -> None:
    """As `gridplan.evaluate` refuses them: a count above 2**53."""
    data: dict[str, Any] = yaml.safe_load((grids / "theory.yaml").read_text(encoding="utf-8"))
    data["workload"]["arrival_rate"] = 1e300
    grid = gridplan.loads_grid(yaml.safe_dump(data))
    with pytest.raises(StoreError) as whole:
        gridplan.evaluate(grid)
    cells = planned_cells(grid)
    with pytest.raises(StoreError) as part:
        cells.box((range(3), range(2)), [column.name for column in cells.columns])
    assert str(part.value) == str(whole.value)


def test_the_cube_has_no_other_cells(cube: Cube) -> None:
    """The quickstart itself, 72,000 cells: some boxes at its far end."""
    cells = planned_cells(gridplan.load_grid(GRIDS / "quickstart.yaml"))
    random = np.random.default_rng(7)
    for _ in range(10):
        place = []
        for axis in cells.axes:
            first = int(random.integers(len(axis.labels)))
            place.append(range(first, int(random.integers(first, len(axis.labels))) + 1))
        hold_alike(
            cells.box(tuple(place), ["status", "usd_per_hour", "kv_dtype", "gpu"][:2]), cube("quickstart"), tuple(place)
        )
