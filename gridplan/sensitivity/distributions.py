"""What an uncertain input may be: normal, lognormal, uniform, triangular, or the values that were measured.

A distribution is a quantile function; samples are its values at points of (0, 1). Quantiles: Johnson, Kotz and
Balakrishnan, Continuous Univariate Distributions 1 and 2, 1994-95; normal ones by `scipy.special.ndtri`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["PARAMETERS", "Distribution", "parameter_problems"]

Array = NDArray[Any]

PARAMETERS = {
    "normal": (("mean", "sd"),),
    "lognormal": (("median", "sigma"), ("mean", "scv"), ("median", "scv"), ("mean", "sigma")),
    "uniform": (("low", "high"),),
    "triangular": (("low", "mode", "high"),),
    "empirical": (),
}
"""The kinds, each with the sets of parameters that fix it; the first set may be given without names."""

TINY = 1e-300


@dataclass(frozen=True)
class Distribution:
    """One input's distribution.

    `multiplies` says that samples are factors of the contract's value, else they stand in its place. Of a truncated
    one only what lies in [low, high] is left, scaled up to 1. `empirical` has its `values`, all alike.
    """

    kind: str
    parameters: dict[str, float] = field(default_factory=dict)
    values: tuple[float, ...] = ()
    multiplies: bool = False
    low: float = -math.inf
    high: float = math.inf
    truncated: bool = False

    def __str__(self) -> str:
        said = [f"{name}={value:g}" for name, value in self.parameters.items()] or [f"{v:g}" for v in self.values]
        # What is cut off unasked is less than one of any sample, and an open end at 0 is the least number above it.
        low = 0.0 if 0 < self.low < TINY else self.low
        cut = f" truncated({low:g}, {self.high:g})" if self.truncated else ""
        return f"{'x ' if self.multiplies else ''}{self.kind}({', '.join(said)}){cut}"

    def quantile(self, points: Array) -> Array:
        """Values at probabilities strictly between 0 and 1.

        >>> Distribution("triangular", {"low": 0, "mode": 1, "high": 2}).quantile(np.array([0.125, 0.5])).tolist()
        [0.5, 1.0]
        """
        if self.kind == "empirical":
            ordered = np.sort([value for value in self.values if self.low <= value <= self.high])
            place = np.minimum((np.asarray(points) * ordered.size).astype(np.int64), ordered.size - 1)
            return np.asarray(ordered[place])
        if self.low == -math.inf and self.high == math.inf:
            return self._quantile(points)
        start, end = self.below(self.low), self.below(self.high)
        return np.clip(self._quantile(start + points * (end - start)), self.low, self.high)

    def below(self, value: float) -> float:
        """The probability of at most `value`, before anything is cut off.

        >>> Distribution("uniform", {"low": 10, "high": 20}).below(12.5)
        0.25
        """
        from scipy.special import ndtr

        if self.kind == "empirical":
            return sum(item <= value for item in self.values) / len(self.values)
        if self.kind == "normal":
            return float(ndtr((value - self.parameters["mean"]) / self.parameters["sd"]))
        if self.kind == "lognormal":
            middle, sigma = self._log
            return float(ndtr((math.log(value) - middle) / sigma)) if value > 0 else 0.0
        low, high = self.parameters["low"], self.parameters["high"]
        if value <= low or value >= high:
            return float(value >= high)
        if self.kind == "uniform":
            return (value - low) / (high - low)
        mode = self.parameters["mode"]
        if value <= mode:
            return (value - low) ** 2 / ((high - low) * (mode - low))
        return 1 - (high - value) ** 2 / ((high - low) * (high - mode))

    @property
    def support(self) -> tuple[float, float]:
        """The lowest and the highest value there may be."""
        if self.kind == "empirical":
            kept = [value for value in self.values if self.low <= value <= self.high]
            return (min(kept), max(kept)) if kept else (math.nan, math.nan)
        ends = {"normal": (-math.inf, math.inf), "lognormal": (0.0, math.inf)}
        start, end = ends.get(self.kind) or (self.parameters["low"], self.parameters["high"])
        return max(start, self.low), min(end, self.high)

    def cut(self, low: float, high: float) -> Distribution:
        """What of it lies between two values."""
        return replace(self, low=max(low, self.low), high=min(high, self.high))

    @property
    def _log(self) -> tuple[float, float]:
        """Mean and standard deviation of the logarithm of a lognormal."""
        given = self.parameters
        sigma = given["sigma"] if "sigma" in given else math.sqrt(math.log1p(given["scv"]))
        return math.log(given["median"]) if "median" in given else math.log(given["mean"]) - sigma**2 / 2, sigma

    def _quantile(self, points: Array) -> Array:
        from scipy.special import ndtri

        given = self.parameters
        if self.kind == "normal":
            return np.asarray(given["mean"] + given["sd"] * ndtri(points))
        if self.kind == "lognormal":
            middle, sigma = self._log
            return np.asarray(np.exp(middle + sigma * ndtri(points)))
        low, high = given["low"], given["high"]
        if self.kind == "uniform":
            return np.asarray(low + points * (high - low))
        mode, width = given["mode"], high - low
        rising = low + np.sqrt(points * width * (mode - low))
        falling = high - np.sqrt((1 - points) * width * (high - mode))
        return np.asarray(np.where(points <= (mode - low) / width, rising, falling))


def parameter_problems(kind: str, given: dict[str, float], values: tuple[float, ...]) -> list[str]:
    """What is wrong with the numbers of a distribution."""
    numbers = [*given.values(), *values]
    if not all(math.isfinite(number) for number in numbers):
        return ["all numbers of a distribution must be finite"]
    if kind == "empirical":
        return [] if values else ["empirical needs at least one value"]
    problems = [
        f"{name} must be > 0; {given[name]:g} is not" for name in ("sd", "sigma", "scv") if given.get(name, 1) <= 0
    ]
    if kind == "lognormal":
        problems += [f"{n} must be > 0; {given[n]:g} is not" for n in ("mean", "median") if given.get(n, 1) <= 0]
    if kind in ("uniform", "triangular") and not given["low"] < given["high"]:
        problems.append(f"low must be below high; {given['low']:g} and {given['high']:g} are not")
    elif kind == "triangular" and not given["low"] <= given["mode"] <= given["high"]:
        problems.append(f"mode must lie from low to high; {given['mode']:g} does not")
    return problems
