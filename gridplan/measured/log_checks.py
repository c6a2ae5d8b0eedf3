"""Whether the figures of a start-up log agree with each other: pure functions on figures, and on the normal form.

An `error` says that the terms contradict each other, so that they must not be used as measured values; a `warning`
says that a figure means something else than it seems; an `info` says that figures agree, or why they were not compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gridplan.measured.engine_log import Reading

__all__ = [
    "BUDGET_TOLERANCE_BYTES",
    "Check",
    "bytes_per_token",
    "check_budget",
    "check_concurrency",
    "check_estimate",
    "effective_tokens",
    "explaining_fraction",
    "gib",
    "lines_of",
]

GIB = 2**30

BUDGET_TOLERANCE_BYTES = 0.03 * GIB
"""Slack of a budget beside the rounding of its terms (measurement: 42 of 45 public logs agree within 0.015 GiB)."""

_SAME_TOKENS = 0.002
"""Relative difference up to which two token counts are one figure (measurement: 55 of 60 public logs within 0.2%)."""


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison: `id`, how serious it is, a sentence, the numbers in it by name, and the lines they stand on."""

    id: str
    severity: Literal["error", "warning", "info"]
    sentence: str
    numbers: Mapping[str, float] = field(default_factory=dict, hash=False)
    lines: tuple[int, ...] = ()


def gib(value_bytes: float) -> str:
    """Bytes as GiB with two decimals, as engines print them.

    >>> gib(1610612736.0)
    '1.50 GiB'
    """
    return f"{value_bytes / GIB:,.2f} GiB"


def lines_of(*readings: Reading[float] | Reading[str] | None) -> tuple[int, ...]:
    """Lines of the readings that there are, in order.

    >>> lines_of(Reading(2.0, 7), None, Reading(1.0, 3))
    (3, 7)
    """
    return tuple(sorted({reading.line for reading in readings if reading is not None}))


def check_budget(
    usable_bytes: float,
    terms_bytes: Mapping[str, float],
    pool_bytes: float,
    rounding_bytes: float = 0.0,
    total_bytes: float | None = None,
    lines: tuple[int, ...] = (),
) -> Check:
    """Whether usable memory less the terms is the printed pool.

    Parameters
    ----------
    usable_bytes
        What the engine may use: total memory times the fraction [bytes].
    terms_bytes
        What it holds beside the KV pool, by name [bytes].
    pool_bytes
        The KV pool that was printed [bytes].
    rounding_bytes
        By how much the rounding of the printed digits may move the sum [bytes].
    total_bytes
        Total memory [bytes]; with it the fraction is named that would explain the pool.

    >>> terms = {"weights": 64.38 * 2**30, "activation": 7.38 * 2**30, "non-torch": 0.13 * 2**30}
    >>> found = check_budget(0.90 * 79.18 * 2**30, terms, 3.33 * 2**30, total_bytes=79.18 * 2**30)
    >>> found.severity, round(found.numbers["expected_bytes"] / 2**30, 2), round(found.numbers["fraction"], 4)
    ('error', -0.63, 0.95)
    """
    expected = usable_bytes - sum(terms_bytes.values())
    difference = pool_bytes - expected
    numbers = {"expected_bytes": expected, "printed_bytes": pool_bytes, "difference_bytes": difference}
    shown = " - ".join([gib(usable_bytes), *(f"{name} {gib(value)}" for name, value in terms_bytes.items())])
    if abs(difference) <= BUDGET_TOLERANCE_BYTES + rounding_bytes:
        return Check("budget", "info", f"terms and pool agree: {shown} = {gib(expected)}", numbers, lines)
    sentence = f"terms do not add up: {shown} = {gib(expected)}, but the pool is {gib(pool_bytes)}"
    if total_bytes:
        numbers["fraction"] = explaining_fraction(total_bytes, terms_bytes, pool_bytes)
        sentence += f"; a memory fraction of {numbers['fraction']:.4f} would explain it"
    return Check("budget", "error", sentence, numbers, lines)


def explaining_fraction(total_bytes: float, terms_bytes: Mapping[str, float], pool_bytes: float) -> float:
    """The fraction of total memory at which terms and pool add up.

    >>> round(explaining_fraction(79.18, {"weights": 64.38, "activation": 7.38, "non-torch": 0.13}, 3.33), 4)
    0.95
    """
    return (pool_bytes + sum(terms_bytes.values())) / total_bytes


def effective_tokens(tokens: float | None, concurrency: float | None, max_model_len: float | None) -> float | None:
    """Tokens that the pool holds of sequences of full length [tokens]; None where the log does not say.

    Maximum concurrency times the model length where both are known and the token line differs: for models of
    several layer groups vLLM's token line, up to 0.20, counts the blocks of one group alone
    (vllm-project/vllm#40691). The token line, being exact, is kept where it agrees with concurrency to its decimals.

    >>> effective_tokens(290864, 33.04, 32768), effective_tokens(157648, 1.2, 131072)
    (1082654.72, 157648)
    """
    if concurrency is None or max_model_len is None:
        return tokens
    product = concurrency * max_model_len
    if tokens is not None and abs(product - tokens) <= _rounding_tokens(tokens, max_model_len, 16.0):
        return tokens
    return product


def _rounding_tokens(tokens: float, max_model_len: float, block_tokens: float) -> float:
    """By how much concurrency times length may differ from the token line: its two decimals, and whole blocks."""
    return 0.00501 * max_model_len + tokens * (_SAME_TOKENS + block_tokens / max_model_len)


def check_concurrency(
    tokens: float,
    concurrency: float,
    max_model_len: float,
    block_tokens: float = 16.0,
    lines: tuple[int, ...] = (),
) -> Check:
    """Whether the token line and the maximum concurrency [sequences] say the same.

    >>> found = check_concurrency(290864, 33.04, 32768)
    >>> found.severity, round(found.numbers["effective_tokens"]), round(found.numbers["ratio"], 2)
    ('warning', 1082655, 3.72)
    """
    product = concurrency * max_model_len
    numbers = {"tokens": tokens, "concurrency": concurrency, "effective_tokens": product}
    if tokens:
        numbers["ratio"] = product / tokens
    shown = f"{concurrency:,.2f} sequences of {max_model_len:,.0f} tokens are {product:,.0f} tokens"
    if abs(product - tokens) <= _rounding_tokens(tokens, max_model_len, block_tokens):
        return Check("concurrency", "info", f"tokens and concurrency agree: {shown}", numbers, lines)
    if product > tokens:
        too_few = f"{product / tokens:,.2f} times too few; " if tokens else ""
        sentence = (
            f"{shown}, but the token line says {tokens:,.0f}: it counts one of several layer groups, "
            f"{too_few}concurrency times length is what counts"
        )
    else:
        sentence = (
            f"{shown}, but the token line says {tokens:,.0f}: a sequence of full length takes more than its share, "
            f"or another rank has fewer blocks; concurrency is what counts"
        )
    return Check("concurrency", "warning", sentence, numbers, lines)


def bytes_per_token(pool_bytes: float, tokens: float) -> float:
    """KV bytes of one token on one GPU, as observed [bytes].

    >>> round(bytes_per_token(64.68 * 2**30, 626949) / 1024, 1)
    108.2
    """
    return pool_bytes / tokens


def check_estimate(pool_bytes: float, tokens: float, kv_bytes_per_token: float, tolerance: float = 0.01) -> Check:
    """Whether a pool, its tokens and the bytes of a token multiply, to a relative tolerance.

    >>> found = check_estimate(74.95 * 2**30, 972134, 880 * 1024)
    >>> found.severity, round(found.numbers["implied_bytes"] / 1024, 1)
    ('error', 80.8)
    """
    implied = bytes_per_token(pool_bytes, tokens)
    numbers = {"implied_bytes": implied, "stated_bytes": kv_bytes_per_token}
    if abs(implied - kv_bytes_per_token) <= tolerance * kv_bytes_per_token:
        return Check("bytes_per_token", "info", f"{gib(pool_bytes)} of {tokens:,.0f} tokens multiply", numbers)
    return Check(
        "bytes_per_token",
        "error",
        f"{gib(pool_bytes)} over {tokens:,.0f} tokens are {implied:,.0f} bytes a token, not {kv_bytes_per_token:,.0f}",
        numbers,
    )
