"""Times of a step from the constants under test, and what a benchmark at fixed concurrency would then measure.

The steps are gridplan's formulas. The closed loop is a mean field: N requests are in flight, each takes a prefill and
O - 1 steps, X = N / (TTFT + (O - 1) tau) leave in a second. A step carries n = X (O - 1) tau decoding sequences and, of
the X tau prompts that arrive in it, their work: tau = t_w(n) + n (k c + t_seq) + X tau s + (1 - e^(-X tau)) t_chunk.
TTFT is the prompt's own work, half a step of waiting and the step itself, without the queue of prompts that arrive at
once: a low figure, since benchmarks of equal lengths release requests in waves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from latency_rows import Point, Rows

from gridplan import formulas as f
from gridplan.catalog import STEP_CONSTANTS, StepConstant, load_catalog

__all__ = ["Steps", "catalog_constants", "closed_loop_times", "steps_of"]

ROUNDS = 45
MOST_PREFILL = 0.9
"""Largest share of a step that prompts may take in an iterate; the root itself lies below it in every row."""


@dataclass(frozen=True)
class Steps:
    """Times of each row [s]; experts in counts."""

    fixed: np.ndarray
    experts: np.ndarray
    num_experts: np.ndarray
    experts_per_token: np.ndarray
    kv_per_sequence: np.ndarray
    per_sequence: np.ndarray
    multiplied: np.ndarray
    chunks: np.ndarray
    chunk_tokens: np.ndarray
    chunk_overhead: np.ndarray


def _constant(name: str, point: Point, is_moe: bool) -> StepConstant:
    catalog = load_catalog()
    name = "mbu" if name == "mbu_experts" and not is_moe else name
    return catalog.step_constant(name, catalog.engine(point.engine), catalog.gpus[point.gpu], is_moe)


def catalog_constants(rows: Rows, end: str = "best") -> dict[str, np.ndarray]:
    """The shipped constants of each row."""
    values = {
        name: [_constant(name, p, bool(moe)).at(end) for p, moe in zip(rows.points, rows.is_moe, strict=True)]
        for name in STEP_CONSTANTS
    }
    return {name: np.array(column) for name, column in values.items()}


def steps_of(rows: Rows, constants: Mapping[str, np.ndarray]) -> Steps:
    """Step times of every row by gridplan's formulas."""
    known, c = rows.known, constants
    tp, bandwidth, layers = rows.of("tensor_parallel"), known["memory_bandwidth_bytes_per_s"], known["num_layers"]
    link = rows.link_bytes_per_s * c["link_share"]
    reduce_s = f.all_reduce_per_token_s(layers, known["hidden_size"], tp, link)
    per_token = f.prefill_per_token_s(known["flop_params_count"], tp, known["peak_flops"], c["mfu"]) + reduce_s
    fixed = f.step_weights_s(known["weights_read_bytes"] - known["experts_read_bytes"], tp, bandwidth, c["mbu"])
    fixed = fixed + f.step_overheads_s(c["step_overhead_s"], c["layer_overhead_s"], layers, tp, c["all_reduce_s"])
    kv = f.step_per_context_token_s(known["kv_read_bytes_per_token_per_gpu"], 1.0, bandwidth, c["mbu"])
    prompt = rows.of("prompt_tokens")
    flop = known["attention_full_flop"] * f.attended_pairs(prompt, prompt)
    flop = flop + known["attention_window_flop"] * f.attended_pairs(prompt, prompt, known["attention_window_tokens"])
    attention = flop / (tp * known["attention_peak_flops"] * c["mfu"])
    chunks = f.prefill_chunks(prompt, known["max_num_batched_tokens"])
    return Steps(
        fixed,
        f.step_experts_s(known["experts_read_bytes"], tp, bandwidth, c["mbu_experts"]),
        known["num_experts"],
        known["experts_per_token"],
        kv * known["step_context_tokens"],
        f.step_per_sequence_total_s(c["sequence_overhead_s"], per_token),
        per_token * prompt + attention,
        chunks,
        prompt / chunks,
        f.chunk_overhead_s(c["chunk_layer_overhead_s"], layers),
    )


def closed_loop_times(rows: Rows, steps: Steps) -> tuple[np.ndarray, np.ndarray]:
    """TPOT and TTFT of every row at its concurrency [s]; the cache holds no more sequences than fit."""
    output = rows.of("output_tokens")
    at_once = np.minimum(rows.of("concurrency"), np.fmax(rows.known["concurrency_memory_mean"], 1.0))
    moe = np.flatnonzero(steps.experts)  # dense steps read no experts, so nothing of theirs is asked 45 times
    experts = (steps.experts[moe], steps.num_experts[moe], steps.experts_per_token[moe])
    added, weights = np.zeros(len(rows)), steps.fixed.copy()
    gaps = np.maximum(output - 1.0, 1.0)
    tpot, prompt_s = np.full(len(rows), 0.02), steps.multiplied
    ttft = prompt_s
    for _ in range(ROUNDS):
        rate = at_once / (ttft + gaps * tpot)
        batch = np.clip(rate * gaps * tpot, 1e-3, at_once)
        added[moe] = f.chunk_experts_s(*experts, steps.chunk_tokens[moe], batch[moe])
        prompt_s = np.maximum(steps.multiplied, steps.chunks * added)
        weights[moe] = f.step_weights_at_batch_s(steps.fixed[moe], *experts, batch[moe])
        decode = weights + batch * (steps.kv_per_sequence + steps.per_sequence)
        arrivals = rate * tpot
        carried = -np.expm1(-arrivals * steps.chunks) * steps.chunk_overhead
        tpot = 0.5 * tpot + 0.5 * (decode + np.minimum(arrivals * prompt_s, MOST_PREFILL * tpot) + carried)
        ttft = prompt_s + steps.chunks * steps.chunk_overhead + 0.5 * tpot
    return tpot, ttft + decode
