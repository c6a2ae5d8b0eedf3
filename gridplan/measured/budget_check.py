"""Whether the terms of a log leave the pool that it prints, by the rule of its engine and version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from gridplan.catalog.versions import parse_version
from gridplan.measured.engine_log import EngineLog, Reading
from gridplan.measured.log_checks import BUDGET_TOLERANCE_BYTES, Check, check_budget, gib, lines_of

__all__ = ["budget_check", "graphs_in_pool"]

_GRAPHS_IN_BUDGET_FROM = (0, 21)
"""First vLLM whose pool leaves room for CUDA graphs (fact: "CUDA graph memory profiling is enabled (default since
v0.21.0)", vllm/v1/worker/gpu_worker.py)."""


class _Sum(NamedTuple):
    """The check, and the CUDA graphs that the pool leaves room for beside the printed terms (0: none)."""

    check: Check
    graphs: Reading[float] | None = None
    complete: bool = False


def budget_check(log: EngineLog) -> Check | None:
    """Whether terms and pool agree, or why that is not known; None without a pool."""
    return None if log.kv_pool_bytes is None else _sum(log).check


def graphs_in_pool(log: EngineLog) -> Reading[float] | None:
    """CUDA graphs that the pool leaves room for beside the printed terms [bytes].

    0 where the terms add up without them: the version does not subtract them, or the printed peak holds them. None
    where terms and pool do not agree or are not all printed.
    """
    if log.kv_pool_bytes is None:
        return None
    found = _sum(log)
    if not found.complete or found.check.severity != "info":
        return None
    return found.graphs or Reading(0.0, log.kv_pool_bytes.line)


def _sum(log: EngineLog) -> _Sum:
    if log.pool_limit_bytes is not None:
        size = gib(log.pool_limit_bytes.value)
        return _Sum(Check("budget", "info", f"the pool of {size} was set by hand", {}, lines_of(log.pool_limit_bytes)))
    return _Sum(_of_sglang(log)) if log.engine == "sglang" else _of_vllm(log)


def _usable(log: EngineLog) -> tuple[float, float] | None:
    """What the engine may use and how far that is rounded [bytes]; the product that it printed comes first."""
    if log.requested_bytes is not None:
        return log.requested_bytes.value, log.requested_bytes.half_step
    total, fraction = log.total_bytes, log.memory_fraction
    if total is None or fraction is None:
        return None
    return total.value * fraction.value, total.half_step * fraction.value + total.value * fraction.half_step


def _of_vllm(log: EngineLog) -> _Sum:
    pool, usable = log.kv_pool_bytes, _usable(log)
    assert pool is not None
    parts = {"weights": log.weights_bytes, "non-torch": log.non_torch_bytes, "activation": log.activation_bytes}
    if log.consumed_bytes is not None:
        parts = {"weights and non-torch": log.consumed_bytes, "activation": log.activation_bytes}
    known = {name: item for name, item in parts.items() if item is not None}
    if usable is None or len(known) < len(parts):
        missing = [name for name, item in parts.items() if item is None]
        missing += ["total memory and fraction"] if usable is None else []
        return _Sum(Check("budget", "info", f"the budget is not checked: the log does not print {', '.join(missing)}"))
    total = log.total_bytes.value if log.total_bytes else None
    terms = {name: item.value for name, item in known.items()}
    rounding = usable[1] + pool.half_step + sum(item.half_step for item in known.values())

    def check(more: Mapping[str, Reading[float]]) -> Check:
        values = terms | {name: item.value for name, item in more.items()}
        slack = rounding + sum(item.half_step for item in more.values())
        lines = lines_of(log.total_bytes, log.requested_bytes, pool, *known.values(), *more.values())
        return check_budget(usable[0], values, pool.value, slack, total, lines)

    plain = check({})
    if plain.severity == "info":
        return _Sum(plain, None, True)
    # From 0.21 on the estimate of the graphs is subtracted; whether the printed peak holds it changed between releases.
    for graphs in (log.cuda_graphs_estimated_bytes, log.cuda_graphs_bytes):
        if graphs is None or not graphs.value:
            continue
        apart = check({"CUDA graphs": graphs})
        if apart.severity == "info" and _graphs_in_budget(log):
            return _Sum(apart, graphs, True)
        slack = BUDGET_TOLERANCE_BYTES + rounding + graphs.half_step
        if said := _of_graphs(plain.numbers["difference_bytes"], graphs, slack):
            lines = tuple(sorted({*plain.lines, graphs.line}))
            return _Sum(replace(plain, sentence=f"{plain.sentence}; {said}", lines=lines), None, True)
    return _Sum(plain, None, True)


def _of_graphs(difference: float, graphs: Reading[float], slack: float) -> str | None:
    """What a difference says that is as large as the printed CUDA graphs; None where it is not."""
    if abs(abs(difference) - graphs.value) > slack:
        return None
    printed = f"the difference is the printed CUDA-graph memory ({gib(graphs.value)}, line {graphs.line})"
    return f"{printed}: this version {'subtracts it' if difference < 0 else 'does not subtract it'}"


def _graphs_in_budget(log: EngineLog) -> bool:
    """Whether this vLLM may subtract the estimate of its CUDA graphs; an unknown version may."""
    if log.engine_version is None:
        return True
    try:
        return parse_version(log.engine_version.value)[:2] >= _GRAPHS_IN_BUDGET_FROM
    except ValueError:
        return True


def _of_sglang(log: EngineLog) -> Check:
    pool, after, before, fraction = log.kv_pool_bytes, log.free_after_load_bytes, log.free_bytes, log.memory_fraction
    assert pool is not None
    if after is None or before is None or fraction is None:
        names = {"memory before loading": before, "memory after loading": after, "mem_fraction_static": fraction}
        missing = ", ".join(name for name, item in names.items() if item is None)
        return Check("budget", "info", f"the budget is not checked: the log does not print {missing}")
    terms = {f"kept free ({1 - fraction.value:.3g} of {gib(before.value)})": (1 - fraction.value) * before.value}
    rounding = after.half_step + before.half_step * (1 - fraction.value) + pool.half_step
    if log.state_bytes is not None:
        terms["recurrent states"] = log.state_bytes.value
        rounding += log.state_bytes.half_step
    found = check_budget(after.value, terms, pool.value, rounding, None, lines_of(before, after, fraction, pool))
    limit = log.pool_limit_tokens
    if found.severity == "error" and limit is not None and found.numbers["difference_bytes"] < 0:
        sentence = f"the pool was limited to {limit.value:,.0f} tokens by hand (max_total_tokens)"
        return Check("budget", "info", sentence, found.numbers, lines_of(limit, pool))
    return found
