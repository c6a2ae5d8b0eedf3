"""How long the everyday calls take; `pytest tests/bench --benchmark-enable` times them, otherwise each runs once."""

from __future__ import annotations

from pathlib import Path

import pytest
from contenders import without_latencies
from pytest_benchmark.fixture import BenchmarkFixture
from stretched import queueing, stretched

import gridplan
from gridplan.contract.grid import Grid
from gridplan.dictionary import dictionary, measures

CELLS = 72_000


@pytest.fixture(scope="module")
def grid() -> Grid:
    return stretched(CELLS)


@pytest.fixture(scope="module")
def folder(grid: Grid, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bench") / "cube"
    gridplan.run(grid, place)
    return place


def test_evaluate(benchmark: BenchmarkFixture, grid: Grid) -> None:
    cube = benchmark(gridplan.evaluate, grid)
    assert cube["replicas"].size == CELLS


def test_evaluate_one_measure(benchmark: BenchmarkFixture, grid: Grid) -> None:
    cube = benchmark(gridplan.evaluate, grid, ["usd_per_mtok_output"])
    assert list(cube.data_vars) == ["usd_per_mtok_output"]


def test_reduce(benchmark: BenchmarkFixture, grid: Grid) -> None:
    kinds = {name: "count" if dictionary()[name].is_label else "min" for name in measures()}
    folded = benchmark(gridplan.reduce, grid, kinds)
    assert folded["status_count"].sum().item() == CELLS


def test_reduce_by_model(benchmark: BenchmarkFixture, grid: Grid) -> None:
    folded = benchmark(gridplan.reduce, grid, {"usd_per_mtok_output": ["min", "argmin", "p95"]}, ["model"])
    assert folded["usd_per_mtok_output_min"].dims == ("model",)


@pytest.mark.parametrize("workers", [1, 2])
def test_run(benchmark: BenchmarkFixture, grid: Grid, tmp_path: Path, workers: int) -> None:
    result = benchmark(gridplan.run, grid, tmp_path / "cube", force=True, workers=workers)
    assert result.rows == CELLS


def test_open_cube(benchmark: BenchmarkFixture, folder: Path) -> None:
    cube = benchmark(gridplan.open_cube, folder)
    assert cube["replicas"].size == CELLS


def test_open_cube_one_measure(benchmark: BenchmarkFixture, folder: Path) -> None:
    cube = benchmark(gridplan.open_cube, folder, ["usd_per_mtok_output"])
    assert list(cube.data_vars) == ["usd_per_mtok_output"]


def test_explain(benchmark: BenchmarkFixture, grid: Grid) -> None:
    labels = {"gpu": "h100-sxm", "model": "llama-3.1-8b", "kv_dtype": "bf16", "context_tokens": 8192, "rho_target": 0.7}
    explanation = benchmark(gridplan.explain, grid, **labels, arrival_rate=100)
    assert explanation.status == "ok"


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="the kernel counts read bytes in /proc/self/io on Linux")
def test_slices_agree_in_both_readers_and_are_counted(folder: Path) -> None:
    from reading import SLICES, table

    lines = table(folder)
    assert len(lines) == 2 + 2 * len(SLICES) + 2
    rows = [line.strip("| ").split(" | ") for line in lines[2:-2]]
    assert all(float(row[5]) > 0 and int(row[7].replace(",", "")) > 0 for row in rows)


def test_sizes_are_judged_by_the_least_and_the_most() -> None:
    from compare import Row
    from report import scaling

    def row(cells: float, cpu_s: float, peak: float) -> Row:
        return Row("run", [{"cells": cells, "cpu_s": cpu_s, "wall_s": 1.0, "peak_bytes": peak * 2**20}])

    fine = scaling([row(1e6, 1.0, 200), row(1e7, 11.0, 300), row(1e8, 100.0, 320)])
    assert [line.rsplit(": ")[-1] for line in fine[-3:]] == ["met", "met", "met"]
    poor = scaling([row(1e6, 1.3, 200), row(1e7, 10.0, 300), row(1e8, 100.0, 520)])
    assert [line.rsplit(": ")[-1] for line in poor[-3:]] == ["missed", "missed", "missed"]


def test_latencies_are_all_that_is_left_out() -> None:
    grid = queueing(14_400)
    rest = without_latencies(grid)
    told = {"tpot_s", "ttft_s", "e2e_s", "batch_mean", "latency_flag", "latency_source"}
    assert set(measures()) - set(rest) == told | {"e2e_latency_used_s", "in_flight"}
    whole, part = gridplan.evaluate(grid), gridplan.evaluate(grid, rest)
    assert whole["ttft_s"].notnull().any()
    assert (whole["latency_source"] == "formula").any()
    assert part.equals(whole[list(rest)])


def test_questions_are_asked_and_counted() -> None:
    from decisions import QUESTIONS, lines

    said = lines(14_400, 1)
    assert len(said) == 2 + len(QUESTIONS) + 3
    rows = [line.strip("| ").split(" | ") for line in said[2 : 2 + len(QUESTIONS)]]
    assert all(row[1] == "14,400" and float(row[4]) > 0 and float(row[5]) > 20 for row in rows)


def test_records_are_made_and_counted() -> None:
    from records import RECORDS, lines

    said = lines(14_400, 1)
    assert len(said) == 2 + len(RECORDS) + 2
    rows = [line.strip("| ").split(" | ") for line in said[2 : 2 + len(RECORDS)]]
    assert all(row[1] == "14,400" and float(row[4]) > 0 and float(row[5]) > 20 for row in rows)
