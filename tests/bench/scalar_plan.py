"""One cell of the quickstart in plain Python: the script a planner writes before there is a cube.

Only floats and `math`; every cell is planned from its inputs, one after the other. It covers what the quickstart asks
for (replica-seconds, one class of requests, limits on TPOT and TTFT, spare GPUs) and nothing else: `ASSUMED` names the
inputs it takes for granted. None is null.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import ceil, floor, inf, isnan, nan
from typing import Any

from scalar_fleet import add_cost, add_fleet
from scalar_times import StepTimes, prefill_alone, prefill_beside_the_limit

from gridplan.engine.inputs import Inputs

__all__ = ["ASSUMED", "Cell", "cell_inputs", "every_cell", "plan"]

Cell = dict[str, Any]

ASSUMED: Mapping[str, float] = {
    **dict.fromkeys(("kv_pool_bytes_given", "kv_pool_tokens_given", "kv_bytes_per_token_given"), nan),
    **dict.fromkeys(("kv_bytes_per_sequence_given", "decode_tokens_per_s", "step_weights_s"), nan),
    **dict.fromkeys(("step_per_context_token_s", "prefill_per_token_s", "e2e_latency_s", "e2e_slo_s"), nan),
    **dict.fromkeys(("lambda_instance_given", "decode_batch", "decode_context_tokens", "nodes_given"), nan),
    **dict.fromkeys(("step_overhead_s", "layer_overhead_s", "all_reduce_s", "sequence_overhead_s"), 0.0),
    **{"chunk_layer_overhead_s": 0.0, "step_per_sequence_given_s": nan},
    **dict.fromkeys(("machine_intensity", "max_model_len", "usd_per_gpu_hour"), nan),
    **{"fraction_of_free": 0.0, "resident_context_code": 0, "step_context_code": 0, "flop_params_code": 1},
    **{"compute_ceiling_code": 1, "capacity_model_code": 1, "failure_domain_code": 0, "lost_units": 0.0},
    **{
        "class_weight": 1.0,
        "decode_stated": 1.0,
        "prefill_stated": 1.0,
        "pipeline_parallel": 1.0,
        "expert_parallel": 1.0,
    },
    **dict.fromkeys(("pipeline_parallel_legal", "data_parallel_legal"), 1.0),
    **dict.fromkeys(("expert_parallel_legal", "context_parallel_legal"), 1.0),
}
"""Inputs that the quickstart leaves alone, and the values (NaN: not given) that this script relies on."""

LIMITS = ("memory", "compute", "scheduler", "tpot")
TIE = 1e-9
_TERMS = ("non_torch", "activation", "cuda_graphs", "lora", "draft_weights", "multimodal", "reserve", "workspace")
_TEXTS = ("gpu_memory_source", "priced_by", "price_as_of", "price_kind")


def cell_inputs(inputs: Inputs, index: tuple[int, ...]) -> Cell:
    """The inputs of the cell at `index` as Python numbers and texts."""

    def value(data: Any) -> Any:
        return data[tuple(at if size > 1 else 0 for at, size in zip(index, data.shape, strict=False))]

    numbers = {name: value(item.data) for name, item in inputs.values.items() if item.data.dtype != object}
    # Rows of layer groups have axes of their own; every model of the quickstart has one figure a token.
    found: Cell = {name: float(number.item()) for name, number in numbers.items() if number.size == 1}
    found.update({name: value(inputs.labels[name].data) for name in _TEXTS})
    return found


def floor_guarded(x: float) -> float:
    """Floor that takes a value a rounding error below a whole number for that number."""
    return float(floor(x + min(abs(x) * 1e-14, 0.49)))


def floor_of(numerator: float, divisor: float, magnitude: float) -> float:
    """Floor of a quotient whose numerator is a difference of terms as large as `magnitude`."""
    quotient = numerator / divisor
    return float(floor(quotient + min(magnitude / divisor * 2.0**-50 + abs(quotient) * 1e-14, 0.49)))


def plan(x: Cell) -> Cell:
    """Every measure of one cell, by name; adds the two works of a request to `x`."""
    m: Cell = {name: x[name] for name in _TEXTS}
    _memory(x, m)
    _times(x, m)
    reason = m["infeasible_reason"] = _reason(x, m)
    m["status"] = "infeasible" if reason else "ok"
    alone = x["times"].at(1.0) + m["kv_read_per_sequence_s"]
    bests = {"tpot_unreachable": alone, "ttft_unreachable": m["prefill_longest_s"]}
    m["best_possible_s"], m["capacity_flag"] = bests.get(reason or ""), None
    _capacity(x, m, reason is None)
    _quoted(x, m, reason is None)
    add_fleet(x, m, reason is None)
    add_cost(x, m)
    return m


def _memory(x: Cell, m: Cell) -> None:
    prompt, output = x["class_prompt_tokens"], x["class_output_tokens"]
    tp, pp, dp = x["tensor_parallel"], x["pipeline_parallel"], x["data_parallel"]
    context = prompt + output
    kv_bytes = x["kv_bits"] / 8
    if x["kv_is_mla"]:
        width = (x["kv_lora_rank"] + x["qk_rope_head_dim"]) * kv_bytes
        token, token_gpu = x["kv_layers"] * width, ceil(x["kv_layers"] / pp) * width
    else:
        width = 2.0 * x["head_dim"] * kv_bytes
        token = x["kv_layers"] * x["kv_heads"] * width
        token_gpu = ceil(x["kv_layers"] / pp) * max(ceil(x["kv_heads"] / tp), 1) * width
    usable = x["gpu_memory_bytes"] * x["gpu_memory_utilization"]
    weights = x["weights_bytes"] / (tp * pp) * _rank_ratio(x)
    raw = usable - weights - x["workspace_bytes"]
    pool, magnitude = max(raw, 0.0), usable + weights + x["workspace_bytes"]
    pool_tokens = floor_of(pool, token_gpu * x["kv_block_tokens"], magnitude) * x["kv_block_tokens"] * dp
    sequence_gpu, eta = context * token_gpu, x["kv_efficiency"]
    block = x["kv_block_tokens"]
    usable_pool, longest = pool_tokens / dp * token_gpu, ceil(context / block) * block * token_gpu
    terms = {name: x[f"{name}_bytes"] for name in _TERMS}
    m.update({f"{name}_bytes_per_gpu": None if isnan(term) else term for name, term in terms.items()})
    m.update(
        prompt_tokens_mean=prompt,
        output_tokens_mean=output,
        context_tokens_mean=context,
        context_tokens_max=context,
        prompt_tokens_max=prompt,
        resident_tokens=context,
        step_context_tokens=prompt + 0.5 * output,
        gpus_per_replica=tp * pp * dp,
        weights_bytes_per_gpu=weights,
        usable_memory_bytes_per_gpu=usable,
        kv_pool_bytes_per_gpu=pool,
        memory_shortfall_bytes_per_gpu=max(-raw, 0.0),
        kv_bytes_per_token=token,
        kv_bytes_per_token_per_gpu=token_gpu,
        kv_bytes_per_sequence=context * token,
        kv_bytes_per_sequence_per_gpu=sequence_gpu,
        kv_pool_tokens=pool_tokens,
        concurrency_memory=floor_of(eta * pool, sequence_gpu, eta * magnitude) * dp,
        concurrency_memory_expected=floor_of(eta * pool, sequence_gpu, eta * magnitude) * dp,
        concurrency_memory_mean=floor_of(eta * pool, (prompt + 0.5 * output) * token_gpu, eta * magnitude) * dp,
        concurrency_memory_residence=floor_of(eta * pool, sequence_gpu, eta * magnitude) * dp,
        concurrency_memory_worst=floor_guarded(usable_pool / longest) * dp,
        concurrency_at_limit=usable_pool / longest * dp,
        concurrency_scheduler=x["max_num_seqs"] * dp,
    )


def _rank_ratio(x: Cell) -> float:
    """Weights on the fullest rank over an even split; one stage, and what expert parallelism is not asked about."""
    tp, experts = x["tensor_parallel"], x["weights_share_experts"]
    copies = tp * max(ceil(x["kv_heads"] / tp), 1) / x["kv_heads"]
    moved = experts * (x["expert_padding"] / x["data_parallel"] - 1) if experts else 0.0
    return 1.0 + moved + x["weights_share_replicated"] * (tp - 1) + x["weights_share_kv_projection"] * (copies - 1)


def _times(x: Cell, m: Cell) -> None:
    tp, dp, bandwidth = x["tensor_parallel"], x["data_parallel"], x["memory_bandwidth_bytes_per_s"]
    # A table apart from lm_head is not multiplied.
    params = x["params_active"] - x["params_embedding"] - x["params_lm_head"]
    read, step_context = x["weights_read_bytes"], m["step_context_tokens"]
    times = x["times"] = StepTimes(x)
    token_s = m["kv_bytes_per_token_per_gpu"] * x["pipeline_parallel"] / (bandwidth * x["mbu"] * dp)
    prefill_s = 2.0 * params / (tp * x["peak_flops"] * x["mfu"] * dp)
    sequence_s = token_s * step_context
    gain = 2.0 * params / (x["peak_flops"] / bandwidth) - step_context * m["kv_bytes_per_token"]
    x["multiplied"] = params
    m["concurrency_compute"] = read / gain if gain > 0 else None
    m["concurrency_slo"] = floor_guarded(times.batch_at(x["tpot_slo_s"], sequence_s))
    x["decode_work_s"] = m["output_tokens_mean"] * sequence_s
    hit = 1.0 - x["prefix_hit_ratio"]
    m.update(
        kv_read_per_context_token_s=token_s,
        kv_read_per_sequence_s=sequence_s,
        prefill_compute_per_token_s=prefill_s,
        uncached_tokens_mean=m["prompt_tokens_mean"] * hit,
        uncached_tokens_max=m["prompt_tokens_max"] * hit,
    )
    x["prefill_latency_s"] = m["prefill_longest_s"] = prefill_alone(x, m)
    x["prefill_work_s"] = prefill_beside_the_limit(x, m)
    m["request_work_s"] = x["prefill_work_s"] + x["decode_work_s"]
    reached = times.batch_at(x["tpot_slo_s"], m["request_work_s"] / m["output_tokens_mean"])
    m["tpot_share"] = max(1.0 - times.at(reached) / x["tpot_slo_s"], 0.0)


def _reason(x: Cell, m: Cell) -> str | None:
    """The first reason why there is no plan."""
    if not x["dtype_supported"]:
        return "dtype_unsupported_by_gpu"
    if not x["tensor_parallel_legal"]:
        return "tensor_parallel_illegal"
    if m["context_tokens_max"] > x["max_position_embeddings"]:
        return "context_exceeds_model"
    if not x["catalog_complete"]:
        return "catalog_value_missing"
    if m["kv_pool_bytes_per_gpu"] <= 0:
        return "weights_exceed_memory"
    if m["concurrency_memory"] < 1 or m["concurrency_memory_worst"] < 1:
        return "sequence_exceeds_pool"
    if x["times"].at(1.0) >= x["tpot_slo_s"] or m["concurrency_slo"] < 1:
        return "tpot_unreachable"
    if m["prefill_longest_s"] > x["ttft_slo_s"]:
        return "ttft_unreachable"
    return None


def _capacity(x: Cell, m: Cell, feasible: bool) -> None:
    """The rate of a replica, what limits it, and how far the next limit is."""
    nulls = ("binding_constraint", "binding_ties", "binding_next", "margin_to_next", "slo_basis", "capacity_source")
    m.update(dict.fromkeys((*nulls, "lambda_analytical", "lambda_instance", "lambda_basis", "anchor_ratio")))
    m["concurrency"] = None
    if not feasible:
        return
    compute, seqs = m["concurrency_compute"], x["max_num_seqs"] * x["data_parallel"]
    work_s = m["request_work_s"]

    def at(cap: float) -> float:
        return 1 / (m["output_tokens_mean"] * x["times"].at(cap) / cap + work_s) if cap else 0.0

    memory_rate, seqs_rate = at(m["concurrency_memory"]), at(seqs)
    tpot_rate = m["tpot_share"] / work_s
    compute_rate, whole_rate, whole = inf, inf, inf
    if compute is not None:
        whole = floor_guarded(compute)
        compute_rate, whole_rate = at(compute), at(whole)
    rate = min(tpot_rate, memory_rate, seqs_rate, whole_rate)
    m["concurrency"] = min(m["concurrency_memory"], whole, m["concurrency_slo"], seqs)
    m["lambda_analytical"] = m["lambda_instance"] = rate
    m["capacity_source"], m["lambda_basis"], m["slo_basis"] = "analytical", "mean_tpot", "mean"
    rates = (memory_rate, compute_rate, seqs_rate, tpot_rate)
    edge = min(rates) * (1 + TIE)
    ties = [name for name, limit in zip(LIMITS, rates, strict=True) if limit <= edge]
    m["binding_constraint"] = "balanced" if "memory" in ties and "compute" in ties else ties[0]
    m["binding_ties"] = "+".join(ties)
    beyond = [(limit, name) for name, limit in zip(LIMITS, rates, strict=True) if edge < limit < inf]
    if beyond:
        limit, m["binding_next"] = min(beyond, key=lambda pair: pair[0])
        m["margin_to_next"] = limit / rate - 1


def _quoted(x: Cell, m: Cell, feasible: bool) -> None:
    """The decode step and the prefill that a reader is shown."""
    context = m["decode_context_quoted"] = m["step_context_tokens"]
    names = ("decode_batch_quoted", "decode_step_s", "decode_bytes", "prefill_longest_flop")
    m["step_weights_read_s"] = x["times"].at(m["concurrency"] if feasible else 1.0)
    if not feasible:
        m.update(dict.fromkeys((*names, "prefill_longest_s")))
        return
    batch = m["concurrency"]
    m["decode_batch_quoted"] = batch
    m["decode_step_s"] = m["step_weights_read_s"] + batch * (m["kv_read_per_context_token_s"] * context)
    moved = x["weights_read_bytes"] - x["experts_read_bytes"] * (1 - x["times"].touched(batch))
    m["decode_bytes"] = moved + batch * context * m["kv_bytes_per_token"]
    m["prefill_longest_flop"] = 2.0 * x["multiplied"] * m["prompt_tokens_max"]


def every_cell(inputs: Inputs) -> Iterator[tuple[int, ...]]:
    """The indices of all cells in row order."""
    return product(*(range(size) for size in inputs.space.shape))
