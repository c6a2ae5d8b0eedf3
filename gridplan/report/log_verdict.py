"""Which term of a comparison differs most, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable

from gridplan.measured.log_checks import gib
from gridplan.report.log_terms import OF_THE_POOL, PARTS, UNITS, Term

__all__ = ["AGREE_SHARE", "conclusion"]

GIB = 2**30

_CHARGE = (
    "check the model, the KV cache format and, where layers have windows or states, sliding_policy and state_blocks"
)

ADVICE = {
    "usable memory": "state gpu_memory_bytes and gpu_memory_utilization as the log prints them",
    "weights": "check the weight format, or state weights_bytes",
    "weights and non-torch": "check the weight format, or state weights_bytes and non_torch_bytes",
    "non-torch": "state non_torch_bytes, or workspace_bytes for all that is neither weights nor KV cache",
    "activation": "state activation_bytes, or workspace_bytes for all that is neither weights nor KV cache",
    "activation and CUDA graphs": "state activation_bytes and cuda_graphs_bytes, or workspace_bytes for both and more",
    "CUDA graphs": "state cuda_graphs_bytes",
    "KV pool": "state the measured pool: -o writes it",
    "KV bytes of a token": f"{_CHARGE}, or state the measured pool: -o writes it",
    "KV pool in tokens": f"{_CHARGE}, or state the measured pool: -o writes it",
    "maximum concurrency": f"{_CHARGE}, or state the measured pool: -o writes it",
}

AGREE_SHARE, AGREE_BYTES = 0.03, 0.1 * GIB
"""Differences below either are not worth a change (policy)."""


_EXPLAINS = 0.5
"""Share of the largest difference of the pool that the parts must make up for one to be named instead (policy)."""

_AS_LARGE = 0.9
"""Terms whose shares are so near to the largest are one difference: a pool, and the tokens in it (policy)."""


def conclusion(terms: Iterable[Term]) -> str:
    """The term that differs most and what to do about it.

    A part of the budget is named first, for it explains the pool; unless tokens, concurrency or the bytes of a token
    differ by shares that no part makes up.
    """
    compared = [term for term in terms if term.difference is not None]
    if not compared:
        return "nothing could be compared: the log prints none of the terms that are predicted"
    pool = next((term.printed for term in compared if term.name == "KV pool"), None)
    parts = [term for term in compared if term.name in PARTS]
    large = [term for term in parts if not _small(term, pool)]
    others = [term for term in compared if term.name in OF_THE_POOL and not _small(term, None)]
    most = max((_share(term) for term in others), default=0.0)
    if large:
        part = max(large, key=lambda term: abs(term.difference or 0.0))
        if not others or _of_pool(parts, pool) >= _EXPLAINS * most:
            return f"{_differs(part)}; {ADVICE[part.name]}"
    if others:
        near = [term for term in others if _share(term) >= _AS_LARGE * most]
        # Bytes of a token come before what is counted in them, and the pool before the sequences in it.
        first = min(near, key=lambda term: OF_THE_POOL.index(term.name))
        unexplained = ", which no printed part explains" if parts and not large and first.name == "KV pool" else ""
        return f"{_differs(first)}{unexplained}; {ADVICE[first.name]}"
    # Parts are all bytes: the one that moves the pool most. What is left is of several units.
    largest = max(parts, key=lambda term: abs(term.difference or 0.0)) if parts else max(compared, key=_share)
    return f"the prediction holds; {_differs(largest)}"


def _share(term: Term) -> float:
    return abs(term.share or 0.0)


def _of_pool(parts: Iterable[Term], pool_bytes: float | None) -> float:
    """By what share the parts together move the pool; without limit where there is none."""
    if pool_bytes is None or pool_bytes <= 0:
        return float("inf")
    moves = ((1 if term.name == "usable memory" else -1) * (term.difference or 0.0) for term in parts)
    return abs(sum(moves)) / pool_bytes


def _differs(term: Term) -> str:
    size = abs(term.difference or 0.0)
    if term.name not in UNITS:
        amount = gib(size)
    else:
        amount = f"{size:,.2f} {term.unit}" if size < 10 else f"{size:,.0f} {term.unit}"
    percent = f" ({term.share:+.1%})" if term.share is not None else ""
    more = "more" if (term.difference or 0.0) > 0 else "less"
    return f"{term.name}: the largest difference, {amount}{percent} {more} is predicted than printed"


def _small(term: Term, pool_bytes: float | None) -> bool:
    """Whether a difference is not worth a change, measured by the pool that it would move where that is printed."""
    against = pool_bytes if pool_bytes is not None and pool_bytes > 0 else term.printed
    slack = 0.0 if term.name in UNITS else AGREE_BYTES
    return abs(term.difference or 0.0) <= max(slack, AGREE_SHARE * abs(against or 0.0))
