"""Lengths known by a few quantiles as equally probable nodes, each the mean of its slice of the distribution.

Quantiles are joined by straight lines on lognormal paper (log length over normal score), and the first and the last
line go on to both ends: lengths of requests are skewed, so a straight line between lengths would make the upper slices
too long, and an end at the last quantile too short. Each line is a piece of a lognormal distribution, log X = a + b Z,
whose slices have a closed form: E[X; Z < z] = exp(a + b^2 / 2) Phi(z - b). Source: Johnson, Kotz and Balakrishnan,
"Continuous Univariate Distributions", 1994, chapter 14.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["quantile_nodes"]

_Vector = npt.NDArray[np.float64]


def quantile_nodes(
    percentiles: Sequence[float], lengths: Sequence[float], count: int, longest: float = np.inf
) -> tuple[_Vector, _Vector, _Vector]:
    """Shares [1] and lengths [tokens] of `count` equally probable nodes of a distribution with these quantiles.

    The third result is the squared coefficient of variation of the lengths within each node [1].

    percentiles between 0 and 100 and lengths [tokens], both rising, at least two; `longest` [tokens] cuts the tail,
    which goes on as its last line does. Raises ValueError where they do not rise, or rise so steeply that the tail has
    no finite mean and nothing cuts it. The median 100 and the quantile 200 one normal score above it are of a lognormal
    distribution with sigma = ln 2, whose mean is 100 exp(sigma^2 / 2) = 127.15:

    >>> weights, lengths, scv = quantile_nodes([50, 84.1344746], [100, 200], 1)
    >>> lengths.round(2).tolist(), bool(np.isclose(scv[0], np.exp(np.log(2) ** 2) - 1))
    ([127.15], True)
    """
    from scipy import special  # loads slower than all the rest of a plan, which does without it

    shares, logs = np.asarray(percentiles, dtype=np.float64) / 100.0, np.log(np.asarray(lengths, dtype=np.float64))
    if shares.size < 2 or not (np.diff(shares) > 0).all() or not (np.diff(logs) > 0).all():
        raise ValueError("quantiles are at least two, and percentiles and lengths rise together")
    scores = special.ndtri(shares)
    slopes = np.diff(logs) / np.diff(scores)
    starts = logs[:-1] - slopes * scores[:-1]
    # The first and the last line go on to both ends; the last until it reaches the longest length.
    borders = np.concatenate([[-np.inf], scores[1:-1], [np.inf]])
    end = (np.log(longest) - starts[-1]) / slopes[-1]
    edges = special.ndtri(np.arange(count + 1) / count)
    first, second = np.zeros(count), np.zeros(count)
    for start, slope, left, right in zip(starts, slopes, borders[:-1], np.minimum(borders[1:], end), strict=True):
        low, high = np.clip(edges[:-1], left, right), np.clip(edges[1:], left, right)
        first += _moment(start, slope, low, high)
        second += _moment(2 * start, 2 * slope, low, high)
    if np.isfinite(longest):
        cut = special.ndtr(np.maximum(edges[1:], end)) - special.ndtr(np.maximum(edges[:-1], end))
        first, second = first + longest * cut, second + longest * longest * cut
    if not np.isfinite(second).all():
        raise ValueError(
            "the last two quantiles rise so steeply that the tail has no finite mean: state a longest length"
        )
    first, second = first * count, second * count
    return np.full(count, 1.0 / count), first, np.maximum(second / first**2 - 1.0, 0.0)


def _moment(start: float, slope: float, low: _Vector, high: _Vector) -> _Vector:
    """Integral of exp(start + slope z) over the standard normal density from `low` to `high`."""
    from scipy import special

    whole = start + slope * slope / 2  # as a logarithm: a steep line would overflow before its slice is cut
    with np.errstate(over="ignore", invalid="ignore"):
        upper, lower = special.log_ndtr(high - slope), special.log_ndtr(low - slope)
        return np.asarray(np.exp(whole + upper) - np.exp(whole + lower))
