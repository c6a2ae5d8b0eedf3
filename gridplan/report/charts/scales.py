"""Scales whose ends and pixels are known before anything is drawn: where a value lies, and which values are ticked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Scale", "apart", "scale_of"]

_WIDE_RANGE = 20.0
"""Ratio of the ends of a scale from which it is logarithmic (policy)."""


@dataclass(frozen=True)
class Scale:
    """An axis: its ends in values and its length in pixels, equal steps or, with `log`, equal ratios."""

    low: float
    high: float
    pixels: float
    log: bool

    @property
    def type(self) -> str:
        """What Vega-Lite calls it."""
        return "log" if self.log else "linear"

    def share(self, value: float) -> float:
        """How far a value lies between both ends."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def value(self, share: float) -> float:
        """The value that lies so far between both ends.

        >>> Scale(1.0, 100.0, 300.0, True).value(0.5), Scale(0.0, 10.0, 300.0, False).value(0.5)
        (10.0, 5.0)
        """
        if self.log:
            return float(self.low * (self.high / self.low) ** share)
        return self.low + share * (self.high - self.low)

    def ticks(self, room: float, most: float) -> list[float] | None:
        """Values ticked on a scale of ratios, up to `most`, with so many pixels for each; None: Vega chooses.

        >>> Scale(1.0, 500.0, 300.0, True).ticks(30.0, 500.0)
        [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0]
        """
        if not self.log:
            return None
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        digits = (1.0, 2.0, 5.0) if 3 * len(powers) * room < 1.4 * self.pixels else (1.0,)
        every = max(1, math.ceil(len(powers) * room / self.pixels))
        found = [digit * 10.0**power for power in powers[::every] for digit in digits]
        return [value for value in found if self.low <= value <= most]


def scale_of(values: Sequence[float], pixels: float) -> Scale:
    """The scale from the least to the largest of these, some room about them where they are all alike."""
    low, high = min(values), max(values)
    if low == high:
        low, high = low - (abs(low) / 10 or 1.0), high + (abs(high) / 10 or 1.0)
    return Scale(low, high, pixels, low > 0 and high > _WIDE_RANGE * low)


def apart(wanted: Sequence[float], step: float, width: float) -> list[float]:
    """Pixels that rise, moved as far apart as labels need, inside the plot.

    >>> apart([10.0, 11.0, 60.0], 15.0, 100.0)
    [10.0, 25.0, 60.0]
    """
    found: list[float] = []
    for place in wanted:
        found.append(max(place, found[-1] + step if found else step / 2))
    limit = width - step / 2
    for at in reversed(range(len(found))):
        found[at] = min(found[at], limit)
        limit = found[at] - step
    return found
