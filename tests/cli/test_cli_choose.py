"""`gridplan choose`: tables with one sentence, JSON, files, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

GRID = """
schema: 1
workload: {peak_to_average: 1}
deployment: {gpus_per_node: 8}
capacity: {capacity_model: measured, lambda_instance_given: {by: instance, big: 10, small: 8, bare: 8}}
policy: {rho_target: 1, redundancy: 0, hours_per_month: 730}
catalog:
  instances:
    big: {gpu: h100-sxm, gpus_per_node: 8, usd_per_node_hour: 40, as_of: 2026-01-01, source: x, provider: north}
    small: {gpu: a100-sxm-80gb, gpus_per_node: 1, usd_per_node_hour: 6, as_of: 2026-01-01, source: x, provider: south}
    bare: {gpu: a100-sxm-80gb, gpus_per_node: 1, as_of: 2026-01-01, source: x, provider: south}
axes: {instance: [big, small, bare], arrival_rate: [8, 40, 80]}
"""
# Replicas are one GPU wide: a big node carries 80 req/s for 40 USD/h, a small one 8 req/s for 6 USD/h.
# At 8: 40 against 6; at 40: 40 against 30; at 80: 40 against 60. Nobody prices `bare`.


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    path = tmp_path / "grid.yaml"
    path.write_text(GRID.replace("deployment: {gpus_per_node: 8}\n", ""), encoding="utf-8")
    return path


def test_the_cheapest_is_a_table_and_a_sentence(cli: Any, grid: Path) -> None:
    done = cli("choose", grid, "--measure", "usd_per_hour", "--also", "nodes")
    assert done.code == 0
    assert done.out.splitlines() == [
        "least usd_per_hour for each arrival_rate",
        "everywhere candidates=2, left_out_because=no_price 1",
        "arrival_rate  usd_per_hour  usd_per_hour_gap  instance  nodes",
        "           8             6                34  small         1",
        "          40            30                10  small         5",
        "          80            40                20  big           1",
        "",
        "Least most often, at 2 of 3 points: instance=small; 6 to 40 USD/h; the closest runner-up is 33.3% above.",
    ]


def test_regret_and_the_value_of_information(cli: Any, grid: Path) -> None:
    # Regrets of big: 34, 10, 0; of small: 0, 0, 20. On average small costs 32, the best of each 76/3.
    done = cli("choose", grid, "--measure", "usd_per_hour", "--regret")
    assert done.out.splitlines() == [
        "choices of least regret in usd_per_hour, over arrival_rate",
        "everywhere instance=small, usd_per_hour_evpi=6.6667, choices_compared=2, choices=3",
        "criterion  usd_per_hour_regret",
        "minimax                     20",
        "expected                6.6667",
        "p95                         20",
        "",
        "The minimax choice instance=small is at most 20 USD/h above the best; "
        "knowing the state beforehand is worth at most 6.6667 USD/h.",
    ]
    found = json.loads(cli("choose", grid, "--measure", "usd_per_hour", "--regret", "--json").out)
    assert found["groups"][0]["usd_per_hour_evpi"] == pytest.approx(20 / 3)
    assert [row["instance"] for row in found["best"]] == ["small"] * 3


def test_a_front_prints_what_nothing_beats_and_writes_everything(cli: Any, grid: Path, tmp_path: Path) -> None:
    out = tmp_path / "front.parquet"
    done = cli("choose", grid, "--pareto", "usd_per_hour,nodes", "--where", "provider in north, south", "-o", out)
    assert done.out == "4 of 6 candidates are beaten by none, 2 are dominated; 3 cells are left out: no_price 3.\n"
    table = pq.read_table(out)
    assert table.column("instance").to_pylist() == ["big", "small"] * 3
    assert table.column("on_front").to_pylist() == [False, True, True, True, True, False]
    assert table.column("dominated_by").to_pylist() == [1, None, None, None, None, 4]
    rows = json.loads(cli("choose", grid, "--pareto", "usd_per_hour,nodes", "--json").out)["rows"]
    assert [(row["arrival_rate"], row["instance"]) for row in rows] == [
        (8, "small"),
        (40, "small"),
        (40, "big"),
        (80, "big"),
    ]


def test_a_stored_cube_is_asked_like_its_grid(cli: Any, grid: Path, tmp_path: Path) -> None:
    cube = tmp_path / "cube"
    assert cli("run", grid, "-o", cube).code == 0
    mine = cli("choose", cube, "--measure", "usd_per_hour", "--at", "arrival_rate=40")
    assert mine.out.replace("usd_per_hour null 1", "no_price 1") == (
        cli("choose", grid, "--measure", "usd_per_hour", "--at", "arrival_rate=40").out
    )
    south = cli("choose", cube, "--measure", "usd_per_hour", "--where", "provider = south", "--json")
    assert [row["instance"] for row in json.loads(south.out)["rows"]] == ["small"] * 3
    out = tmp_path / "best.csv"
    assert cli("choose", cube, "--measure", "usd_per_hour", "-o", out).code == 0
    assert pacsv.read_csv(out).column("instance").to_pylist() == ["small", "small", "big"]
    again = cli("choose", cube, "--measure", "usd_per_hour", "-o", out)
    assert (again.code, "--force" in again.err) == (3, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            "--measure usd_per_hours",
            "--measure: usd_per_hours is not a measure of this cube (did you mean usd_per_hour",
        ),
        ("--by instance", "--by: arrival_rate is not chosen, it happens"),
        ("--where usd_per_hour", "--where: 'usd_per_hour' is no condition"),
        ("--survives nodes", "--survives: nodes is none of"),
        ("--accept kv_dtype", "--accept takes AXIS=LABEL"),
        ("--pareto ttft_s:up", "--pareto: ttft_s:up: up is neither min nor max"),
        ("--pareto ttft_s --regret", "two questions"),
        ("--penalty 3", "--penalty is of --regret"),
        ("--regret --also nodes", "--also is not of --regret"),
        ("-o out.txt", "a file that ends in .csv or .parquet is due"),
        ("--at arrival_rate=7", "7 is not on the axis: 8, 40, 80"),
    ],
)
def test_what_is_wrong_is_said(cli: Any, grid: Path, options: str, said: str) -> None:
    done = cli("choose", grid, *options.split())
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_nothing_can_be_chosen(cli: Any, grid: Path) -> None:
    done = cli("choose", grid, "--measure", "usd_per_hour", "--where", "nodes > 100")
    assert done.out.splitlines()[-1] == "No point has a candidate: not nodes > 100 3."
    done = cli("choose", grid, "--measure", "usd_per_hour", "--where", "nodes > 100", "--regret")
    assert done.code == 0
    assert done.out.splitlines()[-1].startswith("No choice serves every state here")


def test_the_option_that_named_a_measure_is_named(cli: Any, grid: Path) -> None:
    done = cli("choose", grid, "--measure", "usd_per_hour", "--where", "usd_per_mont < 1", "--also", "nods")
    assert done.code == 2
    assert "--where: usd_per_mont is not a measure" in done.err
    assert "--also: nods is not a measure" in done.err


@pytest.mark.parametrize("penalty", ["inf", "nan", "-5"])
def test_a_penalty_is_a_number_that_can_be_compared(cli: Any, grid: Path, penalty: str) -> None:
    done = cli("choose", grid, "--measure", "usd_per_hour", "--regret", "--penalty", penalty)
    assert (done.code, done.out) == (2, "")
    assert f"--penalty: a finite number that is not negative is due, not {penalty}" in done.err


def test_a_penalty_below_the_bills_is_warned_of(cli: Any, grid: Path) -> None:
    # At 80 req/s the small ones need 10 nodes, which the condition refuses, and the big one costs 40 USD/h.
    asked = ("choose", grid, "--measure", "usd_per_hour", "--regret", "--where", "nodes <= 5", "--penalty")
    assert "a penalty of 39 is below what plans that serve cost (to 40)" in cli(*asked, "39").err
    assert "penalty" not in cli(*asked, "41").err


def test_a_front_has_no_measure_beside_its_objectives(cli: Any, grid: Path) -> None:
    done = cli("choose", grid, "--pareto", "usd_per_hour,nodes", "--measure", "nodes")
    assert done.code == 2
    assert "--measure is not of --pareto" in done.err
