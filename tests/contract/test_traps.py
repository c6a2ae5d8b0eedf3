"""Known traps of xarray, Parquet, BI tools and rounding, as behaviour of evaluate, run and open_cube.

Each test is named after its trap; the address in the docstring is where the trap was reported.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as pds
import pyarrow.parquet as pq
import pytest
import xarray as xr

import gridplan
from gridplan.catalog import load_catalog

BASE: dict[str, Any] = {
    "schema": 1,
    "workload": {"prompt_tokens": 500, "output_tokens": 100, "arrival_rate": 5, "peak_to_average": 2},
    "slo": {"tpot": {"limit": "50 ms", "percentile": "mean"}},
    "deployment": {"gpu": "h100-sxm", "model": "llama-3.1-8b", "workspace_bytes": "4 GiB"},
    "policy": {"rho_target": 0.7, "redundancy": 1},
}
SECTIONS = ("workload", "slo", "deployment", "policy")
MEASURED: dict[str, Any] = {
    "schema": 1,
    "workload": {"arrival_rate": 21},
    "capacity": {"capacity_model": "measured", "lambda_instance_given": 1.0, "applies_to": "any"},
    "policy": {"rho_target": 0.7, "redundancy": 0},
}


def grid(axes: dict[str, Any] | None = None, base: dict[str, Any] = BASE, **more: Any) -> gridplan.contract.Grid:
    """A small grid: `base` without what becomes an axis, then `more` inputs set or sections added."""
    text = {name: dict(value) if isinstance(value, dict) else value for name, value in base.items()}
    for section in SECTIONS:
        if section in text:
            text[section] = {name: value for name, value in text[section].items() if name not in (axes or {})}
    for name, value in more.items():
        text[name] = {**text.get(name, {}), **value}
    return gridplan.loads_grid(json.dumps({**text, "axes": axes or {}}))


def facts(folder: Path) -> pa.Table:
    return pq.read_table(folder / "facts")


@pytest.fixture(scope="module")
def infeasible(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cube without a single plan: 405B parameters on one small GPU."""
    path = tmp_path_factory.mktemp("traps") / "infeasible"
    gridplan.run(grid({"rho_target": [0.5, 0.7]}, deployment={"gpu": "l4", "model": "llama-3.1-405b"}), path)
    return path


@pytest.fixture(scope="module")
def feasible(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same cube where every cell has a plan."""
    path = tmp_path_factory.mktemp("traps") / "feasible"
    gridplan.run(grid({"rho_target": [0.5, 0.7]}), path)
    return path


def test_l01_axes_built_two_ways_keep_all_labels() -> None:
    """https://github.com/pydata/xarray/issues/2694: 10 x 10 labels that look alike intersected to 2."""
    literals = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]
    forms = [literals, {"arange": [0.5, 0.95, 0.05]}, {"linspace": [0.5, 0.95, 10]}]
    cubes = [gridplan.evaluate(grid({"rho_target": form})) for form in forms]
    for cube in cubes:
        assert cube["rho_target"].values.tolist() == literals
        assert cube.sel(rho_target=0.7)["lambda_safe"].size == 1
        xr.testing.assert_equal(cube, cubes[0])
    with xr.set_options(arithmetic_join="exact"):
        product = cubes[0]["lambda_safe"] * cubes[1]["lambda_safe"] * cubes[2]["lambda_safe"]
    assert product.sizes == {"rho_target": 10}


def test_l03_a_gpu_without_a_price_keeps_its_rows(tmp_path: Path) -> None:
    """https://github.com/pydata/xarray/issues/3473: labels missing in one operand vanished from the product."""
    shapes = {shape.gpu for shape in load_catalog().instances.values() if shape.price_kind == "list"}
    assert "h200-nvl" not in shapes
    gpus = ["h100-sxm", "h200-nvl", "h200-sxm"]
    gridplan.run(grid({"gpu": gpus, "arrival_rate": [1, 10]}), tmp_path / "out")
    rows = facts(tmp_path / "out").to_pylist()
    assert [row["gpu"] for row in rows] == [name for name in gpus for _ in range(2)]
    for row in rows:
        assert row["status"] == "ok"
        assert row["replicas"] > 0
        priced = row["gpu"] != "h200-nvl"
        for name in ("usd_per_hour", "usd_per_month", "usd_per_mtok_output", "usd_per_gpu_hour_used", "priced_by"):
            assert (row[name] is not None) == priced, name
    assert gridplan.open_cube(tmp_path / "out")["gpu"].values.tolist() == gpus


def test_l04_rows_are_the_cube_whatever_the_dims_of_the_inputs(tmp_path: Path) -> None:
    """https://github.com/pydata/xarray/issues/6561: one variable on another dimension multiplied the table."""
    axes = {"model": ["llama-3.1-8b", "qwen3-8b"], "arrival_rate": {"linspace": [1, 500, 500]}}
    made = grid(axes, deployment={"mbu": {"by": "model", "llama-3.1-8b": 0.7, "qwen3-8b": 0.6}})
    result = gridplan.run(made, tmp_path / "out")
    assert result.rows == facts(tmp_path / "out").num_rows == 2 * 500
    cube = gridplan.open_cube(tmp_path / "out")
    assert cube["lambda_instance"].dims == ("model",)
    assert cube["mbu"].dims == ("model",)
    assert cube["replicas"].dims == ("model", "arrival_rate")
    assert len(cube.to_dataframe()) == 2 * 500


@pytest.mark.parametrize("condition", ["> 5", "!= 5", "<= 5", "< 100", "is null", "between 1 and 20"])
def test_l08_filters_on_the_file_equal_filters_in_memory(condition: str, folder: Callable[[str], Path]) -> None:
    """https://github.com/duckdb/duckdb/issues/25521: statistics of a column with NaN dropped and added rows."""
    path = folder("quickstart") / "facts" / "*.parquet"
    rows = facts(folder("quickstart"))
    for column in ("usd_per_mtok_output", "lambda_instance", "margin_to_next", "concurrency_compute"):
        numbers = rows[column].to_pylist()
        by_hand = {
            "> 5": lambda x: x is not None and x > 5,
            "!= 5": lambda x: x is not None and x != 5,
            "<= 5": lambda x: x is not None and x <= 5,
            "< 100": lambda x: x is not None and x < 100,
            "is null": lambda x: x is None,
            "between 1 and 20": lambda x: x is not None and 1 <= x <= 20,
        }[condition]
        expected = sum(map(by_hand, numbers))
        found = duckdb.sql(f"select count(*) from '{path}' where {column} {condition}").fetchall()
        assert found == [(expected,)]
        assert not any(x is not None and not math.isfinite(x) for x in numbers)


def test_l09_a_mean_is_the_same_by_every_path(folder: Callable[[str], Path]) -> None:
    """https://github.com/duckdb/duckdb/issues/15379: NaN is null from pandas but NaN from Arrow."""
    path = folder("quickstart") / "facts" / "*.parquet"
    in_memory = facts(folder("quickstart")).select(["usd_per_hour", "usd_per_mtok_output"])
    frame = in_memory.to_pandas()
    assert frame.isna().any().all()
    for column in frame.columns:
        expected = float(np.nanmean(frame[column].to_numpy()))
        (by_file,) = duckdb.sql(f"select avg({column}) from '{path}'").fetchall()
        (by_arrow,) = duckdb.sql(f"select avg({column}) from in_memory").fetchall()
        (by_frame,) = duckdb.sql(f"select avg({column}) from frame").fetchall()
        assert [by_file[0], by_arrow[0], by_frame[0]] == [pytest.approx(expected, rel=1e-12)] * 3
        assert duckdb.sql(f"select min({column}) from frame").fetchall()[0][0] > 0


def test_l12_number_labels_are_never_folders(tmp_path: Path) -> None:
    """https://github.com/pola-rs/polars/issues/13892: a partition rho=1.0 became rho=1 and could not be read."""
    labels = [0.7, 1.0]
    gridplan.run(grid({"rho_target": labels}), tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out" / "facts").iterdir()) == ["part-00000.parquet"]
    assert not [path for path in (tmp_path / "out").rglob("*") if "=" in path.name]
    assert facts(tmp_path / "out")["rho_target"].to_pylist() == labels
    assert facts(tmp_path / "out").schema.field("rho_target").type == pa.float64()
    assert gridplan.open_cube(tmp_path / "out")["rho_target"].values.tolist() == labels


def test_l13_more_than_127_labels_over_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """https://github.com/dask/dask/issues/11830: files whose dictionaries had indices of another width did not add up.

    All 139 rentable shapes, cut into files of few rows, and a second cube of one shape beside it.
    """
    monkeypatch.setattr("gridplan.store.layout.ROWS_PER_PART", 50)
    deployment = {name: value for name, value in BASE["deployment"].items() if name != "gpu"}
    base = {**BASE, "deployment": deployment}
    shapes = list(load_catalog().instances)
    assert len(shapes) > 127
    gridplan.run(grid({"instance": shapes, "arrival_rate": [1, 2]}, base), tmp_path / "many")
    gridplan.run(grid({"instance": shapes[:1], "arrival_rate": [1, 2]}, base), tmp_path / "one")
    files = sorted((tmp_path / "many" / "facts").iterdir())
    assert len(files) > 3
    assert {str(pq.read_schema(path).field("instance").type) for path in files} == {"string"}
    read = pds.dataset([*map(str, files), *map(str, (tmp_path / "one" / "facts").iterdir())]).to_table()
    assert read["instance"].to_pylist() == [name for name in [*shapes, shapes[0]] for _ in range(2)]
    frame = pd.concat([pd.read_parquet(path) for path in files], ignore_index=True)
    assert frame["instance"].nunique() == len(shapes)
    assert duckdb.sql(f"select count(distinct instance) from '{tmp_path}/*/facts/*.parquet'").fetchall() == [(139,)]


def test_l14_a_file_of_nulls_has_the_same_schema(infeasible: Path, feasible: Path) -> None:
    """https://github.com/dask/dask/issues/5252: a partition of nothing but nulls got the type null."""
    empty, full = facts(infeasible), facts(feasible)
    assert empty["usd_per_hour"].null_count == empty.num_rows
    assert empty["binding_constraint"].null_count == empty["replicas"].null_count == empty.num_rows
    assert full["infeasible_reason"].null_count == full.num_rows
    assert [(field.name, field.type) for field in empty.schema] == [(field.name, field.type) for field in full.schema]
    files = [str(next((path / "facts").iterdir())) for path in (infeasible, feasible)]
    for order in (files, files[::-1]):
        assert pds.dataset(order).to_table().num_rows == 4
        listed = ", ".join(f"'{path}'" for path in order)
        assert duckdb.sql(f"select count(replicas) from read_parquet([{listed}])").fetchall() == [(2,)]


def schemas(folder: Path) -> dict[str, pa.Schema]:
    return {str(path.relative_to(folder)): pq.read_schema(path) for path in folder.rglob("*.parquet")}


@pytest.mark.parametrize("name", ["quickstart", "lesson", "theory"])
def test_l16_l17_types_are_signed_and_plain(name: str, folder: Callable[[str], Path]) -> None:
    """https://github.com/apache/arrow/issues/1470 and motherduckdb/duckdb-power-query-connector#5: unsigned, half,
    decimal, binary and nested columns are not shown or misread by one tool or another."""
    allowed = {pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.date32()}
    for file, schema in schemas(folder(name)).items():
        assert {field.type for field in schema} <= allowed, file
        stored = pq.ParquetFile(folder(name) / file).schema
        for position in range(len(stored)):
            column = stored.column(position)
            assert column.physical_type in ("INT64", "DOUBLE", "BYTE_ARRAY", "BOOLEAN", "INT32"), (file, column.name)
            assert (column.physical_type == "INT32") == (column.logical_type.type == "DATE"), (file, column.name)


@pytest.mark.parametrize("name", ["quickstart", "lesson"])
def test_l18_l19_dates_are_dates_or_iso_text(name: str, folder: Callable[[str], Path]) -> None:
    """https://github.com/delta-io/delta/issues/3772 and G-Research/ParquetSharp#390: timestamps come out empty."""
    days = set()
    for file, schema in schemas(folder(name)).items():
        for field in schema:
            assert not pa.types.is_timestamp(field.type), (file, field.name)
            if field.name.endswith("as_of"):
                assert field.type in (pa.string(), pa.date32())
                days.add(str(field.type))
    assert days == {"string", "date32[day]"}
    price = facts(folder(name))["price_as_of"].to_pylist()
    assert {day for day in price if day is not None} == {
        day.isoformat()
        for day in pq.read_table(folder(name) / "dims" / "instance.parquet")["as_of"].to_pylist()
        if day is not None
    }


def test_l20_a_rank_keeps_the_declared_order(tmp_path: Path) -> None:
    """https://github.com/pandas-dev/pandas/pull/17588: Parquet has no ordered text; a BI tool sorts it by letters."""
    gpus, dtypes = ["l40s", "b200", "a100-sxm-80gb", "h100-sxm"], ["fp8", "bf16", "int8"]
    gridplan.run(grid({"gpu": gpus, "kv_dtype": dtypes}), tmp_path / "out")
    table = facts(tmp_path / "out")
    assert {table.schema.field(f"{name}_rank").type for name in ("gpu", "kv_dtype")} == {pa.int64()}
    for name, labels in (("gpu", gpus), ("kv_dtype", dtypes)):
        query = f"select {name} from '{tmp_path}/out/facts/*.parquet' group by {name} order by min({name}_rank)"
        assert [row[0] for row in duckdb.sql(query).fetchall()] == labels
        dims = pq.read_table(tmp_path / "out" / "dims" / f"{name}.parquet").to_pydict()
        assert dict(zip(dims[name], dims[f"{name}_rank"], strict=True)) == {x: i for i, x in enumerate(labels)}
    ranked = {field.name.removesuffix("_rank") for field in table.schema if field.name.endswith("_rank")}
    assert {"gpu", "kv_dtype"} <= ranked


def test_l29_a_count_never_wraps(tmp_path: Path) -> None:
    """https://github.com/kubernetes/kubernetes/pull/141397: a ceil cast to int32 wrapped to the minimum."""
    gridplan.run(grid({"arrival_rate": [1e8, 1e11]}), tmp_path / "out")
    cube, rows = gridplan.open_cube(tmp_path / "out"), facts(tmp_path / "out").to_pylist()
    for row in rows:
        safe = Fraction(cube["lambda_safe"].item())
        assert row["replicas_active"] == math.ceil(Fraction(row["arrival_rate"]) / safe)
        assert row["replicas"] == row["replicas_active"] + 1
        assert row["gpus"] == row["replicas"]
    assert rows[1]["replicas"] > 2**31


def test_l29_a_count_of_ten_trillion_requests_is_exact() -> None:
    """1e13 requests/s at 7 a replica are 1,428,571,428,571.43: one replica less would not carry them."""
    capacity = {"lambda_instance_given": 10.0}
    cube = gridplan.evaluate(grid(base=MEASURED, workload={"arrival_rate": 1e13}, capacity=capacity))
    assert cube["replicas_active"].item() == math.ceil(Fraction(10**13) / 7) == 1_428_571_428_572


@pytest.mark.parametrize("rate", [1e20, 1e22, 1e303])
def test_l29_what_int64_cannot_hold_is_a_clear_error(rate: float, tmp_path: Path) -> None:
    """Above 2**53 replicas no float64 is exact: said so, and no finished cube is left."""
    with pytest.raises(gridplan.GridplanError, match=r"2\*\*53|too large|arrival_rate"):
        gridplan.run(grid(workload={"arrival_rate": rate}), tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("rate", "rho", "active"),
    [(0.05, 0.9, 1), (1, 1.0, 1), (1, 0.9, 2), (2, 0.9, 3), (3, 0.9, 4), (3, 1.0, 3), (2.7, 0.9, 3)],
)
def test_l30_small_fleets_round_up(rate: float, rho: float, active: int) -> None:
    """https://github.com/volcano-sh/kthena/pull/1752: 10% of 3 replicas were 0. Shares of small fleets round up."""
    cube = gridplan.evaluate(grid(base=MEASURED, workload={"arrival_rate": rate}, policy={"rho_target": rho}))
    assert cube["replicas_active"] == cube["replicas"] == active


@pytest.mark.parametrize(("active", "planned"), [(1, 2), (2, 3), (3, 5), (4, 6), (5, 8)])
def test_l30_a_spare_zone_of_a_small_fleet_is_whole_replicas(active: int, planned: int) -> None:
    """Three zones, one may fail: the smallest n whose worst zone, ceil(n/3), leaves the active ones."""
    assert planned - math.ceil(planned / 3) >= active > planned - 1 - math.ceil((planned - 1) / 3)
    policy = {"rho_target": 1.0, "redundancy": 1, "failure_domain": "zone", "zones": 3}
    cube = gridplan.evaluate(grid(base=MEASURED, workload={"arrival_rate": active}, policy=policy))
    assert (cube["replicas_active"], cube["replicas"]) == (active, planned)


def test_l31_a_count_on_an_exact_boundary() -> None:
    """ceil(21 / (1 x 0.7)) is 30, and floor(0.6 x 1 GB / 0.05 GB) is 12, where float64 alone gives 31 and 11."""
    assert gridplan.evaluate(grid(base=MEASURED))["replicas_active"] == 30
    slots = {
        "deployment": {"kv_pool_bytes_given": "1 GB", "kv_bytes_per_sequence_given": "0.05 GB", "kv_efficiency": 0.6},
        "capacity": {"capacity_model": "littles_law", "e2e_latency_s": 1.0},
    }
    assert gridplan.evaluate(grid(base=MEASURED, **slots))["concurrency_memory"] == 12


def test_l31_counts_of_decimal_inputs_are_exact() -> None:
    """10,000 decimal cells, 1,000 of which divide exactly, against rational arithmetic."""
    rates, targets = {"arange": [0.1, 50, 0.1]}, {"arange": [0.05, 1, 0.05]}
    cube = gridplan.evaluate(grid({"arrival_rate": rates, "rho_target": targets}, MEASURED))
    shown = cube["replicas_active"].transpose("arrival_rate", "rho_target").values
    exact = [[Fraction(repr(rate)) / Fraction(repr(rho)) for rho in cube["rho_target"].values.tolist()]
             for rate in cube["arrival_rate"].values.tolist()]  # fmt: skip
    assert shown.size == 10_000
    assert sum(value.denominator == 1 for row in exact for value in row) > 1_000
    assert shown.tolist() == [[math.ceil(value) for value in row] for row in exact]
