"""The settings that a log states, as inputs of a contract: how the replica is cut and what the engine was told."""

from __future__ import annotations

from collections.abc import Mapping

from gridplan.catalog import LayerGroup, Model
from gridplan.catalog.layers import with_cache
from gridplan.measured.engine_log import EngineLog, Reading

__all__ = ["caches_of", "plain", "settings_of", "stated_fraction", "whole"]

CHECKPOINTED_STATES = 2.0
"""States of a sequence where prefixes are cached: the running one and a checkpoint (fact: MambaSpec of vLLM,
v1/kv_cache_interface.py, 2 blocks in the mode `align`, else 1; measurement: 567,978 tokens and 4.33x at 131,072 in
https://github.com/noonghunna/club-3090/issues/612, where one state would be 4.53x)."""


def settings_of(log: EngineLog, model: Model | None) -> dict[str, Reading[float]]:
    """Inputs by name, parallelism first and limits after it; what the log does not print is left out.

    Expert parallelism is over all ranks of tensor and data parallelism. Numbers of states and speculative tokens are
    those of `model`, which may keep no states.
    """
    stated: dict[str, Reading[float] | None] = {
        "tensor_parallel": log.tensor_parallel,
        "pipeline_parallel": log.pipeline_parallel,
        "data_parallel": log.data_parallel,
        "expert_parallel": _expert_parallel(log),
        "decode_context_parallel": log.decode_context_parallel,
        "max_model_len": log.max_model_len,
        "max_num_batched_tokens": log.max_num_batched_tokens,
        "max_num_seqs": log.max_num_seqs,
        "gpu_memory_utilization": stated_fraction(log),
        "state_blocks": _state_blocks(log, model),
        "num_speculative_tokens": log.num_speculative_tokens,
    }
    return {name: reading for name, reading in stated.items() if reading is not None and reading.value > 0}


def stated_fraction(log: EngineLog) -> Reading[float] | None:
    """The memory fraction; where two decimals of it are printed, the one that their product with the total shows.

    0.70 of 79.15 GiB with 55.09 GiB beside it was 0.696.
    """
    printed, total, product = log.memory_fraction, log.total_bytes, log.requested_bytes
    if printed is None or not printed.half_step or total is None or product is None or not total.value:
        return printed
    fraction = product.value / total.value
    if abs(fraction - printed.value) <= product.half_step / total.value:
        return Reading(printed.value, printed.line)
    return Reading(round(fraction, 4), product.line)


def caches_of(model: Model | None) -> tuple[LayerGroup, ...]:
    """Layer groups that keep a cache of their own."""
    return () if model is None else with_cache(model.layer_groups)


def _expert_parallel(log: EngineLog) -> Reading[float] | None:
    flag: Reading[bool] | None = log.expert_parallel
    if flag is None or not flag.value:
        return None
    ranks = [reading.value if reading else 1.0 for reading in (log.tensor_parallel, log.data_parallel)]
    return Reading(ranks[0] * ranks[1], flag.line)


def _state_blocks(log: EngineLog, model: Model | None) -> Reading[float] | None:
    flag = log.prefix_caching
    if flag is None or log.engine != "vllm" or not any(group.kind == "state" for group in caches_of(model)):
        return None
    return Reading(CHECKPOINTED_STATES if flag.value else 1.0, flag.line)


def plain(settings: Mapping[str, Reading[float]]) -> dict[str, float]:
    """Values alone, whole ones as whole numbers."""
    return {name: whole(reading.value) for name, reading in settings.items()}


def whole(value: float) -> float:
    """A whole number without its decimals.

    >>> whole(2.0), whole(0.92)
    (2, 0.92)
    """
    return int(value) if float(value).is_integer() else value
