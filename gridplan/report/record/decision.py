"""The decision in one sentence, and what it is about in one line."""

from __future__ import annotations

from gridplan.quantities import format_quantity
from gridplan.report.record.case import Case
from gridplan.report.substitute import quantity_text
from gridplan.sensitivity.axes import SPARES

__all__ = ["counted", "decision", "setting"]

_SPLITS = ("tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel")


def counted(count: float, noun: str) -> str:
    """A count with its noun.

    >>> counted(1, "node"), counted(12, "GPU")
    ('1 node', '12 GPUs')
    """
    return f"{count:,.0f} {noun}{'' if count == 1 else 's'}"


def decision(case: Case, nowhere: str = "") -> str:
    """The plan in one sentence, or why there is none; `nowhere` says why no cell at all has one."""
    if case.plan is None:
        return _without_plan(case, nowhere)
    if case.refused:
        return f"No plan: {case.refused}."
    if case.number("fleet_sufficient") == 0:
        held, planned = case.number("replicas_deployed") or 0.0, case.number("replicas") or 0.0
        nodes = case.number("nodes") or 0.0
        holds = f"{counted(nodes, 'node')} hold{'s' if nodes == 1 else ''} {counted(held, 'replica')}"
        return f"No plan: {holds}, and the plan takes {planned:,.0f} (fleet_sufficient is false)."
    if case.labels.get("status") != "ok":
        reason = case.explanation.verdict if case.explanation is not None else case.labels.get("infeasible_reason")
        return f"No plan: {reason}."
    bill, price = case.number("usd_per_month"), case.number("usd_per_mtok_output")
    cost = "at a price that is not known"
    if bill is not None:
        cost = f"{format_quantity(bill, 'USD/month')} ({12 * bill:,.0f} USD a year)"
    cost += f", {format_quantity(price, 'USD')} for 1M output tokens" if price is not None else ""
    return f"{_fleet(case)}: {_replicas(case)}; {cost}."


def _without_plan(case: Case, nowhere: str) -> str:
    """Axes that stay open, and whether any cell has a plan at all."""
    if nowhere:
        return f"No cell has a plan: {nowhere}."
    sizes = ", ".join(f"{name} has {len(case.axes[name]):,} labels" for name in case.still_open)
    them = "it" if len(case.still_open) == 1 else "them"
    spares = " (or say what is to be survived: --survives)" if SPARES & set(case.still_open) else ""
    return f"No single plan is meant: {sizes}. Fix {them} with --at{spares}; this is about the whole cube."


def _fleet(case: Case) -> str:
    """What is bought: nodes of an instance, or GPUs."""
    nodes, gpus, own = (case.number(name) for name in ("nodes", "gpus_deployed", "gpus"))
    instance, gpu = case.label("instance"), case.label("gpu") or "GPU"
    if instance and nodes is not None and gpus is not None:
        verb = "Buy" if case.label("purchase") == "owned" else "Rent"
        return f"{verb} {nodes:,.0f} x {instance} ({counted(gpus, 'GPU')})"
    if nodes is not None and gpus is not None:
        return f"Deploy {counted(nodes, 'node')} ({gpus:,.0f} x {gpu})"
    return f"Deploy {own:,.0f} x {gpu}" if own is not None else f"Deploy {gpu}"


def _replicas(case: Case) -> str:
    """How many replicas carry the peak, and how many are spare."""
    active, planned, rate = case.number("replicas_active"), case.number("replicas"), case.input("arrival_rate")
    load = f"the peak of {quantity_text('arrival_rate', rate)}" if isinstance(rate, float) else "the peak"
    if active is None or planned is None:
        return load
    spare = f", {planned - active:,.0f} {'is' if planned - active == 1 else 'are'} spare" if planned > active else ""
    return f"{counted(active, 'replica')} {'carries' if active == 1 else 'carry'} {load}{spare}"


def setting(case: Case) -> str:
    """What the decision is about: model, formats, GPU, split, engine, limits, price, and how the rate is known."""
    if not case.decided:
        return ""
    source = case.labels.get("capacity_source")
    parts = (_what(case), _where(case), _limits(case), _price(case), f"rate of a replica {source}" if source else "")
    return "; ".join(part for part in parts if part)


def _what(case: Case) -> str:
    named = (("weight_dtype", "weights"), ("kv_dtype", "KV cache"))
    formats = [f"{label} {said}" for name, said in named if (label := case.label(name))]
    return ", ".join([case.label("model") or "a model by its figures", *formats])


def _where(case: Case) -> str:
    gpu, engine = case.label("gpu"), case.label("engine")
    widths = [
        f"{name.replace('_', ' ')} {value:g}"
        for name in _SPLITS
        if isinstance(value := case.input(name), float) and value > 1
    ]
    return ", ".join([*([f"on {gpu}"] if gpu else []), *widths, *([engine] if engine else [])])


def _limits(case: Case) -> str:
    limits = []
    for name in ("ttft", "tpot", "itl", "e2e"):
        limit, kind = case.input(f"{name}_slo_s"), case.input(f"{name}_slo_percentile") or "mean"
        if isinstance(limit, float):
            limits.append(
                f"{name.upper()} {'mean' if kind == 'mean' else f'p{kind}'} {quantity_text(f'{name}_slo_s', limit)}"
            )
    return f"limits {', '.join(limits)}" if limits else "no latency limits"


def _price(case: Case) -> str:
    bought, day = case.label("purchase"), case.labels.get("price_as_of")
    kind = bought if bought in ("portfolio", "owned") else case.labels.get("price_kind")
    if kind is None and day is None:
        return ""
    return " ".join(["price", *([kind] if kind else []), *([f"of {day}"] if day else [])])
