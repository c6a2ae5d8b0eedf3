"""Cells that may not be chosen are those that `cheapest` and `pareto` leave out, for the same reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from whole_cube import decoded

import gridplan
from gridplan.explore.box import Box
from gridplan.explore.explorer import Explorer, explorer_of
from gridplan.sensitivity.options import BESIDE

GRIDS = Path(__file__).parents[2] / "grids"


def short_fleet() -> gridplan.Grid:
    """The lesson on four nodes at most: some loads they hold, some they do not."""
    grid: dict[str, Any] = yaml.safe_load((GRIDS / "lesson.yaml").read_text(encoding="utf-8"))
    del grid["workload"]["arrival_rate"]
    grid["policy"] |= {"nodes_given": 4}
    grid["axes"] = {"instance": ["aws-p4de", "fractional"], "arrival_rate": [10, 60, 200, 900]}
    del grid["scenarios"]
    return gridplan.loads_grid(yaml.safe_dump(grid))


GRID_OF: dict[str, Callable[[], gridplan.Grid]] = {
    "short fleet": short_fleet,
    **{
        name: lambda name=name: gridplan.load_grid(GRIDS / f"{name}.yaml")  # type: ignore[misc]
        for name in ("buy", "capacity", "latency", "lesson", "memory", "theory", "quickstart")
    },
}


def all_cells(explorer: Explorer, names: list[str]) -> Box:
    return explorer.box(tuple(range(len(axis.labels)) for axis in explorer.cells.axes), names, {})


@pytest.mark.parametrize("name", list(GRID_OF))
def test_counts_are_those_of_cheapest(name: str) -> None:
    """Where a measure has no value nothing is compared, which is of the comparison; so is a measured neighbour."""
    grid = GRID_OF[name]()
    measure = "concurrency" if name == "memory" else "gpus_deployed"
    explorer = explorer_of(grid)
    box = all_cells(explorer, ["left_out", measure])
    axes = [axis.name for axis in box.axes]
    found = gridplan.cheapest(grid, measure, by=axes[:1], levers=axes[1:])
    counts = found["left_out_by_reason"].sum(axes[:1])
    due = {str(reason): int(counts.sel(reason=reason)) for reason in found["reason"].values}
    due = {
        reason: count
        for reason, count in due.items()
        if count and not reason.endswith((BESIDE, "is not known", " null"))
    }
    said, values = decoded(box, "left_out"), decoded(box, measure)
    assert dict(Counter(reason for reason in said.ravel().tolist() if reason is not None)) == due
    may = int((found["candidates"]).sum())
    beside = sum(int(counts.sel(reason=reason)) for reason in found["reason"].values if str(reason).endswith(BESIDE))
    assert int(((said == None) & ~np.isnan(values)).sum()) == may + beside  # noqa: E711 # elementwise


@pytest.mark.parametrize("name", ["short fleet", "buy", "latency", "quickstart"])
def test_the_winner_is_the_least_of_what_may_be_chosen(name: str) -> None:
    grid = GRID_OF[name]()
    measure = "usd_per_hour" if name != "quickstart" else "gpus_deployed"
    box = all_cells(explorer_of(grid), ["left_out", measure])
    axes = [axis.name for axis in box.axes]
    found = gridplan.cheapest(grid, measure, by=axes[-1:], levers=axes[:-1], mixed=False)
    said, values = decoded(box, "left_out"), decoded(box, measure)
    open_to = np.where((said == None) & ~np.isnan(values), values, np.inf)  # noqa: E711 # elementwise
    least = open_to.min(axis=tuple(range(len(axes) - 1)))
    np.testing.assert_array_equal(np.where(np.isinf(least), np.nan, least), found[measure].values)


@pytest.mark.parametrize("name", ["short fleet", "buy"])
def test_the_options_of_a_front_are_the_cells_that_may_be_chosen(name: str) -> None:
    """By their labels; in `buy` a measure is null where there is no spot price, which is of the comparison."""
    grid = GRID_OF[name]()
    box = all_cells(explorer_of(grid), ["left_out", "usd_per_hour"])
    axes = [axis.name for axis in box.axes]
    rows = gridplan.pareto(grid, "usd_per_hour, tpot_s", by=axes[1:], levers=axes[:1])
    options = set(zip(*(rows[name].values.tolist() for name in axes), strict=True))
    may = (decoded(box, "left_out") == None) & ~np.isnan(decoded(box, "usd_per_hour"))  # noqa: E711 # elementwise
    assert 0 < len(options) < may.size
    assert options == {
        tuple(axis.labels[at] for axis, at in zip(box.axes, place, strict=True)) for place in np.argwhere(may).tolist()
    }


def test_a_fleet_that_is_too_small_is_said() -> None:
    box = all_cells(explorer_of(short_fleet()), ["left_out", "fleet_sufficient"])
    said, held = decoded(box, "left_out"), decoded(box, "fleet_sufficient")
    assert (held == 0).any()
    assert set(said[held == 0].tolist()) == {"fleet_sufficient false"}


def test_stored_cells_say_the_same(folder: Callable[[str], Path]) -> None:
    for name in ("lesson", "buy"):
        planned = all_cells(explorer_of(gridplan.load_grid(GRIDS / f"{name}.yaml")), ["left_out"])
        stored = all_cells(explorer_of(folder(name)), ["left_out"])
        assert decoded(stored, "left_out").tolist() == decoded(planned, "left_out").tolist()
