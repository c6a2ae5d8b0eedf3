"""What was found, in sentences: each is computed from the numbers of the record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gridplan.dictionary import dictionary
from gridplan.quantities import format_quantity
from gridplan.report.charts.texts import CONSTRAINTS, place_text, sentence, share_text
from gridplan.report.charts.tornado import tornado_of
from gridplan.report.choice_tables import flat
from gridplan.report.record.case import Case
from gridplan.report.record.choosing import surviving_choice
from gridplan.report.record.decision import counted
from gridplan.report.record.sweep import Sweep
from gridplan.report.solution import rows_of
from gridplan.report.substitute import quantity_text
from gridplan.report.sweep_words import finding

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from gridplan.engine.summary import Summary

__all__ = ["cube_findings", "plan_findings"]


def plan_findings(
    case: Case, test: Sweep | None, stress: xr.Dataset | None, tornado: pd.DataFrame | None
) -> Iterator[str]:
    """What a decision rests on: what binds, what is survived, when the next node is due, what scenarios break."""
    if case.decided:
        if case.explanation is not None:
            yield _ended(_named(case.explanation.verdict))
        else:
            label = str(case.labels.get("binding_constraint"))
            yield sentence(f"{CONSTRAINTS.get(label, label)} binds.")
        if case.number("slo_held") == 0:
            yield "At the planned load a limit is missed at its percentile (slo_held is false)."
        yield from _survival(case)
        if (step := case.number("arrival_rate_next_step")) is not None:
            rate = case.input("arrival_rate")
            room = f", {_above(step / rate)}" if isinstance(rate, float) and rate > 0 else ""
            yield f"The fleet stays as it is up to {quantity_text('arrival_rate', step)}{room}."
        yield from _idle(case)
    yield from _tested(case, test)
    if stress is not None:
        yield from _stress(stress, case.input("nodes_given") is not None)
    if tornado is not None:
        yield _ended(tornado_of(tornado).finding)
    yield from choice_findings(case)
    yield from _survivor(case)


def _above(ratio: float) -> str:
    """How far a rate lies above the planned peak."""
    return f"{ratio - 1:.1%} above the planned peak" if ratio < 10 else f"{ratio:,.3g} times the planned peak"


def _idle(case: Case) -> Iterator[str]:
    """What the bill pays for, in shares."""
    bill = case.number("usd_per_month")
    parts = {part: case.number(f"usd_per_month_{part}") for part in _BILL}
    # What a portfolio pays beside the load are committed nodes that an hour does not need, not a way to the peak.
    if case.label("purchase") == "portfolio" or not bill or any(value is None for value in parts.values()):
        return
    shares = [f"{(value or 0.0) / bill:.1%} {_BILL[part]}" for part, value in parts.items() if value]
    yield f"Of the bill {', '.join(shares[:-1])}{' and ' if len(shares) > 1 else ''}{shares[-1]}."


_BILL = {
    "used": "serves the average load",
    "idle": "waits for the peak",
    "headroom": "is headroom",
    "redundancy": "is spares",
    "stranded": "is GPUs beyond the plan",
}


def _tested(case: Case, test: Sweep | None) -> Iterator[str]:
    """Whether the rate of a replica was measured, and what a reviewer finds in the load test."""
    if test is None:
        if case.decided and case.labels.get("capacity_source") == "analytical":
            yield "The rate of a replica is predicted and was not load-tested."
        return
    said = sentence(finding(test.result))
    kinds = [
        (counted(len(own), severity), ", ".join(dict.fromkeys(check.id for check in own)))
        for severity in ("error", "warning")
        if (own := [check for check in test.result.checks if check.severity == severity])
    ]
    found = " and ".join(f"{count} ({names})" for count, names in kinds)
    yield f"Load test: {said}{f'; its figures have {found}' if found else ''}."


def _survivor(case: Case) -> Iterator[str]:
    """Where a lost node breaks the limits of the plan: the cheapest among the same levers that it does not break."""
    if not case.chosen or case.asked.survives or case.number("survives_node_loss_slo") != 0:
        return
    found = surviving_choice(case, "node")
    if found is None:
        return
    row, measure = rows_of(flat(found))[0], case.asked.measure
    if row[measure] is None:
        yield f"No candidate survives the loss of a node: {row['left_out_because']}."
        return
    labels = place_text({name: row[name] for name in case.chosen})
    price = format_quantity(row[measure], dictionary()[measure].unit)
    yield f"The cheapest plan whose limits survive the loss of a node is {labels} at {price}."


def _named(verdict: str) -> str:
    """What binds, by the word that people use."""
    label, _, rest = verdict.partition(" ")
    return sentence(f"{CONSTRAINTS.get(label, label)} {rest}")


def choice_findings(case: Case) -> Iterator[str]:
    """What was chosen from, what comes next, and what survives."""
    if case.choice is None:
        return
    row, measure = rows_of(flat(case.choice))[0], case.asked.measure
    unit = dictionary()[measure].unit
    if row[measure] is None:
        return  # the decision says so
    survives = f" that survive{'s' if row['candidates'] == 1 else ''} ({case.asked.survives})"
    among = f"{counted(row['candidates'], 'candidate')}{survives if case.asked.survives else ''}"
    best = f"{format_quantity(row[measure], unit)} is the least {measure} of {among}"
    if row["runner_up"] is None:
        yield f"{best}." if row["ties"] else f"{best}; there is no other one."
    else:
        gap = row[f"{measure}_gap"]
        share = f", {gap / row[measure]:+.1%}" if row[measure] else ""
        yield f"{best}; the next dearer one is {row['runner_up']}, {format_quantity(gap, unit)} more{share}."
    if row["ties"]:
        others = "other costs" if row["ties_count"] == 1 else "others cost"
        yield f"{row['ties_count']:,} {others} the same, and the first in declared order is taken: {row['ties']}."


def _survival(case: Case) -> Iterator[str]:
    said = []
    zones = case.input("zones")
    for unit in ("gpu", "node", *(("zone",) if isinstance(zones, float) and zones > 1 else ())):
        headroom, limits = (case.number(f"survives_{unit}_loss_{kind}") for kind in ("headroom", "slo"))
        if headroom is None and limits is None:
            continue
        name = "GPU" if unit == "gpu" else unit
        if headroom == 1:
            said.append(f"a lost {name} leaves the headroom whole")
        elif limits == 1:
            said.append(f"a lost {name} takes headroom, and limits still hold")
        elif limits == 0:
            said.append(f"a lost {name} breaks limits")
        else:
            said.append(f"a lost {name} takes headroom")
    if said:
        yield _ended(sentence("; ".join(said)))


def _stress(found: xr.Dataset, given: bool) -> Iterator[str]:
    every = rows_of(found)
    rows = [row for row in every if row["scenario"] != "nominal"]
    if not rows:
        return
    if any(row["scenario"] == "nominal" and row["infeasible_reason"] is not None for row in every):
        yield from _scenario_plans(rows)
        return
    unit = "nodes" if any(row["nodes_delta"] is not None for row in rows) else "replicas"
    more = [row for row in rows if (row[f"{unit}_delta"] or 0) > 0]
    lost = [row for row in rows if row["infeasible_reason"] is not None]
    asks = f"{len(more):,} {'asks' if len(more) == 1 else 'ask'} for more {unit}"
    parts = [f"of {counted(len(rows), 'scenario')}, {asks if not given else 'with the nodes as given'}"]
    parts += [f"{len(lost):,} {'has' if len(lost) == 1 else 'have'} no plan"] if lost else []
    broken: dict[str, list[str]] = {}
    for row in rows:
        if row["bought_breaks"] not in (None, "nothing"):
            broken.setdefault(row["bought_breaks"], []).append(row["scenario"])
    if any(row["bought_breaks"] is not None for row in rows):
        words = {
            "headroom": ("lose only headroom", "loses only headroom"),
            "limits": ("break limits", "breaks limits"),
            "replica": ("leave no rate within limits", "leaves no rate within limits"),
        }
        kinds = [
            f"{len(names):,} {words[kind][len(names) == 1]} ({', '.join(names)})" for kind, names in broken.items()
        ]
        parts.append("as bought, " + (", ".join(kinds) if kinds else "the fleet stands all of them"))
    yield _ended(sentence("; ".join(parts)))


def _scenario_plans(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Where the nominal case has no plan: which scenario has one, and what it takes."""
    for row in rows:
        if row["infeasible_reason"] is None and row["replicas"] is not None:
            bill = row["usd_per_month"]
            cost = f", {format_quantity(bill, 'USD/month')}" if bill is not None else ""
            nodes = f" on {counted(row['nodes'], 'node')}" if row["nodes"] is not None else ""
            active = f"{counted(row['replicas_active'], 'active replica')}, {row['replicas']:,.0f} with spares"
            yield f"In scenario {row['scenario']} there is a plan: {active}{nodes}{cost}."


def cube_findings(case: Case, summary: Summary) -> Iterator[str]:
    """What the whole cube says: what binds how often, why cells have no plan, the cheapest, and what survives."""
    found = summary.to_dict()
    cells, feasible = found["cells"], found["feasible"]
    if cells == 1 or feasible is None:
        return
    of = "In the whole cube" + (", over all scenarios" if "scenario" in case.several else "")
    if found["binding_constraint"]:
        label, count = next(iter(found["binding_constraint"].items()))
        yield f"{of}, {CONSTRAINTS.get(label, label)} binds in {share_text(count, feasible)} feasible cells."
    if found["infeasible_reason"]:
        label, count = next(iter(found["infeasible_reason"].items()))
        lost = f"{share_text(cells - feasible, cells)} cells have no plan"
        yield f"{of}, {lost}; the most frequent reason is {label} in {count:,}."
    if case.plan is not None:
        return
    if found["cheapest"]:
        best = min(found["cheapest"], key=lambda item: item["usd_per_mtok_output"])
        price = format_quantity(best["usd_per_mtok_output"], "USD/Mtok")
        yield f"The cheapest plan of all is {price} of output at {_labels(best['labels'])}."
    for question, plans in found["cheapest_surviving"].items():
        if plans:
            best = min(plans, key=lambda item: item["usd_per_hour"])
            price = format_quantity(best["usd_per_hour"], "USD/h")
            yield f"The cheapest plan that survives ({question}) is {price} at {_labels(best['labels'])}."


def _labels(labels: dict[str, Any]) -> str:
    return place_text({name: label for name, label in labels.items() if label != "nominal"})


def _ended(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
