"""What a chart is drawn of: a contract, a cube or its folder, with every axis that is not drawn fixed at one label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridplan.contract.grid import Grid
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.labels import label_positions
from gridplan.quantities import format_label
from gridplan.sensitivity.source import cube_of

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Source", "axes_of_source", "drawn_at", "plane", "with_axis"]

Source = Any
"""A contract (`Grid`), a cube (`xarray.Dataset`) or the folder of one (a path)."""

_LISTED = 8


def axes_of_source(source: Grid | xr.Dataset | str | Path) -> dict[str, tuple[str | float, ...]]:
    """The labels of every axis, in declared order, without planning or opening anything.

    Raises StoreError for a folder that is no cube.
    """
    if isinstance(source, Grid):
        from gridplan.engine.resolve import space_of

        return {name: tuple(labels) for name, labels in space_of(source).labels.items()}
    if isinstance(source, (str, Path)):
        from gridplan.store.manifest import read_manifest

        return {axis.name: tuple(axis.labels) for axis in read_manifest(source).layout.axes}
    return {str(name): tuple(source[name].values.tolist()) for name in source.sizes}


def drawn_at(
    source: Grid | xr.Dataset | str | Path,
    drawn: Iterable[str],
    at: Mapping[str, str | float] | None,
    asked_as: Mapping[str, str] | None = None,
) -> dict[str, str | float]:
    """Labels of all axes that are not drawn: those given, the single ones, and the nominal scenario.

    `asked_as` is the argument that named each drawn axis. Raises ContractError for an axis that is drawn and fixed, one
    that is not there, labels that are not on their axis, and those that are left open, all at once.
    """
    axes, wanted, given = axes_of_source(source), tuple(drawn), dict(at or {})
    problems = [
        Problem(
            f"{name} is not an axis here{suggestion(name, axes)}; axes: {', '.join(axes)}",
            key=(asked_as or {}).get(name, "axes"),
        )
        for name in wanted
        if name not in axes
    ]
    problems += [Problem(f"{name} is drawn, so it cannot be fixed", key="at") for name in wanted if name in given]
    try:
        label_positions(axes, given)
    except ContractError as error:
        problems += [replace(problem, key="at", message=with_axis(problem)) for problem in error.problems]
    for name, labels in axes.items():
        if name in wanted or name in given:
            continue
        if len(labels) == 1:
            given[name] = labels[0]
        elif name == "scenario":
            given[name] = "nominal"
        else:
            some = ", ".join(map(format_label, labels[:_LISTED])) + (", ..." if len(labels) > _LISTED else "")
            problems.append(Problem(f"fix {name} at one of its {len(labels):,} labels: {some}", key="at"))
    if problems:
        raise ContractError(problems)
    return given


def with_axis(problem: Problem) -> str:
    """The message of a problem under the name of its axis, which it may begin with already."""
    axis = problem.key or ""
    return problem.message if problem.message.startswith(f"{axis} ") else f"{axis}: {problem.message}"


def plane(
    source: Grid | xr.Dataset | str | Path,
    names: Iterable[str],
    drawn: Iterable[str],
    at: Mapping[str, str | float] | None,
    optional: Iterable[str] = (),
    asked_as: Mapping[str, str] | None = None,
) -> tuple[xr.Dataset, dict[str, str | float]]:
    """The measures `names` over the axes `drawn`, all else fixed, and the labels at which it is.

    `asked_as` is the argument that named each axis, for messages.

    Raises ContractError for measures, axes and labels that are not there, and for axes that are left open.
    """
    drawn = tuple(drawn)
    fixed = drawn_at(source, drawn, at, asked_as)
    cube = cube_of(source, names, optional=optional, at=fixed)
    order = [str(name) for name in cube.sizes]
    cut = cube.isel({name: 0 for name in order if name not in drawn})
    axes = axes_of_source(source)
    shown = {name: label for name, label in fixed.items() if len(axes[name]) > 1 and label != "nominal"}
    return cut, shown
