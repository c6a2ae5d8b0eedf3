"""What changed between two contracts or cubes, by how much, and which change did it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gridplan.contract.grid import Grid
from gridplan.dictionary import dictionary
from gridplan.engine.bundle import Inputs
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.sensitivity.cells import measure_problems, refuse
from gridplan.sensitivity.changes import differs, number_change, place_text, whole
from gridplan.sensitivity.input_changes import input_changes
from gridplan.sensitivity.sides import Common, Side, common_cells, side_of
from gridplan.sensitivity.substitution import substituted

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["MEASURES", "Difference", "diff"]

MEASURES = ("replicas", "nodes", "usd_per_month", "usd_per_mtok_output")
_LABELS = ("status", "infeasible_reason", "binding_constraint")


@dataclass(frozen=True)
class Difference:
    """What changed from A to B.

    Attributes
    ----------
    labels
        `axis`, `only_in` (A or B), `label`: labels that one side alone has; nothing is compared there.
    inputs
        `input`, `unit`, `cells`, `changed`, and at the first cell that changed `a`, `b`, `a_source`, `b_source`, `at`.
    measures
        A row per measure: `cells`, `changed`, `became_null`, `became_number`, and the largest change by magnitude:
        `change` (unit of the measure), `change_at`, `change_a`, `change_b`, and the same of `change_pct` [%].
    flips
        `measure` (status, infeasible_reason, binding_constraint), `a`, `b`, `cells`, `first_at`: labels that changed.
    why
        Of two contracts, at the cell `cell`: `input`, `measure`, `a` (value of A), `alone` (A with that one input as in
        B), `effect`, `note`; then one row `interaction` per measure, what all effects leave of B - A.
    cells, cell, fixed
        Cells that both sides have, the one that `why` is about, and the labels at which axes of A and of B are held.
    left_out
        Measures of the default that a cube does not hold.
    of_contracts
        Whether both sides are contracts: then every input is compared, and `why` is known.
    """

    labels: pd.DataFrame
    inputs: pd.DataFrame
    measures: pd.DataFrame
    flips: pd.DataFrame
    why: pd.DataFrame
    cells: int
    cell: str
    left_out: tuple[str, ...]
    fixed: tuple[Mapping[str, str | float], Mapping[str, str | float]]
    of_contracts: bool

    def __repr__(self) -> str:
        return f"<Difference in {len(self.inputs):,} inputs over {self.cells:,} cells>"

    def _repr_html_(self) -> str:
        from gridplan.sensitivity.diff_html import diff_html

        return diff_html(self)


def diff(
    a: Grid | xr.Dataset,
    b: Grid | xr.Dataset,
    measures: Sequence[str] | None = None,
    at: Mapping[str, str | float] | None = None,
) -> Difference:
    """Compare two contracts, two cubes, or one of each, label by label.

    Parameters
    ----------
    a, b
        Contracts from `gridplan.load_grid`, or cubes from `gridplan.open_cube`.
    measures
        Numbers of the dictionary (replicas, nodes, usd_per_month, usd_per_mtok_output by default). A cube must hold
        those that are named.
    at
        Labels at which axes of either side are fixed. With all of them fixed, `why` is about that cell; else about the
        one where the first measure changes most, in percent, or else the first where it comes or goes.

    Raises
    ------
    ContractError
        For unknown measures, axes and labels, measures that a cube does not hold, an axis that one side alone has and
        nobody fixes, sides that share no label of an axis.

    >>> import gridplan
    >>> text = "schema: 1\\nworkload: {arrival_rate: 60}\\ncapacity: {capacity_model: measured, applies_to: any, "
    >>> text += "lambda_instance_given: 10}\\npolicy: {rho_target: 0.7}"
    >>> found = diff(gridplan.loads_grid(text), gridplan.loads_grid(text.replace("60", "90")), ["replicas"])
    >>> found.why[["input", "a", "alone", "effect"]].values.tolist()
    [['arrival_rate', 10.0, 14.0, 4.0], ['interaction', 10.0, 14.0, 0.0]]
    """
    import pandas as pd

    left, right = side_of(a), side_of(b)
    asked = tuple(dict.fromkeys([measures] if isinstance(measures, str) else measures or MEASURES))
    refuse(measure_problems(asked))
    names = _held(asked, (left, right), named=measures is not None)
    common = common_cells(left, right, dict(at or {}))
    cubes = [side.measures((*names, *_LABELS), fixed) for side, fixed in zip((left, right), common.fixed, strict=True)]
    of = _on_common(common, (left, right), cubes)
    pairs = {name: of(name) for name in names}
    changes = {name: number_change(pair[0], pair[1], common.labels) for name, pair in pairs.items()}
    first = changes[names[0]]
    moved = first["change_pct_place"] or first["change_place"]
    place = moved if moved and abs(first["change"]) > 0 else first["null_place"] or moved or (0,) * len(common.labels)
    shared = {name: axis[where] for (name, axis), where in zip(common.labels.items(), place, strict=True)}
    contracts = (left.inputs, right.inputs)
    why = pd.DataFrame(columns=["input", "measure", "a", "alone", "effect", "note"])
    of_contracts = contracts[0] is not None and contracts[1] is not None
    if contracts[0] is not None and contracts[1] is not None:
        why = _why(contracts[0], contracts[1], common, shared, names)
    return Difference(
        labels=pd.DataFrame(list(common.only), columns=["axis", "only_in", "label"]),
        inputs=input_changes(left, right, common, cubes),
        measures=pd.DataFrame(
            [{"measure": name, "unit": dictionary()[name].unit, **_shown(changes[name])} for name in names]
        ),
        flips=_flips({name: of(name) for name in _LABELS if all(name in cube for cube in cubes)}, common),
        why=why,
        cells=int(np.prod([len(axis) for axis in common.labels.values()], dtype=np.int64)),
        cell=place_text(place, common.labels),
        left_out=tuple(name for name in asked if name not in names),
        fixed=common.fixed,
        of_contracts=of_contracts,
    )


def _held(names: tuple[str, ...], sides: tuple[Side, Side], named: bool) -> tuple[str, ...]:
    """Those of the measures that both sides have; of measures that a person named, all or an error."""
    lacking: dict[str, list[str]] = {}
    for which, side in zip("AB", sides, strict=True):
        known = None if side.cube is None else list(map(str, side.cube.data_vars))
        for name in names:
            if known is not None and name not in known:
                lacking.setdefault(name, []).append(f"the cube {which} holds no {name}{suggestion(name, known)}")
    left = tuple(name for name in names if name not in lacking)
    if lacking and (named or not left):
        raise ContractError([Problem(text, key="measures") for texts in lacking.values() for text in texts])
    return left


def _on_common(common: Common, sides: tuple[Side, Side], cubes: list[xr.Dataset]) -> Any:
    """A function that gives a measure of both sides on the common cells."""

    def of(name: str) -> tuple[xr.DataArray, ...]:
        found = []
        for side, fixed, cube in zip(sides, common.fixed, cubes, strict=True):
            axes = {axis: (labels[0],) if axis in fixed else labels for axis, labels in side.labels.items()}
            found.append(common.of(cube[name], axes))
        return tuple(found)

    return of


def _shown(change: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in change.items() if not name.endswith("_place")}


def _flips(pairs: Mapping[str, tuple[xr.DataArray, ...]], common: Common) -> pd.DataFrame:
    """Labels that changed: from what to what, in how many cells, and the first of them."""
    import pandas as pd

    rows = []
    shape = [len(axis) for axis in common.labels.values()]
    for name, pair in pairs.items():
        a, b = (np.ravel(whole(item, common.labels)).astype(object) for item in pair)
        changed = np.flatnonzero(differs(a, b))
        counts: dict[tuple[Any, Any], int] = Counter(zip(a[changed].tolist(), b[changed].tolist(), strict=True))
        for old, new in counts:
            first = changed[int(np.flatnonzero((a[changed] == old) & (b[changed] == new))[0])]
            place = tuple(int(at) for at in np.unravel_index(first, shape)) if shape else ()
            rows.append((name, old, new, counts[old, new], place_text(place, common.labels)))
    return pd.DataFrame(rows, columns=["measure", "a", "b", "cells", "first_at"])


def _why(
    a: Inputs, b: Inputs, common: Common, shared: Mapping[str, str | float], names: tuple[str, ...]
) -> pd.DataFrame:
    cells = [{**fixed, **shared} for fixed in common.fixed]
    return substituted(a, b, cells[0], cells[1], names)
