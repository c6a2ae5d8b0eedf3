"""What was promised: traffic, classes of requests, latency limits and what the plan makes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from gridplan.contract.grid import Lengths, TrafficClass
from gridplan.dictionary import dictionary
from gridplan.quantities import format_quantity
from gridplan.report.record.case import Case
from gridplan.report.record.derivation import words
from gridplan.report.record.document import Block, Cell, Note, Section, Table, table
from gridplan.report.record.sweep import Sweep
from gridplan.report.substitute import quantity_text

if TYPE_CHECKING:
    from gridplan.measured.sustained import PointVerdict

__all__ = ["contract"]

T = TypeVar("T")

_TRAFFIC = (
    *("arrival_rate", "peak_to_average", "arrival_rate_average", "requests_per_month", "output_tokens_per_month"),
    *("prompt_tokens_mean", "output_tokens_mean", "context_tokens_mean", "context_tokens_max"),
)
_LIMITS = ("ttft", "tpot", "itl", "e2e")


def contract(case: Case, test: Sweep | None) -> Section:
    """The workload and its limits, and beside each what a load test measured near the planned load."""
    blocks: list[Block] = [_traffic(case)]
    if (classes := _classes(case)) is not None:
        blocks.append(classes)
    blocks.append(_limits(case, test))
    return Section("contract", "Workload and limits", tuple(blocks))


def _traffic(case: Case) -> Table:
    rows = []
    for name in _TRAFFIC:
        value = case.input(name) if dictionary()[name].is_input else case.number(name)
        if value is None or isinstance(value, str):
            continue
        origin = case.origin(name)
        rows.append((words(name), Cell(quantity_text(name, value), value), origin))
    heads = ("traffic", "value", "class and source")
    return table("Traffic: arrivals as a Poisson process at the peak rate", heads, rows)


def _classes(case: Case) -> Table | None:
    """The classes of the workload, as the plan has them where their lengths are plain, else as the contract states."""
    own = case.workload
    if own is None or not own.classes:
        return None
    rows = [_class_row(case, place, item) for place, item in enumerate(own.classes)]
    changed = case.plan is not None and case.plan.get("scenario", "nominal") != "nominal"
    note = "As the contract states them; the scenario of this plan may change them." if changed else ""
    heads = ("class", "share", "prompt P [tokens]", "output O [tokens]", "context S [tokens]", "own settings")
    title = "Classes of requests (assumptions, and limits as policy, of the contract)"
    return table(title, heads, rows, "" if case.classes else note, words=("own settings",))


def _class_row(case: Case, place: int, item: TrafficClass) -> tuple[Cell, ...]:
    name = Cell(item.name or "all requests")
    if not case.classes:
        own = "; ".join(f"{key} {given.value}" for key, given in item.own.items()) or "-"
        weight = Cell(f"{item.weight:.4g}", item.weight)
        return name, weight, _length(item.prompt_tokens), _length(item.output_tokens), _context(item), Cell(own)
    values = {key: of_all[place] for key, of_all in case.classes.items()}
    prompt, output = values["prompt_tokens"], values["output_tokens"]
    lengths = (Cell(format_quantity(length, "count"), length) for length in (prompt, output, prompt + output))
    weight = Cell(f"{values['weight']:.4g}", values["weight"])
    return name, weight, *lengths, Cell("; ".join(_own_settings(case, values)) or "-")


def _own_settings(case: Case, values: Mapping[str, float]) -> Iterator[str]:
    """Limits and prefix hits of a class where they are not those of all requests."""
    for latency in _LIMITS:
        limit, percentile = values[f"{latency}_slo_s"], values[f"{latency}_slo_percentile"]
        if limit == limit and limit != case.input(f"{latency}_slo_s"):
            statistic = f"p{percentile:g}" if percentile == percentile else "mean"
            yield f"{latency.upper()} {statistic} at most {quantity_text(f'{latency}_slo_s', limit)}"
    if values["prefix_hit_ratio"] and values["prefix_hit_ratio"] != case.input("prefix_hit_ratio"):
        yield f"prefix_hit_ratio {values['prefix_hit_ratio']:g}"


def _length(length: float | Lengths) -> Cell:
    if isinstance(length, Lengths):
        return Cell(f"{length.kind}, mean {format_quantity(length.mean, 'count')}", length.mean)
    return Cell(format_quantity(length, "count"), length)


def _context(item: TrafficClass) -> Cell:
    prompt, output = item.prompt_tokens, item.output_tokens
    means = [length.mean if isinstance(length, Lengths) else length for length in (prompt, output)]
    return Cell(format_quantity(sum(means), "count"), sum(means))


def _near(case: Case, test: Sweep | None) -> PointVerdict | None:
    """Of the measured points that are used the slowest at or above the load that a replica is planned for, else the
    fastest one; None where there is none."""
    rate, active = case.input("arrival_rate"), case.number("replicas_active")
    if test is None or not isinstance(rate, float) or not active:
        return None
    used = [item for item in test.result.points if not item.unused and item.point.loop == "open"]
    above = [item for item in used if _offered(item) >= rate / active * (1 - 1e-9)]
    return min(above, key=_offered) if above else max(used, key=_offered, default=None)


def _offered(item: PointVerdict) -> float:
    return item.point.offered_rate_per_s or 0.0


def _measured(near: PointVerdict | None, latency: str, percentile: str) -> float | None:
    """What was measured there of a latency at the statistic of its limit."""
    for limit in near.limits if near is not None else ():
        stated = limit.slo.statistic
        statistic = f"{stated:g}" if isinstance(stated, float | int) else stated
        if limit.slo.figure == latency and statistic == percentile:
            return limit.value
    return None


def _held(limit: float, predicted: float | None, measured: float | None, covers: bool) -> str:
    """Whether a limit holds: as measured where that covers the planned load, or where less load breaks it already."""
    if measured is not None and (covers or measured > limit):
        return "yes" if measured <= limit else "no"
    if predicted is None:
        return "-"
    return ("yes" if predicted <= limit else "no") + (", predicted" if measured is not None else "")


def _limits(case: Case, test: Sweep | None) -> Table | Note:
    """Each limit beside what is predicted at the planned load and what was measured near it."""
    near = _near(case, test)
    rate, active = case.input("arrival_rate"), case.number("replicas_active")
    load = rate / active if isinstance(rate, float) and active else 0.0
    covers = near is not None and _offered(near) >= load * (1 - 1e-9)
    rows = [*_latency_limits(case, near, covers), *_goodput_limit(case)]
    if not rows and not case.inputs:
        return Note("The limits stand in the contract, which is not at hand here as a plan.", "warning")
    if not rows:
        return Note("The contract states no latency limit: the plan promises none.", "warning")
    at = "measured" if near is None else f"measured at {near.point.offered_rate_per_s:g} req/s"
    heads: tuple[str, ...] = ("limit", "at most", "predicted", at, "held", "class and source")
    if near is None:
        heads, rows = _without(heads, 3), [_without(tuple(row), 3) for row in rows]
    return table("Service level objectives", heads, rows, _limits_note(case, near, covers, load))


def _latency_limits(case: Case, near: PointVerdict | None, covers: bool) -> Iterator[Sequence[Cell | str]]:
    for latency in _LIMITS:
        limit = case.input(f"{latency}_slo_s")
        if not isinstance(limit, float):
            continue
        percentile = case.input(f"{latency}_slo_percentile") or "mean"
        of_mean = percentile == "mean"
        predicted = case.number(f"{latency}_s") if of_mean else case.number(f"{latency}_at_slo_percentile_s")
        name = f"{latency}_s"
        measured = _measured(near, latency, str(percentile))
        yield (
            f"{latency.upper()} {'mean' if of_mean else f'p{percentile}'}",
            Cell(quantity_text(f"{latency}_slo_s", limit), limit),
            Cell("-" if predicted is None else quantity_text(name, predicted), predicted),
            Cell("-" if measured is None else quantity_text(name, measured), measured),
            _held(limit, predicted, measured, covers),
            case.origin(f"{latency}_slo_s"),
        )


def _goodput_limit(case: Case) -> Iterator[Sequence[Cell | str]]:
    goodput = case.input("goodput_target")
    if isinstance(goodput, float):
        found = case.number("goodput")
        shown = Cell("-" if found is None else f"{found:.2%}", found)
        held = "-" if found is None else ("yes" if found >= goodput else "no")
        yield "goodput", Cell(f"{goodput:.2%}", goodput), shown, "-", held, case.origin("goodput_target")


def _limits_note(case: Case, near: PointVerdict | None, covers: bool, load: float) -> str:
    """What the columns of the limits mean; `load` is what a replica is planned for [req/s]."""
    basis = case.labels.get("slo_basis")
    note = f"The plan applies limits to {'percentiles' if basis == 'percentile' else f'the {basis}'}. " if basis else ""
    note += "Predicted at the planned load of one replica, by a model; '-' where no formula predicts it."
    if near is not None:
        which = "slowest used rate that is not below" if covers else "fastest used rate, which is below"
        note += f" Measured: the load test at the {which} the planned load of a replica ({load:.4g} req/s)."
    if flag := case.labels.get("latency_flag"):
        note += f" latency_flag: {flag}."
    return note


def _without(row: tuple[T, ...], place: int) -> tuple[T, ...]:
    return (*row[:place], *row[place + 1 :])
