"""Times of a step and of prompts in one cell, a second time: constants by hand from the table, roots by halving.

Part of the oracle: written from the design, it shares no formula with the chain. Everything is a fraction but the share
of experts that a batch touches, which has a power in it, and what follows from that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil
from typing import Any

from scalar_oracle_fleet import UNKNOWN

from gridplan.catalog import load_catalog

__all__ = ["StepTimes", "constants_of", "step_times"]

Cell = dict[str, Any]
HALVINGS = 200
PCIE_4 = 31_508_000_000
DECODE = ("mbu", "step_weights_s")
PREFILL = ("mfu", "prefill_per_token_s")


def constants_of(given: Mapping[str, Any], gpu: Any, model: Any, engine: Any) -> Cell:
    """What the table says where the contract says nothing, and 0 for overheads inside what it states as a whole."""
    kind = "moe" if model.num_experts else "dense"

    def table(name: str) -> float:
        if name == "mbu_experts" and kind == "dense":
            name = "mbu"
        return next(
            row.best
            for row in load_catalog().step_constants
            if row.name == name
            and row.kind == kind
            and (row.gpu_families == "any" or gpu.family in row.gpu_families.split(";"))
            and row.engine in ("any", engine.name)
        )

    whole, prompt = any(name in given for name in DECODE), any(name in given for name in PREFILL)
    found: Cell = {"mbu": table("mbu"), "mfu": table("mfu"), "mbu_experts": given.get("mbu", table("mbu_experts"))}
    for name in ("step_overhead_s", "layer_overhead_s", "all_reduce_s", "sequence_overhead_s"):
        found[name] = 0.0 if whole else table(name)
    found["chunk_layer_overhead_s"] = 0.0 if prompt else table("chunk_layer_overhead_s")
    found["link_bandwidth_bytes_per_s"] = gpu.link_bytes_per_s * table("link_share")
    return found | {"_decode_stated": whole, "_prefill_stated": prompt}


class StepTimes:
    """t_w by the batch, and the batches at which a step takes a time or settles at a rate."""

    def __init__(self, fixed: Any, experts: Any, model: Any) -> None:
        self.fixed, self.experts = fixed, experts
        self.miss = 1 - Fraction(model.experts_per_token, model.num_experts) if model.num_experts else Fraction(1)

    def touched(self, tokens: Any) -> Fraction:
        if self.miss == 0:
            return Fraction(int(tokens > 0))
        return Fraction(-math.expm1(float(tokens) * math.log(float(self.miss))))

    def at(self, batch: Any) -> Any:
        if self.experts is UNKNOWN or self.fixed is UNKNOWN or not self.experts:
            return self.fixed if self.experts is not UNKNOWN else UNKNOWN
        if batch is UNKNOWN:
            return UNKNOWN
        return self.fixed + self.experts * self.touched(max(batch, 1))

    def batch_at(self, limit: Any, each: Any) -> Any:
        """The batch at which t_w(n) + n each is the limit; 0 where t_w(0) is."""
        if UNKNOWN in (limit, each, self.fixed, self.experts):
            return UNKNOWN
        room = max(limit - self.fixed, Fraction(0))
        if not self.experts or room == 0:
            return room / each
        return _root(lambda n: self.fixed + self.experts * self.touched(n) + n * each - limit, room / each)

    def batch_at_rate(self, tokens_per_s: Any, busy: Any) -> Any:
        """The batch that settles at a rate: n = y t_w(n) / (1 - busy)."""
        if UNKNOWN in (tokens_per_s, busy, self.fixed, self.experts) or busy >= 1:
            return UNKNOWN
        each = tokens_per_s / (1 - busy)
        most = each * (self.fixed + self.experts)
        return _root(lambda n: n - each * (self.fixed + self.experts * self.touched(n)), most) if self.experts else most


def _root(rises: Callable[[Fraction], Fraction], most: Fraction) -> Fraction:
    low, high = Fraction(0), most
    for _ in range(HALVINGS):
        middle = Fraction(float((low + high) / 2))
        if middle in (low, high):
            break  # two floats side by side: nothing would change any more
        low, high = (middle, high) if rises(middle) < 0 else (low, middle)
    return high


def step_times(x: Cell, m: Cell) -> None:
    """Fixed and growing part of the weight read, what a token and a sequence cost, and prompts by class."""
    model, tp, pp, dp = x["model"], x["tensor_parallel"], x["pipeline_parallel"], x["data_parallel"]
    bandwidth, layers = x["memory_bandwidth_bytes_per_s"], model.num_layers
    reduces = 2 * x["all_reduce_s"] if tp > 1 else 0
    overhead = x["step_overhead_s"] + layers * (x["layer_overhead_s"] + reduces)
    fixed = (x["read"] - x["experts"]) / (tp * bandwidth * x["mbu"]) + overhead
    experts = x["experts"] / (tp * dp * bandwidth * x["mbu_experts"]) if x["experts"] else Fraction(0)
    m["_reads"] = StepTimes(fixed, experts, model)
    m["kv_read_per_context_token_s"] = m["kv_bytes_per_token_per_gpu"] * pp / (bandwidth * x["mbu"] * dp)
    m["kv_read_per_sequence_s"] = m["kv_read_per_context_token_s"] * m["step_context_tokens"]
    # Two all-reduces a layer, each sends 2 (tp - 1) / tp of 16-bit hidden states over a link.
    reduced = Fraction(0)
    if tp > 1 and not x["_prefill_stated"]:
        reduced = 2 * layers * 2 * (tp - 1) / tp * 2 * model.hidden_size / x["link_bandwidth_bytes_per_s"]
    m["prefill_compute_per_token_s"] = (2 * x["multiplied"] / (tp * x["peak_flops"] * x["mfu"]) + reduced) / dp
    own = Fraction(0) if x["_decode_stated"] else x["sequence_overhead_s"] / dp + m["prefill_compute_per_token_s"]
    x["step_per_sequence_s"] = x.get("step_per_sequence_s", own)
    m["_decode"] = m["output_tokens_mean"] * (m["kv_read_per_sequence_s"] + x["step_per_sequence_s"])
    _prompts(x, m)


def _prompts(x: Cell, m: Cell) -> None:
    model, dp = x["model"], x["data_parallel"]
    rate = x["_attention_flops"] * x["tensor_parallel"] * x["mfu"]
    reads: StepTimes = m["_reads"]

    def alone(prompt: Fraction, hit: Fraction, batch: Any) -> Any:
        new = prompt * (1 - hit)
        budget = x.get("max_num_batched_tokens", UNKNOWN)
        chunks = ceil(new / budget) if budget is not UNKNOWN else 1 if new else 0
        work = m["prefill_compute_per_token_s"] * dp * new
        if x["flop_params"] == "matmul":
            work = work + _attention_flop(model, prompt, new) / rate
        if reads.experts is UNKNOWN or reads.experts:
            if reads.experts is UNKNOWN or batch is UNKNOWN or work is UNKNOWN:
                return UNKNOWN
            added = reads.touched(batch + (new / chunks if chunks else 0)) - reads.touched(batch)
            work = max(work, chunks * reads.experts * added)
        return work + chunks * x["chunk_layer_overhead_s"] * model.num_layers

    rows = m["_rows"]
    m["_alone"] = sum(w * alone(p, hit, Fraction(0)) for w, p, _, hit in rows)
    longest = [alone(p, hit, Fraction(0)) for w, p, _, hit in rows if w]
    m["prefill_longest_s"] = UNKNOWN if UNKNOWN in longest else max(longest)
    m["prefill_longest_flop"] = 2 * x["multiplied"] * m["prompt_tokens_max"]

    def beside(batch: Any) -> Any:
        return sum(w * alone(p, hit, batch) for w, p, _, hit in rows) / dp

    caps = [cap for cap in (m["concurrency_memory"], m["concurrency_scheduler"]) if cap is not UNKNOWN]
    most = max(min(caps), Fraction(1)) if caps else Fraction(10**9)
    batch = most
    for _ in range(3):
        each = (beside(batch) + m["_decode"]) / m["output_tokens_mean"]
        reached = reads.batch_at(x.get("tpot_slo_s", UNKNOWN), each) if reads.experts else most
        batch = max(most if reached is UNKNOWN else min(reached, most), Fraction(1))
    m["_prefill"] = beside(batch)
    m["request_work_s"] = m["_prefill"] + m["_decode"]


def _attention_flop(model: Any, prompt: Fraction, new: Fraction) -> Fraction:
    """Causal attention of the last `new` tokens, summed over layers: 2 heads (keys + values) a pair."""

    def seen(tokens: Fraction, window: Fraction | None) -> Fraction:
        if window is None or tokens <= window:
            return tokens * tokens / 2
        return window * window / 2 + window * (tokens - window)

    total = Fraction(0)
    for group in model.layer_groups:
        widths = (
            192 + 128 if "mla" in group.kind else (group.k_head_dim or 0) + (group.v_head_dim or group.k_head_dim or 0)
        )
        heads = 2 * group.layers * model.attention_heads * widths
        window = {"sparse_mla": Fraction(2048), "sliding": group.window_tokens, "chunked": group.window_tokens}
        span = window.get(group.kind)
        pairs = seen(prompt, None if span is None else Fraction(span)) - seen(
            prompt - new, None if span is None else Fraction(span)
        )
        if group.kind == "sparse_mla":
            total += 2 * group.layers * 64 * group.index_head_dim * (seen(prompt, None) - seen(prompt - new, None))
        if group.kind not in ("state", "shared"):
            total += heads * pairs
    return total
