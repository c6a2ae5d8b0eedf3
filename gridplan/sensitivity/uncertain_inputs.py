"""Distributions fitted to the inputs of a grid: refused where they leave an input's bounds, or do nothing at all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridplan.contract.bounds import Bounds, bounds_of
from gridplan.contract.grid import Grid
from gridplan.dictionary import dictionary, inputs
from gridplan.engine.bundle import Inputs
from gridplan.engine.inputs import build_inputs
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.sensitivity.distribution_text import DistributionLike, parse_distributions
from gridplan.sensitivity.distributions import Distribution
from gridplan.sensitivity.shifted import with_samples

__all__ = ["NEGLIGIBLE", "bounded_distributions", "moved_by", "values_at"]

NEGLIGIBLE = 1e-9
"""Probability outside the bounds of an input that is cut off unasked (policy): less than one of any sample."""

_LENGTHS = ("prompt_tokens", "output_tokens")


@dataclass(frozen=True)
class _Range:
    """The lowest and highest value that the contract has of an input, NaN where it has none."""

    low: float
    high: float


def bounded_distributions(grid: Grid, given: Mapping[str, DistributionLike]) -> dict[str, Distribution]:
    """Distributions by input, each inside the bounds that the dictionary has for the input.

    A distribution with more than a billionth of its probability outside is refused, unless it is `truncated`. Inputs
    that are whole numbers take `empirical` alone. What multiplies an input needs a value of it in the contract.

    Raises ContractError with every problem.
    """
    parsed = parse_distributions(given)
    if not parsed:
        raise ContractError([Problem("name at least one input and its distribution", key="distributions")])
    problems, found = [], {}
    base: Inputs | None = None
    for name, distribution in parsed.items():
        problem = _unfit(name, distribution)
        if problem is None:
            held = None
            if distribution.multiplies:
                base = base or build_inputs(grid, lenient=True)  # what is missing may be sampled
                held = _stated_range(base, name)
            fitted = _fitted(name, distribution, held)
            if isinstance(fitted, Distribution):
                found[name] = fitted
                continue
            problem = fitted
        problems.append(Problem(problem, key=name))
    if problems:
        raise ContractError(problems)
    return found


def values_at(distributions: Mapping[str, Distribution], points: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """One column of values for each input, from points of the unit cube (one row a sample)."""
    inside = np.clip(points, 2.0**-54, 1 - 2.0**-53)
    return {name: item.quantile(inside[:, at]) for at, (name, item) in enumerate(distributions.items())}


def moved_by(grid: Grid, distributions: Mapping[str, Distribution], values: Mapping[str, NDArray[Any]]) -> Grid:
    """The grid with a dimension `sample` along which the inputs have these values, or are multiplied by them."""
    return with_samples(
        grid, {name: ("multiply" if item.multiplies else "set", values[name]) for name, item in distributions.items()}
    )


def _unfit(name: str, distribution: Distribution) -> str | None:
    """Why an input cannot have that distribution, whatever its numbers."""
    row = dictionary().get(name)
    if row is None or not row.is_input:
        return f"{name} is not an input{suggestion(name, inputs())}"
    if row.is_label or row.role == "axis":
        return f"{name} is a label and has no distribution; put its labels on an axis"
    if row.dtype == "int64" and (distribution.multiplies or distribution.kind != "empirical"):
        return f"{name} is a whole number: write empirical(...) of whole numbers"
    if row.dtype == "int64" and any(value != math.floor(value) for value in distribution.values):
        return f"{name} is a whole number; {next(v for v in distribution.values if v != math.floor(v)):g} is not"
    return None


def _stated_range(base: Inputs, name: str) -> _Range:
    """The values of an input in the contract; of lengths those of all classes, of limits and hits as well."""
    known = (base.values.get(key) for key in (name, f"class_{name}"))
    items = [item.data for item in known if item is not None]
    if name in base.stated:
        items.append(base.stated[name].data)
    numbers = np.concatenate([data.ravel() for data in items if data.dtype != object] or [np.empty(0)])
    numbers = numbers[np.isfinite(numbers)]
    return _Range(float(numbers.min()), float(numbers.max())) if numbers.size else _Range(math.nan, math.nan)


def _fitted(name: str, distribution: Distribution, held: _Range | None) -> Distribution | str:
    """The distribution inside the bounds of its input, or why it is not."""
    bounds = bounds_of(name)
    low, high = bounds.low, bounds.high
    if held is not None:
        if math.isnan(held.low):
            if name not in _LENGTHS:
                return f"{name} has no value in the contract that could be multiplied"
            held = _Range(1.0, 1.0)
            low, high = 0.0, math.inf  # lengths of classes stay at least one token
        elif held.low == 0 and held.high == 0:
            return f"{name} is 0 in the contract, and stays so whatever multiplies it"
        low, high = _factors(low, high, held)
    outside = _outside(distribution, low, high, bounds)
    if outside <= 0:
        return distribution
    what = f"{name} must be {bounds}"
    factor = "" if held is None else f", so factors of {held.low:g} to {held.high:g} from {low:g} to {high:g}"
    if outside > NEGLIGIBLE and not distribution.truncated:
        return (
            f"{what}{factor}; {outside:.2g} of {distribution} lies outside (write truncated after it to cut that off)"
        )
    if 1 - outside <= NEGLIGIBLE:
        return f"{what}{factor}; nothing of {distribution} lies there"
    open_low = held is None and not bounds.low_included
    open_high = held is None and not bounds.high_included
    start = math.nextafter(low, math.inf) if open_low and math.isfinite(low) else low
    end = math.nextafter(high, -math.inf) if open_high and math.isfinite(high) else high
    return distribution.cut(start, end)


def _factors(low: float, high: float, held: _Range) -> tuple[float, float]:
    """The factors that keep every value of a range that is not negative inside bounds."""
    largest = high / held.high if math.isfinite(high) else math.inf
    smallest = low / held.low if math.isfinite(low) and held.low > 0 else -math.inf if low == -math.inf else 0.0
    return smallest, largest


def _outside(distribution: Distribution, low: float, high: float, bounds: Bounds) -> float:
    """The probability outside of bounds; ends that are not included count for single values alone."""
    if distribution.kind == "empirical":
        kept = [value for value in distribution.values if distribution.low <= value <= distribution.high]
        good = [v for v in kept if low <= v <= high and not (v == low and not bounds.low_included)]
        return 1 - sum(not (v == high and not bounds.high_included) for v in good) / len(kept)
    start, end = distribution.support
    if start >= low and end <= high:
        return 0.0
    whole = distribution.below(end) - distribution.below(start)
    inside = distribution.below(min(end, high)) - distribution.below(max(start, low))
    return 1.0 if low >= end or high <= start else max(1 - inside / whole, math.ulp(0.0))
