"""One sentence about a cell: what binds and how far the next limit is, or why there is no plan and what is missing."""

from __future__ import annotations

import math
from collections.abc import Mapping

from gridplan.report.substitute import quantity_text

__all__ = ["verdict"]


MANY_TIMES = 10.0
"""Rise of a rate from which it is told in times, not in percent (policy)."""


def verdict(known: Mapping[str, float], texts: Mapping[str, str | None], split: str | None = None) -> str:
    """The sentence for a cell with these numbers and labels; `split` says why its parallelism is illegal."""
    if texts["status"] != "ok":
        reason = str(texts["infeasible_reason"])
        if split:
            return f"{reason}: {split}"
        by_queue = texts["capacity_model"] == "queueing" and reason.endswith("_unreachable")
        return f"{reason}{_beyond_reach(reason, known) if by_queue else _missing(reason, known)}"
    binds = str(texts["binding_ties"] or texts["binding_constraint"]).replace("+", " and ")
    sentence = f"{binds} binds at {quantity_text('lambda_instance', known['lambda_instance'])} a replica"
    if texts["binding_next"]:
        margin = known["margin_to_next"]
        further = f"{margin:.1%} further" if margin < MANY_TIMES else f"at {margin + 1:,.3g} times that"
        sentence += f"; next is {texts['binding_next']}, {further}"
    return f"{sentence}{_predicted(known)}" if texts["capacity_source"] in ("measured", "scaled") else sentence


def _predicted(known: Mapping[str, float]) -> str:
    """What the models say beside a measured rate, and how much of it was measured."""
    said = [
        f"{quantity_text(name, known[name])} {basis} (measured: {known['lambda_instance'] / known[name]:.0%} of it)"
        for name, basis in (("lambda_analytical", "on means"), ("lambda_queueing", "at percentiles"))
        if not math.isnan(known[name])
    ]
    return f"; predicted {' and '.join(said)}" if said else ""


def _beyond_reach(reason: str, known: Mapping[str, float]) -> str:
    """What a lone request sees of a limit at its percentile; classes may have limits of their own."""
    latency = reason.removesuffix("_unreachable")
    best, limit = known["best_possible_s"], known[f"{latency}_slo_s"]
    if math.isnan(best):
        return ""
    text = f": the best possible is {quantity_text(f'{latency}_slo_s', best)}"
    # A class may miss a limit of its own that the contract's would let pass.
    return text if not best > limit else f"{text}, against {quantity_text(f'{latency}_slo_s', limit)}"


_FROM_CATALOG = ("gpu_memory_bytes", "weights_bytes", "memory_bandwidth_bytes_per_s", "peak_flops", "params_active")
"""Values of the catalog that a plan needs, and that the contract can state."""


def _missing(reason: str, known: Mapping[str, float]) -> str:
    """By how much an infeasible cell misses; empty where a number is not known."""

    def shown(name: str, value: float | None = None) -> str:
        return quantity_text(name, known[name] if value is None else value)

    longest, request = shown("longest_tokens"), shown("context_tokens_max")
    prefill_longest = shown("prefill_longest_s", known["prefill_longest_raw_s"])
    sentences = {
        "weights_exceed_memory": f"{shown('memory_shortfall_bytes_per_gpu')} a GPU are missing",
        "sequence_exceeds_pool": f"the pool holds {shown('kv_pool_tokens')}, a sequence needs up to {longest}",
        "tpot_unreachable": f"reading the weights takes {shown('step_weights_read_s')} and the KV of a sequence "
        f"{shown('kv_read_per_sequence_s')}, against {shown('tpot_slo_s')}",
        "ttft_unreachable": f"the longest prompt takes {prefill_longest}, against {shown('ttft_slo_s')}",
        "e2e_unreachable": f"the best possible is {shown('best_possible_s')}, against {shown('e2e_slo_s')}",
        "budget_exceeded": f"{shown('budget_shortfall_usd_per_month')} above {shown('budget_usd_per_month')}",
        "power_exceeded": f"{shown('power_shortfall_kw')} above {shown('power_budget_kw')}",
        "context_exceeds_model": f"{request} against {shown('context_tokens_max', known['max_position_embeddings'])}",
    }
    if reason == "catalog_value_missing":
        missing = [name for name in _FROM_CATALOG if math.isnan(known[name])]
        return f": {', '.join(missing)} not known; state it in deployment, or the catalog entry" if missing else ""
    text = sentences.get(reason, "-")
    return "" if "- " in f"{text} " or text.endswith("-") else f": {text}"
