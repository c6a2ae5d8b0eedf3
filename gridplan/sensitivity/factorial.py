"""Exact Sobol indices of an array on a full factorial grid: how much of its variance each axis explains.

With probabilities p of the labels of every axis, and cells without a value left out (probabilities of the others are
scaled up to 1), for an axis i

    first order  S_i = Var(E[Y | x_i]) / Var(Y)        what knowing its label alone would take away
    total        T_i = E[Var(Y | all but x_i)] / Var(Y)  what is left when all other labels are known

(Sobol', Math. Comput. Simul. 55, 2001; Homma and Saltelli, Reliab. Eng. Syst. Saf. 52, 1996). On a full grid these are
sums over cells and no estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["AxisShares", "axis_shares"]

Array = NDArray[Any]

ROUNDING = 1e-12
"""Spread of a measure, relative to its largest value, below which it does not vary (policy: noise of its formulas)."""

SUSPECT = 1e-9
"""Total index below which an axis may have none; whether it has is then looked up cell by cell (policy)."""


@dataclass(frozen=True)
class AxisShares:
    """Indices of an array by its axes, and what they were computed from.

    `conditional_mean` has for each axis E[Y | label], NaN where no cell of a label has a value; `null_share` is the
    probability of the cells without one.
    """

    first_order: Array
    total: Array
    conditional_mean: tuple[Array, ...]
    mean: float
    variance: float
    null_share: float


def axis_shares(values: Array, weights: Sequence[Array | None] | None = None) -> AxisShares:
    """First-order and total Sobol indices of `values` along each of its axes.

    Parameters
    ----------
    values
        Any number of axes; NaN is a cell without a value.
    weights
        For each axis probabilities of its labels (any positive scale), or None for equal ones. A label of weight 0 is
        left out.

    Returns
    -------
    AxisShares
        Both indices are 0 for an axis that the values do not depend on, and for all axes where nothing varies. NaN
        where no cell has a value. Without missing cells 0 <= S_i <= T_i <= 1 and the S_i add up to at most 1; with them
        the axes are no longer independent, each index still lies in [0, 1], and neither law holds.

    Raises
    ------
    ValueError
        For an infinite value, and for weights that are negative, not finite, all 0 or of another length.

    Examples
    --------
    Y = 3 a + b on two coins: variances 9/4 and 1/4.

    >>> found = axis_shares(np.array([[0.0, 1.0], [3.0, 4.0]]))
    >>> found.first_order.tolist(), found.total.tolist(), found.variance
    ([0.9, 0.1], [0.9, 0.1], 2.5)
    """
    data = np.asarray(values, dtype=np.float64)
    data, probabilities, kept = _occurring(data, weights)
    null, low, high = _range(data)
    if low > high:
        nothing = np.full(data.ndim, np.nan)
        none = tuple(np.full(places.size, np.nan) for places in kept)
        return AxisShares(nothing, nothing.copy(), none, np.nan, np.nan, 1.0)
    present = (~np.isnan(data)).astype(np.float64) if null else None
    valued = 1.0 if present is None else float(_contracted(present, probabilities))
    scale = (high - low) if high - low > ROUNDING * max(abs(low), abs(high)) else 0.0
    centred, mean = _centred(data, probabilities, low, scale or 1.0, valued)
    variance = float(_contracted(centred * centred, probabilities)) / valued
    first, total = np.zeros(data.ndim), np.zeros(data.ndim)
    means: list[Array] = []
    for axis in range(data.ndim):
        within, effect, mass = _of_axis(centred, present, probabilities, axis)
        if scale and variance > 0:
            first[axis] = float(np.nansum(probabilities[axis] * mass / valued * effect**2)) / variance
            total[axis] = within / valued / variance
            if total[axis] < SUSPECT and _is_constant(data, axis):
                first[axis] = total[axis] = 0.0
        spread = np.full(kept[axis].size, np.nan)
        above = mean + effect
        above[np.abs(above) < ROUNDING] = 0.0
        spread[kept[axis]] = low + (scale or 1.0) * above
        means.append(spread)
    np.clip(first, 0.0, 1.0, out=first)
    np.clip(total, 0.0, 1.0, out=total)
    shift = low + (scale or 1.0) * mean
    return AxisShares(first, total, tuple(means), shift, variance * scale**2, 1.0 - valued if null else 0.0)


def _occurring(data: Array, weights: Sequence[Array | None] | None) -> tuple[Array, list[Array], list[Array]]:
    """The values at labels of positive weight, their probabilities by axis, and which labels these are."""
    given = [None] * data.ndim if weights is None else list(weights)
    if len(given) != data.ndim:
        raise ValueError(f"{len(given)} weights for {data.ndim} axes")
    probabilities, kept = [], []
    for axis, weight in enumerate(given):
        size = data.shape[axis]
        raw = np.ones(size) if weight is None else np.asarray(weight, dtype=np.float64)
        if raw.shape != (size,):
            raise ValueError(f"{raw.size} weights for the {size} labels of axis {axis}")
        if not np.isfinite(raw).all() or (raw < 0).any() or raw.sum() <= 0:
            raise ValueError(f"weights of axis {axis} must be finite and >= 0, and some above 0")
        occurs = raw > 0
        if not occurs.all():
            data = np.compress(occurs, data, axis=axis)
        probabilities.append(raw[occurs] / raw.sum())
        kept.append(occurs)
    return np.ascontiguousarray(data), probabilities, kept


def _range(data: Array) -> tuple[bool, float, float]:
    """Whether cells are missing, and the lowest and highest value; lowest above highest where there is none."""
    low = float(np.fmin.reduce(data, axis=None, initial=np.inf))
    high = float(np.fmax.reduce(data, axis=None, initial=-np.inf))
    if low == -np.inf or (high == np.inf):
        raise ValueError("an infinite value has no variance")
    return bool(np.isnan(np.min(data, initial=np.inf))), low, high


def _centred(data: Array, probabilities: list[Array], low: float, scale: float, valued: float) -> tuple[Array, float]:
    """The values as shares of their range from their mean on, 0 where missing, and that mean; twice, for its digits."""
    centred = (data - low) / scale
    np.nan_to_num(centred, copy=False)
    mean = float(_contracted(centred, probabilities)) / valued
    centred -= mean
    if valued < 1.0:
        centred[np.isnan(data)] = 0.0
    rest = float(_contracted(centred, probabilities)) / valued
    centred -= rest
    if valued < 1.0:
        centred[np.isnan(data)] = 0.0
    return centred, mean + rest


def _of_axis(centred: Array, present: Array | None, weights: list[Array], axis: int) -> tuple[float, Array, Array]:
    """E[Var(Y | all but the axis)] times the probability of a value; E[Y | label]; that probability by label."""
    inner = _along(centred, weights[axis], axis)
    if present is not None:
        mass = _along(present, weights[axis], axis)
        np.divide(inner, mass, out=inner, where=mass > 0)
    rest = centred - np.expand_dims(inner, axis)
    rest *= rest
    if present is not None:
        rest *= present
    within = float(_contracted(rest, weights))
    sums = _others_contracted(centred, weights, axis)
    if present is None:
        return within, sums, np.ones(sums.shape)
    label = _others_contracted(present, weights, axis)
    return within, np.divide(sums, label, out=np.full(sums.shape, np.nan), where=label > 0), label


def _others_contracted(data: Array, weights: list[Array], axis: int) -> Array:
    """The mean over all axes but one."""
    for other in range(data.ndim - 1, -1, -1):
        if other != axis:
            data = _along(data, weights[other], other)
    return data


def _contracted(data: Array, weights: list[Array]) -> Array:
    """The mean over all axes."""
    for axis in range(data.ndim - 1, -1, -1):
        data = _along(data, weights[axis], axis)
    return data


def _along(data: Array, weight: Array, axis: int) -> Array:
    """The weighted sum along an axis, without a transposed copy."""
    shape = data.shape
    after = int(np.prod(shape[axis + 1 :]))
    cube = data.reshape(-1, shape[axis], after)
    summed = cube[:, :, 0] @ weight if after == 1 else np.matmul(weight, cube)
    return np.asarray(summed).reshape((*shape[:axis], *shape[axis + 1 :]))


def _is_constant(data: Array, axis: int) -> bool:
    """Whether values, and which cells have one, are the same at every label of an axis."""
    first = np.take(data, [0], axis=axis)
    near = np.abs(data - first) <= ROUNDING * np.abs(first)
    return bool((near | (np.isnan(data) & np.isnan(first))).all())
