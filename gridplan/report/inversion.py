"""Thresholds, break-even and best plans as aligned text: one sentence that says what was found, then the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gridplan.report.aligned import aligned, are_numbers
from gridplan.report.solution import rows_of

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["SHOWN_ROWS", "answer_data", "answer_page", "finding"]

SHOWN_ROWS = 60
"""Rows that are printed (policy); the others are counted, and written by -o."""

_EXACT_HEADS = ("max_", "min_", "fails_at_", "arrival_rate_next_")
_EXACT_TAILS = ("_below", "_above")
_COSTS = ("first_", "second_")
_HINTS = {
    "not_monotone": "it holds beyond a failure: ask for the other end, or narrow the range",
    "unknown": "a measure that decides is null",
}


def answer_page(found: xr.Dataset) -> str:
    """The finding, the labels and columns that are the same in all rows, and the rows."""
    rows = _rows(found)
    answers = {str(name) for name in found.data_vars}
    alike = {
        name: rows[0][name]
        for name in rows[0]
        if len({row[name] for row in rows}) == 1 and (name not in answers or rows[0][name] is None or len(rows) > 1)
    }
    first = next(str(name) for name in found.data_vars)
    kept = [name for name in rows[0] if name == first or name not in alike]
    said = {name: value for name, value in alike.items() if value is not None and name != first}
    lines = [finding(found)]
    if said:
        lines.append("in all rows " + ", ".join(f"{name}={_shown(name, value)}" for name, value in said.items()))
    columns = [[name, *(_shown(name, row[name]) for row in rows[:SHOWN_ROWS])] for name in kept]
    lines += aligned(columns, [are_numbers([row[name] for row in rows]) for name in kept])
    if len(rows) > SHOWN_ROWS:
        lines.append(f"... {len(rows) - SHOWN_ROWS:,} more rows: fix an axis with --at, or write them with -o")
    return "\n".join(lines)


def answer_data(found: xr.Dataset) -> Mapping[str, Any]:
    """The answer for JSON: what it is about, the finding, warnings as a list, one row per cell (and crossing)."""
    about = {str(name): value for name, value in found.attrs.items() if name != "warnings"}
    warnings = str(found.attrs.get("warnings", "")).splitlines()
    return {**about, "finding": finding(found), "warnings": warnings, "rows": _rows(found)}


def finding(found: xr.Dataset) -> str:
    """What was found in one sentence; every cell is counted in it."""
    rows = [row for row in rows_of(found) if row.get("crossing", 1) == 1]
    question = str(found.attrs["question"])
    if question.startswith("least "):
        return _least(found, rows)
    if question == "break_even":
        return _break_even(found, rows)
    column = next(str(name) for name in found.data_vars)
    unit = found[column].attrs["unit"]
    if question.startswith("next_"):
        what = f"The arrival rate up to which the {'nodes' if question == 'next_node' else 'active replicas'} suffice"
    else:
        sense = "largest" if question.startswith("max:") else "smallest"
        factor = " factor of" if column.endswith("_factor") else ""
        what = f"The {sense}{factor} {question[4:]} with {found.attrs['conditions']}"
    values = [row[column] for row in rows if row["answer"] == "between"]
    end = "high" if question.startswith("max:") else "low"
    always = f"on the whole range, to {_number(found.attrs[end])}" if end in found.attrs else ""
    return f"{what}: {_span(values, unit, len(rows))}{_others(rows, always)}."


def _break_even(found: xr.Dataset, rows: Sequence[Mapping[str, Any]]) -> str:
    between = [row for row in rows if row["answer"] == "between"]
    if "vary" in found.attrs:
        first, second, vary = (str(found.attrs[name]) for name in ("first", "second", "vary"))
        unit = found[f"{vary}_below"].attrs["unit"]
        ends = [("changes first", [row[f"{vary}_above"] for row in between])]
        if any(row["crossings"] > 1 for row in between):
            last = [row for row in rows_of(found) if row["answer"] == "between" and row["crossing"] == row["crossings"]]
            ends.append(("last", [row[f"{vary}_above"] for row in last]))
        told = " and ".join(f"{word} at {_span(values, unit, len(rows))}" for word, values in ends)
        span = f"{_number(found.attrs['low'])} to {_number(found.attrs['high'])}"
        who = f"the cheaper of {first} and {second} {told}" if between else f"{first} and {second} never change places"
        other = _others(rows, f"{second} is the cheaper one", f"{first} is the cheaper one")
        return f"For {vary} from {span} {who}{other}."
    if "break_even_hours_share" in found:
        shares = [row["break_even_hours_share"] for row in between]
        second, first = between[0]["cheaper_above"] if between else "it", rows[0]["cheaper_below"] or "the other"
        share = _span([100.0 * each for each in shares], "% of the hours of a month", len(rows))
        return f"{second} costs at most what {first} does from {share}{_others(rows, '')}."
    rates = _span([row["api_break_even_rate"] for row in between], "req/s on average", len(rows))
    released = [row for row in rows if row["answer_released"] == "between"]
    shares = [100.0 * row["api_break_even_utilization_released"] for row in released]
    never = sum(row["answer_released"] == "never" for row in rows)
    other = f"; never in {never:,}" if never else ""
    used = _span(shares, "% of what a replica sustains", len(rows))
    return (
        f"Always on, self-hosting costs at most what the API does from {rates}{_others(rows, '')}. "
        f"A replica that is paid only while it serves, without spares and whole nodes, does from {used}{other}."
    )


def _least(found: xr.Dataset, rows: Sequence[Mapping[str, Any]]) -> str:
    column = next(str(name) for name in found.data_vars)
    values = [row[column] for row in rows if row[column] is not None]
    none = len(rows) - len(values)
    other = f"; no plan in {none:,}" if none else ""
    conditions = found.attrs["conditions"]
    unit = found[column].attrs["unit"]
    return f"The {found.attrs['question']} with {conditions}: {_span(values, unit, len(rows))}{other}."


def _span(values: Sequence[float], unit: str, cells: int) -> str:
    if not values:
        return f"nothing in any of {cells:,} cells"
    low, high = _number(min(values)), _number(max(values))
    ends = low if low == high else f"{low} to {high}"
    gap = "" if unit in ("1", "count") else "" if unit.startswith("%") else " "
    word = "" if unit in ("1", "count") else unit
    return f"{ends}{gap}{word} in {len(values):,} of {cells:,} cells"


def _others(rows: Sequence[Mapping[str, Any]], always: str, never: str = "") -> str:
    """How many cells have another answer than a threshold, and why."""
    said = []
    count = Counter(row["answer"] for row in rows)
    for answer in ("always", "never", "not_monotone", "unknown"):
        if not count[answer]:
            continue
        reasons = Counter(row["fails_reason"] for row in rows if row["answer"] == answer and row.get("fails_reason"))
        why = ", ".join(f"{reason} {number:,}" for reason, number in reasons.most_common())
        why = always if answer == "always" else why or (never if answer == "never" else "") or _HINTS.get(answer, "")
        said.append(f"; {answer} in {count[answer]:,}{f' ({why})' if why else ''}")
    return "".join(said)


def _rows(found: xr.Dataset) -> list[dict[str, Any]]:
    """One row per cell and crossing; a cell without any has one."""
    return [row for row in rows_of(found) if row.get("crossing", 1) <= max(row.get("crossings", 1), 1)]


def _number(value: Any) -> str:
    return f"{float(value):,.6g}"


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    # What is written into a contract must be the value itself: rounded it may fall on the other side.
    exact = name.startswith(_EXACT_HEADS) or (name.endswith(_EXACT_TAILS) and not name.startswith(_COSTS))
    return f"{value:,}" if isinstance(value, int) else f"{value:.12g}" if exact else f"{value:,.6g}"
