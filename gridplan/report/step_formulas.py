"""The formula behind each time of a step or a prompt in a cell: without the terms that are nothing there."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["rate_at_cap", "step_formulas"]

_READ = "/ (tensor_parallel * memory_bandwidth_bytes_per_s * mbu)"
_PROMPT = "uncached_tokens_mean"
_DECODE = "output_tokens_mean * (kv_read_per_context_token_s * step_context_tokens + step_per_sequence_s)"


def step_formulas(known: Mapping[str, float]) -> dict[str, str]:
    """Formulas of the measures whose terms depend on the cell, by measure."""
    has_experts = known.get("step_experts_s", 0.0) != 0
    per_token = "2 * flop_params_count / (tensor_parallel * peak_flops * mfu * data_parallel)"
    if known.get("all_reduce_token_s", 0.0) != 0:
        per_token += " + all_reduce_token_s / data_parallel"
    found = {
        "step_weights_read_s": _weights(known) + (f" + {_experts('decode_batch_quoted')}" if has_experts else ""),
        "prefill_compute_per_token_s": per_token,
    }
    if not has_experts:
        found["tpot_share"] = "max(0, 1 - step_weights_read_s / tpot_slo_s)"
        found["tpot_s"] = "step_weights_read_s / (1 - busy)"
    else:
        found["tpot_share"] = f"max(0, 1 - ({_at('the batch of the limit')}) / tpot_slo_s)"
        untouched = "experts_read_bytes * (1 - experts_per_token / num_experts) ** decode_batch_quoted"
        cache = "decode_batch_quoted * decode_context_quoted * kv_read_bytes_per_token"
        found["decode_bytes"] = f"weights_read_bytes - {untouched} + {cache}"
        found["tpot_s"] = f"({_at('max(batch_mean, 1)')}) / (1 - busy)"
    if _is_linear(known, has_experts):
        prompt = f"prefill_compute_per_token_s * {_PROMPT}"
        found |= {
            "prefill_longest_s": "prefill_compute_per_token_s * data_parallel * uncached_tokens_max",
            "prefill_demand": f"arrival_rate * {prompt}",
            "request_work_s": f"{prompt} + {_DECODE}",
        }
    else:
        found |= {
            "prefill_longest_s": "of the slowest class: prefill_compute_per_token_s * data_parallel * uncached tokens "
            "+ attention, or the experts its chunks read, + chunks * chunk_overhead_total_s",
            "prefill_demand": "arrival_rate * prefill_work_s",
            "request_work_s": f"prefill_work_s + {_DECODE}",
        }
    return found


def rate_at_cap(cap: str, known: Mapping[str, float]) -> str:
    """The rate of a replica that always holds `cap` sequences."""
    weights = "step_weights_read_s"
    if known.get("step_experts_s", 0.0) != 0:
        weights = f"({_at(cap)})"
    return f"{cap} / (output_tokens_mean * {weights} + {cap} * request_work_s)"


def _weights(known: Mapping[str, float]) -> str:
    has_experts = known.get("step_experts_s", 0.0) != 0
    read = f"(weights_read_bytes - experts_read_bytes) {_READ}" if has_experts else f"weights_read_bytes {_READ}"
    if not any(known.get(name) for name in ("step_overhead_s", "layer_overhead_s", "all_reduce_s")):
        return read
    layer = "layer_overhead_s + 2 * all_reduce_s" if known.get("tensor_parallel", 1.0) > 1 else "layer_overhead_s"
    return f"{read} + step_overhead_s + num_layers * ({layer})"


def _experts(batch: str) -> str:
    return f"step_experts_s * (1 - (1 - experts_per_token / num_experts) ** {batch})"


def _at(batch: str) -> str:
    return f"step_fixed_s + {_experts(batch)}"


def _is_linear(known: Mapping[str, float], has_experts: bool) -> bool:
    """Whether a prompt costs the same for every token: no attention, no chunk that costs more, no experts to read."""
    given = known.get("prefill_per_token_s", float("nan"))
    flat = known.get("flop_params_code") == 0 or given == given
    return flat and not known.get("chunk_overhead_total_s") and (given == given or not has_experts)
