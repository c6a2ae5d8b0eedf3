"""Spark reads of each form what pyarrow reads of the folder: rows, types, nulls, sums, labels, every single value."""

from __future__ import annotations

import math

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as f
from spark_forms import ARROW_TYPES, FORMS, Source

pytestmark = pytest.mark.parametrize("form", FORMS)


def names_of(source: Source, *kinds: pa.DataType) -> list[str]:
    return [field.name for field in source.truth.schema if field.type in kinds]


def test_names_and_types(source: Source, form: str) -> None:
    expected = [(field.name, ARROW_TYPES[field.type]) for field in source.truth.schema]
    assert source.read(form).dtypes == expected


def test_rows_and_nulls_of_each_column(source: Source, form: str) -> None:
    found = source.read(form)
    counts = found.agg(f.count(f.lit(1)), *(f.count_if(f.col(name).isNull()) for name in found.columns)).first()
    assert counts is not None
    expected = source.expected(form)
    assert dict(zip(["rows", *found.columns], counts, strict=True)) == {
        "rows": expected.num_rows,
        **{name: expected.column(name).null_count for name in expected.column_names},
    }


def test_sums_and_bounds_of_numbers(source: Source, form: str) -> None:
    """Whole numbers to the last digit, doubles as near as another order of adding takes them; no NaN anywhere."""
    expected = source.expected(form)
    reals, wholes, flags = (names_of(source, kind) for kind in (pa.float64(), pa.int64(), pa.bool_()))
    asked = {f"nan {name}": f.count_if(f.isnan(name)) for name in reals}
    asked |= {f"sum {name}": f.sum(name) for name in (*reals, *wholes)} | {n: f.count_if(f.col(n)) for n in flags}
    asked |= {f"{k.__name__} {name}": k(name) for name in (*reals, *wholes) for k in (f.min, f.max)}
    row = source.read(form).agg(*(column.alias(name) for name, column in asked.items())).first()
    assert row is not None
    found = row.asDict()
    for name in (*reals, *wholes):
        values = expected.column(name)
        least, most = pc.min_max(values).as_py().values()
        assert (found[f"min {name}"], found[f"max {name}"]) == (least, most), name
        if pa.types.is_int64(values.type):
            assert found[f"sum {name}"] == pc.sum(values).as_py(), name
    for name in reals:
        assert found[f"nan {name}"] == 0, name
        values = expected.column(name).drop_null().to_pylist()
        if not values:
            assert found[f"sum {name}"] is None, name
        elif max(map(abs, values)) < 1e300:
            assert found[f"sum {name}"] == pytest.approx(math.fsum(values), rel=1e-12, abs=0), name
    for name in flags:
        assert found[name] == (pc.sum(expected.column(name)).as_py() or 0), name


def test_how_often_each_label_occurs(source: Source, form: str) -> None:
    """Counted by Spark: it tells labels apart that differ in case, blanks or composition, and joins no others."""
    names = names_of(source, pa.string())
    rows = source.read(form).unpivot([], names, "name", "label").groupBy("name", "label").agg(f.count("*")).collect()
    found: dict[str, dict[str | None, int]] = {name: {} for name in names}
    for name, label, times in rows:
        found[name][label] = times
    expected = source.expected(form)
    for name in names:
        counts = expected.column(name).value_counts().to_pylist()
        assert found[name] == {entry["values"]: entry["counts"] for entry in counts}, name


def test_every_value(source: Source, form: str) -> None:
    """The rows themselves, to the last bit; in the order of the cube when they are sorted by it."""
    expected = source.expected(form)
    found = source.read(form).toArrow()
    order = [(name, "ascending") for name in source.axes]
    found, expected = found.sort_by(order), expected.sort_by(order)
    for name in expected.column_names:
        assert found.column(name).equals(expected.column(name)), name
