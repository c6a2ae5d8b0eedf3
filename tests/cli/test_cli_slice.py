"""`gridplan slice` and `gridplan export` as commands: every form of an answer, the query, errors and exit codes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

import gridplan
from gridplan.spreadsheet import ROWS

Cli = Callable[..., Any]
Folder = Callable[[str], Path]

ASKED = ("--where", "gpu in ('h100-sxm','h200-sxm') and rho_target = 0.7", "--by", "model,arrival_rate")
LEAST = (*ASKED, "--measure", "usd_per_mtok_output", "--agg", "min")


def test_every_form_has_the_same_rows(cli: Cli, folder: Folder, tmp_path: Path) -> None:
    cube = folder("quickstart")
    for suffix in (".json", ".csv", ".parquet", ".md"):
        path = tmp_path / f"least{suffix}"
        done = cli("slice", cube, *LEAST, "-o", path)
        assert (done.code, done.out, done.err) == (0, "", f"{path}: 100 rows\n")
    due = [tuple(row.values()) for row in json.loads((tmp_path / "least.json").read_text(encoding="utf-8"))]
    assert len(due) == 100
    table = pq.read_table(tmp_path / "least.parquet")
    assert [tuple(row.values()) for row in table.to_pylist()] == due
    assert table.schema.field("min_usd_per_mtok_output").metadata[b"unit"] == b"USD/Mtok"
    assert pl.read_csv(tmp_path / "least.csv").rows() == due
    lines = (tmp_path / "least.md").read_text(encoding="utf-8").splitlines()
    assert lines[0].count("|") == lines[1].count("|") == lines[2].count("|") == 6
    assert len(lines) == 102


def test_what_is_printed_is_what_is_written(cli: Cli, folder: Folder, tmp_path: Path) -> None:
    cube = folder("quickstart")
    for form, suffix in (("json", ".json"), ("markdown", ".md")):
        cli("slice", cube, *LEAST, "-o", tmp_path / f"least{suffix}")
        printed = cli("slice", cube, *LEAST, "--format", form).out
        assert printed == (tmp_path / f"least{suffix}").read_text(encoding="utf-8")
    assert cli("slice", cube, *LEAST, "--json").out == cli("slice", cube, *LEAST, "--format", "json").out


def test_a_table_shows_the_first_rows_and_says_so(cli: Cli, folder: Folder) -> None:
    done = cli("slice", folder("quickstart"), "--measure", "replicas,status")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].split() == [*gridplan.open_cube(folder("quickstart")).sizes, "replicas", "status"]
    assert len(lines) == 101
    assert "the first 100 rows" in done.err


def test_labels_are_printed_so_that_they_can_be_asked_for(cli: Cli, folder: Folder) -> None:
    out = cli("slice", folder("quickstart"), "--by", "arrival_rate", "--measure", "gpus", "--agg", "max").out
    label = out.splitlines()[2].split()[0]
    assert label == "0.215443469003"
    again = cli("slice", folder("quickstart"), "--where", f"arrival_rate = {label}", "--agg", "count")
    assert again.code == 0


@pytest.mark.parametrize("agg", ["min", "argmin", "median"])
def test_the_query_that_is_printed_gives_the_answer(agg: str, cli: Cli, folder: Folder) -> None:
    """Anywhere: in a DuckDB that knows nothing of gridplan. What is watched for warnings comes last."""
    words = (*ASKED, "--agg", agg)
    query = cli("slice", folder("quickstart"), *words, "--sql")
    assert (query.code, query.err) == (0, "")
    rows = json.loads(cli("slice", folder("quickstart"), *words, "--json").out)
    found = duckdb.sql(query.out.rstrip().rstrip(";")).fetchall()
    assert [row[: len(rows[0])] for row in found] == [tuple(row.values()) for row in rows]


def test_csv_on_stdout(folder: Folder, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdout(io.StringIO):
        buffer = io.BytesIO()

    monkeypatch.setattr("sys.stdout", Stdout())
    from gridplan.cli import main

    with pytest.raises(SystemExit):
        main(["slice", str(folder("quickstart")), *LEAST, "--format", "csv"])
    rows = list(csv.reader(io.StringIO(Stdout.buffer.getvalue().decode())))
    assert rows[0] == ["model", "arrival_rate", "min_usd_per_mtok_output", "cells", "count_usd_per_mtok_output"]
    assert len(rows) == 101


def test_wrong_questions(cli: Cli, folder: Folder, tmp_path: Path) -> None:
    cube = folder("quickstart")
    done = cli("slice", cube, "--where", "gpu = 'h100'", "--by", "modl", "--agg", "min", "-o", tmp_path / "x.csv")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        "error: --where: gpu: h100 is not on the axis: l4, l40s, a100-sxm-80gb, h100-sxm, h200-sxm, b200, mi300x, "
        "rtx-pro-6000-blackwell-server (did you mean h100-sxm, h200-sxm, b200?)",
        f"error: --by: modl is no column of {cube} (did you mean model, model_rank?)",
    ]
    assert list(tmp_path.iterdir()) == []
    assert cli("slice", cube, "-o", tmp_path / "x.xls").code == 2
    assert cli("slice", tmp_path / "nothing").code == 3
    (tmp_path / "x.csv").write_text("mine", encoding="utf-8")
    done = cli("slice", cube, *LEAST, "-o", tmp_path / "x.csv")
    assert done.code == 3
    assert "already there" in done.err
    assert (tmp_path / "x.csv").read_text(encoding="utf-8") == "mine"
    assert cli("slice", cube, *LEAST, "-o", tmp_path / "x.csv", "--force").code == 0


def test_exports_by_name(cli: Cli, folder: Folder, tmp_path: Path) -> None:
    done = cli("export", folder("lesson"), "--to", "wide", "-o", tmp_path / "cube.parquet", "--best", "instance")
    assert (done.code, done.err) == (0, f"warning: {WARNED}\n")
    assert done.out.split() == [
        *(str(tmp_path / "cube_best.parquet"), "2", "rows"),
        *(str(tmp_path / "cube.parquet"), "20", "rows"),
    ]
    data = json.loads(cli("export", folder("lesson"), "--to", "csv", "-o", tmp_path / "cube.csv", "--json").out)
    assert data == {"output": str(tmp_path / "cube.csv"), "rows": {str(tmp_path / "cube.csv"): 20}, "warnings": []}


WARNED = "a winner is also the best over scenario, which nobody chooses: name it in --best as well"


def test_wrong_exports(cli: Cli, folder: Folder, tmp_path: Path) -> None:
    cube = folder("lesson")
    done = cli("export", cube, "--to", "star", "-o", tmp_path / "s", "--where", "gpu = 1 +", "--best", "modl")
    assert done.code == 2
    assert "--where" in done.err
    done = cli("export", cube, "--to", "exel", "-o", tmp_path / "x.xlsx", "--compression", "gzip")
    assert done.code == 2
    assert "exel is none of star, wide, csv, excel, duckdb, delta (did you mean excel" in done.err
    assert "gzip is none of zstd, snappy, none" in done.err
    assert cli("export", cube, "--to", "wide", "-o", tmp_path / "x.csv").code == 2
    assert cli("export", cube, "--to", "wide", "-o", tmp_path / "no" / "x.parquet").code == 3
    assert list(tmp_path.iterdir()) == []


def test_too_many_rows_for_a_worksheet(
    cli: Cli, folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worksheet has 2**20 rows: a cube of more is refused with what can be done, never cut."""
    from gridplan.export import forms

    monkeypatch.setattr(forms, "ROWS", 20)
    done = cli("export", folder("lesson"), "--to", "excel", "-o", tmp_path / "x.xlsx")
    assert done.code == 3
    assert "20 rows do not fit a worksheet of 19" in done.err
    assert list(tmp_path.iterdir()) == []
    assert cli("export", folder("lesson"), "--to", "excel", "-o", tmp_path / "x.xlsx", "--no-cells").code == 0
    assert ROWS == 2**20


@pytest.mark.parametrize(("words", "extra"), [(("slice",), "sql"), (("export", "--to", "csv", "-o", "x.csv"), "sql")])
def test_what_is_missing_is_named(
    words: tuple[str, ...], extra: str, cli: Cli, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gridplan.query.database.find_spec", lambda name: None)
    done = cli(words[0], folder("lesson"), *words[1:])
    assert done.code == 2
    assert f"pip install 'gridplan[{extra}]'" in done.err
