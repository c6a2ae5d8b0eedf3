"""One cell of a plan in exact rational arithmetic: a second `replica_seconds`, written from the design of the plan.

It shares no code with the chain: inputs are the decimals a person wrote, every number is a `Fraction`, counts are
floors and ceilings of exact quotients, fleets are found by counting upwards. Only the entries of the catalog are read
from the package. What nobody knows is `UNKNOWN`, which absorbs arithmetic and compares as false; it leaves as None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil, floor, prod
from typing import Any

from scalar_oracle_fleet import UNKNOWN, Unknown, add_cost, add_fleet
from scalar_oracle_step import constants_of, step_times
from scalar_oracle_weights import embedding_bytes, expert_bytes, parallel_problem, rank_bytes, stored_bytes

from gridplan.catalog import load_catalog

__all__ = ["plan"]

GIB = 2**30
TIE = Fraction(1, 10**9)
SPLITS = ("pipeline_parallel_illegal", "data_parallel_illegal", "expert_parallel_illegal", "context_parallel_illegal")
LIMITS = ("memory", "compute", "scheduler", "tpot", "e2e")
DEFAULTS: Mapping[str, Any] = {
    **{name: 1 for name in ("tensor_parallel", "pipeline_parallel", "data_parallel", "zones", "redundancy")},
    **{name: 1 for name in ("expert_parallel", "decode_context_parallel")},
    **{name: 0 for name in ("prefix_hit_ratio", "lost_units")},
    **{"kv_efficiency": 1, "hours_per_month": 730, "failure_domain": "gpu", "lost_domain": "gpu"},
    **{"resident_context": "final", "step_context": "mean", "flop_params": "matmul"},
    **{"compute_ceiling_model": "with_kv", "routing_credit": 1},
}
Cell = dict[str, Any]


def exact(value: Any) -> Any:
    """The decimal that was written; texts stay, None is unknown."""
    if value is None:
        return UNKNOWN
    return value if isinstance(value, (str, Unknown, Fraction)) else Fraction(repr(value))


def lowest(values: Iterable[Any]) -> Any:
    """The smallest of the values that are known."""
    return min((value for value in values if value is not UNKNOWN), default=UNKNOWN)


def plan(given: Mapping[str, Any]) -> Cell:
    """Every measure of one cell; `given` holds inputs by the names of the contract, in base units."""
    x = _inputs(given)
    m: Cell = {"gpus_per_replica": x["tensor_parallel"] * x["pipeline_parallel"] * x["data_parallel"]}
    for section in (_workload, _memory, _times, _ceilings, _verdict, _limits, _quoted_step, add_fleet, add_cost):
        section(x, m)
    return {name: None if value is UNKNOWN else value for name, value in m.items() if not name.startswith("_")}


def _inputs(given: Mapping[str, Any]) -> Cell:
    """What the contract states, then the defaults, then what the labels imply."""
    catalog = load_catalog()
    instance = catalog.instances[given["instance"]] if given.get("instance") else None
    gpu, model = catalog.gpus[instance.gpu if instance else given["gpu"]], catalog.models[given["model"]]
    weight = given.get("weight_dtype") or model.native_weight_dtype
    sixteen = weight if weight in ("bf16", "fp16") else "bf16" if "bf16" in gpu.flops else "fp16"
    kv = given.get("kv_dtype") or model.native_kv_dtype or sixteen
    engine = catalog.engine("vllm")
    large = gpu.memory_bytes is not None and gpu.memory_bytes >= 70 * GIB and "a100" not in gpu.id
    x: Cell = {
        "gpu_memory_bytes": gpu.memory_bytes,
        "memory_bandwidth_bytes_per_s": gpu.memory_bandwidth_bytes_per_s,
        "peak_flops": _peak_flops(weight, gpu.flops),
        "gpu_memory_utilization": engine.default_fraction,
        "kv_block_tokens": engine.block_tokens,
        "max_num_seqs": 1024 if large else 256,
        # vLLM 0.28 doubles its batched tokens on the largest GPUs.
        "max_num_batched_tokens": 2048 if not large else 16384 if gpu.memory_bytes >= 160 * GIB else 8192,
        "_attention_flops": given.get("peak_flops", gpu.flops.get("bf16", gpu.flops.get("fp16"))),
        **constants_of(given, gpu, model, engine),
        **DEFAULTS,
        **given,
    }
    bits = {role: exact(catalog.dtypes[role, name].bits_per_element) for role, name in (("weight", weight), ("kv", kv))}
    x |= _target(given)
    x = {name: value if name == "classes" or isinstance(value, bool) else exact(value) for name, value in x.items()}
    return {**x, "gpu": gpu, "model": model, "instance": instance, "weight": weight, "kv": kv, "bits": bits}


def _target(given: Mapping[str, Any]) -> Cell:
    """The utilisation target: as it is stated, or the product of its margins."""
    margins = [exact(value) for name, value in given.items() if name.startswith("margin_")]
    return {"rho_target": prod(margins)} if margins else {}


def _peak_flops(weight: str, flops: Mapping[str, float]) -> Any:
    """Formats a GPU lacks compute at its 16-bit rate; bf16 itself does not fall back."""
    column = {"nvfp4": "fp4", "mxfp4": "fp4", "int4": "none"}.get(weight, weight)
    sixteen = flops.get("bf16", flops.get("fp16"))
    return flops.get(column, None if weight == "bf16" else sixteen)


def _workload(x: Cell, m: Cell) -> None:
    prompt = x["context_tokens"] - x["output_tokens"] if "context_tokens" in x else x.get("prompt_tokens")
    stated = x.get("classes") or [(1, prompt, x.get("output_tokens"))]
    hits = [exact(row[3]) if len(row) > 3 else x["prefix_hit_ratio"] for row in stated]
    rows = [tuple(exact(value) for value in row[:3]) for row in stated]
    mean_prompt, mean_output = (sum(row[0] * row[i] for row in rows) for i in (1, 2))
    residence = sum(w * o for w, _, o in rows)
    m["_rows"] = [(*row, share) for row, share in zip(rows, hits, strict=True)]
    m["prompt_tokens_mean"], m["output_tokens_mean"] = mean_prompt, mean_output
    m["context_tokens_mean"] = mean_prompt + mean_output
    m["context_tokens_max"] = max(p + o for _, p, o in rows)
    m["prompt_tokens_max"] = max(p for _, p, _ in rows)
    m["uncached_tokens_mean"] = sum(w * p * (1 - hit) for (w, p, _), hit in zip(rows, hits, strict=True))
    m["uncached_tokens_max"] = max(p * (1 - hit) for (_, p, _), hit in zip(rows, hits, strict=True))
    m["_charged"] = {
        "final": lambda size: sum(w * size(p + o) for w, p, o in rows),
        "mean": lambda size: sum(w * size(p + o / 2) for w, p, o in rows),
        "residence_weighted": lambda size: sum(w * o * size(p + o) for w, p, o in rows) / residence,
        "max": lambda size: size(m["context_tokens_max"]),
    }
    m["resident_tokens"] = m["_charged"][x["resident_context"]](lambda tokens: tokens)
    seen = sum(w * o * (p + o / 2) for w, p, o in rows) / residence
    m["step_context_tokens"] = seen if x["step_context"] == "mean" else mean_prompt + mean_output


def _memory(x: Cell, m: Cell) -> None:
    model, tp, pp, dp = x["model"], x["tensor_parallel"], x["pipeline_parallel"], x["data_parallel"]
    known = model.params_total is not None
    format_of = (model, x["weight"], x["bits"]["weight"])
    x["stored"] = stored_bytes(*format_of) if known else UNKNOWN
    x["experts"] = expert_bytes(*format_of) if known else UNKNOWN
    # A step reads all weights but the table that a token takes one row of, and of the experts those it touches.
    tables = x["flop_params"] == "matmul" and not model.tie_word_embeddings
    x["read"] = x["stored"] - (embedding_bytes(*format_of) if tables and known else 0)
    m["gpu_memory_source"] = x["gpu"].memory_source or None
    m["weights_bytes_per_gpu"] = rank_bytes(*format_of, lambda name: int(x[name])) if known else UNKNOWN
    # The workspace is given as one figure, so its terms are not known.
    terms = ("non_torch", "activation", "cuda_graphs", "lora", "draft_weights", "multimodal", "reserve")
    m.update({f"{name}_bytes_per_gpu": UNKNOWN for name in terms})
    m["workspace_bytes_per_gpu"] = x["workspace_bytes"]
    m["usable_memory_bytes_per_gpu"] = x["gpu_memory_bytes"] * x["gpu_memory_utilization"]
    element = x["bits"]["kv"] / 8
    if model.attention == "mla":
        row = (model.kv_lora_rank + model.qk_rope_head_dim) * element
        if model.index_head_dim:
            # DeepSeek-V3.2: 512 FP8 elements, four FP32 scales and 64 rotary elements of 16 bits; 132 bytes of indexer.
            row = 132 + (656 if x["kv"] in ("fp8", "int8") else row)
        m["kv_bytes_per_token"], rank = model.kv_layers * row, row
    else:
        row = 2 * model.head_dim * element
        m["kv_bytes_per_token"] = model.kv_layers * model.kv_heads * row
        rank = max(1, ceil(model.kv_heads / tp)) * row
    # Ranks of decode context parallelism hold every so manieth token.
    m["kv_bytes_per_token_per_gpu"] = ceil(model.kv_layers / pp) * rank / x["decode_context_parallel"]
    free = m["usable_memory_bytes_per_gpu"] - m["weights_bytes_per_gpu"] - x["workspace_bytes"]
    m["_free"] = free
    m["kv_pool_bytes_per_gpu"] = UNKNOWN if free is UNKNOWN else max(free, Fraction(0))
    m["memory_shortfall_bytes_per_gpu"] = UNKNOWN if free is UNKNOWN else max(-free, Fraction(0))
    m["_block"] = x["kv_block_tokens"] * x["decode_context_parallel"]
    block = m["_block"] * m["kv_bytes_per_token_per_gpu"]
    m["kv_pool_tokens"] = floor(m["kv_pool_bytes_per_gpu"] / block) * m["_block"] * dp
    _sequences(x, m)


def _sequences(x: Cell, m: Cell) -> None:
    """How many fit: a sequence takes whole blocks, or an efficiency below 1 stands for what they lose."""
    dp = x["data_parallel"]

    def blocks(tokens: Any, size: Any = m["_block"]) -> Any:
        return ceil(tokens / size) * size

    in_blocks = x["kv_efficiency"] == 1
    charged = {name: mean(blocks if in_blocks else lambda t: t) for name, mean in m["_charged"].items()}
    whole = m["_charged"][x["resident_context"]](
        (lambda t: blocks(t, x["kv_block_tokens"])) if in_blocks else lambda t: t
    )
    pool = x["kv_efficiency"] * m["kv_pool_bytes_per_gpu"] / m["kv_bytes_per_token_per_gpu"]
    # A sequence lies in the pool of one attention rank.
    tokens = m["kv_pool_tokens"] / dp if in_blocks else pool
    held = charged[x["resident_context"]]
    m["kv_bytes_per_sequence"] = whole * m["kv_bytes_per_token"]
    m["kv_bytes_per_sequence_per_gpu"] = held * m["kv_bytes_per_token_per_gpu"]
    m["concurrency_memory"] = floor(tokens / held) * dp
    m["concurrency_memory_expected"] = floor(tokens / charged["final"]) * dp
    m["concurrency_memory_mean"] = floor(tokens / charged["mean"]) * dp
    m["concurrency_memory_residence"] = floor(tokens / charged["residence_weighted"]) * dp
    longest = blocks(x.get("max_model_len", m["context_tokens_max"]))
    m["concurrency_at_limit"] = m["kv_pool_tokens"] / longest
    m["concurrency_memory_worst"] = floor(m["kv_pool_tokens"] / dp / longest) * dp
    m["concurrency_scheduler"] = x["max_num_seqs"] * dp


def _times(x: Cell, m: Cell) -> None:
    model = x["model"]
    active = exact(model.params_active)
    if x["flop_params"] == "matmul":
        active = active - exact(model.params_embedding) * (1 if model.tie_word_embeddings else 2)
    x["multiplied"] = active
    step_times(x, m)


def _ceilings(x: Cell, m: Cell) -> None:
    intensity = x["peak_flops"] / x["memory_bandwidth_bytes_per_s"]
    if x["compute_ceiling_model"] == "weights_only":
        compute = intensity * x["bits"]["weight"] / 16
    else:
        gain = 2 * x["multiplied"] / intensity - m["step_context_tokens"] * m["kv_bytes_per_token"]
        compute = x["read"] / gain if gain > 0 else UNKNOWN
    tpot, reads = x.get("tpot_slo_s", UNKNOWN), m["_reads"]
    batch = reads.batch_at(tpot, m["kv_read_per_sequence_s"] + x["step_per_sequence_s"])
    share = 1 - reads.at(reads.batch_at(tpot, m["request_work_s"] / m["output_tokens_mean"])) / tpot
    m["concurrency_compute"] = compute
    m["concurrency_slo"] = floor(batch)
    m["tpot_share"] = UNKNOWN if share is UNKNOWN else max(share, Fraction(0))
    caps = (m["concurrency_memory"], floor(compute), m["concurrency_slo"], m["concurrency_scheduler"])
    m["concurrency"] = lowest(caps)


def _verdict(x: Cell, m: Cell) -> None:
    """The first reason that applies, and nulls where there is no plan."""
    least = m["_reads"].at(1)
    best = m["_alone"] + m["output_tokens_mean"] * least
    longest, limit = m["context_tokens_max"], exact(x["model"].max_position_embeddings)
    stated = x.get("max_model_len", UNKNOWN)
    needed = (*(x[name] for name in ("gpu_memory_bytes", "memory_bandwidth_bytes_per_s", "peak_flops")), x["stored"])
    applies = {
        "dtype_unsupported_by_gpu": not _formats_ok(x),
        "tensor_parallel_illegal": not _split_ok(x),
        **{name: parallel_problem(x["model"], lambda n: int(x[n])) == name for name in SPLITS},
        "context_exceeds_model": longest > limit or longest > stated or stated > limit,
        "catalog_value_missing": UNKNOWN in needed,
        "weights_exceed_memory": m["_free"] <= 0,
        "sequence_exceeds_pool": m["concurrency_memory"] < 1 or m["concurrency_memory_worst"] < 1,
        "tpot_unreachable": least >= x.get("tpot_slo_s", UNKNOWN) or m["concurrency_slo"] < 1,
        "ttft_unreachable": m["prefill_longest_s"] > x.get("ttft_slo_s", UNKNOWN),
        "e2e_unreachable": best > x.get("e2e_slo_s", UNKNOWN),
    }
    m["infeasible_reason"] = next((name for name, is_so in applies.items() if is_so), None)
    m["status"] = "ok" if m["infeasible_reason"] is None else "infeasible"
    alone = least + m["kv_read_per_sequence_s"] + x["step_per_sequence_s"]
    bests = {"tpot_unreachable": alone, "ttft_unreachable": m["prefill_longest_s"], "e2e_unreachable": best}
    m["best_possible_s"] = bests.get(m["infeasible_reason"], UNKNOWN)
    if m["infeasible_reason"]:
        m.update(dict.fromkeys(("concurrency", "prefill_longest_s", "prefill_longest_flop"), UNKNOWN))


def _formats_ok(x: Cell) -> bool:
    """bf16 needs a GPU that computes it, an NVFP4 cache an NVIDIA GPU with FP4; all else is storage or falls back."""
    gpu = x["gpu"]
    if "bf16" in (x["weight"], x["kv"]) and "bf16" not in gpu.flops:
        return False
    return x["kv"] != "nvfp4" or (gpu.vendor == "NVIDIA" and "fp4" in gpu.flops)


def _split_ok(x: Cell) -> bool:
    """Whether the heads and the MLP divide by TP, and a TP group fits the fast fabric of a named instance."""
    model, tp = x["model"], int(x["tensor_parallel"])
    widths = [model.attention_heads]
    if not model.num_experts or model.num_moe_layers < model.num_layers:
        widths.append(model.intermediate_size)
    if model.num_experts and x["expert_parallel"] == 1:
        widths.append(model.moe_intermediate_size)
    heads = model.attention == "mla" or model.kv_heads % tp == 0 or tp % model.kv_heads == 0
    # A node whose size alone is stated is the whole of its fast interconnect.
    fabric = x["instance"].scale_up_gpus if x["instance"] is not None else x.get("gpus_per_node", tp)
    fits = tp <= fabric
    return heads and fits and all(width % tp == 0 for width in widths if width is not None)


def _limits(x: Cell, m: Cell) -> None:
    """The rate of a replica, what sets it, and how far the next limit is."""
    names = ("lambda_analytical", "lambda_instance", "binding_constraint", "binding_ties", "binding_next")
    names += ("margin_to_next", "capacity_flag", "capacity_source", "lambda_basis", "slo_basis", "anchor_ratio")
    m.update(dict.fromkeys(names, UNKNOWN))
    if m["infeasible_reason"]:
        return
    out, reads, work = m["output_tokens_mean"], m["_reads"], m["request_work_s"]

    def at(cap: Any) -> Any:
        return cap / (out * reads.at(cap) + cap * work)

    slack = x.get("e2e_slo_s", UNKNOWN) - m["_alone"]
    late = reads.at(reads.batch_at(slack / out, work / out))
    rates = dict(
        zip(
            LIMITS,
            (
                at(m["concurrency_memory"]),
                at(m["concurrency_compute"]),
                at(m["concurrency_scheduler"]),
                m["tpot_share"] / work,
                (1 - out * late / slack) / work,
            ),
            strict=True,
        )
    )
    rate = lowest([*rates.values(), at(floor(m["concurrency_compute"]))])
    low = lowest(rates.values())
    ties = [name for name in LIMITS if rates[name] <= low * (1 + TIE)]
    rest = {name: value for name, value in rates.items() if name not in ties and value is not UNKNOWN}
    m["lambda_analytical"] = m["lambda_instance"] = rate
    m["binding_constraint"] = "balanced" if {"memory", "compute"} <= set(ties) else ties[0]
    m["binding_ties"] = "+".join(ties)
    if rest:
        m["binding_next"] = min(rest, key=lambda name: rest[name])
        m["margin_to_next"] = rest[m["binding_next"]] / rate - 1
    m["capacity_source"], m["lambda_basis"] = "analytical", "mean_tpot"
    limited = any(name in x for name in ("ttft_slo_s", "tpot_slo_s", "e2e_slo_s"))
    m["slo_basis"] = "mean" if limited else UNKNOWN


def _quoted_step(x: Cell, m: Cell) -> None:
    """The decode step that is quoted: the stated batch at its resident context, else the cell's own concurrency."""
    feasible = m["infeasible_reason"] is None
    batch = x.get("decode_batch", m["concurrency"]) if feasible else UNKNOWN
    context = x.get("decode_context_tokens")
    if context is None:
        context = m["resident_tokens"] if "decode_batch" in x else m["step_context_tokens"]
    m["decode_batch_quoted"], m["decode_context_quoted"] = batch, context
    per_sequence = m["kv_read_per_context_token_s"] * context + x["step_per_sequence_s"]
    m["step_weights_read_s"] = m["_reads"].at(Fraction(1) if batch is UNKNOWN else batch)
    m["decode_step_s"] = m["step_weights_read_s"] + batch * per_sequence
    idle = x["experts"] * (1 - m["_reads"].touched(batch)) if x["experts"] and batch is not UNKNOWN else 0
    m["decode_bytes"] = x["read"] - idle + batch * context * m["kv_bytes_per_token"]
