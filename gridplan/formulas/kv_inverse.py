"""The charge of a sequence asked backwards: how long may it be for a given number of bytes?

The charge of S tokens (`kv_charge`) is a staircase over several layer groups whose blocks differ in length, so it has
no closed inverse. Without rounding it is a broken line with one bend a group, which has one:

    S(Q) = (Q - sum over saturated g of limit_g b_g / B_g - sum over g of extra_g b_g) / sum over growing g of b_g / B_g

Rounding up adds at most one block a group, so the whole-block answer lies between S(Q - sum of b_g) and S(Q). The
staircase never falls, so halving that bracket, seldom wider than a block, finds the step exactly.

The group axis is the last one of the four arrays, as in `kv_charge`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gridplan.formulas._types import Value
from gridplan.formulas.kv_charge import kv_charge_bytes

__all__ = ["tokens_within_charge", "tokens_within_charge_unrounded"]

Floats = NDArray[np.float64]


def tokens_within_charge(
    charge_bytes: Value,
    group_block_bytes: Value,
    group_block_tokens: Value,
    group_limit_tokens: Value,
    group_extra_blocks: Value,
) -> Value:
    """Longest sequence that is charged at most `charge_bytes` in whole blocks: max S with charge(S) <= Q [tokens].

    A whole number; infinity where no length is charged more; -1 where even an empty sequence (its states and extra
    blocks) is; NaN where something is not known. charge_bytes Q [bytes]; the groups as in `kv_charge_bytes`. A page of
    16 tokens at 2 MiB: 100 MiB hold 50 pages. gpt-oss-120b (see `kv_charge_bytes`) at the charge of 131,072 tokens:

    >>> tokens_within_charge(100 * 2**20, [2097152.0], [16], [float("inf")], [0])
    800.0
    >>> groups = ([589824.0, 589824.0], [16, 16], [float("inf"), 127 + 8192], [0, 1])
    >>> tokens_within_charge(39208.5 * 131072, *groups), tokens_within_charge(39208.5 * 131072 - 1, *groups)
    (131072.0, 131056.0)
    """
    groups = tuple(
        _as_array(x) for x in (group_block_bytes, group_block_tokens, group_limit_tokens, group_extra_blocks)
    )
    budget = _as_array(charge_bytes)
    size, _, limit, _ = groups
    with np.errstate(invalid="ignore", over="ignore"):
        grows = np.any(np.isinf(limit) & (size > 0), axis=-1)
        bend = np.max(np.where(np.isfinite(limit), limit, 0.0), axis=-1)
        unlimited = ~grows & (_charge(bend, groups) <= budget)
        # A token on each side for the rounding of the line itself; what holds is asked of the charge alone.
        high = np.floor(_line(budget, *groups)) + 1.0
        high = np.where(unlimited, np.inf, np.where(np.isinf(high), bend, high))
        low = np.maximum(np.floor(_line(budget - np.sum(size, axis=-1), *groups)) - 1.0, -1.0)
    known = ~(np.isnan(high) | np.isnan(low))
    finite = known & np.isfinite(high)
    low = np.where(finite, np.minimum(np.where(np.isfinite(low), low, -1.0), high), 0.0)
    found = _halved(low, np.where(finite, high, 0.0), budget, groups)
    return _plain(np.where(finite, found, np.where(known, high, np.nan)))


def tokens_within_charge_unrounded(
    charge_bytes: Value,
    group_block_bytes: Value,
    group_block_tokens: Value,
    group_limit_tokens: Value,
    group_extra_blocks: Value,
) -> Value:
    """The same where nothing is rounded up to blocks: the S of `kv_charge_bytes_unrounded`(S) = Q [tokens].

    Not a whole number; infinity where no length is charged more, -1 where even an empty sequence is.

    >>> tokens_within_charge_unrounded(13107200.0, [2097152.0], [16], [float("inf")], [0])
    100.0
    """
    groups = (group_block_bytes, group_block_tokens, group_limit_tokens, group_extra_blocks)
    return _plain(_line(_as_array(charge_bytes), *(_as_array(item) for item in groups)))


def _line(budget: Floats, size: Floats, tokens: Floats, limit: Floats, extra: Floats) -> Floats:
    """The inverse of the broken line."""
    size, tokens, limit, extra = np.broadcast_arrays(size, tokens, limit, extra)
    order = np.argsort(limit, axis=-1)
    rate = np.take_along_axis(size / tokens, order, axis=-1)
    bends = np.take_along_axis(limit, order, axis=-1)
    left = (budget - np.sum(extra * size, axis=-1))[..., np.newaxis]
    with np.errstate(invalid="ignore", divide="ignore"):
        # Charge of the groups that are full at each bend, and bytes a token of those that still grow beyond it.
        full = np.cumsum(np.where(rate == 0.0, 0.0, bends * rate), axis=-1)
        growing = np.sum(rate, axis=-1, keepdims=True) - np.cumsum(rate, axis=-1)
        growing = np.where(np.arange(rate.shape[-1]) == rate.shape[-1] - 1, 0.0, growing)
        at_bend = full + np.where(growing == 0.0, 0.0, bends * growing)
        passed = np.sum(at_bend <= left, axis=-1, keepdims=True)
        first = np.concatenate([np.zeros_like(full[..., :1]), full], axis=-1)
        rest = np.concatenate([np.sum(rate, axis=-1, keepdims=True), growing], axis=-1)
        first, rest, passed = _same_shape(first, rest, passed)
        used = np.take_along_axis(first, passed, axis=-1)[..., 0]
        slope = np.take_along_axis(rest, passed, axis=-1)[..., 0]
        result = np.where(slope == 0.0, np.inf, (left[..., 0] - used) / slope)
    unknown = np.isnan(left[..., 0]) | np.isnan(np.sum(rate, axis=-1))
    return np.asarray(np.where(unknown, np.nan, np.where(left[..., 0] < 0, -1.0, result)))


def _same_shape(first: Floats, rest: Floats, passed: NDArray[np.intp]) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Cells of all three; the budget may have more of them than the groups."""
    cells = np.broadcast_shapes(first.shape[:-1], rest.shape[:-1], passed.shape[:-1])
    return (
        np.broadcast_to(first, (*cells, first.shape[-1])),
        np.broadcast_to(rest, (*cells, rest.shape[-1])),
        np.broadcast_to(passed, (*cells, 1)),
    )


def _halved(low: Floats, high: Floats, budget: Floats, groups: tuple[Floats, ...]) -> Floats:
    """Largest whole length from `low` (within the budget, or -1) to `high` whose charge is within the budget."""
    low, high, budget = np.broadcast_arrays(low, high, budget)
    while (low < high).any():
        middle = np.ceil((low + high) / 2)
        within = _charge(middle, groups) <= budget
        low, high = np.where(within, middle, low), np.where(within, high, middle - 1)
    return low


def _charge(tokens: Floats, groups: tuple[Floats, ...]) -> Floats:
    return np.asarray(kv_charge_bytes(tokens, *groups))


def _as_array(value: Value) -> Floats:
    return np.asarray(value, dtype=np.float64)


def _plain(result: Floats) -> Value:
    return float(result) if np.ndim(result) == 0 else result
