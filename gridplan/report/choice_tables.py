"""Answers of `cheapest`, `pareto` and `regret` as text, rows and flat tables, each with one sentence that says it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gridplan.report.aligned import aligned
from gridplan.report.solution import SHOWN_ROWS, rows_of

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["data_of", "finding", "flat", "page"]

Row = Mapping[str, Any]


def kind_of(answer: xr.Dataset) -> str:
    """Which question the answer is of."""
    return "pareto" if "objectives" in answer.attrs else "regret" if "criterion" in answer.sizes else "cheapest"


def flat(answer: xr.Dataset) -> xr.Dataset:
    """The answer as one table: a row per point, per candidate, or per choice."""
    if kind_of(answer) == "cheapest":
        return answer.drop_vars(["left_out_by_reason", "reason"])
    if kind_of(answer) == "regret":
        return answer.drop_vars([name for name in answer.variables if "criterion" in answer[name].dims])
    return answer


def data_of(answer: xr.Dataset) -> dict[str, Any]:
    """Plain data for JSON; of a Pareto front the front alone."""
    about = {str(name): value for name, value in answer.attrs.items() if name != "warnings"}
    found: dict[str, Any] = {**about, "warnings": str(answer.attrs.get("warnings", "")).splitlines()}
    found["finding"] = finding(answer)
    if kind_of(answer) == "regret":
        return {**found, "best": _best_rows(answer), "groups": rows_of(_of_groups(answer))}
    return {**found, "rows": _front(answer) if kind_of(answer) == "pareto" else rows_of(flat(answer))}


def page(answer: xr.Dataset) -> str:
    """The answer as text: what was asked, a table, one sentence."""
    kind, attrs = kind_of(answer), answer.attrs
    if kind == "pareto":
        rows = _front(answer)
        own = [part.partition(":")[0] for part in attrs["objectives"].split(", ")]
        names = [*_names(attrs.get("by")), *own, *_names(attrs.get("levers"))]
        head = f"options that no other one beats in {attrs['objectives']}"
    elif kind == "regret":
        rows, measure = _best_rows(answer), attrs["measure"]
        names = [*_names(attrs.get("by")), "criterion", f"{measure}_regret", *_names(attrs.get("levers"))]
        names += [f"{measure}_evpi", "choices_compared", "choices"]
        head = f"choices of least regret in {measure}, over {attrs.get('states', 'one state')}"
    else:
        rows, measure = rows_of(flat(answer)), attrs["measure"]
        also = [name for name in map(str, answer.data_vars) if name not in _told(answer)]
        names = [*_names(attrs.get("by")), measure, f"{measure}_gap", *_names(attrs.get("levers")), *also, "candidates"]
        names += [*(["ties_count"] if any(row["ties_count"] for row in rows) else []), "left_out_because"]
        head = f"least {measure} for each {attrs.get('by', 'cube')}"
    asked = (f"{name} {attrs[name]}" for name in ("survives", "where", "accept", "at", "penalty") if name in attrs)
    lines = ["; ".join([head, *asked]), *_table(rows, names), "", finding(answer)]
    return "\n".join(line.rstrip() for line in lines)


def finding(answer: xr.Dataset) -> str:
    """One sentence that says what was found."""
    if kind_of(answer) == "pareto":
        return _finding_pareto(answer)
    return _finding_regret(answer) if kind_of(answer) == "regret" else _finding_cheapest(answer)


def _finding_cheapest(answer: xr.Dataset) -> str:
    rows, measure = rows_of(flat(answer)), answer.attrs["measure"]
    won = [row for row in rows if row[measure] is not None]
    none = f"{len(rows) - len(won):,} of {len(rows):,} points have no candidate"
    if not won:
        return f"No point has a candidate: {_most_common(rows)}."
    unit = answer[measure].attrs.get("unit", "")
    levers = [name for name in _names(answer.attrs.get("levers")) if len({r[name] for r in rows}) > 1]
    choice, count = Counter(tuple(row[name] for name in levers) for row in won).most_common(1)[0]
    labels = ", ".join(f"{name}={_shown(label)}" for name, label in zip(levers, choice, strict=True))
    said = (
        f"Least most often, at {count:,} of {len(rows):,} points: {labels}" if labels else "One choice wins everywhere"
    )
    gaps = [row[f"{measure}_gap"] / abs(row[measure]) for row in won if row[f"{measure}_gap"] and row[measure]]
    low, high = min(row[measure] for row in won), max(row[measure] for row in won)
    span = f"{_shown(low)} {unit}" if low == high else f"{_shown(low)} to {_shown(high)} {unit}"
    close = f"; the closest runner-up is {min(gaps):.1%} above" if gaps else ""
    tied = sum(bool(row["ties_count"]) for row in won)
    close += f"; {tied:,} {'has' if tied == 1 else 'have'} ties, of which the first in order is shown" if tied else ""
    return f"{said}; {span}{close}" + (f"; {none}." if len(won) < len(rows) else ".")


def _most_common(rows: Sequence[Row]) -> str:
    said = Counter(row["left_out_because"] for row in rows if row["left_out_because"])
    return str(said.most_common(1)[0][0]) if said else "the cube is empty"


def _finding_pareto(answer: xr.Dataset) -> str:
    attrs = answer.attrs
    count, beaten = attrs["candidates"], attrs["dominated"]
    left = attrs["cells"] - count
    why = f": {attrs['left_out']}" if attrs.get("left_out") else ""
    empty = attrs["points_without_candidate"]
    none = f"; {empty:,} points have no candidate" if empty else ""
    return (
        f"{count - beaten:,} of {count:,} candidates are beaten by none, {beaten:,} are dominated; "
        f"{left:,} cells are left out{why}{none}."
    )


def _finding_regret(answer: xr.Dataset) -> str:
    measure, groups = answer.attrs["measure"], rows_of(_of_groups(answer))
    unit = answer[f"{measure}_evpi"].attrs.get("unit", "")
    worth = [row[f"{measure}_evpi"] for row in groups if row[f"{measure}_evpi"] is not None]
    failing = [row for row in groups if not row["choices_compared"]]
    said = _least_greatest(answer, unit) if worth else ""
    said += f"; knowing the state beforehand is worth at most {_shown(max(worth))} {unit}" if worth else ""
    where = [row for row in groups if worth and row[f"{measure}_evpi"] == max(worth)]
    if where and _names(answer.attrs.get("by")):
        said += " (" + ", ".join(f"{name}={_shown(where[0][name])}" for name in _names(answer.attrs.get("by"))) + ")"
    if failing:
        fewest = min(row["fewest_fails"] for row in failing)
        states = failing[0]["states"]
        part = f"in {len(failing):,} of {len(groups):,} groups" if len(groups) > 1 else "here"
        said += f"{'; ' if said else ''}no choice serves every state {part}: the best fails in {fewest:,} of {states:,}"
    unserved = sum(row["states_unserved"] for row in groups)
    if unserved:
        said += f"; {unserved:,} states that no choice serves are left out"
    return f"{said[0].upper()}{said[1:]}." if said else "Nothing can be compared."


def _least_greatest(answer: xr.Dataset, unit: str) -> str:
    """What the minimax choice, or those of all groups, may cost above the best one of a state."""
    own = [row for row in _best_rows(answer) if row["criterion"] == "minimax" and row["best_choice"] is not None]
    regrets = [row[f"{answer.attrs['measure']}_regret"] for row in own]
    if len(own) == 1:
        choice = f"The minimax choice {own[0]['best_choice']}" if own[0]["best_choice"] else "The one choice"
        return f"{choice} is at most {_shown(regrets[0])} {unit} above the best"
    low, high = _shown(min(regrets)), _shown(max(regrets))
    return f"The minimax choices are at most {low if low == high else f'{low} to {high}'} {unit} above the best"


def _front(answer: xr.Dataset) -> list[dict[str, Any]]:
    front = answer.isel(row=np.flatnonzero(answer["on_front"].values == 1.0))
    first = answer.attrs["objectives"].partition(":")[0]
    rows, by = rows_of(front.drop_vars(["on_front", "dominated_by"])), _names(answer.attrs.get("by"))
    points = {point: at for at, point in enumerate(dict.fromkeys(tuple(row[name] for name in by) for row in rows))}
    return sorted(rows, key=lambda row: (points[tuple(row[name] for name in by)], row[first]))


def _of_groups(answer: xr.Dataset) -> xr.Dataset:
    names = ["states", "states_unserved", "choices", "choices_compared", "fewest_fails"]
    measure = answer.attrs["measure"]
    found = answer[[*names, f"{measure}_evpi", f"{measure}_evpi_compared"]]
    return found.drop_vars([name for name in found.coords if name not in found["states"].dims])


def _best_rows(answer: xr.Dataset) -> list[dict[str, Any]]:
    """One row per group and criterion."""
    measure, levers = answer.attrs["measure"], _names(answer.attrs.get("levers"))
    names = [f"best_{name}" for name in levers]
    best = answer[["best_choice", f"best_{measure}_regret", *names, f"{measure}_evpi", "choices_compared", "choices"]]
    best = best.drop_vars([name for name in levers if name in best.coords])
    rows = rows_of(best)
    return [{name.removeprefix("best_") if name != "best_choice" else name: v for name, v in r.items()} for r in rows]


def _told(answer: xr.Dataset) -> set[str]:
    measure, attrs = answer.attrs["measure"], answer.attrs
    counted = {"runner_up", "ties", "ties_count", "cells", "candidates", "left_out", "left_out_because", "reason"}
    values = {measure, f"{measure}_runner_up", f"{measure}_gap", "left_out_by_reason"}
    also = set(_names(attrs.get("also")))
    rest = {str(name) for name in answer.data_vars} - also
    return {*counted, *values, *_names(attrs.get("levers")), *rest}


def _names(text: Any) -> list[str]:
    return [name for name in str(text or "").split(", ") if name]


def _table(rows: Sequence[Row], names: Sequence[str], most: int = SHOWN_ROWS) -> list[str]:
    """Columns of the rows as aligned text; labels that are the same in every row stand above."""
    if not rows:
        return ["(no row)"]
    fixed = {n: rows[0][n] for n in names if len(rows) > 1 and len({r[n] for r in rows}) == 1}
    alike = {n: label for n, label in fixed.items() if label is not None}
    kept = [name for name in dict.fromkeys(names) if name not in fixed]
    numeric = [all(isinstance(row[name], (int, float, type(None))) for row in rows) for name in kept]
    columns = [[name, *(_shown(row[name]) for row in rows[:most])] for name in kept]
    lines = ["everywhere " + ", ".join(f"{name}={_shown(label)}" for name, label in alike.items())] if alike else []
    lines += aligned(columns, numeric)
    if len(rows) > most:
        lines.append(f"... {len(rows) - most:,} more rows: write them with -o, or fix axes with --at")
    return lines


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:,.5g}"
