"""Step and prompt times of one cell of the quickstart in plain Python, experts and attention included."""

from __future__ import annotations

from math import ceil, exp, expm1, isnan, log1p
from typing import Any

__all__ = ["StepTimes", "prefill_alone", "prefill_beside_the_limit"]

Cell = dict[str, Any]
ROUNDS = 12


class StepTimes:
    """The weight read by the batch, and where a step takes a time or settles."""

    def __init__(self, x: Cell) -> None:
        rate, tp = x["memory_bandwidth_bytes_per_s"], x["tensor_parallel"]
        self.fixed = (x["weights_read_bytes"] - x["experts_read_bytes"]) / (tp * rate * x["mbu"])
        self.experts = x["experts_read_bytes"] / (tp * x["moe_data_parallel"] * rate * x["mbu_experts"])
        self.log_miss = log1p(-x["experts_per_token"] / x["num_experts"]) if self.experts else 0.0

    def touched(self, tokens: float) -> float:
        return -expm1(tokens * self.log_miss)

    def at(self, batch: float) -> float:
        """Weight read of a step that holds a sequence at least."""
        return self.fixed + self.experts * self.touched(max(batch, 1.0))

    def batch_at(self, limit: float, each: float) -> float:
        """Batch at which a step takes `limit`, `each` sequence adding its own."""
        batch = max(limit - self.fixed - self.experts, 0.0) / each
        for _ in range(ROUNDS if self.experts else 0):
            took = self.fixed + self.experts * self.touched(batch) + batch * each
            rise = each - self.experts * self.log_miss * exp(batch * self.log_miss)
            batch = max(batch + (limit - took) / rise, 0.0)
        return batch

    def settled(self, per_second: float) -> float:
        """Batch n that makes itself: n = per_second t_w(n)."""
        batch = per_second * (self.fixed + self.experts)
        for _ in range(ROUNDS if self.experts else 0):
            made = per_second * (self.fixed + self.experts * self.touched(batch))
            fall = 1.0 + per_second * self.experts * self.log_miss * exp(batch * self.log_miss)
            batch -= (batch - made) / fall
        return batch


def prefill_alone(x: Cell, m: Cell) -> float:
    """A prompt in an idle replica: multiplications and attention, or the experts that its chunks read."""
    return _beside(x, m, 0.0)


def prefill_beside_the_limit(x: Cell, m: Cell) -> float:
    """Replica time of a prompt beside as many sequences as the TPOT limit, memory and the scheduler let."""
    times: StepTimes = x["times"]
    most = max(min(m["concurrency_memory"], m["concurrency_scheduler"]), 1.0)
    batch = most
    for _ in range(3 if times.experts else 0):
        work = _beside(x, m, batch) / x["data_parallel"] + x["decode_work_s"]
        batch = max(min(times.batch_at(x["tpot_slo_s"], work / m["output_tokens_mean"]), most), 1.0)
    return _beside(x, m, batch) / x["data_parallel"]


def _beside(x: Cell, m: Cell, batch: float) -> float:
    prompt, times = m["prompt_tokens_mean"], x["times"]
    new = prompt * (1 - x["prefix_hit_ratio"])
    window = x["attention_window_tokens"]
    pairs = _seen(prompt, None) - _seen(prompt - new, None)
    near = _seen(prompt, window) - _seen(prompt - new, window)
    flop = x["attention_full_flop"] * pairs + x["attention_window_flop"] * near
    work = m["prefill_compute_per_token_s"] * x["data_parallel"] * new
    work += flop / (x["tensor_parallel"] * x["attention_peak_flops"] * x["mfu"])
    budget = x["max_num_batched_tokens"]
    chunks = 1.0 if isnan(budget) else float(ceil(new / budget))
    if times.experts and chunks:
        added = times.experts * (times.touched(batch + new / chunks) - times.touched(batch))
        work = max(work, chunks * added)
    return work


def _seen(tokens: float, window: float | None) -> float:
    """Pairs up to a token: half a square, and a band beyond the window."""
    inside = tokens if window is None else min(tokens, window)
    return inside * inside / 2 + (tokens - inside) * (window or 0.0)
