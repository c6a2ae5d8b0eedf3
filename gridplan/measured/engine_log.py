"""The normal form of an engine's start-up log: what it said of memory, each figure with the line it came from.

All memory is in bytes of one GPU. None means that the log does not print it, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Generic, TypeVar

__all__ = ["EngineLog", "Reading", "log_fields"]

T = TypeVar("T", float, str, bool)


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """One printed value: where it stands and how far it is rounded.

    `line` counts from 1. `half_step` is half of the last printed digit in the unit of the value; 0 for an exact one.
    `rank` is the engine's own name of the process that printed it (`Worker_TP1 pid=9`, `TP3`), empty where none is.
    """

    value: T
    line: int
    half_step: float = 0.0
    rank: str = ""


Number = Reading[float]
Text = Reading[str]
Flag = Reading[bool]


@dataclass(frozen=True, slots=True)
class EngineLog:
    """One start-up of one engine.

    `first_line` to `last_line` were read, start-up `start` of `starts` in the file. Memory belongs to the rank with the
    smallest pool, since blocks follow it. `activation_bytes` is the peak as printed; where the engine's sentence counts
    the estimate of the CUDA graphs in it, it does so here. `consumed_bytes` are weights and non-torch memory together.
    `free_bytes` is what was free before loading, `free_after_load_bytes` after it (SGLang), `requested_bytes` the total
    times the fraction. `state_bytes` are recurrent states. `kv_tokens` is the token line as printed: see
    `log_checks.effective_tokens`. `pool_limit_bytes` and `pool_limit_tokens` are pools set by hand.
    `refusal` is the sentence with which the engine refused to start. `ranks` holds every rank's pools and tokens.
    """

    file: str
    engine: str
    first_line: int
    last_line: int
    start: int
    starts: int
    generation: str | None = None
    engine_version: Text | None = None
    model: Text | None = None
    dtype: Text | None = None
    quantization: Text | None = None
    kv_cache_dtype: Text | None = None
    gpu_name: Text | None = None
    logged_on: Text | None = None
    tensor_parallel: Number | None = None
    pipeline_parallel: Number | None = None
    data_parallel: Number | None = None
    decode_context_parallel: Number | None = None
    expert_parallel: Flag | None = None
    enforce_eager: Flag | None = None
    prefix_caching: Flag | None = None
    num_speculative_tokens: Number | None = None
    memory_fraction: Number | None = None
    max_model_len: Number | None = None
    max_num_batched_tokens: Number | None = None
    max_num_seqs: Number | None = None
    total_bytes: Number | None = None
    free_bytes: Number | None = None
    free_after_load_bytes: Number | None = None
    requested_bytes: Number | None = None
    weights_bytes: Number | None = None
    consumed_bytes: Number | None = None
    non_torch_bytes: Number | None = None
    activation_bytes: Number | None = None
    cuda_graphs_bytes: Number | None = None
    cuda_graphs_estimated_bytes: Number | None = None
    state_bytes: Number | None = None
    kv_pool_bytes: Number | None = None
    kv_blocks: Number | None = None
    block_size: Number | None = None
    kv_tokens: Number | None = None
    sliding_tokens: Number | None = None
    max_concurrency: Number | None = None
    need_bytes: Number | None = None
    estimated_max_model_len: Number | None = None
    pool_limit_bytes: Number | None = None
    pool_limit_tokens: Number | None = None
    refusal: Text | None = None
    ranks: Mapping[str, tuple[Number, ...]] = field(default_factory=dict, hash=False)
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether the engine came as far as saying how large its KV pool is."""
        sizes = (self.kv_pool_bytes, self.kv_tokens, self.kv_blocks, self.max_concurrency)
        return any(item is not None for item in sizes)

    def readings(self) -> dict[str, Reading[Any]]:
        """Everything that was printed, by field, in the order of the class."""
        values = {name: getattr(self, name) for name in log_fields()}
        return {name: value for name, value in values.items() if value is not None}


def log_fields() -> tuple[str, ...]:
    """Names of the fields that are readings, in order.

    >>> log_fields()[:2]
    ('engine_version', 'model')
    """
    plain = {"file", "engine", "first_line", "last_line", "start", "starts", "generation", "ranks", "notes"}
    return tuple(item.name for item in fields(EngineLog) if item.name not in plain)
