"""Formulas of the dictionary with numbers in place of names, and which formula a cell really used."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from gridplan.dictionary import dictionary
from gridplan.quantities import format_quantity
from gridplan.report.cost_formulas import cost_formulas
from gridplan.report.fleet_formulas import fleet_formulas
from gridplan.report.kv_formulas import kv_formulas
from gridplan.report.price_formulas import price_formulas
from gridplan.report.step_formulas import rate_at_cap, step_formulas

__all__ = ["formula_used", "names_in", "quantity_text", "substituted"]

_NAME = re.compile(r"\b[a-z][a-z0-9_]*\b")
_UNITS = {
    "machine_intensity_used": "FLOP/byte",
    "flop_params_count": "count",
    "weights_rank_ratio": "1",
    "weight_bits": "bits",
    "kv_bits": "bits",
    "kv_layers": "layers",
    "kv_heads": "heads",
    "head_dim": "1",
    **dict.fromkeys(
        (
            *("kv_charge_final", "kv_charge_mean", "kv_charge_residence", "kv_charge_max", "kv_charge_longest_bytes"),
            *("kv_pool_usable_bytes", "kv_page_bytes", "kv_read_bytes_per_token", "kv_read_bytes_per_token_per_gpu"),
        ),
        "bytes",
    ),
    **dict.fromkeys(("longest_tokens", "longest_prefill_tokens"), "tokens"),
    **dict.fromkeys(("prefix_hit_ratio_mean", "longest_prefill_hit_ratio"), "1"),
    "experts_read_bytes": "bytes",
    **dict.fromkeys(("num_layers", "num_experts", "experts_per_token"), "1"),
    **dict.fromkeys(("step_fixed_s", "step_experts_s", "all_reduce_token_s", "prefill_work_s", "decode_work_s"), "s"),
    "chunk_overhead_total_s": "s",
    "committed_usd_per_node_hour": "USD/h",
    **{"usd_base_per_hour": "USD/h", "gpus_base": "GPUs", "node_replicas": "count", "replica_nodes": "count"},
}
_THREE_DIGITS = {
    "tpot_share",
    "batch_mean",
    "busy",
    "burst_to_slo",
    "ridge_share",
    "slot_share",
    "goodput",
    "goodput_bound",
}
LATENCY_LIMITS = ("ttft_slo_s", "tpot_slo_s", "e2e_slo_s", "itl_slo_s")
_FIVE_DIGITS = {"weights_rank_ratio"}
_TWO_DECIMALS = {"replicas", "replica-s/s"}

_GIVEN: Mapping[str, str] = {
    "kv_pool_tokens": "kv_pool_tokens_given",
    "kv_pool_bytes_per_gpu": "kv_pool_bytes_given",
    "kv_bytes_per_token": "kv_bytes_per_token_given",
    "kv_bytes_per_sequence": "kv_bytes_per_sequence_given",
    "step_weights_read_s": "step_weights_s",
    "kv_read_per_context_token_s": "step_per_context_token_s",
    "prefill_compute_per_token_s": "prefill_per_token_s",
    "nodes": "nodes_given",
}
"""Inputs that replace a computed measure where they are given."""


def names_in(formula: str) -> list[str]:
    """Names of quantities in a formula, in order of appearance.

    >>> names_in("rho_target * lambda_instance")
    ['rho_target', 'lambda_instance']
    """
    internal = {"lambda_anchor", *_UNITS}
    found = _NAME.findall(formula)
    return list(dict.fromkeys(name for name in found if name in dictionary() or name in internal))


def quantity_text(name: str, value: float | str | None) -> str:
    """A value with its unit, as precise as a capacity review wants it.

    >>> quantity_text("tpot_s", 0.0153645), quantity_text("prefill_demand", 14.2597)
    ('15.4 ms', '14.26 replica-s/s')
    """
    row = dictionary().get(name)
    unit = _UNITS.get(name, row.unit if row else "1")
    if isinstance(value, str) or value is None:
        return format_quantity(value, unit)
    if row is not None and row.dtype == "bool":
        return "-" if math.isnan(value) else ("yes" if value else "no")
    if (name in _THREE_DIGITS or _is_latency(name)) and math.isfinite(value):
        scaled, shown = (value * 1e3, " ms") if unit == "s" and value < 1 else (value, " s" if unit == "s" else "")
        return f"{_significant(scaled)}{shown or ('' if unit == '1' else ' ' + unit)}"
    if name in _FIVE_DIGITS and math.isfinite(value):
        return f"{value:.5g}"
    if unit in _TWO_DECIMALS and math.isfinite(value):
        return f"{value:,.2f} {unit}"
    return format_quantity(value, unit)


def _is_latency(name: str) -> bool:
    return (
        name.endswith("_s") and name.startswith(("tpot_", "ttft_", "e2e_", "itl_", "decode_s")) and "_slo_s" not in name
    )


def _significant(value: float, digits: int = 3) -> str:
    """Decimal notation with three significant digits, trailing zeros kept: 0.8596 is 0.860."""
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"


def substituted(formula: str, known: Mapping[str, float]) -> str:
    """The formula with every known name replaced by its value.

    >>> substituted("rho_target * lambda_instance", {"rho_target": 0.7, "lambda_instance": 10.0})
    '0.7 * 10 req/s'
    """

    def value(match: re.Match[str]) -> str:
        name = match[0]
        return quantity_text(name, known[name]) if name in known and not math.isnan(known[name]) else name

    return _NAME.sub(value, formula)


def formula_used(name: str, known: Mapping[str, float], texts: Mapping[str, str | None]) -> str:
    """The formula behind a measure in this cell: a given value, or the branch of the formula that applies."""
    given = _GIVEN.get(name)
    if given is not None and not math.isnan(known.get(given, math.nan)):
        return f"{given}"
    branch = _branches(known, texts).get(name)
    return branch if branch is not None else dictionary()[name].formula


def _branches(known: Mapping[str, float], texts: Mapping[str, str | None]) -> dict[str, str]:
    """Formulas of measures whose dictionary entry lists several."""
    model, source = texts.get("capacity_model"), texts.get("capacity_source")
    narrow, wide = _by_width("nodes")
    held_narrow, held_wide = _by_width("replicas_deployed")
    is_wide = known.get("gpus_per_replica", 1.0) > known.get("gpus_per_node", math.inf)
    branches = {
        "weights_bytes_per_gpu": _weights_formula(known),
        "nodes": wide if is_wide else narrow,
        "replicas_deployed": held_wide if is_wide else held_narrow,
        **kv_formulas(known),
        **_uncached(known),
        **step_formulas(known),
        **cost_formulas(known),
        **_by_law(known, model),
        **price_formulas(known),
        **_of_portfolio(known),
        "lambda_instance": _rate_formula(model, source, texts.get("binding_constraint"), known),
        "replicas_active": "ceil(arrival_rate / lambda_safe)",
        "lambda_safe": _planned_formula(known),
        **fleet_formulas(known),
    }
    if not math.isnan(known.get("decode_tokens_per_s", math.nan)):
        branches["concurrency_slo"] = (
            "floor(decode_tokens_per_s * gpus_per_replica / max(output_tokens_mean / e2e_slo_s, 1 / tpot_slo_s))"
        )
    if known.get("compute_ceiling_code") == 0:
        branches["concurrency_compute"] = "machine_intensity_used * weight_bits / 16"
    return branches


def _of_portfolio(known: Mapping[str, float]) -> dict[str, str]:
    """Bill, mean price and parts of the bill where a portfolio is bought: nothing in it stands idle but commitments."""
    if known.get("purchase_code") != dictionary()["purchase"].labels.index("portfolio"):
        return {}
    price = "usd_per_gpu_hour_used * hours_per_month"
    return {
        "usd_per_hour": "(usd_per_month_committed + usd_per_month_swing + usd_per_month_spot) / hours_per_month",
        "usd_per_gpu_hour_used": "usd_per_hour / (nodes_paid_mean * gpus_per_node)",
        "gpus_paid": "nodes_paid_mean * gpus_per_node",
        "replicas_at_peak": "replicas_at_average",
        "usd_per_month_idle": f"{price} * nodes_committed * gpus_per_node * (1 - commitment_utilization)",
        "usd_per_month_stranded": (
            f"{price} * max(nodes_needed_mean * gpus_per_node - replicas_held * gpus_per_replica, 0)"
        ),
    }


def _within(known: Mapping[str, float]) -> str:
    """The limits of a rate by queueing, by name; those of single classes stand with the classes."""
    limits = [name for name in LATENCY_LIMITS if not math.isnan(known.get(name, math.nan))]
    return f"largest rate within {', '.join(limits) or 'the limits of classes'}, each at its percentile"


def _planned_formula(known: Mapping[str, float]) -> str:
    """Without the credit of a routing where none is counted on."""
    formula, credit = dictionary()["lambda_safe"].formula, " * routing_credit"
    return formula.replace(credit, "") if known.get("routing_credit", 1.0) == 1 else formula


def _by_law(known: Mapping[str, float], model: str | None) -> dict[str, str]:
    """Formulas of the measures that depend on the law of latency of the cell."""
    used = {} if model == "littles_law" else {"e2e_latency_used_s": "e2e_s"}
    by_step = known.get("latency_model_code") == dictionary()["latency_model"].labels.index("mean_step")
    texts = {name: dictionary()[name].formula.partition("; mean_step: ") for name in ("tpot_s", "batch_mean")}
    if by_step:
        return {"batch_mean": texts["batch_mean"][2]}
    return used | {name: text[0] for name, text in texts.items()}


def _uncached(known: Mapping[str, float]) -> dict[str, str]:
    """Prompt tokens to prefill, with the hits of the contract or those that come of the classes' own."""
    plain = {known.get(name) for name in ("prefix_hit_ratio", "prefix_hit_ratio_mean", "longest_prefill_hit_ratio")}
    if len(plain) == 1:
        return {
            "uncached_tokens_mean": "prompt_tokens_mean * (1 - prefix_hit_ratio)",
            "uncached_tokens_max": "prompt_tokens_max * (1 - prefix_hit_ratio)",
        }
    return {
        "uncached_tokens_mean": "prompt_tokens_mean * (1 - prefix_hit_ratio_mean)",
        "uncached_tokens_max": "longest_prefill_tokens * (1 - longest_prefill_hit_ratio)",
    }


def _by_width(name: str) -> tuple[str, str]:
    """The formula for replicas inside a node and the one for wider replicas."""
    narrow, _, wide = dictionary()[name].formula.partition("; wider replicas: ")
    return narrow, wide


def _weights_formula(known: Mapping[str, float]) -> str:
    """Without the ratio to an even split where the split is even."""
    formula, ratio = dictionary()["weights_bytes_per_gpu"].formula, " * weights_rank_ratio"
    return formula.removesuffix(ratio) if known.get("weights_rank_ratio") == 1 else formula


def _rate_formula(model: str | None, source: str | None, binds: str | None, known: Mapping[str, float]) -> str:
    if source == "measured":
        return "lambda_instance_given"
    if source == "scaled":
        return "lambda_instance_given * lambda_analytical / lambda_anchor"
    if model == "littles_law" and not (math.isnan(known.get("latency_given_s", math.nan)) and binds in ("tpot", "e2e")):
        return "concurrency / e2e_latency_used_s"
    if model == "queueing":
        return _within(known)
    caps = {
        "memory": "concurrency_memory",
        "compute": "floor(concurrency_compute)",
        "scheduler": "max_num_seqs * data_parallel",
    }
    if binds in caps:
        cap = caps[binds]
        return rate_at_cap(cap, known)
    if binds in ("tpot", "e2e") and not math.isnan(known.get("decode_tokens_per_s", math.nan)):
        return rate_at_cap("concurrency_slo", known)
    if binds == "tpot":
        return "tpot_share / request_work_s"
    return dictionary()["lambda_analytical"].formula
