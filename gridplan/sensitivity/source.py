"""The cube that a question of choice is asked of: a grid, planned as far as is needed, or a cube at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gridplan.contract.grid import Grid
from gridplan.dictionary import all_measures, dictionary
from gridplan.engine.cell import cut_to
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.labels import label_positions
from gridplan.sensitivity.cells import cube_of as planned_cube
from gridplan.sensitivity.cells import gathered, refuse
from gridplan.store.objects import is_there
from gridplan.store.place import file_system, place_of
from gridplan.store.reader import reading

if TYPE_CHECKING:
    import xarray as xr

    from gridplan.catalog import Catalog

__all__ = ["CHECKS", "PROVIDER", "cube_of"]

CHECKS = ("status", "infeasible_reason", "fleet_sufficient", "capacity_source", "anchor_ratio")
"""Measures of every cube that say whether a cell may be chosen."""

ASKED_CHECKS = ("slo_held", "price_flag")
"""Those on request: read where a cube has them or its contract asks for them."""

PROVIDER = "provider"
"""No measure: who rents the instance, from the catalog."""

OF_A_CUBE = "; a contract has it planned: ask that, or name it in its outputs and run it again"
"""What to do about a measure that a cube at hand lacks."""


def cube_of(
    source: Grid | xr.Dataset | str | Path,
    names: Iterable[str],
    *,
    optional: Iterable[str] = (),
    at: Mapping[str, str | float] | None = None,
    asked_as: Mapping[str, str] | None = None,
    first: Callable[[Mapping[str, int]], object] = lambda sizes: None,
) -> xr.Dataset:
    """The cube with the measures `names`, those of `optional` that it has, and what says which cells may be chosen.

    A grid is planned with these alone, a folder is opened with these alone, of a Dataset all is kept. Labels `at` cut
    their axes down to one label. `asked_as` is the argument that named a measure, where it was not `measure`; `first`
    is asked about the labels of each axis before anything is planned, and what it refuses is said with all the rest.

    Raises
    ------
    ContractError
        For an unknown measure, axis or label.
    StoreError
        For a folder that is no cube.
    """
    wanted = list(dict.fromkeys(names))
    if isinstance(source, Grid):
        return _planned(source, wanted, tuple(optional), at or {}, asked_as or {}, first)
    if isinstance(source, (str, Path)):
        cube = _opened(place_of(source), wanted, tuple(optional), at or {}, asked_as or {}, first)
    else:
        axes = {str(name): source[name].values.tolist() for name in source.sizes}
        index = _asked(wanted, [*map(str, source.variables)], axes, at or {}, asked_as or {}, first, OF_A_CUBE)
        cube = _computed(source.isel({name: [place] for name, place in index.items()}), [*wanted, *CHECKS, *optional])
    if PROVIDER in wanted and PROVIDER not in cube.variables:
        cube = _with_provider(cube, _providers_of(source))
    return cube


def _computed(cube: xr.Dataset, names: Iterable[str]) -> xr.Dataset:
    """A cube with what is asked in memory: of dask arrays all at once, so that a box is planned once for all of it."""
    lazy = [name for name in (*names, *ASKED_CHECKS) if name in cube.variables and cube[name].chunks is not None]
    return cube.assign(cube[list(dict.fromkeys(lazy))].compute()) if lazy else cube


def _planned(
    grid: Grid,
    wanted: list[str],
    optional: tuple[str, ...],
    at: Mapping[str, str | float],
    asked_as: Mapping[str, str],
    first: Callable[[Mapping[str, int]], object],
) -> xr.Dataset:
    from gridplan.engine.columns import asked
    from gridplan.engine.inputs import build_inputs

    inputs = build_inputs(grid)
    known = all_measures()
    stated = asked(grid, None) or ()
    extra = [name for name in (*ASKED_CHECKS, *optional) if name in stated]
    if any(name in known and dictionary()[name].unit.startswith("USD") for name in wanted):
        extra.append("price_flag")
    of_labels = [name for name in _labels_of(inputs.space.labels) if name not in known]
    index = _asked(wanted, [*known, *of_labels], inputs.space.labels, at, asked_as, first)
    measures = [name for name in (*wanted, *CHECKS, *extra) if name in known]
    if PROVIDER in wanted:
        measures.append("priced_by")
    cube = planned_cube(cut_to(inputs, index), measures)
    _check(wanted, [*map(str, cube.variables), PROVIDER], asked_as)
    return _with_provider(cube, _providers(inputs.catalog)) if PROVIDER in wanted else cube


def _labels_of(axes: Iterable[str]) -> list[str]:
    return [*axes, *(name for name, row in dictionary().items() if row.role in ("axis", "input"))]


def _opened(
    folder: Path,
    wanted: list[str],
    optional: tuple[str, ...],
    at: Mapping[str, str | float],
    asked_as: Mapping[str, str],
    first: Callable[[Mapping[str, int]], object],
) -> xr.Dataset:
    """Of the cube in a folder what is asked: nothing is read before all of that is known to be there."""
    from gridplan.store.open import open_cube, whole_manifest

    layout = whole_manifest(folder).layout
    known = [column.name for column in layout.columns if column.role != "rank"]
    _asked(wanted, known, {axis.name: axis.labels for axis in layout.axes}, at, asked_as, first, OF_A_CUBE)
    held = [column.name for column in layout.given if column.role == "measure"]
    more = ["priced_by"] if PROVIDER in wanted else []
    names = (*wanted, *CHECKS, *ASKED_CHECKS, *optional, *more)
    return open_cube(folder, [name for name in dict.fromkeys(names) if name in held], at)


def _asked(
    wanted: list[str],
    known: list[str],
    axes: Mapping[str, Sequence[str | float]],
    at: Mapping[str, str | float],
    asked_as: Mapping[str, str],
    first: Callable[[Mapping[str, int]], object],
    remedy: str = "",
) -> dict[str, int]:
    """Positions of the labels `at`; raises all that is wrong with a question, before a grid is planned or a file read.

    `remedy` says what to do about a measure that there is, but not here.
    """
    index, problems = dict[str, int](), list[Problem]()
    with gathered(problems):
        _check(wanted, [*known, PROVIDER], asked_as, remedy)
    with gathered(problems):
        first({name: 1 if name in at else len(labels) for name, labels in axes.items()})
    with gathered(problems):
        index = label_positions(axes, at)
    refuse(problems)
    return index


def _check(wanted: Iterable[str], known: Iterable[str], asked_as: Mapping[str, str], remedy: str = "") -> None:
    names, measures = list(known), all_measures()
    problems = []
    for name in wanted:
        if name not in names:
            hint = remedy if remedy and name in measures else suggestion(name, names)
            said = f"{name} is not a measure of this cube{hint}"
            problems.append(Problem(said, key=asked_as.get(name, "measure")))
    if problems:
        raise ContractError(problems)


def _providers(catalog: Catalog) -> dict[str, str]:
    return {name: entry.provider for name, entry in catalog.instances.items()}


def _providers_of(source: xr.Dataset | str | Path) -> dict[str, str]:
    """Who rents each instance: what a folder says of those of its cube, else the shipped catalog."""
    from gridplan.catalog import load_catalog

    found, table = _providers(load_catalog()), None
    if isinstance(source, (str, Path)):
        table = place_of(source) / "dims" / "instance.parquet"
    if table is not None and is_there(table):
        from pyarrow.parquet import read_table

        where, files = file_system(table)
        with reading(table):
            rows = read_table(where, filesystem=files, columns=["instance", "provider"]).to_pylist()
        found |= {row["instance"]: row["provider"] for row in rows}
    return found


def _with_provider(cube: xr.Dataset, providers: Mapping[str, str]) -> xr.Dataset:
    """The cube with a coordinate `provider`: of the instance, or of the one that the price is of."""
    import xarray as xr

    instance, warnings = cube.get("instance"), str(cube.attrs.get("warnings", ""))
    if instance is None or all(label is None for label in instance.values.ravel().tolist()):
        instance = cube.get("priced_by")
        said = "no instance is stated, so provider is that of the instance whose price counts (priced_by)"
        warnings = f"{warnings}\n{said}".strip()
    if instance is None:
        raise ContractError([Problem("no instance is known in this cube, so nobody knows its provider", key="where")])
    flat = [providers.get(label) for label in instance.values.ravel().tolist()]
    values: Any = np.empty(len(flat), dtype=object)
    values[:] = flat
    item = xr.Variable(instance.dims, values.reshape(instance.shape), fastpath=True)
    about = {"warnings": warnings} if warnings else {}
    return cube.assign_coords({PROVIDER: item}).assign_attrs(about)
