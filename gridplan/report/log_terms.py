"""The memory terms of a start-up log and the measures of the cube that predict them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gridplan.measured.check_log import pool_tokens
from gridplan.measured.engine_log import EngineLog
from gridplan.measured.log_checks import bytes_per_token

__all__ = ["MEASURES", "OF_THE_POOL", "PARTS", "UNITS", "Term", "compare_terms", "printed_terms"]

MEASURES: Mapping[str, tuple[str, ...]] = {
    "usable memory": ("usable_memory_bytes_per_gpu",),
    "weights": ("weights_bytes_per_gpu",),
    "weights and non-torch": ("weights_bytes_per_gpu", "non_torch_bytes_per_gpu"),
    "non-torch": ("non_torch_bytes_per_gpu",),
    "activation": ("activation_bytes_per_gpu",),
    "activation and CUDA graphs": ("activation_bytes_per_gpu", "cuda_graphs_bytes_per_gpu"),
    "CUDA graphs": ("cuda_graphs_bytes_per_gpu",),
    "KV pool": ("kv_pool_bytes_per_gpu",),
    "KV bytes of a token": ("kv_bytes_per_token_per_gpu",),
    "KV pool in tokens": ("kv_pool_tokens",),
    "maximum concurrency": ("concurrency_at_limit",),
}
"""Measures of the cube whose sum is a term of the log."""

UNITS = {"KV bytes of a token": "bytes", "KV pool in tokens": "tokens", "maximum concurrency": "sequences"}
"""Units of the terms that are not shown in GiB."""

OF_THE_POOL = ("KV bytes of a token", "KV pool", "maximum concurrency", "KV pool in tokens")
"""Terms that tell of the pool, in the order in which one of several equal differences is named."""

PARTS = tuple(name for name in MEASURES if name not in OF_THE_POOL)
"""Terms that the pool is what is left of."""


@dataclass(frozen=True, slots=True)
class Term:
    """One term, printed and predicted, in `unit` (bytes for those shown in GiB); None where one of the two has none."""

    name: str
    printed: float | None
    predicted: float | None
    unit: str

    @property
    def difference(self) -> float | None:
        """Predicted less printed."""
        return None if self.printed is None or self.predicted is None else self.predicted - self.printed

    @property
    def share(self) -> float | None:
        """The difference over the printed value."""
        return self.difference / abs(self.printed) if self.difference is not None and self.printed else None


def compare_terms(printed: Mapping[str, float], predicted: Mapping[str, float]) -> tuple[Term, ...]:
    """Terms that were printed beside those predicted; `predicted` is by measure of the cube.

    >>> (weights,) = compare_terms({"weights": 16e9}, {"weights_bytes_per_gpu": 16.4e9})
    >>> round(weights.share, 3)
    0.025
    """
    terms = []
    for name, parts in MEASURES.items():
        if name in printed:
            known = [predicted[part] for part in parts if part in predicted]
            total = sum(known) if len(known) == len(parts) else None
            terms.append(Term(name, printed[name], total, UNITS.get(name, "bytes")))
    return tuple(terms)


def printed_terms(log: EngineLog) -> dict[str, float]:
    """The terms of a log by name, of one GPU: bytes, tokens of the replica, sequences of the replica."""
    values = {name: reading.value for name, reading in log.readings().items()}
    replicas = values.get("data_parallel", 1.0)
    terms: dict[str, float] = {}
    if "requested_bytes" in values:
        terms["usable memory"] = values["requested_bytes"]
    elif "total_bytes" in values and "memory_fraction" in values:
        terms["usable memory"] = values["total_bytes"] * values["memory_fraction"]
    for name, key in (("weights", "weights_bytes"), ("non-torch", "non_torch_bytes"), ("KV pool", "kv_pool_bytes")):
        if key in values:
            terms[name] = values[key]
    if "consumed_bytes" in values:
        if "weights" in terms:
            terms.setdefault("non-torch", values["consumed_bytes"] - terms["weights"])
        else:
            terms["weights and non-torch"] = values["consumed_bytes"]
        # This sentence's peak holds the graphs' estimate (peak_activation_memory, vllm/v1/worker/gpu_worker.py).
        if "activation_bytes" in values:
            terms["activation and CUDA graphs"] = values["activation_bytes"]
    elif "activation_bytes" in values:
        terms["activation"] = values["activation_bytes"]
    if "consumed_bytes" not in values and "cuda_graphs_bytes" in values:
        terms["CUDA graphs"] = values["cuda_graphs_bytes"]
    tokens = pool_tokens(log)
    if tokens is not None and tokens.value > 0:
        terms["KV pool in tokens"] = tokens.value * replicas
        if terms.get("KV pool", 0.0) > 0:
            terms["KV bytes of a token"] = bytes_per_token(terms["KV pool"], tokens.value)
    if "max_concurrency" in values:
        terms["maximum concurrency"] = values["max_concurrency"] * replicas
    return terms
