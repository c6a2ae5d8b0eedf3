"""The plan that a record is about: found among the levers left open, with all that is known of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridplan.contract.grid import Grid
from gridplan.dictionary import all_measures, dictionary
from gridplan.engine.stored_contract import stored_contract
from gridplan.errors import ContractError
from gridplan.labels import label_positions
from gridplan.report.charts.source import axes_of_source, with_axis
from gridplan.report.record.case import Asked, Case, Label
from gridplan.report.record.choosing import choice_of
from gridplan.sensitivity.axes import free_levers
from gridplan.sensitivity.roles import axis_role
from gridplan.store.place import place_of

if TYPE_CHECKING:
    import xarray as xr

    from gridplan.engine.resolve import Origin

__all__ = ["case_of", "positions"]


def case_of(source: Grid | str | Path, asked: Asked, catalog: Any = None) -> Case:
    """What is reported of a contract or of the folder of a cube.

    Raises
    ------
    ContractError
        For unknown axes and labels, conditions and measures, all at once.
    StoreError
        For a folder that is no cube.
    """
    axes = axes_of_source(source)
    at = positions(axes, asked.at)
    open_axes = [name for name, labels in axes.items() if len(labels) > 1 and name not in at and name != "scenario"]
    levers = [name for name in open_axes if axis_role(name) == "lever"]
    tied = [text.split()[0] for text in asked.where if text.split()]
    sizes = {name: len(axes[name]) for name in open_axes}
    free = free_levers(sizes, levers, (*tied, *asked.accept), asked.survives is not None)
    chosen = tuple(name for name in levers if name not in free)
    still_open = tuple(name for name in open_axes if name not in chosen)
    fixed = {name: labels[0] for name, labels in axes.items() if len(labels) == 1} | at
    if "scenario" in axes:
        fixed.setdefault("scenario", "nominal")
    grid, no_grid, manifest = (source, "", None) if isinstance(source, Grid) else stored_contract(source, catalog)
    choice, plan = None, None
    if not still_open:
        plan = fixed | {name: axes[name][0] for name in chosen}
        choice = choice_of(source, asked, fixed, chosen, asked.survives)
        if choice is not None and not _is_empty(choice, asked.measure):
            plan |= {name: choice[name].values.ravel().tolist()[0] for name in chosen}
        plan = {name: plan[name] for name in axes}
    case = Case(
        source if isinstance(source, Grid) else place_of(source),
        axes,
        asked,
        grid,
        no_grid,
        manifest,
        plan,
        still_open,
        chosen,
        choice,
    )
    return case if plan is None else _with_figures(case, plan)


def _is_empty(choice: xr.Dataset, measure: str) -> bool:
    return bool(choice[measure].isnull().all())


def positions(axes: Mapping[str, tuple[Label, ...]], at: Mapping[str, Label]) -> dict[str, Label]:
    """The labels of the axes that are meant by `at`. Raises ContractError for those that are not there."""

    try:
        found = label_positions(axes, at)
    except ContractError as error:
        raise ContractError([replace(item, key="at", message=with_axis(item)) for item in error.problems]) from None
    return {name: axes[name][place] for name, place in found.items()}


def _with_figures(case: Case, plan: Mapping[str, Label]) -> Case:
    """The case with all that is known of its plan; a folder's own numbers count above what is planned anew."""
    inputs, origins = _inputs(case.grid, plan) if case.grid is not None else ({}, {})
    case = replace(case, classes=_classes(case, plan))
    if case.chosen and case.refused:
        return replace(case, inputs=inputs, origins=origins)  # no cell of these is the plan
    explanation = None
    if case.grid is not None:
        from gridplan.report.explain import explain

        explanation = explain(case.grid, **plan)
    if isinstance(case.source, Grid):
        figures, labels = _of_grid(case.source, plan)
        return replace(case, figures=figures, labels=labels, explanation=explanation, inputs=inputs, origins=origins)
    figures, labels = _of_folder(case.source, plan)
    differing = [
        line.name
        for line in (explanation.lines if explanation is not None else ())
        if line.name in figures and not math.isclose(line.value, figures[line.name], rel_tol=1e-9, abs_tol=1e-12)
    ]
    if differing:
        said = f"this version plans the cell otherwise than the folder has it ({', '.join(differing[:3])})"
        return replace(case, figures=figures, labels=labels, grid=None, no_grid=f"{said}, so nothing is planned anew")
    if case.grid is not None:
        more, texts = _of_grid(case.grid, plan)
        figures, labels = more | figures, texts | labels
    return replace(case, figures=figures, labels=labels, explanation=explanation, inputs=inputs, origins=origins)


def _inputs(grid: Grid, plan: Mapping[str, Label]) -> tuple[dict[str, Label], dict[str, Origin]]:
    """What every input is in the cell, and where it came from."""
    from gridplan.sensitivity.one_cell import cell_of

    cell = cell_of(grid, plan)
    values: dict[str, Label] = {}
    origins: dict[str, Origin] = {}
    for name, row in dictionary().items():
        if not row.is_input or name not in cell.inputs.origins:
            continue
        item = cell.inputs.labels.get(name) or cell.inputs.values.get(name) or cell.inputs.stated.get(name)
        if item is None or item.data.size != 1:
            continue
        value = item.data.ravel()[0]
        if value is None or (not isinstance(value, str) and math.isnan(value)):
            continue
        origin = cell.inputs.origins[name](cell.index)
        values[name] = value if isinstance(value, str) else float(value)
        origins[name] = origin
    return values, origins


_OF_CLASS = (
    *("weight", "prompt_tokens", "output_tokens", "prefix_hit_ratio"),
    *(f"{latency}_slo_{part}" for latency in ("ttft", "tpot", "itl", "e2e") for part in ("s", "percentile")),
)


def _classes(case: Case, plan: Mapping[str, Label]) -> dict[str, tuple[float, ...]]:
    """What each class of requests is in the cell, scenarios included."""
    from gridplan.sensitivity.one_cell import cell_of

    own = case.workload
    if case.grid is None or own is None or not own.classes:
        return {}
    values = cell_of(case.grid, plan).inputs.values
    found = {name: tuple(values[f"class_{name}"].data.ravel().tolist()) for name in _OF_CLASS}
    return found if all(len(item) == len(own.classes) for item in found.values()) else {}


def _of_grid(grid: Grid, plan: Mapping[str, Label]) -> tuple[dict[str, float], dict[str, str | None]]:
    from gridplan.engine.cell import cell_index
    from gridplan.engine.inputs import build_inputs
    from gridplan.sensitivity.cells import cube_of, inputs_at

    inputs = build_inputs(grid)
    return _read(cube_of(inputs_at(grid, cell_index(inputs, plan)), all_measures()))


def _of_folder(folder: Path, plan: Mapping[str, Label]) -> tuple[dict[str, float], dict[str, str | None]]:
    from gridplan.store.open import open_cube

    return _read(open_cube(folder, at=plan))


def _read(cube: xr.Dataset) -> tuple[dict[str, float], dict[str, str | None]]:
    """Numbers and labels of a cube of one cell."""
    figures: dict[str, float] = {}
    labels: dict[str, str | None] = {}
    for name, item in cube.variables.items():
        value = item.values.ravel().tolist()[0]
        if value is None or isinstance(value, str):
            labels[str(name)] = value
        else:
            figures[str(name)] = float(value)
    return figures, labels
