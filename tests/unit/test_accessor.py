"""`cube.gridplan` asks what the functions ask."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from choice_cubes import random_cube

import gridplan
import gridplan.report.accessor

GRIDS = Path(__file__).parents[2] / "grids"


def test_choice_front_and_regret_are_those_of_the_functions() -> None:
    cube = random_cube(1)
    for name, asked in (("cheapest", "usd_per_hour"), ("pareto", "usd_per_hour,tpot_s"), ("regret", "usd_per_hour")):
        mine = getattr(cube.gridplan, name)(asked, where="nodes <= 3")
        assert mine.identical(getattr(gridplan, name)(cube, asked, where="nodes <= 3"))


def test_shares_of_the_variance_are_those_of_the_function() -> None:
    cube = random_cube(1)
    weights = {"gpu": [1.0] * cube.sizes["gpu"]}
    mine = cube.gridplan.factorial("usd_per_hour", weights)
    assert mine.identical(gridplan.factorial_indices(cube["usd_per_hour"], weights))


def test_questions_that_plan_anew_take_the_contract() -> None:
    grid = gridplan.load_grid(GRIDS / "lesson.yaml")
    cube = gridplan.evaluate(grid)
    at = {"scenario": "nominal", "instance": "aws-p4de"}
    swings = cube.gridplan.tornado({"rho_target": (0.6, 0.8)}, ["nodes"], grid=grid, at=at)
    assert swings.equals(gridplan.tornado(grid, {"rho_target": (0.6, 0.8)}, ["nodes"], at=at))
    priced = gridplan.load_grid(GRIDS / "break-even.yaml")
    crossing = gridplan.evaluate(priced).gridplan.break_even(grid=priced)
    assert crossing.identical(gridplan.break_even(priced))
    with pytest.raises(TypeError, match="grid"):
        cube.gridplan.break_even()


def test_the_accessor_costs_nothing_until_a_cube_is_asked_for(tmp_path: Path) -> None:
    code = (
        "import sys, gridplan; gridplan.load_grid; print('xarray' in sys.modules);"
        "gridplan.evaluate; import xarray; print(hasattr(xarray.Dataset, 'gridplan'))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["False", "True"]


def test_charts_are_those_of_the_functions() -> None:
    grid = gridplan.load_grid(GRIDS / "latency.yaml")
    cube = gridplan.evaluate(grid)
    asked = ("rho_target", "gpu", "replicas")
    assert cube.gridplan.chart("heatmap", *asked).svg() == gridplan.charts.heatmap(cube, *asked).svg()
    at = {"gpu": "h100-sxm", "rho_target": 0.7}
    mine = cube.gridplan.chart("tornado", {"tpot_slo_s": "x0.5:x2"}, ["replicas"], at=at, grid=grid)
    assert mine.svg() == gridplan.charts.tornado(grid, {"tpot_slo_s": "x0.5:x2"}, ["replicas"], at=at).svg()
    assert mine._repr_svg_() == mine.svg()


def test_kinds_and_grids_of_charts_are_checked() -> None:
    grid = gridplan.load_grid(GRIDS / "latency.yaml")
    cube = gridplan.evaluate(grid)
    for kind, own, said in (
        ("heatmp", None, "no such kind of chart 'heatmp' .did you mean heatmap"),
        ("break_even", None, "break_even plans anew: give the contract of this cube"),
        ("break-even", None, "break_even plans anew: give the contract of this cube"),
        ("pareto", None, "pareto: missing a required argument: 'objectives'"),
        ("tornado", grid, "tornado: missing a required argument: 'ranges'"),
        ("sweep", None, "a load test is no cube"),
    ):
        with pytest.raises(gridplan.ContractError, match=said):
            cube.gridplan.chart(kind, grid=own)
