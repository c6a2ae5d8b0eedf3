"""What the printed bytes of a token say of a KV cache: its format, and whether windows are charged as full layers.

A checkpoint may bring an 8-bit cache, which `auto` takes; an engine may keep every token of layers that have a window.
"""

from __future__ import annotations

from gridplan.catalog import Model
from gridplan.catalog.layers import WHOLE_CONTEXT, WINDOWED, with_cache
from gridplan.engine.kv_rows import Setting, charge_of
from gridplan.measured.check_log import pool_tokens
from gridplan.measured.engine_log import EngineLog

__all__ = ["charges_windows_whole", "eight_bit_note", "least_16bit_bytes"]

BATCHED_TOKENS = 8192.0
"""Batched tokens where none are printed (fact: vLLM's default on large GPUs)."""

SLACK = 0.01
"""What a pool of two decimals over its tokens may miss the bytes of a token by (policy)."""


def least_16bit_bytes(model: Model, tensor_parallel: float, pipeline_parallel: float, context_parallel: float) -> float:
    """Bytes that the layers which keep every token take for one of them on one rank in 16 bits [bytes]; 0 without any.

    >>> from gridplan.catalog import load_catalog
    >>> least_16bit_bytes(load_catalog().model("llama-3.1-8b"), 2, 1, 1)
    65536.0
    """
    growing = [group for group in model.layer_groups if group.kind in WHOLE_CONTEXT]
    if not growing:
        return 0.0
    setting = Setting(16.0, tensor_parallel, pipeline_parallel, context_parallel)
    row = charge_of(growing, setting).rows[0]
    return row.block_bytes / row.block_tokens


def eight_bit_note(log: EngineLog, model: Model | None, kv_dtype: str | None) -> str | None:
    """That the cache must be 8-bit, where its format is not known and a token takes less than 16 bits would."""
    pool, tokens = log.kv_pool_bytes, pool_tokens(log)
    if kv_dtype is not None or model is None or pool is None or pool.value <= 0 or tokens is None or not tokens.value:
        return None
    least = least_16bit_bytes(model, *_degrees(log))
    printed = pool.value / tokens.value
    if printed >= least * (1 - SLACK):
        return None
    said = f"a token takes {printed:,.0f} bytes, and 16 bits would take {least:,.0f}"
    return f"{said} or more: the KV cache must be 8-bit, give --kv-dtype fp8"


def charges_windows_whole(log: EngineLog, model: Model | None, kv_bits: float = 16.0) -> bool:
    """Whether the engine keeps every token of layers with a window, by the printed bytes of a token.

    Known where the sequence is longer than windows and batches together, so that it makes a difference.
    """
    pool, tokens, length = log.kv_pool_bytes, pool_tokens(log), log.max_model_len
    groups = () if model is None else with_cache(model.layer_groups)
    windows = [group.window_tokens or 0 for group in groups if group.kind in WINDOWED]
    if (
        not windows
        or any(group.kind == "state" for group in groups)
        or pool is None
        or tokens is None
        or length is None
    ):
        return False
    batched = log.max_num_batched_tokens.value if log.max_num_batched_tokens else BATCHED_TOKENS
    if length.value <= 2 * (max(windows) + batched) or tokens.value <= 0:
        return False
    row = charge_of(groups, Setting(kv_bits, *_degrees(log), sliding_policy="full")).rows[0]
    whole = row.block_bytes / row.block_tokens
    return abs(pool.value / tokens.value - whole) <= SLACK * whole


def _degrees(log: EngineLog) -> tuple[float, float, float]:
    """Tensor, pipeline and decode context parallelism, 1 where none is printed."""
    tensor, pipeline, context = (
        reading.value if reading else 1.0
        for reading in (log.tensor_parallel, log.pipeline_parallel, log.decode_context_parallel)
    )
    return tensor, pipeline, context
