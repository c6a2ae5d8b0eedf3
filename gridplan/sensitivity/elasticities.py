"""Elasticities: by how many percent a measure moves for one percent of an input, at one cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gridplan.contract.grid import Grid
from gridplan.dictionary import dictionary
from gridplan.errors import Problem
from gridplan.sensitivity.cells import measure_problems, refuse
from gridplan.sensitivity.one_cell import CONTINUOUS, cell_of, moved_values, null_reason
from gridplan.sensitivity.ranges import input_problem
from gridplan.sensitivity.shifted import Op

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["elasticities"]


def elasticities(
    grid: Grid,
    inputs: Sequence[str],
    measures: Sequence[str] = ("replicas", "usd_per_mtok_output"),
    at: Mapping[str, str | float] | None = None,
    step: float = 0.01,
) -> pd.DataFrame:
    """d ln(measure) / d ln(input) at one cell, by central differences of logarithms over exp(-step) and exp(+step).

    Measures that move in stairs are taken before rounding up and without spares (`replicas_fractional` for replicas),
    so the value is that of a power law where there is one: exactly 1 for a bill over its price, -1 for replicas over
    `rho_target`.

    Returns
    -------
    pandas.DataFrame
        A row per input and measure: `elasticity` [1], null with `why` where the measure is null at either end or not
        above 0; `binds_low`, `binds_base`, `binds_high` and `flips`: where the limit flips the value is that of no one
        regime; `rate_note` as in `gridplan.tornado`.

    Raises
    ------
    ContractError
        For unknown inputs and measures, labels, whole numbers, inputs that are 0 or have no value in the cell, values
        out of bounds at exp(+step), axes that are not fixed, a step that is not between 0 and 1.

    >>> import gridplan
    >>> rows = elasticities(gridplan.load_grid("grids/lesson.yaml"), ["rho_target"], ["replicas"],
    ...                     at={"instance": "aws-p4de"})
    >>> round(float(rows.elasticity[0]), 9)
    -1.0
    """
    names = tuple(dict.fromkeys([inputs] if isinstance(inputs, str) else inputs))
    wanted = tuple(dict.fromkeys([measures] if isinstance(measures, str) else measures))
    refuse(_problems(names, wanted, step))
    cell = cell_of(grid, at)
    bases = {name: cell.value(name) for name in names}
    refuse(
        [
            Problem(f"{name} {'is 0' if base == 0 else 'has no value'} in this cell: no percentage of it", key="inputs")
            for name, base in bases.items()
            if not base > 0
        ]
    )
    factors = np.exp([-step, step])
    count = 1 + 2 * len(names)
    samples: dict[str, tuple[Op, np.ndarray]] = {}
    expected = {}
    for place, name in enumerate(names):
        slot = slice(1 + 2 * place, 3 + 2 * place)
        samples[name], expected[name] = ("multiply", np.full(count, np.nan)), np.full(count, np.nan)
        samples[name][1][slot], expected[name][slot] = factors, bases[name] * factors
    moved = moved_values(cell, samples, expected, wanted)
    binds, reasons = moved.labels("binding_constraint"), moved.labels("infeasible_reason")
    rows = []
    for place, name in enumerate(names):
        slots, note = (0, 1 + 2 * place, 2 + 2 * place), moved.notes(name)
        for measure in wanted:
            smooth = CONTINUOUS.get(measure, measure)
            base, low, high = moved.numbers(smooth)[list(slots)].tolist()
            at_ends = zip((base, low, high), (reasons[slot] for slot in slots), strict=True)
            why = next((said for value, reason in at_ends if (said := null_reason(smooth, value, reason))), None)
            positive = min(low, high) > 0
            rows.append(
                {
                    "input": name,
                    "unit": dictionary()[name].unit,
                    "input_base": bases[name],
                    "measure": smooth,
                    "measure_unit": dictionary()[smooth].unit,
                    "base": base,
                    "elasticity": (math.log(high) - math.log(low)) / (2 * step) if positive else math.nan,
                    "why": why or (None if positive else "not above 0"),
                    **{f"binds_{end}": binds[slot] for end, slot in zip(("base", "low", "high"), slots, strict=True)},
                    "flips": len({binds[slot] for slot in slots}) > 1,
                    "rate_note": note[slots[1]] or note[slots[2]],
                }
            )
    import pandas as pd

    table = pd.DataFrame(rows)
    table.attrs = {"step": step, "warnings": "\n".join(moved.inputs.warnings)}
    return table


def _problems(names: Sequence[str], measures: Sequence[str], step: float) -> list[Problem]:
    problems = [wrong for name in names if (wrong := input_problem(name, "inputs")) is not None]
    known = [name for name in names if input_problem(name, "inputs") is None]
    problems += [
        Problem(f"{name} takes whole numbers only: no percentage of it", key="inputs")
        for name in known
        if dictionary()[name].dtype == "int64"
    ]
    problems += measure_problems(measures)
    problems += [
        Problem(f"{name} moves in stairs and has no measure before rounding up", key="measures")
        for name in measures
        if name in dictionary()
        and dictionary()[name].dtype != "float64"
        and name not in CONTINUOUS
        and not dictionary()[name].is_label
    ]
    if not 0 < step < 1:
        problems.append(Problem(f"a step between 0 and 1 is due, not {step:g}", key="step"))
    if not names or not measures:
        problems.append(Problem("name at least one input and one measure", key="inputs"))
    return problems
