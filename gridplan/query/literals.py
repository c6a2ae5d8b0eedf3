"""What a person writes beside a column made into a value that the column can have: labels, numbers, quantities."""

from __future__ import annotations

import contextlib
import math

from gridplan.errors import ContractError, suggestion
from gridplan.labels import label_positions
from gridplan.quantities import parse_quantity
from gridplan.query.table import Table
from gridplan.store.columns import Column

__all__ = ["Value", "meant"]

Value = str | float | bool


def meant(table: Table, column: Column, said: Value, exact: bool) -> Value:
    """The value of `column` that is meant by `said`.

    A label of an axis is found as everywhere (numbers to 12 significant digits, or as a summary prints them); where
    `exact` is false, as for a bound, a number between labels stays as it is. A number may be a text with its unit.

    Raises
    ------
    ValueError
        With a sentence, for what the column cannot be, and the nearest labels.
    """
    axis = table.axis(column.name)
    if axis is not None and (exact or axis.is_text):
        return _label(column, said, axis.labels)
    if column.dtype == "string":
        return _category(column, said)
    if column.dtype == "bool":
        if isinstance(said, bool):
            return said
        raise ValueError(f"{column.name} is true or false, not {said!r}")
    number = _number(column, said)
    if axis is None:
        return number
    # A bound means a label that it equals to 12 digits, and no other that is merely near.
    digits = f"{number:.12g}"
    return next((float(label) for label in axis.labels if f"{float(label):.12g}" == digits), number)


def _label(column: Column, said: Value, labels: tuple[str | float, ...]) -> str | float:
    numeric = column.dtype != "string"
    wanted = f"{_number(column, said):.12g}" if numeric else _text(said)
    try:
        place = label_positions({column.name: labels}, {column.name: wanted})[column.name]
    except ContractError as error:
        raise ValueError(f"{column.name}: {error.problems[0].message}") from None
    return labels[place]


def _category(column: Column, said: Value) -> str:
    if _text(said) in column.categories:
        return _text(said)
    shown = ", ".join(column.categories) if len(column.categories) <= 20 else f"{len(column.categories):,} labels"
    near = suggestion(_text(said), column.categories)
    raise ValueError(f"{column.name}: {said} is none of its labels: {shown or 'it has none'}{near}")


def _text(said: Value) -> str:
    """A label as text: `8` without quotes may mean the label '8'."""
    if isinstance(said, float):
        return f"{said:.12g}"
    return said if isinstance(said, str) else str(said).lower()


def _number(column: Column, said: Value) -> float:
    if isinstance(said, bool):
        raise ValueError(f"{column.name} is a number, not {str(said).lower()}")
    with contextlib.suppress(ValueError):
        number = float(said)
        if math.isfinite(number):
            return number
    unit = column.meta.get("unit", "")
    try:
        return float(parse_quantity(str(said), unit))
    except (KeyError, ValueError) as error:
        raise ValueError(f"{column.name} is a number, not {said!r} ({error})") from None
