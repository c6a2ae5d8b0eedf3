"""Words of a break-even chart: what was found, where a bill is null, and what both alternatives are called."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from gridplan.quantities import format_quantity
from gridplan.report.charts.rows import Row
from gridplan.report.charts.texts import sentence, short_labels

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["finding_of", "gap_notes", "spoken_names"]

_SPOKEN = {"api": "the API", "self_host": "own fleet"}


def spoken_names(names: tuple[str, str]) -> tuple[str, str]:
    """What a sentence calls both alternatives.

    >>> spoken_names(("api", "self_host"))
    ('the API', 'own fleet')
    """
    short = short_labels(names, 36)
    first, second = (_SPOKEN.get(name, short[name]) for name in names)
    return first, second


def finding_of(rows: Sequence[Row], answer: xr.Dataset, vary: str, names: tuple[str, str]) -> str:
    """Where the second costs at most what the first does, and how many crossings there are."""
    first, second = spoken_names(names)
    unit, case = rows[0]["unit"], str(answer["answer"].values)
    count, ends = int(answer["crossings"].values), [format_quantity(rows[at]["value"], unit) for at in (0, -1)]
    known = [row for row in rows if row["cheaper"] is not None]
    span = f"from {ends[0]} to {ends[1]}"
    if not known:
        return f"Nothing to compare: {first} and {second} have no bill at the same {vary} {span}"
    every = f"at every {vary} {span}" if len(known) == len(rows) else f"wherever both have a bill {span}"
    if case == "unknown":
        said = f"No crossing of {first} and {second} is known {span}: the cheaper changes where a bill is null"
    elif case == "never":
        said = f"{second} costs more than {first} {every}{_closest(known, unit, min)}"
    elif case == "always":
        said = f"{second} costs at most what {first} does {every}{_closest(known, unit, max)}"
    else:
        said = f"{second} costs at most what {first} does {_where(rows, names[1], unit)}"
        said += f" ({count} crossings)" if count > 1 else ""
    values, good = (len({row["value"] for row in listed}) for listed in (rows, known))
    said += f"; at {values - good:,} of {values:,} values a bill is null" if good < values else ""
    return sentence(said) if names[1] == "self_host" else said


def _where(rows: Sequence[Row], second: str, unit: str) -> str:
    """The ranges in which the second is the cheaper, in words; the ends of what was compared are no ends of a range."""
    runs = [list(run) for cheaper, run in groupby(rows, key=lambda row: row["cheaper"]) if cheaper == second]
    low, high = runs[0][0]["value"], runs[-1][-1]["value"]
    starts, goes_on = low == rows[0]["value"], high == rows[-1]["value"]
    first, last = format_quantity(low, unit), format_quantity(high, unit)
    if len(runs) == 1:
        return f"up to {last}" if starts else f"from {first} on" if goes_on else f"from {first} to {last}"
    below = f"{len(runs) - 1} range{'s' if len(runs) > 2 else ''}"
    if goes_on:
        on = format_quantity(runs[-1][0]["value"], unit)
        least = f"up to {format_quantity(runs[0][-1]['value'], unit)}" if starts else f"from {first}"
        return f"from {on} on, and in {below} below, first {least}"
    if starts:
        return f"up to {format_quantity(runs[0][-1]['value'], unit)}, and in {below} above, last to {last}"
    return f"in {len(runs)} ranges between {first} and {last}"


def _closest(known: Sequence[Row], unit: str, choose: Any) -> str:
    """Where the bills come nearest, as a ratio."""
    if any(row["cost_first"] <= 0 for row in known):
        return ""
    row = choose(known, key=lambda row: row["cost_second"] / row["cost_first"])
    ratio = row["cost_second"] / row["cost_first"]
    return f"; nearest at {format_quantity(row['value'], unit)}, {ratio:.3g} times as much"


def gap_notes(rows: Sequence[Row]) -> list[str]:
    """Where a bill is null, and why."""
    unit, found = rows[0]["unit"], []
    for missing, run in groupby(rows, key=_null):
        if missing is None:
            continue
        listed = list(run)
        ends = [format_quantity(listed[at]["value"], unit) for at in (0, -1)]
        found.append(
            f"hatched from {ends[0]} to {ends[1]}: no bill of {missing}"
            if ends[0] != ends[1]
            else f"no bill of {missing} at {ends[0]}"
        )
    return found if len(found) <= 3 else [*found[:2], f"{len(found) - 2} more ranges hatched: see the data"]


def _null(row: Row) -> str | None:
    """Whose bill is null here and why; None where both are known."""
    spoken = spoken_names((row["first"], row["second"]))
    gone = [
        f"{name} ({row[f'no_plan_{side}'] or 'null'})"
        for side, name in zip(("first", "second"), spoken, strict=True)
        if row[f"cost_{side}"] is None
    ]
    return " and ".join(gone) or None
