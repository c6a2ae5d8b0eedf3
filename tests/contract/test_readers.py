"""What every reader of a cube's folder sees: the same rows, nulls and sums, plain types, a dictionary."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import xarray as xr

import gridplan
from gridplan.dictionary import dictionary, measures

ROOT = Path(__file__).parents[2]
GRIDS = sorted(path.stem for path in (ROOT / "grids").glob("*.yaml"))
PLAIN = {pa.int64(), pa.float64(), pa.string(), pa.bool_()}


@dataclass
class View:
    """What one reader sees of a folder: rows, nulls by column, sums by column (of numbers and flags)."""

    rows: int
    nulls: Mapping[str, int]
    sums: Mapping[str, float]


def by_arrow(files: list[Path]) -> View:
    table = pa.concat_tables(pq.read_table(path) for path in files)
    numbers = [field.name for field in table.schema if field.type != pa.string()]
    sums = {name: pc.sum(table[name].cast(pa.float64())).as_py() or 0.0 for name in numbers}
    return View(table.num_rows, {name: table[name].null_count for name in table.column_names}, sums)


def by_duckdb(files: list[Path]) -> View:
    listed = "[" + ", ".join(f"'{path}'" for path in files) + "]"
    with duckdb.connect() as db:
        kinds = db.execute(f"describe select * from read_parquet({listed})").fetchall()
        numbers = [row[0] for row in kinds if row[1] != "VARCHAR"]
        counts = ", ".join(f'count(*) - count("{row[0]}")' for row in kinds)
        totals = ", ".join(f'coalesce(sum("{name}"::double), 0)' for name in numbers)
        query = f"select count(*), {counts}, {totals} from read_parquet({listed})"
        (found,) = db.execute(query).fetchall()
    names = [row[0] for row in kinds]
    edge = 1 + len(names)
    return View(found[0], dict(zip(names, found[1:edge], strict=True)), dict(zip(numbers, found[edge:], strict=True)))


def by_polars(files: list[Path]) -> View:
    frame = pl.read_parquet(files)
    numbers = [name for name, kind in frame.schema.items() if kind != pl.String]
    sums = {name: float(frame[name].cast(pl.Float64).sum()) for name in numbers}
    return View(frame.height, {name: frame[name].null_count() for name in frame.columns}, sums)


def by_pandas(files: list[Path]) -> View:
    frame = pd.concat([pd.read_parquet(path, dtype_backend="numpy_nullable") for path in files], ignore_index=True)
    numbers = [name for name in frame.columns if not pd.api.types.is_string_dtype(frame[name])]
    sums = {name: float(frame[name].astype("Float64").sum()) for name in numbers}
    return View(len(frame), {name: int(frame[name].isna().sum()) for name in frame.columns}, sums)


READERS: dict[str, Callable[[list[Path]], View]] = {"duckdb": by_duckdb, "polars": by_polars, "pandas": by_pandas}


def parts(folder: Path) -> list[Path]:
    return sorted((folder / "facts").glob("part-*.parquet"))


@pytest.fixture(scope="module", params=["quickstart", "lesson"])
def cube_and_view(
    request: pytest.FixtureRequest, cube: Callable[[str], xr.Dataset], folder: Callable[[str], Path]
) -> tuple[xr.Dataset, Path, View]:
    """A Dataset, its folder, and what Arrow reads there."""
    path = folder(request.param)
    return cube(request.param), path, by_arrow(parts(path))


@pytest.mark.parametrize("reader", READERS)
def test_readers_agree(reader: str, cube_and_view: tuple[xr.Dataset, Path, View]) -> None:
    _, path, arrow = cube_and_view
    view = READERS[reader](parts(path))
    assert view.rows == arrow.rows
    assert view.nulls == arrow.nulls
    assert view.sums.keys() == arrow.sums.keys()
    assert view.sums == {name: pytest.approx(total, rel=1e-9) for name, total in arrow.sums.items()}


def test_the_facts_are_the_dataset(cube_and_view: tuple[xr.Dataset, Path, View]) -> None:
    """Rows, nulls and sums of the folder are those of the Dataset spread over the whole cube."""
    dataset, _, view = cube_and_view
    assert view.rows == np.prod(list(dataset.sizes.values()))
    for name in measures():
        variable = dataset[name]
        copies = view.rows // max(variable.size, 1)
        null = pd.isna(variable.values)
        assert view.nulls[name] == int(null.sum()) * copies, name
        if variable.dtype != object:
            total = float(variable.values[~null].sum()) * copies
            assert view.sums[name] == pytest.approx(total, rel=1e-9), name


def test_the_folder_read_as_one_data_set(folder: Callable[[str], Path]) -> None:
    """`facts/*.parquet` is one table for every reader, whatever else is in the folder."""
    pattern = str(folder("lesson") / "facts" / "*.parquet")
    assert duckdb.sql(f"select count(*) from '{pattern}'").fetchall() == [(20,)]
    assert pl.scan_parquet(pattern).select(pl.len()).collect().item() == 20
    assert len(pd.read_parquet(folder("lesson") / "facts")) == 20
    assert pq.read_table(folder("lesson") / "facts").num_rows == 20


@pytest.mark.parametrize("name", GRIDS)
def test_open_cube_is_identical_to_evaluate(
    name: str, cube: Callable[[str], xr.Dataset], folder: Callable[[str], Path]
) -> None:
    opened, made = gridplan.open_cube(folder(name)), cube(name)
    xr.testing.assert_identical(opened, made)
    # assert_identical does not look at the order of dimensions in the Dataset, nor at dtypes.
    assert list(opened.sizes.items()) == list(made.sizes.items())
    assert list(opened.data_vars) == list(made.data_vars)
    assert {key: value.dtype for key, value in opened.variables.items()} == {
        key: value.dtype for key, value in made.variables.items()
    }


def test_open_cube_takes_a_few_variables(folder: Callable[[str], Path], cube: Callable[[str], xr.Dataset]) -> None:
    opened = gridplan.open_cube(folder("lesson"), ["replicas", "status"])
    assert set(opened.data_vars) == {"replicas", "status"}
    xr.testing.assert_identical(opened["replicas"], cube("lesson")["replicas"])
    with pytest.raises(gridplan.StoreError, match=r"replics.*did you mean replicas"):
        gridplan.open_cube(folder("lesson"), ["replics"])


def test_the_shipped_lesson_is_the_lesson(cube: Callable[[str], xr.Dataset]) -> None:
    sample = ROOT / "reports" / "lesson"
    if not (sample / "manifest.json").is_file():
        pytest.skip("reports/lesson is not in this checkout")
    xr.testing.assert_identical(gridplan.open_cube(sample), cube("lesson"))


@pytest.mark.parametrize("name", GRIDS)
def test_every_column_is_plain_and_finite(name: str, folder: Callable[[str], Path]) -> None:
    for path in parts(folder(name)):
        table = pq.read_table(path)
        assert {field.type for field in table.schema} <= PLAIN
        for field in table.schema:
            if field.type == pa.float64():
                values = table[field.name].drop_null().to_numpy()
                assert np.isfinite(values).all(), field.name
                if not field.name.endswith("_effective"):
                    assert (values >= 0).all(), field.name


@pytest.mark.parametrize("name", GRIDS)
def test_metric_describes_every_column(name: str, folder: Callable[[str], Path]) -> None:
    rows = {row["name"]: row for row in pq.read_table(folder(name) / "dims" / "metric.parquet").to_pylist()}
    schema = pq.read_schema(parts(folder(name))[0])
    assert list(rows) == schema.names
    kinds = {"int64": pa.int64(), "float64": pa.float64(), "string": pa.string(), "bool": pa.bool_()}
    missing = [
        (column, key)
        for column, row in rows.items()
        for key in ("unit", "long_name", "source", "class", "dtype")
        if not row[key]
    ]
    assert missing == []
    assert {column: kinds[row["dtype"]] for column, row in rows.items()} == {f.name: f.type for f in schema}
    assert {row["class"] for row in rows.values()} <= {"fact", "policy", "measurement", "assumption", "derived"}
    for column in set(measures()) & rows.keys():
        assert rows[column]["unit"] == dictionary()[column].unit


def test_field_metadata_says_the_same(folder: Callable[[str], Path]) -> None:
    schema = pq.read_schema(parts(folder("quickstart"))[0])
    said = schema.field("lambda_instance").metadata
    assert said[b"unit"] == b"req/s"
    assert said[b"long_name"] == dictionary()["lambda_instance"].long_name.encode()


def test_dims_join_the_facts(folder: Callable[[str], Path]) -> None:
    """A BI tool joins `dims/gpu` on `gpu`: every label is there once, with dates as dates and plain types."""
    home = folder("quickstart")
    facts = duckdb.sql(f"select * from '{home}/facts/*.parquet'")
    assert len(facts) == 72_000
    for name in ("gpu", "model", "kv_dtype", "weight_dtype", "engine"):
        table = pq.read_table(home / "dims" / f"{name}.parquet")
        assert {field.type for field in table.schema} <= PLAIN | {pa.date32()}
        labels = table[name].to_pylist()
        assert len(set(labels)) == len(labels)
        joined = duckdb.sql(f"select count(*) from facts join '{home}/dims/{name}.parquet' using ({name})").fetchall()
        assert joined == [(72_000,)]
    priced = pq.read_table(home / "dims" / "instance.parquet")
    named = {row[0] for row in duckdb.sql("select distinct priced_by from facts").fetchall()} - {None}
    assert named == set(priced["instance"].to_pylist())
    assert all(isinstance(day, dt.date) for day in priced["as_of"].to_pylist() if day is not None)


@pytest.mark.parametrize("name", GRIDS)
def test_nulls_follow_the_dictionary(name: str, cube: Callable[[str], xr.Dataset]) -> None:
    """`never` has no nulls; a measure that is null where infeasible is null in every infeasible cell."""
    dataset = cube(name)
    infeasible = dataset["status"] == "infeasible"
    wrong = []
    for measure in measures():
        rule: Any = dictionary()[measure].null_where
        null = xr.DataArray(pd.isna(dataset[measure].values), dims=dataset[measure].dims)
        if rule == "never" and bool(null.any()) and _is_known(dataset):
            wrong.append(f"{measure}: never null, but is")
        if rule.startswith("infeasible") and bool((infeasible & ~null).any()):
            wrong.append(f"{measure}: null where infeasible, but is not")
        if rule == "infeasible" and bool((~infeasible & null).any()):
            wrong.append(f"{measure}: null only where infeasible, but is null in a cell with a plan")
    assert wrong == []


def _is_known(dataset: xr.Dataset) -> bool:
    """Grids without a model or a GPU know less: there `never` means never where the catalog allows."""
    return dataset["model"].values.tolist() is not None and dataset["gpu"].values.tolist() is not None
