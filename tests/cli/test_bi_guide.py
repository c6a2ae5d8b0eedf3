"""The guide for BI tools: its SQL runs on a real export and gives what gridplan says; its numbers are counted."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot
import xarray as xr
from sqlglot import exp

import gridplan
from gridplan.export.handover import export_cube
from gridplan.query.slice import slice_cube

GUIDE = Path(__file__).parents[2] / "docs" / "bi"
PAGES = {page.name: page.read_text(encoding="utf-8") for page in sorted(GUIDE.glob("*.md"))}
POINT = ["model", "context_tokens", "arrival_rate"]


def blocks(page: str, language: str) -> list[str]:
    """What stands in fences of this language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGES[page], re.S)


def everywhere(language: str) -> list[Any]:
    """The blocks of all pages."""
    return [
        pytest.param(block, id=f"{page}-{number}")
        for page in PAGES
        for number, block in enumerate(blocks(page, language))
    ]


@pytest.fixture(scope="module")
def cube(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("guide") / "quickstart"
    gridplan.run(gridplan.load_grid(GUIDE.parents[1] / "grids" / "quickstart.yaml"), folder)
    return folder


@pytest.fixture(scope="module")
def database(cube: Path) -> Path:
    """The export that README of the guide shows."""
    path = cube.with_name("cube.duckdb")
    export_cube(cube, "duckdb", path, best=POINT)
    return path


@pytest.fixture
def db(database: Path) -> Any:
    with duckdb.connect(str(database), read_only=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def cheapest(cube: Path) -> xr.Dataset:
    return gridplan.cheapest(gridplan.open_cube(cube), "usd_per_mtok_output", by=POINT)


def of_points(cheapest: xr.Dataset, *names: str) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Variables of the choice by point, without the points where nothing can be chosen."""
    frame = cheapest[["usd_per_mtok_output", *names]].to_dataframe().reset_index()
    frame = frame[frame["usd_per_mtok_output"].notna()]
    points = frame[POINT].itertuples(index=False, name=None)
    return dict(zip(points, frame[list(names)].itertuples(index=False, name=None), strict=True))


@pytest.mark.parametrize("query", everywhere("sql"))
def test_a_query_runs(db: Any, query: str) -> None:
    assert db.execute(query).fetchall()


SHOWN = [
    pytest.param(query, table, id=page)
    for page, text in PAGES.items()
    for query, table in re.findall(r"```sql\n((?:(?!```).)*)```\n\n```text\n(┌.*?)```", text, re.S)
]


@pytest.mark.parametrize(("query", "table"), SHOWN)
def test_a_query_gives_the_table_below_it(db: Any, query: str, table: str) -> None:
    shown = [[cell.strip() for cell in line.strip("│ ").split("│")] for line in table.splitlines() if line[0] == "│"]
    answer = db.execute(query)
    assert shown[0] == [column[0] for column in answer.description]
    assert shown[2:] == [[str(value) for value in row] for row in answer.fetchall()]


def test_the_cheapest_feasible_is_what_gridplan_says(cube: Path, db: Any, cheapest: xr.Dataset) -> None:
    (plain, star) = (query for query in blocks("README.md", "sql") if "AS cheapest_feasible" in query)
    found = {row[:3]: row[3] for row in db.execute(plain).fetchall()}
    assert found == {point: value for point, (value,) in of_points(cheapest, "usd_per_mtok_output").items()}
    assert found == {row[:3]: row[3] for row in db.execute(star).fetchall()}
    sliced = slice_cube(cube, by=POINT, agg="min").dropna()
    assert found == dict(zip(sliced[POINT].itertuples(False, None), sliced["min_usd_per_mtok_output"], strict=True))
    (fixed,) = blocks("tableau.md", "sql")
    with_none = {row[:3]: row[3] for row in db.execute(fixed).fetchall()}
    assert found == {point: value for point, value in with_none.items() if value is not None}
    (rows, without) = re.findall(r"Of its (\d+) rows (\d+) are null", PAGES["tableau.md"])[0]
    assert (len(with_none), len(with_none) - len(found)) == (int(rows), int(without))


@pytest.mark.parametrize("page", ["README.md", "metabase.md"])
def test_winners_are_those_of_gridplan_and_of_best(db: Any, cheapest: xr.Dataset, page: str) -> None:
    (query,) = (query for query in blocks(page, "sql") if "row_number()" in query)
    found = {row[:3]: row[3:6] for row in db.execute(query).fetchall()}
    assert found == of_points(cheapest, "gpu", "kv_dtype", "rho_target")
    labels = f"{', '.join(POINT)}, gpu, kv_dtype, rho_target"
    best = db.execute(f"SELECT {labels} FROM best WHERE candidates > 0").fetchall()
    assert found == {row[:3]: row[3:] for row in best}


def test_winners_of_power_bi_tie_in_the_same_order(db: Any) -> None:
    (query,) = blocks("power-bi.md", "sql")
    found = {row[0]: row[2:] for row in db.execute(query).fetchall()}
    at = "context_tokens = 8192 AND arrival_rate = 10 AND candidates > 0"
    assert found == {
        row[0]: row[1:] for row in db.execute(f"SELECT model, gpu, gpus_deployed FROM best WHERE {at}").fetchall()
    }


def test_best_is_related_by_the_keys_of_its_labels(db: Any) -> None:
    for axis in ("model", "context_tokens", "arrival_rate", "gpu"):
        joined = f"SELECT count(*) FROM best JOIN dim_{axis} AS d USING ({axis}_key) WHERE best.{axis} = d.{axis}"
        with_label = f"SELECT count({axis}) FROM best"
        assert db.execute(joined).fetchone() == db.execute(with_label).fetchone()
    assert db.execute("SELECT count(*), count(model_key), count(gpu_key) FROM best").fetchone() == (600, 600, 510)


@pytest.fixture(scope="module")
def warehouse(database: Path) -> Any:
    """A database with `gridplan.cube`, as the pages for BigQuery have it."""
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{database}' AS given (READ_ONLY)")
        connection.execute("CREATE SCHEMA gridplan; CREATE VIEW gridplan.cube AS FROM given.cube")
        yield connection


def translated(query: str) -> str:
    """A query of BigQuery as DuckDB's, which has no LIMIT within ARRAY_AGG; the first element is the same without."""
    tree = sqlglot.parse_one(query, read="bigquery")
    for aggregate in tree.find_all(exp.ArrayAgg):
        assert isinstance(aggregate.this, exp.Limit)
        aggregate.set("this", aggregate.this.this)
    return tree.sql("duckdb")


def test_queries_for_bigquery_run_where_they_can_be_translated(warehouse: Any, cheapest: xr.Dataset) -> None:
    cheapest_view, winners_view, reasons = blocks("looker-studio-bigquery.md", "sql bigquery")
    wanted = of_points(cheapest, "gpu", "kv_dtype", "rho_target")
    warehouse.execute(translated(cheapest_view))
    found = warehouse.execute(
        f"SELECT {', '.join(POINT)}, plan.gpu, plan.kv_dtype, plan.rho_target FROM gridplan.cheapest"
    )
    assert {row[:3]: row[3:] for row in found.fetchall()} == wanted
    warehouse.execute(translated(winners_view))
    found = warehouse.execute(f"SELECT {', '.join(POINT)}, gpu, kv_dtype, rho_target FROM gridplan.winners")
    assert {row[:3]: row[3:] for row in found.fetchall()} == wanted
    least = of_points(cheapest, "usd_per_mtok_output")
    rows = warehouse.execute(translated(reasons)).fetchall()
    assert len(rows) == 60
    assert all(least.get((model, context, 10.0), (None,)) == (price,) for model, context, *_, price in rows)


@pytest.mark.parametrize("query", everywhere("sql bigquery"))
def test_no_window_of_bigquery_is_partitioned_by_a_float(db: Any, query: str) -> None:
    floats = {row[0] for row in db.execute("DESCRIBE cube").fetchall() if row[1] == "DOUBLE"}
    for window in sqlglot.parse_one(query, read="bigquery").find_all(exp.Window):
        bare = {term.name for term in window.args["partition_by"] if isinstance(term, exp.Column)}
        assert not bare & floats


@pytest.mark.parametrize("given", [{}, {"kv_dtype": "'bf16'"}, {"kv_dtype": "'fp8'", "rho": "0.7"}])
def test_the_question_for_metabase_runs_with_and_without_variables(db: Any, given: dict[str, str]) -> None:
    (query,) = blocks("metabase.md", "sql metabase")
    values = {"context": "8192", "rate": "10", **given}
    # What stands in double brackets is left out where its variable has no value, as Metabase does.
    query = re.sub(r"\[\[(.*?\{\{(\w+)\}\}.*?)\]\]", lambda m: m[1] if m[2] in values else "", query)
    rows = db.execute(re.sub(r"\{\{(\w+)\}\}", lambda m: values[m[1]], query)).fetchall()
    assert len(rows) == 9
    if not given:
        (power_bi,) = blocks("power-bi.md", "sql")
        assert [(row[0], *row[2:]) for row in rows] == [(row[0], *row[2:]) for row in db.execute(power_bi).fetchall()]


def test_the_drawing_has_the_tables_and_their_keys(db: Any) -> None:
    (drawing,) = (text for text in blocks("README.md", "text") if "dim_gpu" in text)
    tables = dict(re.findall(r"(\w+) +([\d,]+) rows", drawing))
    names = {row[0] for row in db.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    assert set(tables) == names
    for name, count in tables.items():
        assert db.execute(f"SELECT count(*) FROM {name}").fetchone() == (int(count.replace(",", "")),)
    for name in ("metric", "about"):
        (columns,) = re.findall(rf"^{name} .* rows  ([\w, ]+)", drawing, re.M)
        assert columns.split(", ") == [row[0] for row in db.execute(f"DESCRIBE {name}").fetchall()]
    keys = dict(re.findall(r"^(dim_\w+) +\d+ rows  (\w+_key) ", drawing, re.M))
    assert set(keys) == {name for name in names if name.startswith("dim_")}
    for name, key in keys.items():
        assert db.execute(f"SELECT count(DISTINCT {key}), count(*) FROM {name}").fetchone() == (int(tables[name]),) * 2
        lost = f"SELECT count(*) FROM fact ANTI JOIN {name} USING ({key})"
        assert db.execute(lost).fetchone() == (0,)


def test_the_types_that_tableau_shows_are_counted(db: Any) -> None:
    said = re.findall(r"(\d+)\s(?:arrive )?as (DOUBLE|TEXT|BIG_INT|BOOL)", re.sub(r"\s+", " ", PAGES["tableau.md"]))
    names = {"VARCHAR": "TEXT", "BIGINT": "BIG_INT", "BOOLEAN": "BOOL"}
    types = Counter(names.get(row[1], row[1]) for row in db.execute("DESCRIBE cube").fetchall())
    assert types == {name: int(count) for count, name in said}
    assert sum(types.values()) == 128


@pytest.mark.parametrize("page", PAGES)
def test_a_refresh_repeats_the_export_of_its_page(page: str) -> None:
    consoles = "\n".join(blocks(page, "console"))
    (again,) = re.findall(r"^gridplan run [^\n]* && gridplan (export [^\n]*) --force$", PAGES[page], re.M)
    assert f"$ gridplan {again}\n" in consoles


def test_the_dashboard_asks_for_columns_that_are_there(db: Any) -> None:
    spec = importlib.util.spec_from_file_location("superset_dashboard", GUIDE / "superset_dashboard.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for dataset in script.METRICS:
        columns = {row[0] for row in db.execute(f"DESCRIBE {dataset}").fetchall()}
        metrics = {name: sql for name, (_, sql, _) in script.METRICS[dataset].items()}
        derived = {name: sql for name, (sql, _) in script.COLUMNS[dataset].items()}
        for sql in (*metrics.values(), *derived.values()):
            db.execute(f"SELECT {sql} FROM {dataset}")
            assert f"`{sql}`" in PAGES["superset.md"]
        for _, (_, of, _, _, unfiltered, form) in script.CHARTS.items():
            if of == dataset:
                groups = form.get("groupby", [])
                used = {form.get("x_axis"), *([groups] if isinstance(groups, str) else groups)} - {None}
                assert used | set(form.get("all_columns", [])) <= columns | set(derived)
                assert {form.get("metric"), *form.get("metrics", [])} - {None} <= set(metrics)
                assert set(unfiltered) <= {name for name, _, _ in script.FILTERS}
    for name, _, value in script.FILTERS:
        assert db.execute(f"SELECT count(*) > 0 FROM cube WHERE {name} = ?", [value]).fetchone() == (True,)


def test_pages_say_where_their_facts_come_from() -> None:
    for name, text in PAGES.items():
        if name != "README.md":
            assert "Run here" in text, name
            sources = text.partition("\n## Sources\n")[2]
            assert len(re.findall(r"https://\S+", sources)) >= 2, name


def test_commands_of_the_guide_are_written_as_a_shell_takes_them() -> None:
    for page in PAGES:
        for line in re.findall(r"^\$ gridplan (.*)$", PAGES[page], re.M):
            assert shlex.split(line)[0] in ("run", "export", "slice")
