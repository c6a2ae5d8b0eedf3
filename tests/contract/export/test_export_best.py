"""The table of winners is what `gridplan.cheapest` answers, row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr
from contest_cube import contest_cube
from deltalake import DeltaTable
from table_view import View, arrow_view, assert_same, duckdb_view

import gridplan
from gridplan.export.best import best_columns, best_table
from gridplan.export.rows import open_rows

PRICE = "usd_per_mtok_output"
ASKED = [
    ("quickstart", ["model", "arrival_rate"], PRICE),
    ("quickstart", ["gpu"], "usd_per_month"),
    ("buy", ["model", "arrival_rate"], PRICE),
    ("buy", ["arrival_rate", "failure_policy", "model"], "nodes"),
    ("lesson", ["scenario"], PRICE),
    ("lesson", ["instance"], PRICE),  # one scenario is scaled and the others are measured
    ("lesson", ["scenario", "instance"], "replicas"),
]


def winners(folder: Path, by: Sequence[str], measure: str, where: str = "") -> pa.Table:
    """The table as an export makes it."""
    rows = open_rows(folder, where or ())
    return best_table(rows, *best_columns(rows, by, measure))


def points(answer: xr.Dataset, by: Sequence[str], names: Sequence[str]) -> list[dict[str, Any]]:
    """One row for each point of `by`, in the order of the axes, with these variables in plain Python."""
    columns = [answer[name].broadcast_like(answer["cells"]).transpose(*by).values.ravel().tolist() for name in names]
    return [
        {name: None if value != value else value for name, value in zip(names, values, strict=True)}
        for values in zip(*columns, strict=True)
    ]


def assert_cheapest(table: pa.Table, answer: xr.Dataset, by: Sequence[str], levers: Sequence[str], measure: str) -> int:
    """Same winners, values and counts, in the same order; the number of rows without a candidate."""
    names = [*by, *levers, measure, "cells", "candidates"]
    wanted, rows = points(answer, by, [*names, "ties_count"]), table.to_pylist()
    assert len(rows) == len(wanted)
    for row, point in zip(rows, wanted, strict=True):
        assert {name: row[name] for name in names} == {name: point[name] for name in names}
        assert row["ties"] == (point["ties_count"] if row["candidates"] else None)
        if row["candidates"] == 0:
            kept = {*by, *(f"{name}_rank" for name in by), "cells", "candidates"}
            assert {name for name, value in row.items() if value is not None} <= kept
    return sum(row["candidates"] == 0 for row in rows)


@pytest.mark.parametrize(("grid", "by", "measure"), ASKED)
def test_winners_of_an_example_are_the_cheapest(
    grid: str, by: list[str], measure: str, folder: Callable[[str], Path]
) -> None:
    path = folder(grid)
    axes = list(gridplan.open_cube(path, []).sizes)
    levers = [str(name) for name in axes if name not in by]
    answer = gridplan.cheapest(path, measure, by=by, levers=levers)
    assert_cheapest(winners(path, by, measure), answer, by, levers, measure)


@pytest.mark.parametrize("seed", range(6))
def test_winners_of_a_random_contest_are_the_cheapest(seed: int, tmp_path: Path) -> None:
    cube = contest_cube(seed)
    folder = cube.write(tmp_path / "cube", 24)
    for by in (["purchase"], ["arrival_rate", "model"], ["model", "arrival_rate", "gpu", "purchase"]):
        levers = [name for name in cube.layout.dims if name not in by]
        answer = gridplan.cheapest(folder, PRICE, by=by, levers=levers)
        without = assert_cheapest(winners(folder, by, PRICE), answer, by, levers, PRICE)
        assert without or "model" not in by


def looped(truth: View, by: Sequence[str]) -> list[dict[str, Any]]:
    """The same by one loop over the rows of the awkward cube."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for values in zip(*truth.values.values(), strict=True):
        row = dict(zip(truth.kinds, values, strict=True))
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    found = []
    for rows in groups.values():
        may = [row for row in rows if row["status"] == "ok" and row["slo_held"] is not False and row[PRICE] is not None]
        least = min((row[PRICE] for row in may), default=None)
        tied = [row for row in may if row[PRICE] == least]
        known = [*by, *(f"{name}_rank" for name in by if name in ("gpu", "context"))]
        own = tied[0] if tied else {**dict.fromkeys(truth.kinds), **{name: rows[0][name] for name in known}}
        counts = {"cells": len(rows), "candidates": len(may), "ties": len(tied) - 1 if tied else None}
        found.append({**own, **counts})
    return found


@pytest.mark.parametrize("by", [["gpu"], ["gpu", "arrival_rate"], ["tensor_parallel", "context"]])
def test_a_winner_is_a_whole_row_of_the_cube(by: list[str], stored: Path, truth: View) -> None:
    table = winners(stored, by, PRICE)
    assert table.column_names == [*truth.kinds, "cells", "candidates", "ties"]
    assert table.to_pylist() == looped(truth, by)


def test_a_coordinate_can_be_asked_for_and_null_is_a_label(stored: Path, truth: View) -> None:
    found = winners(stored, ["vendor"], PRICE).to_pylist()
    assert [row["vendor"] for row in found] == ["other", "NVIDIA", "nvidia", "-", None]
    wanted = {row["vendor"]: row for row in looped(truth, ["vendor"])}
    assert found == [wanted[row["vendor"]] for row in found]


def test_every_form_has_the_same_winners(export: Callable[..., Any], stored: Path) -> None:
    by, where = ["gpu"], "context = '16k' AND tensor_parallel = 8"
    wanted = winners(stored, by, PRICE, where)
    wide = export("wide", "cells.parquet", best=by, where=where).output
    assert pq.read_table(wide.with_name("cells_best.parquet")).equals(wanted)
    delta = DeltaTable(export("delta", "delta", best=by, where=where).output / "best").to_pyarrow_table()
    assert_same(arrow_view(delta).sorted(by), arrow_view(wanted).sorted(by))
    star = pq.read_table(export("star", "star", best=by, where=where).output / "best.parquet")
    assert star.select(wanted.column_names).equals(wanted)
    with duckdb.connect(str(export("duckdb", "cube.duckdb", best=by, where=where).output), read_only=True) as db:
        found = duckdb_view(db.sql("FROM best"))
    assert_same(found.sorted(by), arrow_view(star).sorted(by))


def test_winners_of_a_star_have_keys_of_their_labels(export: Callable[..., Any]) -> None:
    star = export("star", "keyed", best="gpu").output
    best = pq.read_table(star / "best.parquet")
    assert best.column_names[:4] == ["gpu_key", "arrival_rate_key", "tensor_parallel_key", "context_key"]
    for axis in ("gpu", "arrival_rate", "tensor_parallel", "context"):
        labels = pq.read_table(star / f"dim_{axis}.parquet").column(axis).to_pylist()
        keys = best.column(f"{axis}_key").to_pylist()
        assert [None if key is None else labels[key] for key in keys] == best.column(axis).to_pylist()
