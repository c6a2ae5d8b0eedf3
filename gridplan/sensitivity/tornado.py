"""A tornado: each input at its low and its high end, one at a time, and how far that moves the plan of one cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gridplan.contract.grid import Grid
from gridplan.dictionary import dictionary
from gridplan.errors import Problem
from gridplan.quantities import format_labels
from gridplan.sensitivity.cells import measure_problems, refuse
from gridplan.sensitivity.finding import finding_of
from gridplan.sensitivity.one_cell import CONTINUOUS, Cell, Moved, cell_of, moved_values, null_reason
from gridplan.sensitivity.ranges import Range, Spec, input_problem, out_of_bounds, ranges_of
from gridplan.sensitivity.shifted import Op

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MEASURES", "tornado"]

MEASURES = ("nodes", "usd_per_mtok_output")

_ENDS = ("base", "low", "high")

Samples = dict[str, tuple[Op, np.ndarray]]


def tornado(
    grid: Grid,
    ranges: Mapping[str, Spec],
    measures: Sequence[str] = MEASURES,
    at: Mapping[str, str | float] | None = None,
    baseline: Mapping[str, float] | None = None,
) -> pd.DataFrame:
    """Move inputs one at a time between two ends and sort them by what that does to the first measure.

    Parameters
    ----------
    grid
        A contract, from `gridplan.load_grid`.
    ranges
        For each input its low and high end: a pair of numbers in base units, or a text (`2:5`, `20 ms:40 ms`, factors
        `x0.5:x2`, changes `-20%:+20%`). A value is set as if the contract said it; a factor multiplies what the cell
        has. Lengths that traffic classes state can be multiplied only.
    measures
        Numbers of the dictionary; the first one sorts.
    at
        The cell: one label per axis. Axes with one label and the nominal scenario may be left out. The range of an
        input that is an axis goes over the label of the cell.
    baseline
        Values of inputs that hold in every sample unless its own range moves them, in place of the contract's.

    Returns
    -------
    pandas.DataFrame
        A row per input and measure, widest swing of the first measure first; an end without a plan goes before any
        swing. `base`, `low`, `high` and `swing` (largest less smallest; null where one of them is) are in the unit of
        the measure, as planned; `_unrounded` the same before rounding up and without spares, where there is such a
        measure. `binds_*` is binding_constraint, `why_*` says why there is no number, `flips` is true where an end
        binds at something else than the base or is infeasible and the base is not, or the other way round; `rate_note`
        is `measured_rate_not_moved` where a measured rate should follow the input and was not restated, and
        `scaled_by_far_anchor` where it was scaled while it and first principles disagree by more than a factor of two.
        Attributes: `finding` (a sentence), `cell`, `warnings`.

    Raises
    ------
    ContractError
        For unknown inputs and measures, labels, values out of bounds, an input that has no value in the cell, axes that
        are not fixed.

    >>> import gridplan
    >>> rows = tornado(gridplan.load_grid("grids/lesson.yaml"), {"rho_target": (0.6, 0.8)}, ["replicas_active"],
    ...                at={"instance": "aws-p4de"})
    >>> rows[["low", "base", "high", "swing"]].values.tolist()
    [[10.0, 9.0, 8.0, 2.0]]
    """
    found, problems = ranges_of(ranges)
    names = tuple(dict.fromkeys([measures] if isinstance(measures, str) else measures))
    problems += measure_problems(names)
    held = dict(baseline or {})
    for name, value in held.items():
        wrong = input_problem(name, "baseline")
        said = "" if wrong is not None else out_of_bounds(name, value)
        problems += [wrong] if wrong is not None else [Problem(said, key="baseline")] if said else []
    if not ranges:
        problems.append(Problem("name at least one input and its range, as rho_target=0.6:0.8", key="vary"))
    if not names:
        problems.append(Problem("name at least one measure", key="measures"))
    refuse(problems)
    cell = cell_of(grid, at)
    bases = {name: held.get(name, cell.value(name)) for name in found}
    refuse(_cell_problems(cell, found, bases, held))
    samples, expected = _samples(cell, found, bases, held)
    return _table(cell, found, bases, names, moved_values(cell, samples, expected, names))


def _cell_problems(
    cell: Cell, ranges: Mapping[str, Range], bases: Mapping[str, float], held: Mapping[str, float]
) -> list[Problem]:
    """What cannot be moved in this cell: inputs without a value, and those that classes state each its own."""
    several = {name for name in (*ranges, *held) if cell.has_classes(name) or cell.own_of_classes(name)}
    problems = []
    for name, item in ranges.items():
        said = ""
        if np.isnan(bases[name]) or (name in several and bases[name] == 0):
            said = "has no value in this cell, so it has none to move: state it in the contract"
        elif name in several and not item.factors:
            said = "differs by class: give factors, as x0.5:x2"
        if said:
            problems.append(Problem(f"{name} {said}", key="vary"))
    problems += [
        Problem(f"{name} differs by class: no value holds for all", key="baseline") for name in held if name in several
    ]
    return problems


def _samples(
    cell: Cell, ranges: Mapping[str, Range], bases: Mapping[str, float], held: Mapping[str, float]
) -> tuple[Samples, dict[str, np.ndarray]]:
    """What is done to each input at the base (sample 0) and at both ends of each range, and what it is to become."""
    count = 1 + 2 * len(ranges)
    samples: Samples = {name: ("set", np.full(count, value)) for name, value in held.items()}
    expected = {name: np.full(count, value) for name, value in held.items()}
    for place, (name, item) in enumerate(ranges.items()):
        slot = slice(1 + 2 * place, 3 + 2 * place)
        expected.setdefault(name, np.full(count, np.nan))[slot] = item.ends(bases[name])
        by_factor = item.factors and name not in held
        op: Op = "multiply" if by_factor else "set"
        _, values = samples.setdefault(name, (op, np.full(count, np.nan)))
        values[slot] = (item.low, item.high) if by_factor else item.ends(bases[name])
    return samples, expected


def _table(
    cell: Cell, ranges: Mapping[str, Range], bases: Mapping[str, float], names: tuple[str, ...], moved: Moved
) -> pd.DataFrame:
    import pandas as pd

    rows = [
        _row(name, item, bases[name], measure, moved, (0, 1 + 2 * place, 2 + 2 * place))
        for place, (name, item) in enumerate(ranges.items())
        for measure in names
    ]
    table = pd.DataFrame(rows)
    first = {row["input"]: _rank(row) for row in rows if row["measure"] == names[0]}
    order = sorted(range(len(rows)), key=lambda at: first[rows[at]["input"]])
    table = table.iloc[order].reset_index(drop=True)
    table.attrs = {
        "cell": format_labels(cell.labels.items()),
        "units": {name: dictionary()[name].unit for name in names},
        "warnings": "\n".join(moved.inputs.warnings),
        "finding": finding_of([rows[at] for at in order], names[0]),
    }
    return table


def _rank(row: Mapping[str, Any]) -> tuple[float, float, float]:
    """Ends without a plan first, then wide swings, then those before rounding up."""
    lost = np.isnan(row["swing"]) and not np.isnan([row[end] for end in _ENDS]).all()
    stair, smooth = (0.0 if np.isnan(row[name]) else -row[name] for name in ("swing", "swing_unrounded"))
    return (0.0 if lost else 1.0, stair, smooth)


def _swing(values: np.ndarray) -> float:
    """Largest less smallest; what is only rounding of the arithmetic is none."""
    swing = float(values.max() - values.min())
    return 0.0 if swing <= 1e-12 * float(np.abs(values).max()) else swing


def _row(
    name: str, item: Range, base: float, measure: str, moved: Moved, slots: tuple[int, int, int]
) -> dict[str, Any]:
    """One input and one measure; `slots` are the samples of base, low and high end."""
    values = moved.numbers(measure)[list(slots)]
    is_float = dictionary()[measure].dtype == "float64"
    smooth = CONTINUOUS.get(measure, measure if is_float else None)
    unrounded = np.full(3, np.nan) if smooth is None else moved.numbers(smooth)[list(slots)]
    binds = [moved.labels("binding_constraint")[at] for at in slots]
    reasons = [moved.labels("infeasible_reason")[at] for at in slots]
    why = [null_reason(measure, value, reason) for value, reason in zip(values, reasons, strict=True)]
    notes = moved.notes(name)
    low, high = item.ends(base)
    return {
        "input": name,
        "unit": dictionary()[name].unit,
        "input_low": low,
        "input_base": base,
        "input_high": high,
        "measure": measure,
        "measure_unit": dictionary()[measure].unit,
        **dict(zip(_ENDS, values.tolist(), strict=True)),
        "swing": _swing(values),
        **dict(zip((f"{end}_unrounded" for end in _ENDS), unrounded.tolist(), strict=True)),
        "swing_unrounded": _swing(unrounded),
        **dict(zip((f"binds_{end}" for end in _ENDS), binds, strict=True)),
        **dict(zip((f"why_{end}" for end in _ENDS), why, strict=True)),
        "flips": any(pair != (binds[0], reasons[0]) for pair in zip(binds, reasons, strict=True)),
        "rate_note": notes[slots[1]] or notes[slots[2]],
    }
