"""What must hold of a plan, as a person writes it: `usd_per_month <= 150000`, `slo_held`, `status = ok`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridplan.dictionary import all_measures, dictionary
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.quantities import parse_quantity

__all__ = ["TOLERANCE", "Condition", "conditions_of", "judged", "read_for", "reasons"]

TOLERANCE = 1e-12
"""Share by which a measure may miss a number that it must reach (policy): sums of decimals are no decimals."""

_FORM = re.compile(r"\s*([A-Za-z_0-9]+)\s*(?:(<=|>=|==|!=|<|>|=)\s*(.*?)\s*)?")
_FEASIBLE = ("status", "infeasible_reason")


@dataclass(frozen=True)
class Condition:
    """One statement about a measure; `value` is a number in its unit, or a label."""

    measure: str
    op: str
    value: float | str

    def __str__(self) -> str:
        if dictionary()[self.measure].dtype == "bool" and self.op == "=":
            return self.measure if self.value == 1.0 else f"not {self.measure}"
        return f"{self.measure} {self.op} {self.value if isinstance(self.value, str) else f'{self.value:.12g}'}"

    def holds(self, values: NDArray[Any]) -> NDArray[Any]:
        """1 where it holds, 0 where it does not, NaN where the measure is null."""
        if isinstance(self.value, str):
            null = np.asarray(values == None, bool)  # noqa: E711 - elementwise on labels
            same = np.asarray(values == self.value, bool)
            return np.where(null, np.nan, (same if self.op == "=" else ~same).astype(np.float64))
        room = TOLERANCE * abs(self.value)
        found = {
            "<=": values <= self.value + room,
            ">=": values >= self.value - room,
            "<": values < self.value - room,
            ">": values > self.value + room,
            "=": np.abs(values - self.value) <= room,
            "!=": np.abs(values - self.value) > room,
        }[self.op]
        return np.where(np.isnan(values), np.nan, found.astype(np.float64))


def conditions_of(asked: str | Iterable[str]) -> tuple[Condition, ...]:
    """The conditions of texts, with `status = ok` first unless one speaks of the status.

    Numbers may carry a unit (`tpot_s <= 20 ms`). A measure that is true or false stands alone.

    >>> [str(item) for item in conditions_of(["tpot_s <= 20 ms", "slo_held"])]
    ['status = ok', 'tpot_s <= 0.02', 'slo_held']

    Raises
    ------
    ContractError
        With every text that is no condition, and the nearest measures.
    """
    problems: list[Problem] = []
    found = [_condition(text, problems) for text in ([asked] if isinstance(asked, str) else asked)]
    if problems:
        raise ContractError(problems)
    known = [item for item in found if item is not None]
    if any(item.measure in _FEASIBLE for item in known):
        return tuple(known)
    return (Condition("status", "=", "ok"), *known)


def _condition(text: str, problems: list[Problem]) -> Condition | None:
    form = _FORM.fullmatch(text)
    if form is None:
        problems.append(Problem(f"{text!r} is no condition: MEASURE OP NUMBER is due, as usd_per_month <= 150000"))
        return None
    name, op, said = form.groups()
    if name not in all_measures():
        problems.append(Problem(f"{name} is not a measure{suggestion(name, all_measures())}", key="while"))
        return None
    row = dictionary()[name]
    sign = "=" if op in (None, "==") else op
    if row.dtype == "bool":
        truth = {None: 1.0, "true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "1": 1.0, "0": 0.0}
        if said in truth and sign == "=":
            return Condition(name, "=", truth[said])
        problems.append(Problem(f"{text!r}: {name} is true or false; write it alone", key="while"))
    elif op is None or not said:
        problems.append(Problem(f"{name} needs a comparison, as {name} <= 10", key="while"))
    elif row.is_label:
        if sign in ("=", "!="):
            return Condition(name, sign, said)
        problems.append(Problem(f"{text!r}: {name} is a label; compare it by = or !=", key="while"))
    else:
        return _number(name, sign, said, problems)
    return None


def _number(name: str, sign: str, said: str, problems: list[Problem]) -> Condition | None:
    try:
        number = float(said.replace(",", ""))
    except ValueError:
        try:
            number = parse_quantity(said, dictionary()[name].unit)
        except ValueError as error:
            problems.append(Problem(str(error), key=name))
            return None
    if math.isfinite(number):
        return Condition(name, sign, number)
    problems.append(Problem(f"{name} {sign} {said}: a finite number is due", key="while"))
    return None


def read_for(conditions: Sequence[Condition]) -> tuple[str, ...]:
    """Measures that judging reads: those of the conditions and the status."""
    return tuple(dict.fromkeys(("status", *(item.measure for item in conditions))))


def judged(conditions: Sequence[Condition], figures: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """1 where all conditions hold, 0 where one fails, NaN where one that would decide is null.

    In an infeasible cell measures are null because there is no plan: nothing holds there.
    """
    feasible = np.asarray(figures["status"] == "ok", bool)
    total: NDArray[Any] = np.ones(())
    for item in conditions:
        one = item.holds(figures[item.measure])
        one = np.where(np.isnan(one) & ~feasible, 0.0, one)
        total = np.where((total == 0.0) | (one == 0.0), 0.0, total + one - 1.0)
    return total


def reasons(conditions: Sequence[Condition], figures: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Why not all conditions hold: the reason why there is no plan, else the first condition that fails or is null."""
    feasible = np.asarray(figures["status"] == "ok", bool)
    shape = np.broadcast_shapes(*(np.shape(values) for values in figures.values()))
    found = np.full(shape, None, dtype=object)
    for item in conditions[::-1]:
        one = np.broadcast_to(item.holds(figures[item.measure]), shape)
        found[one == 0.0] = str(item)
    for item in conditions[::-1]:
        one = np.broadcast_to(np.isnan(item.holds(figures[item.measure])) & feasible, shape)
        found[one & (found == None)] = f"{item.measure} is null"  # noqa: E711
    infeasible = np.broadcast_to(~feasible, shape)
    why = np.broadcast_to(figures["infeasible_reason"], shape)
    failing = np.broadcast_to(judged(conditions, figures) != 1.0, shape)
    return np.where(infeasible & failing, why, found)
