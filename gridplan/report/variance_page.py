"""Tables of a sensitivity study, and the one sentence that says what drives a measure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gridplan.report.aligned import aligned
from gridplan.report.solution import SHOWN_ROWS, rows_of

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["axes_page", "axes_sentence", "flat", "inputs_page", "plain", "samples_page", "samples_sentence"]


def axes_page(found: xr.Dataset) -> str:
    """Indices by axis, the largest total first."""
    order = np.argsort(-np.nan_to_num(found.total.values), kind="stable")
    rows = [rows_of(found)[place] for place in order]
    unit = f" ({found.attrs['unit']})" if _unit(found.attrs["unit"]) else ""
    heads = ["axis", "alone", "total", "interaction", "lowest mean", "at", "highest mean", "at", "swing"]
    keys = ["axis", "first_order", "total", "interaction", "lowest_mean", "lowest_label", "highest_mean"]
    keys += ["highest_label", "swing"]
    if "binding_changes_share" in found:
        heads, keys = [*heads, "binding changes"], [*keys, "binding_changes_share"]
    shares = {"first_order", "total", "interaction", "binding_changes_share"}
    columns = [
        [head, *(_percent(row[key]) if key in shares else _shown(row[key]) for row in rows)]
        for head, key in zip(heads, keys, strict=True)
    ]
    about = found.attrs
    where = f" at {about['at']}" if about.get("at") else ""
    what = "whether there is a value of " if about["of"] == "has_value" else ""
    valued = f", {1 - about['null_share']:.1%} with a value" if about["null_share"] else ""
    head = f"{what}{about['measure']}{unit} over {about['cells']:,} cells{where}{valued}: mean {_number(about['mean'])}"
    right = [key not in ("axis", "lowest_label", "highest_label") for key in keys]
    return "\n".join([f"{head}, sd {_number(about['sd'])}", *aligned(columns, right)])


def axes_sentence(found: xr.Dataset) -> str:
    """The measure, its main driver with its share and swing, and how often the binding constraint changes along it."""
    about = found.attrs
    name = about["measure"] if about["of"] == "value" else f"whether there is a value of {about['measure']}"
    if not found.sizes["axis"]:
        return f"{name}: no axis has more than one label."
    if math.isnan(about["mean"]):
        return f"{name}: no cell has a value."
    if not about["sd"] > 0:
        return f"{name} is {_of(about['mean'], about['unit'])} in every cell that has a value."
    row = rows_of(found)[int(np.argmax(found.total.values))]
    said = (
        f"{name}: {row['axis']} drives it most, with {_percent(row['first_order'])} of the variance alone and "
        f"{_percent(row['total'])} with its interactions; means go from {_of(row['lowest_mean'], about['unit'])} "
        f"({row['lowest_label']}) to {_of(row['highest_mean'], about['unit'])} ({row['highest_label']}), "
        f"a swing of {_of(row['swing'], about['unit'])}"
    )
    share = row.get("binding_changes_share")
    if share is None:
        return f"{said}."
    if share == 0:
        return f"{said}; the binding constraint never changes along it."
    between = f", most often between {row['binding_changes_at']}" if row["binding_changes_at"] else ""
    return f"{said}; the binding constraint changes along it for {_percent(share)} of the cells with a plan{between}."


def samples_page(found: xr.Dataset) -> str:
    """Statistics of samples, one row a cell."""
    table = flat(found)
    rows = rows_of(table)
    names = list(rows[0])
    shares = [name for name in names if "_share" in name]
    columns = [
        [name, *(_percent(row[name]) if name in shares else _shown(row[name]) for row in rows[:SHOWN_ROWS])]
        for name in names
    ]
    where = f" at {found.attrs['at']}" if found.attrs.get("at") else ""
    lines = [f"{found.attrs['n']:,} samples of {found.attrs['inputs']}{where}"]
    if len(rows) == 1:
        return "\n".join([*lines, *aligned(list(zip(*columns, strict=True)), [False, True])])
    lines += aligned(columns, [name not in table.coords for name in names])
    if len(rows) > SHOWN_ROWS:
        lines.append(f"... {len(rows) - SHOWN_ROWS:,} more rows: fix axes with --at, or write them with -o")
    return "\n".join(lines)


def inputs_page(found: xr.Dataset) -> str:
    """Indices by input with their intervals, the largest total first."""
    order = np.argsort(-np.nan_to_num(found.total.values), kind="stable")
    rows = [rows_of(found)[place] for place in order]
    columns = [["input", *(row["input"] for row in rows)]]
    for head, key in (("alone", "first_order"), ("total", "total")):
        columns.append([head, *(_percent(row[key]) for row in rows)])
        columns.append(
            ["95% interval", *(f"{_percent(row[f'{key}_low'])} to {_percent(row[f'{key}_high'])}" for row in rows)]
        )
    title = f"shares of the variance of {found.attrs['measure']}, from {found.attrs['evaluations']:,} samples"
    return "\n".join([title, *aligned(columns, [False, True, True, True, True])])


def samples_sentence(found: xr.Dataset, drivers: xr.Dataset | None, measure: str) -> str:
    """Percentiles of a measure, its main driver, and what binds how often; of several cells their range."""
    percentiles = [str(name) for name in found.data_vars if str(name).startswith(f"{measure}_p")]
    unit = str(found[f"{measure}_mean"].attrs["unit"]) if f"{measure}_mean" in found else ""
    parts = []
    for name in percentiles:
        values = found[name].values[~np.isnan(found[name].values)]
        if values.size:
            low, high = float(values.min()), float(values.max())
            range_ = _of(low, unit) if low == high else f"{_number(low)} to {_of(high, unit)}"
            parts.append(f"{name.removeprefix(f'{measure}_').upper()} {range_}")
    if f"{measure}_share" in found and not percentiles:
        values = found[f"{measure}_share"].values
        parts.append(f"true in {_percent(float(np.nanmean(values)))} of the samples with a value")
    said = f"{measure}: {', '.join(parts) or 'no sample has a value'}"
    missing = float(found.infeasible_share.mean())
    if missing:
        said += f"; {_percent(missing)} of the samples have no plan"
    if drivers is not None and drivers.attrs["sd"] > 0:
        row = rows_of(drivers)[int(np.argmax(drivers.total.values))]
        said += (
            f"; {row['input']} drives it most, with {_percent(row['first_order'])} of the variance alone and "
            f"{_percent(row['total'])} with its interactions"
        )
    return f"{said}{_binds(found)}."


def _binds(found: xr.Dataset) -> str:
    """How often each constraint binds, over all cells."""
    name = "binding_constraint_share"
    if name not in found or not found.sizes["binding_constraint"]:
        return ""
    rest = [dim for dim in found[name].dims if dim != "binding_constraint"]
    shares = found[name].mean(rest)
    order = np.argsort(-shares.values, kind="stable")
    pairs = [f"{shares.binding_constraint.values[at]} in {_percent(float(shares.values[at]))}" for at in order]
    return f"; binding_constraint is {', '.join(pairs)} of the samples"


def flat(found: xr.Dataset) -> xr.Dataset:
    """The answer with the share of each label as a column of its own, so that a cell is one row."""
    labels = [
        str(name).removesuffix("_share") for name in found.data_vars if str(name).removesuffix("_share") in found.dims
    ]
    table = found
    for name in labels:
        for label in found[name].values.tolist():
            column = found[f"{name}_share"].sel({name: label}, drop=True)
            table = table.assign({f"{name}_{label}_share": column})
        table = table.drop_vars([f"{name}_share", name])
    return table


def plain(attrs: dict[Any, Any]) -> dict[str, Any]:
    """Attributes as JSON holds them: no NaN, warnings as a list."""
    kept = {
        str(name): (None if isinstance(value, float) and math.isnan(value) else value) for name, value in attrs.items()
    }
    return {**kept, "warnings": str(kept.get("warnings", "")).splitlines()}


def _unit(unit: str) -> str:
    return "" if unit in ("", "1", "count", "label") else unit


def _of(value: Any, unit: str) -> str:
    return f"{_shown(value)} {_unit(unit)}".rstrip()


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


def _shown(value: Any) -> str:
    return "-" if value is None else value if isinstance(value, str) else _number(float(value))


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
