"""All checks of one start-up log: its budget by the rule of its engine, its blocks, its ranks, and why it refused."""

from __future__ import annotations

from gridplan.measured.budget_check import budget_check
from gridplan.measured.engine_log import EngineLog, Reading
from gridplan.measured.log_checks import (
    Check,
    bytes_per_token,
    check_concurrency,
    effective_tokens,
    gib,
    lines_of,
)

__all__ = ["check_log", "pool_tokens"]

_UNEVEN = 1.02
"""Largest pool over the smallest from which ranks are said to differ (policy)."""

_DEFAULT_BLOCK_TOKENS = 16
"""Tokens in a block where none is printed (fact: CacheConfig of vLLM, CUDA)."""


def check_log(log: EngineLog) -> list[Check]:
    """Everything that can be checked in a log; what cannot is said in an info."""
    checks = [
        *_impossible(log),
        _refused(log),
        budget_check(log),
        _blocks(log),
        _concurrency(log),
        _need(log),
        _per_token(log),
        _ranks(log),
    ]
    if not log.complete:
        checks.insert(0, Check("incomplete", "warning", "the log ends before the engine says how large its KV pool is"))
    return [check for check in checks if check is not None]


def pool_tokens(log: EngineLog) -> Reading[float] | None:
    """Tokens that the pool holds, with the line they come from [tokens].

    Concurrency times length where the token line counts one of several layer groups; blocks times their size where no
    token line is printed (V0).
    """
    tokens, concurrency, length = log.kv_tokens, log.max_concurrency, log.max_model_len
    if tokens is None and log.kv_blocks is not None:
        size = log.block_size.value if log.block_size else _DEFAULT_BLOCK_TOKENS
        tokens = Reading(log.kv_blocks.value * size, log.kv_blocks.line, 0.0, log.kv_blocks.rank)
    known = tokens.value if tokens else None
    if concurrency is None or length is None or not length.value:
        return tokens
    value = effective_tokens(known, concurrency.value, length.value)
    if value is None or value == known:
        return tokens
    return Reading(value, concurrency.line, concurrency.half_step * length.value)


def _impossible(log: EngineLog) -> list[Check]:
    """Figures that no engine prints of a start that succeeded: a damaged log, which must not be used."""
    fraction, tokens, length, pool = log.memory_fraction, log.kv_tokens, log.max_model_len, log.kv_pool_bytes
    wrong: list[tuple[str, Reading[float]]] = []
    if fraction is not None and not 0 < fraction.value <= 1:
        wrong.append((f"a memory fraction of {fraction.value:g} is not in 0 to 1", fraction))
    if tokens is not None and tokens.value <= 0 and pool is not None and pool.value > 0:
        wrong.append((f"a KV pool of {gib(pool.value)} is said to hold {tokens.value:,.0f} tokens", tokens))
    if length is not None and length.value <= 0:
        wrong.append((f"a length of {length.value:,.0f} tokens is none", length))
    return [Check("impossible", "error", said, {}, lines_of(reading)) for said, reading in wrong]


def _refused(log: EngineLog) -> Check | None:
    if log.refusal is None:
        return None
    return Check("refused", "warning", f'the engine refused to start: "{log.refusal.value}"', {}, lines_of(log.refusal))


def _blocks(log: EngineLog) -> Check | None:
    blocks, size, tokens = log.kv_blocks, log.block_size, log.kv_tokens
    if blocks is None:
        return None
    per_block = size.value if size else float(_DEFAULT_BLOCK_TOKENS)
    said = "" if size else f" ({_DEFAULT_BLOCK_TOKENS} is the default; the log prints none)"
    ranks = log.decode_context_parallel.value if log.decode_context_parallel else 1.0
    product = blocks.value * per_block * ranks
    numbers = {"blocks": blocks.value, "block_tokens": per_block, "product_tokens": product}
    shown = f"{blocks.value:,.0f} blocks of {per_block:,.0f} tokens{said} are {product:,.0f} tokens"
    if tokens is None:
        return Check("blocks", "info", shown, numbers, lines_of(blocks, size))
    numbers["tokens"] = tokens.value
    lines = lines_of(blocks, size, tokens)
    if product == tokens.value:
        return Check("blocks", "info", f"blocks and tokens agree: {shown}", numbers, lines)
    if size is None:
        sentence = (
            f"{blocks.value:,.0f} blocks hold {tokens.value:,.0f} tokens; the log does not print the size of a block"
        )
        return Check("blocks", "info", sentence, numbers, lines)
    groups = round(product / tokens.value) if 0 < tokens.value <= product else 0
    if groups > 1 and blocks.value // groups * per_block * ranks == tokens.value:
        sentence = f"{shown}, and the token line counts one of {groups} layer groups: {tokens.value:,.0f}"
        return Check("blocks", "warning", sentence, numbers, lines)
    return Check("blocks", "warning", f"{shown}, but the token line says {tokens.value:,.0f}", numbers, lines)


def _concurrency(log: EngineLog) -> Check | None:
    tokens, concurrency, length = log.kv_tokens, log.max_concurrency, log.max_model_len
    if tokens is None and log.kv_blocks is not None:
        size = log.block_size.value if log.block_size else _DEFAULT_BLOCK_TOKENS
        tokens = Reading(log.kv_blocks.value * size, log.kv_blocks.line)
    if tokens is None or concurrency is None or length is None or not length.value:
        return None
    block = log.block_size.value if log.block_size else float(_DEFAULT_BLOCK_TOKENS)
    lines = lines_of(tokens, concurrency, length)
    return check_concurrency(tokens.value, concurrency.value, length.value, block, lines)


def _need(log: EngineLog) -> Check | None:
    need, pool, length = log.need_bytes, log.kv_pool_bytes, log.max_model_len
    if need is None or pool is None or length is None or not length.value:
        return None
    each = need.value / length.value
    numbers = {"need_bytes": need.value, "pool_bytes": pool.value, "bytes_per_token": each}
    sentence = (
        f"{length.value:,.0f} tokens need {gib(need.value)}, {each:,.0f} bytes a token, and {gib(pool.value)} are there"
    )
    longest = log.estimated_max_model_len
    if longest is not None:
        sentence += f"; {longest.value:,.0f} tokens fit"
    return Check("need", "info", sentence, numbers, lines_of(need, pool, longest))


def _per_token(log: EngineLog) -> Check | None:
    pool, tokens = log.kv_pool_bytes, pool_tokens(log)
    if pool is None:
        return None
    if pool.value <= 0:
        sentence = f"the pool is {gib(pool.value)}: what the engine holds beside it does not fit"
        return Check("negative_pool", "warning", sentence, {"pool_bytes": pool.value}, lines_of(pool))
    if tokens is None or not tokens.value:
        return None
    each = bytes_per_token(pool.value, tokens.value)
    sentence = f"{gib(pool.value)} over {tokens.value:,.0f} tokens are {each:,.0f} bytes a token"
    return Check("bytes_per_token", "info", sentence, {"bytes_per_token": each}, lines_of(pool, tokens))


def _ranks(log: EngineLog) -> Check | None:
    pools = log.ranks.get("kv_pool_bytes", ())
    if len(pools) < 2:
        return None
    least, most = min(pools, key=lambda item: item.value), max(pools, key=lambda item: item.value)
    numbers = {"smallest_bytes": least.value, "largest_bytes": most.value}
    if most.value - least.value <= most.half_step + least.half_step:
        sentence = f"{len(pools)} ranks have pools of {gib(least.value)}"
        return Check("ranks", "info", sentence, numbers, lines_of(least, most))
    sentence = (
        f"ranks have pools of {gib(least.value)} to {gib(most.value)}; the smallest decides"
        f"{f' ({least.rank})' if least.rank else ''}"
    )
    much = most.value > _UNEVEN * least.value
    return Check("ranks", "warning" if much else "info", sentence, numbers, lines_of(least, most))
