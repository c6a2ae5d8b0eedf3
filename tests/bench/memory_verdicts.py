"""Pure parts of the comparison: how far two planners are apart, of what the gap is made, and how it is said."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

GIB = 2**30
APART = 0.02
"""Differences up to this share are not discussed (policy)."""
SMALL_POOL_BYTES = 8 * GIB
"""A pool below this, a tenth of an H100, is a rest between two large figures: its gaps are told in GiB (policy)."""


@dataclass(frozen=True)
class Figures:
    """What a planner says of one rank: bytes of a token at the full length, weights, pool, and its other terms.

    `None` where it says nothing; `refused` is then its reason. `naive` marks an estimate that ignores the fraction.
    """

    token_bytes: float | None = None
    weights_bytes: float | None = None
    pool_bytes: float | None = None
    other_bytes: float | None = None
    refused: str = ""
    naive: bool = False


def figures(answer: Mapping[str, Any], length: int) -> Figures:
    """The answer of an adapter, its bytes of a sequence spread over the tokens of its length.

    >>> figures({"sequence_bytes": 65536, "weights_bytes": 3, "pool_bytes": 9, "other_bytes": 1}, 32).token_bytes
    2048.0
    """
    if "refused" in answer:
        return Figures(refused=str(answer["refused"]))
    return Figures(
        answer["sequence_bytes"] / length,
        answer.get("weights_bytes"),
        answer.get("pool_bytes"),
        answer.get("other_bytes"),
        naive=answer.get("remark") == "naive",
    )


def apart(ours: float | None, theirs: float | None) -> float | None:
    """How much larger theirs is, as a share of ours; None where one is missing or ours is not positive.

    >>> apart(4.0, 5.0)
    0.25
    """
    return None if ours is None or theirs is None or ours <= 0 else theirs / ours - 1


def percent(share: float | None) -> str:
    """A share with its sign, a dash where there is none.

    >>> percent(0.0249), percent(-0.5), percent(None)
    ('+2.5%', '-50.0%', '-')
    """
    return "-" if share is None else f"{share:+.1%}"


def gap(base: float | None, value: float | None, name: str) -> str:
    """How far a value is from a base, as a share; in GiB for a small pool, for which a share says nothing.

    >>> gap(100.0, 103.0, "weights_bytes"), gap(2 * GIB, -6 * GIB, "pool_bytes")
    ('+3.0%', '-8.00 GiB')
    """
    share = apart(base, value)
    if share is None or base is None or value is None:
        return ""
    return f"{(value - base) / GIB:+.2f} GiB" if is_small(base, name) else percent(share)


def is_small(base: float, name: str) -> bool:
    """Whether this is a pool whose gaps are told in GiB."""
    return name == "pool_bytes" and base < SMALL_POOL_BYTES


def full_gap(base: float, value: float, name: str) -> str:
    """The share and, in brackets, the size in B or GiB; of a small pool the size alone.

    >>> full_gap(100.0, 103.0, "token_bytes"), full_gap(10 * GIB, 9 * GIB, "pool_bytes")
    ('+3.0% (+3 B)', '-10.0% (-1.00 GiB)')
    """
    if is_small(base, name):
        return gap(base, value, name)
    size = f"{value - base:+,.0f} B" if name == "token_bytes" else f"{(value - base) / GIB:+.2f} GiB"
    return f"{percent(apart(base, value))} ({size})"


def span(found: Sequence[float], show: Callable[[float], str]) -> str:
    """The smallest and the largest of some figures in one text.

    >>> span([0.03, -0.01], percent), span([0.03], percent)
    ('-1.0% to +3.0%', '+3.0%')
    """
    low, high = show(min(found)), show(max(found))
    return low if low == high else f"{low} to {high}"


def gib(size: float | None) -> str:
    """Bytes in GiB with two decimals, a dash where there are none."""
    return "-" if size is None else f"{size / GIB:,.2f}"


def parts(ours: Figures, theirs: Figures) -> str:
    """What makes the pools differ [GiB]: the budget (total x fraction), the weights, the other terms.

    >>> ours = Figures(1, 20 * GIB, 50 * GIB, 5 * GIB)
    >>> parts(ours, Figures(1, 21 * GIB, 55 * GIB, 0))
    'budget +1.0, weights -1.0, terms +5.0'
    """
    if None in (ours.pool_bytes, theirs.pool_bytes, ours.weights_bytes, theirs.weights_bytes):
        return "-"
    weights = (ours.weights_bytes or 0) - (theirs.weights_bytes or 0)
    terms = (ours.other_bytes or 0) - (theirs.other_bytes or 0)
    budget = (theirs.pool_bytes or 0) - (ours.pool_bytes or 0) - weights - terms
    return f"budget {budget / GIB:+.1f}, weights {weights / GIB:+.1f}, terms {terms / GIB:+.1f}"


def spans(found: Sequence[tuple[str, float]]) -> str:
    """Differences of several degrees in one text: one figure where all agree to a tenth of a percent.

    >>> spans([("TP1", 0.03), ("TP2", 0.03)])
    '+3.0% at TP1, TP2'
    >>> spans([("TP1", 0.03), ("TP2", -0.04)])
    '+3.0% at TP1, -4.0% at TP2'
    """
    by_text: dict[str, list[str]] = {}
    for name, share in found:
        by_text.setdefault(percent(share), []).append(name)
    return ", ".join(f"{text} at {', '.join(names)}" for text, names in by_text.items())


def large(found: Iterable[tuple[str, float | None]]) -> list[tuple[str, float]]:
    """Those differences that are discussed."""
    return [(name, share) for name, share in found if share is not None and abs(share) > APART]


def median_error(found: Iterable[float | None]) -> tuple[float, int]:
    """Median of absolute errors and how many there are.

    >>> median_error([0.1, -0.3, None, 0.2])
    (0.2, 3)
    """
    known = [abs(share) for share in found if share is not None]
    return (statistics.median(known) if known else float("nan")), len(known)


def closest(printed: float, said: Mapping[str, float | None]) -> str:
    """Who is nearest to a printed figure; all within half a percent share it.

    >>> closest(100.0, {"a": 100.2, "b": 99.9, "c": 120.0, "d": None})
    'a, b'
    >>> closest(100.0, {"a": 90.0, "b": 95.0})
    'b'
    """
    errors = {name: abs(value / printed - 1) for name, value in said.items() if value is not None}
    if not errors:
        return "-"
    right = [name for name, error in errors.items() if error <= 0.005]
    return ", ".join(right or [min(errors, key=lambda name: errors[name])])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]
