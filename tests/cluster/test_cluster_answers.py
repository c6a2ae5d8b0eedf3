"""What is asked inside of `gridplan.cluster` is answered as by one process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from stored_cubes import in_parts

import gridplan
from gridplan.engine import evaluate as evaluate_module
from gridplan.engine.cluster import arrays as cluster_arrays
from gridplan.engine.cluster import connect, spread
from gridplan.engine.cluster import parts as cluster_parts
from gridplan.errors import ContractError, StoreError
from gridplan.query import on_cluster
from gridplan.sensitivity import input_indices as indices_module
from gridplan.sensitivity import sampling

GRIDS = Path(__file__).parents[2] / "grids"
SPREAD = {"mbu": "x uniform(0.9, 1.1)", "arrival_rate": "x lognormal(mean=1, scv=0.04)"}
CELL = {"gpu": "b200", "model": "qwen3-14b", "kv_dtype": "fp8", "context_tokens": 8192, "rho_target": 0.7}
RATE = {**CELL, "arrival_rate": 10}

BY = "model, context_tokens, arrival_rate"

QUESTIONS: dict[str, Callable[[Any], xr.Dataset]] = {
    "evaluate": gridplan.evaluate,
    "cheapest": lambda grid: gridplan.cheapest(grid, by=BY),
    "pareto": lambda grid: gridplan.pareto(grid, "usd_per_month, tpot_s", by=BY),
    "regret": lambda grid: gridplan.regret(grid, "usd_per_month", by="model, context_tokens"),
    "stress": lambda grid: gridplan.stress(grid, library=True, at={"context_tokens": 8192}),
    "axes": lambda grid: gridplan.axis_indices(grid, "usd_per_mtok_output"),
    "samples": lambda grid: gridplan.sample(grid, SPREAD, ["gpus", "binding_constraint"], n=512, at=CELL),
    "inputs": lambda grid: gridplan.input_indices(grid, SPREAD, "usd_per_month", n=512, at=RATE),
}


@pytest.fixture
def planned_there(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Small blocks and pieces, so that there are many; the names of the runs that went to the cluster."""
    monkeypatch.setattr(evaluate_module, "BLOCK_CELLS", 5_000)
    monkeypatch.setattr(cluster_arrays, "BLOCK_CELLS", 5_000)
    monkeypatch.setattr(sampling, "CHUNK_CELLS", 1_280)
    monkeypatch.setattr(indices_module, "CHUNK", 256)
    names: list[str] = []
    real = spread._results

    def watched(work: Any, *more: Any) -> Any:
        names.append(work.name.rpartition("-")[0])
        return real(work, *more)

    monkeypatch.setattr(spread, "_results", watched)
    return names


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_of_a_cluster_is_that_of_one_process(question: str, scheduler: str, planned_there: list[str]) -> None:
    grid = gridplan.load_grid(GRIDS / "quickstart.yaml")
    here = QUESTIONS[question](grid)
    assert planned_there == []
    with gridplan.cluster(scheduler):
        there = QUESTIONS[question](grid)
    sampled = question in ("samples", "inputs")
    assert set(planned_there) == {"gridplan-sample" if sampled else "gridplan-block"}
    xr.testing.assert_identical(there, here)


def test_a_run_and_a_reduction_inside_of_the_block(
    scheduler: str, planned_there: list[str], tmp_path: Path, folder: Callable[[str], Path]
) -> None:
    grid = gridplan.load_grid(GRIDS / "quickstart.yaml")
    with gridplan.cluster(scheduler):
        gridplan.run(grid, tmp_path / "there")
        gridplan.run(grid, tmp_path / "here", workers=1)  # threads are asked for
        assert planned_there == ["gridplan-part"]
        gridplan.reduce(grid, {"gpus": "max"})
    assert planned_there == ["gridplan-part", "gridplan-fold"]
    gridplan.reduce(grid, {"gpus": "max"})
    assert planned_there == ["gridplan-part", "gridplan-fold"]
    part = "facts/part-00000.parquet"
    bytes_of = {(place / part).read_bytes() for place in (tmp_path / "there", tmp_path / "here", folder("quickstart"))}
    assert len(bytes_of) == 1


def test_a_lazy_cube_is_chosen_from_with_each_box_planned_once(monkeypatch: pytest.MonkeyPatch, scheduler: str) -> None:
    from gridplan.engine.cluster import lazy as module

    planned: list[tuple[int, ...]] = []
    real = module._plan_box
    monkeypatch.setattr(module, "_plan_box", lambda *args: (planned.append(args[1]), real(*args))[1])
    grid = gridplan.load_grid(GRIDS / "quickstart.yaml")
    eager, lazy = gridplan.evaluate(grid), gridplan.evaluate(grid, chunks={"gpu": 2})
    by = "model, context_tokens, arrival_rate"
    xr.testing.assert_identical(gridplan.cheapest(lazy, by=by), gridplan.cheapest(eager, by=by))
    assert sorted(planned) == [(start, 0, 0, 0, 0, 0) for start in (0, 2, 4, 6)]
    planned.clear()
    shares = gridplan.axis_indices(lazy, "usd_per_mtok_output")
    assert len(planned) == 4
    xr.testing.assert_identical(shares, gridplan.axis_indices(eager, "usd_per_mtok_output"))


def _tied(arrays: dict[str, np.ndarray]) -> None:
    """The same least value in many files, some of them a hair above it."""
    cost, nudge = arrays["usd_per_mtok_output"], np.random.default_rng(1)
    low = nudge.random(cost.shape) < 0.05
    cost[low & ~np.isnan(cost)] = 0.01
    cost[low & ~np.isnan(cost) & (nudge.random(cost.shape) < 0.5)] = 0.01 * (1 + 4e-10)


@pytest.fixture(scope="module")
def parted(tmp_path_factory: pytest.TempPathFactory, folder: Callable[[str], Path]) -> Path:
    """The quickstart in 16 files, with ties among what is least."""
    return in_parts(folder("quickstart"), tmp_path_factory.mktemp("parted") / "cube", 4_500, _tied)


SLICES: list[dict[str, str]] = [
    *(
        {"by": "model,gpu", "measure": "usd_per_mtok_output,gpus", "agg": agg}
        for agg in ("min", "max", "avg", "median", "sum", "argmin", "argmax")
    ),
    {"by": "binding_constraint", "measure": "gpus,status", "agg": "count"},
    {"agg": "argmin"},
    {"agg": "median"},
    {"agg": "argmin", "where": "gpus > 1e9"},
    {"agg": "min", "by": "model", "where": "gpus > 1e9"},
    {"agg": "argmax", "by": "arrival_rate,kv_dtype", "where": "gpu in ('b200', 'l40s')"},
    {"agg": "argmin", "by": "rho_target", "measure": "gpus"},
    {"measure": "all", "where": "gpu = 'b200' and arrival_rate = 100"},
    {"where": "gpus > 1e9"},
    {},
]


@pytest.mark.parametrize("asked", SLICES, ids=lambda asked: " ".join(asked.values()) or "all cells")
def test_a_slice_read_by_workers(
    asked: dict[str, str], parted: Path, scheduler: str, planned_there: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_cluster, "FILES_AT_ONCE", 3)
    here = gridplan.slice_cube(parted, **asked)
    with gridplan.cluster(scheduler):
        there = gridplan.slice_cube(parted, **asked)
    rounds = 2 if asked.get("agg") in ("argmin", "argmax") else 1
    assert planned_there == ["gridplan-slice"] * rounds
    # Only of these two DuckDB adds numbers in an order of its own, even here.
    pd.testing.assert_frame_equal(there, here, check_exact=asked.get("agg") not in ("avg", "sum"), rtol=1e-13)
    assert there.attrs == here.attrs


def test_a_contest_of_ranks_is_no_matter_of_rounds() -> None:
    from gridplan.query.winners import Contest, winners_rounds

    with pytest.raises(ValueError, match="all files at once"):
        winners_rounds(None, Contest((), (), "argmin", "known", first_rank="true"))  # type: ignore[arg-type]


def test_a_worker_that_does_not_see_the_cube_says_so(
    parted: Path, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_cluster, "MANIFEST", "not-here.json")
    with gridplan.cluster(scheduler), pytest.raises(StoreError, match=f"a worker does not see {parted}"):
        gridplan.slice_cube(parted)


def test_a_question_that_is_wrong_is_refused_as_here(parted: Path, scheduler: str) -> None:
    with gridplan.cluster(scheduler):
        with pytest.raises(ContractError, match="gpuz"):
            gridplan.slice_cube(parted, by="gpuz", agg="min")
        with pytest.raises(ContractError):  # it fits the columns, and no value
            gridplan.slice_cube(parted, where="least(status, gpus) = 1")


def test_the_command_line_asks_the_cluster(
    cli: Callable[..., Any], parted: Path, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "CONNECT_S", 1)
    words = ("slice", parted, "--by", "model", "--agg", "argmin", "--json")
    here, there = cli(*words), cli(*words, "--scheduler", scheduler)
    assert (there.code, there.out) == (0, here.out)
    lost = cli(*words, "--scheduler", "tcp://127.0.0.1:9")
    assert (lost.code, lost.out) == (3, "")
    assert lost.err.startswith("error: no scheduler answers at tcp://127.0.0.1:9")
    wrong = cli("stress", GRIDS / "lesson.yaml", "--scheduler", "here")
    assert wrong.code == 2
    assert "local:N" in wrong.err


def test_results_in_order_wait_for_a_slow_one(scheduler: str) -> None:
    gate, begun = threading.Event(), list[int]()
    _GATES[:] = [gate]

    def tasks() -> Iterator[int]:
        for number in range(60):
            begun.append(number)
            yield number

    threading.Timer(0.7, gate.set).start()
    found = spread.in_order(scheduler, _slow_first, "shared", tasks(), lambda task: (task,), "test-order-1")
    first = next(found)
    handed_out = len(begun)
    assert first == (0, ("shared", 0))
    assert handed_out <= (spread.AHEAD + spread.IN_FLIGHT) * 2
    assert list(found) == [(number, ("shared", number)) for number in range(1, 60)]


_GATES: list[threading.Event] = []


def _slow_first(shared: str, task: int) -> tuple[str, int]:
    if task == 0:
        _GATES[0].wait(30)
    return shared, task


def test_a_task_of_a_very_large_cube_has_several_parts(
    scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gridplan.store.layout.ROWS_PER_PART", 4_000)
    monkeypatch.setattr(cluster_parts, "MOST_TASKS", 5)
    tasks: list[int] = []
    real = cluster_parts.spread_on

    def watched(scheduler: str, function: Any, recipe: Any, some: Any, *more: Any) -> Any:
        pieces = list(some)
        tasks.extend(map(len, pieces))
        return real(scheduler, function, recipe, pieces, *more)

    monkeypatch.setattr(cluster_parts, "spread_on", watched)
    grid = gridplan.load_grid(GRIDS / "quickstart.yaml")
    gridplan.run(grid, tmp_path / "here", workers=1)
    told: list[int] = []
    result = gridplan.run(grid, tmp_path / "there", scheduler=scheduler, progress=told.append)
    assert (result.parts, tasks, sum(told)) == (24, [5, 5, 5, 5, 4], 72_000)
    for name in ["manifest.json", *(f"facts/part-{number:05d}.parquet" for number in range(24))]:
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    (tmp_path / "there" / "facts/part-00003.parquet").unlink()
    again = gridplan.run(grid, tmp_path / "there", scheduler=scheduler, resume=True)
    assert (again.resumed, again.summary.to_dict()) == (23, result.summary.to_dict())
    assert (tmp_path / "there" / "manifest.json").read_bytes() == (tmp_path / "here" / "manifest.json").read_bytes()
