"""The bounds of an input as the dictionary writes them: `0<x<=1`, `1<=x`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from gridplan.dictionary import dictionary

__all__ = ["Bounds", "bounds_of"]

_FORM = re.compile(r"(?:([0-9.]+)(<=?))?x(?:(<=?)([0-9.]+))?")


@dataclass(frozen=True, slots=True)
class Bounds:
    """An interval; an end is included or not."""

    low: float = -math.inf
    low_included: bool = True
    high: float = math.inf
    high_included: bool = True

    def holds(self, value: float) -> bool:
        """Whether `value` lies inside."""
        above = value >= self.low if self.low_included else value > self.low
        below = value <= self.high if self.high_included else value < self.high
        return above and below

    def __str__(self) -> str:
        ends = []
        if self.low > -math.inf:
            ends.append(f"{'>=' if self.low_included else '>'} {self.low:g}")
        if self.high < math.inf:
            ends.append(f"{'<=' if self.high_included else '<'} {self.high:g}")
        return " and ".join(ends)


@lru_cache(maxsize=256)
def bounds_of(name: str) -> Bounds:
    """The bounds of the input of that name.

    >>> str(bounds_of("rho_target")), bounds_of("rho_target").holds(1.2)
    ('> 0 and <= 1', False)
    """
    text = dictionary()[name].bounds
    if not text:
        return Bounds()
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"bounds of {name} in the dictionary: {text}")
    low, low_sign, high_sign, high = found.groups()
    return Bounds(
        float(low) if low else -math.inf,
        low_sign != "<",
        float(high) if high else math.inf,
        high_sign != "<",
    )
