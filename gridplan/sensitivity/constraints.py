"""Conditions on cells as a person writes them: `usd_per_month <= 150000`, `provider in aws, gcp`, `gpu != l4`."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridplan.dictionary import dictionary
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.quantities import parse_quantity

__all__ = ["Condition", "accepted", "conditions", "held"]

_SHAPE = re.compile(r"\s*(\w+)\s*(<=|>=|==|!=|=|<|>|\bnot\s+in\b|\bin\b)\s*(.*\S)\s*")
_COMPARE: Mapping[str, Callable[[Any, float], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_TRUTH = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


@dataclass(frozen=True)
class Condition:
    """What one name must be; `values` are several for `in` and `not in`."""

    name: str
    op: str
    values: tuple[str, ...]
    reason: str
    """What is said of a cell that does not meet it."""
    asked_as: str = "where"
    """The argument that it came from."""


def conditions(texts: str | Iterable[str]) -> list[Condition]:
    """Read conditions `NAME OP VALUE` with `<=`, `<`, `>=`, `>`, `=`, `!=`, `in` or `not in` (values by commas).

    A number that is compared may have a unit (`tpot_s <= 20 ms`); a measure that is true or false may stand alone.

    Raises
    ------
    ContractError
        For a text that has another shape, with every such text.

    >>> conditions(["nodes <= 4", "gpu in h100-sxm, b200"])[1].values
    ('h100-sxm', 'b200')
    >>> [(item.op, *item.values) for item in conditions(["tpot_s <= 20 ms", "slo_held"])]
    [('<=', '0.02'), ('=', 'true')]
    """
    found, problems = [], []
    for text in [texts] if isinstance(texts, str) else texts:
        row = dictionary().get(text.strip())
        if row is not None and row.dtype == "bool":
            found.append(Condition(row.name, "=", ("true",), f"{row.name} false"))
            continue
        match = _SHAPE.fullmatch(text)
        if match is None:
            problems.append(Problem(f"{text!r} is no condition such as usd_per_month <= 150000", key="where"))
            continue
        name, op, right = match.groups()
        op = {"==": "="}.get(op, re.sub(r"\s+", " ", op))
        # A number keeps its thousands separators: 150,000 is one value unless a list is asked for.
        values = tuple(part.strip() for part in right.split(",") if part.strip()) if "in" in op else (right,)
        if op in _COMPARE and _number(right) is None:
            plain = _without_unit(name, right)
            if plain is None:
                problems.append(Problem(f"{text!r}: {right!r} is not a number", key="where"))
                continue
            values = (plain,)
        found.append(Condition(name, op, values, f"not {name} {op} {right if op in _COMPARE else ', '.join(values)}"))
    if problems:
        raise ContractError(problems)
    return found


def accepted(accept: Mapping[str, str | Sequence[str]] | None) -> list[Condition]:
    """Labels that the owner of a quality bar accepts, as conditions.

    >>> accepted({"kv_dtype": "bf16"})[0].reason
    'kv_dtype not accepted'
    """
    return [
        Condition(name, "in", (labels,) if isinstance(labels, str) else tuple(labels), f"{name} not accepted", "accept")
        for name, labels in (accept or {}).items()
    ]


def held(condition: Condition, values: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where a condition holds, and where the value is null, so that nobody knows; shapes as `values`.

    Raises
    ------
    ContractError
        Where labels are compared as numbers or the other way round, and for a label that occurs nowhere.

    >>> held(conditions("nodes <= 4")[0], np.array([3.0, 5.0, np.nan]))
    (array([ True, False, False]), array([False, False,  True]))
    """
    if values.dtype == object:
        return _of_labels(condition, values)
    null = np.isnan(values)
    numbers = [_number(text) for text in condition.values]
    wrong = [text for text, number in zip(condition.values, numbers, strict=True) if number is None]
    if wrong:
        raise ContractError([Problem(f"{condition.name} is a number, not {text!r}", key="where") for text in wrong])
    stated = np.array(numbers, np.float64)
    if condition.op in _COMPARE:
        return _COMPARE[condition.op](values, stated[0]) & ~null, null
    # Axes hold 12 significant digits, and so do the numbers that name their labels.
    same = np.zeros(values.shape, bool)
    for number in stated:
        same |= np.isclose(values, number, rtol=1e-12, atol=0.0)
    return (~same if condition.op in ("!=", "not in") else same) & ~null, null


def _of_labels(condition: Condition, values: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    if condition.op in _COMPARE:
        raise ContractError([Problem(f"{condition.name} is a label: it may be =, !=, in or not in", key="where")])
    from pandas import factorize

    codes, labels = factorize(values.ravel())
    known = [str(label) for label in labels]
    unknown = [
        Problem(f"no {condition.name} of this cube is {text}{suggestion(text, known)}", key=condition.asked_as)
        for text in condition.values
        if text not in known
    ]
    if unknown:
        raise ContractError(unknown)
    meant = np.array([*(label in condition.values for label in known), False])
    same = meant[codes].reshape(values.shape)
    null = (codes < 0).reshape(values.shape)
    return (~same if condition.op in ("!=", "not in") else same) & ~null, null


def _without_unit(name: str, text: str) -> str | None:
    """A number with a unit, in the unit that the dictionary has for the name."""
    try:
        return repr(float(parse_quantity(text, dictionary()[name].unit)))
    except (KeyError, ValueError):
        return None


def _number(text: str) -> float | None:
    if text.strip().lower() in _TRUTH:
        return _TRUTH[text.strip().lower()]
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
