"""What makes the layout of a cube unusable, said all at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import get_args

from gridplan.store.columns import AxisSpec, Column, DType, Role

__all__ = ["layout_problems", "name_collisions"]

ROLES, DTYPES = get_args(Role), get_args(DType)


def layout_problems(axes: Sequence[AxisSpec], columns: Sequence[Column]) -> list[str]:
    """Everything wrong with the axes and columns of a layout, one sentence each; empty when they can be stored."""
    return [
        *([] if columns else ["a table needs at least one column"]),
        *name_collisions([column.name for column in columns]),
        *_order_problems(axes, columns),
        *(problem for axis in axes for problem in _axis_problems(axis)),
        *_column_problems(axes, columns),
    ]


def name_collisions(names: Sequence[str]) -> list[str]:
    """Names that SQL cannot tell apart or cannot write without quotes.

    >>> name_collisions(["gpu", "GPU"])
    ['column names gpu, GPU repeat or differ only in case: SQL does not tell them apart']
    """
    counts = Counter(name.casefold() for name in names)
    problems = []
    for key in (key for key, count in counts.items() if count > 1):
        same = ", ".join(name for name in names if name.casefold() == key)
        problems.append(f"column names {same} repeat or differ only in case: SQL does not tell them apart")
    plain = [name for name in names if not (name.isidentifier() and name.isascii())]
    return problems + [f"column name {name!r} is not a plain identifier, which SQL needs" for name in plain]


def _order_problems(axes: Sequence[AxisSpec], columns: Sequence[Column]) -> list[str]:
    order = [ROLES.index(column.role) for column in columns]
    problems = [] if order == sorted(order) else ["columns must come as axes, ranks, coordinates, measures"]
    own = [column.name for column in columns if column.role == "axis"]
    names = [axis.name for axis in axes]
    return problems + ([] if own == names else [f"the axis columns are {own}, the axes are {names}"])


def _axis_problems(axis: AxisSpec) -> list[str]:
    problems = [] if axis.labels else [f"axis {axis.name} has no labels"]
    repeated = [repr(label) for label, count in Counter(axis.labels).items() if count > 1]
    if repeated:
        problems.append(f"axis {axis.name} repeats {', '.join(repeated)}")
    if axis.is_text:
        return problems + _text_problems(f"axis {axis.name}", axis.labels)
    wrong = [repr(label) for label in axis.labels if not _is_number(label)]
    return problems + (
        [f"axis {axis.name} has labels that are not finite numbers: {', '.join(wrong)}"] if wrong else []
    )


def _is_number(label: object) -> bool:
    return isinstance(label, (int, float)) and not isinstance(label, bool) and math.isfinite(label)


def _text_problems(what: str, labels: Sequence[object]) -> list[str]:
    problems: list[str] = []
    for label in labels:
        if not isinstance(label, str):
            problems.append(f"{what} is text but has the label {label!r}")
        elif not label.isascii() and any("\ud800" <= character <= "\udfff" for character in label):
            problems.append(f"{what} has the label {label!r}, which is not valid Unicode")
    return problems


def _column_problems(axes: Sequence[AxisSpec], columns: Sequence[Column]) -> list[str]:
    problems: list[str] = []
    by_axis = {axis.name: axis for axis in axes}
    by_name = {column.name: column for column in columns}
    for column in columns:
        if column.dims != tuple(name for name in by_axis if name in column.dims):
            problems.append(f"column {column.name} has dims {column.dims}, not axes in the order {tuple(by_axis)}")
        if column.dtype not in DTYPES:
            problems.append(f"column {column.name} has dtype {column.dtype!r}, not one of {', '.join(DTYPES)}")
        if column.role == "axis":
            problems += _axis_column_problems(column, by_axis[column.name]) if column.name in by_axis else []
        elif column.dtype == "string":
            problems += _text_problems(f"column {column.name}", column.categories)
            if len(set(column.categories)) != len(column.categories):
                problems.append(f"column {column.name} repeats a category")
        elif column.categories:
            problems.append(f"column {column.name} is not text but has categories")
        if column.role == "rank" and not _ranks(column, by_name.get(column.base)):
            problems.append(f"rank column {column.name} needs a text column {column.base} on the same dims")
    return problems


def _ranks(rank: Column, base: Column | None) -> bool:
    return base is not None and base.dtype == "string" and base.dims == rank.dims and rank.dtype == "int64"


def _axis_column_problems(column: Column, axis: AxisSpec) -> list[str]:
    problems = [] if column.dims == (axis.name,) else [f"axis column {axis.name} must depend on its own axis alone"]
    if axis.is_text != (column.dtype == "string") or column.dtype == "bool":
        return [*problems, f"axis column {axis.name} has dtype {column.dtype}, which its labels do not fit"]
    if axis.is_text and column.categories != axis.labels:
        problems.append(f"axis column {axis.name} must have the labels of its axis as categories")
    if column.dtype == "int64":
        wrong = [repr(label) for label in axis.labels if _is_number(label) and not _is_whole(float(label))]
        problems += [f"axis {axis.name} counts in whole numbers but has {', '.join(wrong)}"] if wrong else []
    return problems


def _is_whole(label: float) -> bool:
    return label.is_integer() and abs(label) <= 2**53
