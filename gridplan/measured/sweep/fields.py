"""Values of one object of a result file, read by key with their place in messages: nothing is taken that is not a
finite number in range."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from gridplan.errors import ContractError, Problem
from gridplan.measured.sweep.point import Setting

__all__ = ["AGREE_WITHIN", "Fields", "scaled", "settings_of"]

AGREE_WITHIN = 0.02
"""Relative difference up to which two figures of one file are the same (policy): rounding and the tail of a run."""

_MOST = 1e15
"""Larger figures are errors of a file (policy): no count, rate or time of a load test comes near it."""

_LONGEST_SETTING = 200


def scaled(value: float, power_of_ten: int) -> float:
    """A decimal number times a power of ten, rounded once: milliseconds to seconds is -3.

    >>> scaled(74.3, -3), scaled(1915.8, -3)
    (0.0743, 1.9158)
    """
    return float(Decimal(repr(value)).scaleb(power_of_ten)) if power_of_ten else float(value)


class Fields:
    """One object of a file; `path` is where it stands in the document, `line` where the format is lines."""

    def __init__(self, values: Mapping[str, Any], file: str, path: str = "", line: int | None = None) -> None:
        self.values = values
        self.file = file
        self.path = path
        self.line = line

    def error(self, key: str, message: str) -> ContractError:
        """An error at a key of this object; at the object itself where the key is empty."""
        return ContractError([Problem(message, self.file, self.line, key=self._at(key) or None)])

    def has(self, key: str) -> bool:
        """Whether the key is there and not null."""
        return self.values.get(key) is not None

    def number(self, key: str, power_of_ten: int = 0, most: float = _MOST) -> float | None:
        """The number at a key times a power of ten; None where it is missing or null.

        Raises ContractError for anything that is no finite number of 0 to `most`.
        """
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(key, f"{_shown(value)} is not a number")
        if value != value or value in (math.inf, -math.inf):
            raise self.error(key, f"{value} is not a finite number")
        if value < 0:
            raise self.error(key, f"{_figure(value)} is negative")
        if value > most:
            raise self.error(key, f"{_figure(value)} is out of range: {most:g} at most")
        return scaled(value, power_of_ten)

    def need(self, key: str, power_of_ten: int = 0) -> float:
        """The number at a key; an error where it is missing."""
        value = self.number(key, power_of_ten)
        if value is None:
            raise self.error(key, "is missing")
        return value

    def positive(self, key: str, power_of_ten: int = 0) -> float:
        """The number at a key, above 0; an error where it is missing."""
        value = self.need(key, power_of_ten)
        if not value:
            raise self.error(key, "is 0")
        return value

    def count(self, key: str) -> int | None:
        """The whole number at a key; None where it is missing or null."""
        value = self.number(key)
        if value is None:
            return None
        if value != int(value):
            raise self.error(key, f"{value:g} is not a whole number")
        return int(value)

    def need_count(self, key: str) -> int:
        """The whole number at a key; an error where it is missing."""
        value = self.count(key)
        if value is None:
            raise self.error(key, "is missing")
        return value

    def text(self, key: str) -> str | None:
        """The text at a key; None where it is missing, null, empty or no text or number."""
        value = self.values.get(key)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return None
        return str(value)[:_LONGEST_SETTING] or None

    def child(self, key: str) -> Fields:
        """The object at a key; an empty one where it is missing or null, an error where it is something else."""
        value = self.values.get(key)
        if value is None:
            value = {}
        if not isinstance(value, Mapping):
            raise self.error(key, f"{_shown(value)} is not an object")
        return Fields(value, self.file, self._at(key), self.line)

    def items(self, key: str) -> list[Fields]:
        """The objects of the list at a key; none where it is missing or null."""
        value = self.values.get(key)
        if value is None:
            return []
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise self.error(key, f"{_shown(value)} is not a list")
        found = []
        for index, item in enumerate(value):
            if not isinstance(item, Mapping):
                raise self.error(f"{key}[{index}]", f"{_shown(item)} is not an object")
            found.append(Fields(item, self.file, f"{self._at(key)}[{index}]", self.line))
        return found

    def agree(self, key: str, stated: float | None, reckoned: float | None, how: str, step: float = 0.0) -> None:
        """An error where a stated figure is more than 2% and a printed step from what others of the file make of it."""
        if stated is None or reckoned is None:
            return
        if abs(stated - reckoned) > AGREE_WITHIN * max(stated, reckoned) + step:
            raise self.error(key, f"is {stated:,.6g}, but {how} is {reckoned:,.6g}: more than 2% apart")

    def _at(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path and key else self.path or key


def settings_of(values: Mapping[str, Any], *leave_out: str, prefix: str = "") -> dict[str, Setting]:
    """What an object states beside the keys left out: short texts, finite numbers and truths, objects one level down.

    >>> settings_of({"seed": 1, "slo": {"ttft": 200.0}, "itls": [1, 2], "tag": None})
    {'seed': 1, 'slo.ttft': 200.0}
    """
    found: dict[str, Setting] = {}
    for key, value in values.items():
        if key in leave_out:
            continue
        if isinstance(value, Mapping) and not prefix:
            found |= settings_of(value, prefix=f"{key}.")
        elif _is_setting(value):
            found[f"{prefix}{key}"] = value
    return found


def _is_setting(value: object) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= _LONGEST_SETTING
    return isinstance(value, bool) or (isinstance(value, int | float) and -_MOST <= value <= _MOST)


def _figure(value: float) -> str:
    try:
        return f"{value:g}"
    except OverflowError:  # an integer beyond every float
        return _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple | set):  # may be huge, or hold itself
        return "a list"
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits
        return "this"
    return text if len(text) <= 60 else f"{text[:57]}..."
