"""A cube of 3,600 cells that holds what readers stumble over, and its table as the arrays say it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
from stored_cubes import Cube
from table_view import View

from gridplan.store import AxisSpec, Column, make_layout

__all__ = ["AWKWARD", "GPUS_PER_PART", "ROWS_PER_PART", "TABLES", "awkward_cube", "view_of"]

CASES = ("h100", "H100", "ß", "SS")
NUMBERS = ("8", "08", "8.0", "1e3", "123.50", "1,5", "0x1F", "Infinity", "2026-01-02", "1/2", "12:30")
WORDS = ("true", "FALSE", "null", "NULL", "NA", "NaN", "None", "<NA>", "\\N", "#REF!", "#N/A")
FORMULAS = ("=cmd()", "+1+2", "-1+1", "@x", "=1+1", "\t=1+1", "\r=1+1", "\n=1+1", '=HYPERLINK("http://x.example")', "-")
SIGNS = ('say "x"', '"', '""', "it's", "'", "'=1", "a, b", "a; b", "a|b", "back\\slash", "\\", "a\\nb", "{=1}", "%s")
LINES = ("two\nlines", "a\r\nb", "a\tb", " lead", "trail ", "two  spaces", " ")
MARKUP = ("<b>&amp;</b>", "<r>&x</r>", "]]>", "_x0041_", "http://x.example", "mailto:a@b.example", "\ufeffmark")
SCRIPTS = ("集群一号", "عنقود", "кластер", "e\u0301", "\N{ROCKET} b200", "x" * 200)
AWKWARD = (*CASES, *NUMBERS, *WORDS, *FORMULAS, *SIGNS, *LINES, *MARKUP, *SCRIPTS)
"""Labels that some reader takes for something else. No text is empty: a contract takes none."""

GPUS = (*AWKWARD, *(f"gpu-{number}" for number in range(300 - len(AWKWARD))))
RATES, WIDTHS, CONTEXTS = (10.0, 0.1, 1e6), (8.0, 1.0), ("16k", "128k")
SHAPE = (len(GPUS), len(RATES), len(WIDTHS), len(CONTEXTS))
GPUS_PER_PART = 20
ROWS_PER_PART = GPUS_PER_PART * SHAPE[1] * SHAPE[2] * SHAPE[3]
NO_PLAN = slice(3 * GPUS_PER_PART, 5 * GPUS_PER_PART)
"""GPUs that fill two parts without a plan in them."""

EXTREMES = (
    5e-324,
    2.2250738585072014e-308,
    1.7976931348623157e308,
    0.1 + 0.2,
    1 / 3,
    -1.5e-7,
    0.0,
    123456789.123456789,
)
WHOLE = (2**53, -(2**53), 2**53 - 1, 2**31, 0, 1)
REASONS = ("memory_exceeded", "=none()", "no price, yet")
VENDORS = ("other", "NVIDIA", "nvidia", "-")

TABLES = {
    "gpu": [
        {"gpu": gpu, "vendor": "=1+1", "memory": place, "as_of": dt.date(2026, 1, 2)} for place, gpu in enumerate(GPUS)
    ]
}
"""What a catalog says of each GPU; `vendor` is the name of a coordinate as well."""

ALL = ("gpu", "arrival_rate", "tensor_parallel", "context")


def awkward_cube() -> Cube:
    """Every type, on all, some and none of the axes; nulls in every measure; two parts and more without a plan."""
    axes = [
        AxisSpec("gpu", GPUS, True, "label"),
        AxisSpec("arrival_rate", RATES, False, "req/s"),
        AxisSpec("tensor_parallel", WIDTHS, False, "GPUs"),
        AxisSpec("context", CONTEXTS, True, "label"),
    ]
    columns = [
        Column("model", "coord", "string", (), ("=model()",), {"unit": "label", "long_name": "model"}),
        Column("vendor", "coord", "string", ("gpu",), VENDORS, {"unit": "label"}),
        Column("gpu_memory_bytes", "coord", "int64", ("gpu",), (), {"unit": "B"}),
        Column("region", "coord", "string", ("gpu", "context"), AWKWARD, {"unit": "label"}),
        Column("status", "measure", "string", ALL, ("ok", "infeasible"), {"unit": "label"}),
        Column("infeasible_reason", "measure", "string", ALL, REASONS, {"unit": "label"}),
        Column("usd_per_mtok_output", "measure", "float64", ALL, (), {"unit": "USD/Mtok", "long_name": 'a "price"'}),
        Column("usd_per_month", "measure", "float64", ALL, (), {"unit": "USD/month"}),
        Column("extreme", "measure", "float64", ALL, (), {"unit": "1"}),
        Column("replicas", "measure", "int64", ALL, (), {"unit": "count"}),
        Column("slo_held", "measure", "bool", ALL, (), {"unit": "bool"}),
        Column("note", "measure", "string", ("gpu", "tensor_parallel"), AWKWARD, {"unit": "label"}),
        Column("none_float", "measure", "float64", ALL, (), {"unit": "1"}),
        Column("none_int", "measure", "int64", ALL, (), {"unit": "count"}),
        Column("none_text", "measure", "string", ALL, ("never",), {"unit": "label"}),
        Column("none_bool", "measure", "bool", ALL, (), {"unit": "bool"}),
    ]
    return Cube(make_layout(axes, columns, ranked=["vendor"]), _arrays(), {"description": "=cmd() of <all>"})


def _arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(8)
    plan = rng.random(SHAPE) > 0.2
    plan[NO_PLAN] = False
    whole_gpu = plan.any(axis=(1, 3), keepdims=True)

    def held(values: Any, nulls: float = 0.1) -> np.ndarray:
        kept = plan & (rng.random(SHAPE) >= nulls)
        return np.where(kept, values, np.nan)

    def first(few: tuple[float, ...], others: np.ndarray) -> np.ndarray:
        """`few` in the first cells with a plan, each once: a sum of them all is finite and exact."""
        values = others.ravel()
        values[np.flatnonzero(plan)[: len(few)]] = few
        return np.where(plan, values.reshape(SHAPE), np.nan)

    notes = rng.integers(-1, len(AWKWARD), (SHAPE[0], 1, SHAPE[2], 1))
    return {
        "model": np.zeros((1, 1, 1, 1), np.int8),
        "vendor": rng.integers(-1, len(VENDORS), (SHAPE[0], 1, 1, 1)),
        "gpu_memory_bytes": rng.integers(2**30, 2**40, (SHAPE[0], 1, 1, 1)).astype(float),
        "region": rng.integers(-1, len(AWKWARD), (SHAPE[0], 1, 1, SHAPE[3])),
        "status": np.where(plan, 0, 1),
        "infeasible_reason": np.where(plan, -1, rng.integers(0, len(REASONS), SHAPE)),
        "usd_per_mtok_output": held(rng.integers(1, 9, SHAPE) / 8),
        "usd_per_month": held(rng.lognormal(9, 2, SHAPE)),
        "extreme": first(EXTREMES, rng.normal(0, 1, SHAPE)),
        "replicas": first(WHOLE, rng.integers(0, 500, SHAPE).astype(float)),
        "slo_held": held(rng.random(SHAPE) > 0.3, 0.2),
        "note": np.where(whole_gpu, notes, -1),
        **{f"none_{kind}": np.full(SHAPE, np.nan) for kind in ("float", "int", "bool")},
        "none_text": np.full(SHAPE, -1),
    }


def view_of(cube: Cube) -> View:
    """The wide table of a cube, in the order of its files, from its arrays alone."""
    shape = cube.layout.shape
    kinds, values = {}, {}
    for column in cube.layout.columns:
        if column.role == "axis" or (column.role == "rank" and column.base in cube.layout.dims):
            place = cube.layout.dims.index(column.dims[0])
            codes = np.arange(shape[place]).reshape([-1 if at == place else 1 for at in range(len(shape))])
            array = codes if column.role == "rank" or column.categories else np.array(RATES_OF[column.name])[codes]
        else:
            array = cube.arrays[column.base if column.role == "rank" else column.name]
        flat = np.broadcast_to(array, shape).ravel()
        kinds[column.name] = {"string": "text", "float64": "float", "int64": "int"}.get(column.dtype, column.dtype)
        values[column.name] = [_value(kinds[column.name], column.categories, column.role, at) for at in flat.tolist()]
    return View(kinds, values)


RATES_OF = {"arrival_rate": RATES, "tensor_parallel": WIDTHS}


def _value(kind: str, labels: tuple[str, ...], role: str, stored: float) -> Any:
    if kind == "text":
        return labels[int(stored)] if stored >= 0 else None
    if stored != stored or (role == "rank" and stored < 0):
        return None
    return {"int": int, "float": float, "bool": bool}[kind](stored)
