"""What the page asks and what it is answered, without a word of HTTP."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from gridplan.contract.grid import Grid
from gridplan.dictionary import dictionary
from gridplan.errors import ContractError, Problem, StoreError
from gridplan.explore.about import Title, about
from gridplan.explore.box import Box, Cells, Place
from gridplan.explore.left_out import LEFT_OUT, READ, with_left_out
from gridplan.explore.pack import pack
from gridplan.explore.planned import PRICES, PlannedCells, planned_cells
from gridplan.explore.question import named_columns, place_of, stated_changes
from gridplan.explore.whatif import changed_contract, offered, without_places
from gridplan.quantities import format_quantity
from gridplan.sensitivity.changes import differs
from gridplan.sensitivity.source import CHECKS
from gridplan.store import place as places

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Explorer", "explorer_of"]

_MOST_KEPT = 8
"""Changed contracts whose inputs stay at hand (policy)."""


@dataclass
class Explorer:
    """A cube that is explored; `no_whatif` says why its contract cannot be planned anew, where it cannot."""

    cells: Cells
    title: Title
    no_whatif: str = ""
    _changed: OrderedDict[tuple[tuple[str, str], ...], Cells] = field(default_factory=OrderedDict)
    _anew: Cells | None = None
    _lock: Lock = field(default_factory=Lock)

    @property
    def sizes(self) -> dict[str, int]:
        """Labels of each axis."""
        return {axis.name: len(axis.labels) for axis in self.cells.axes}

    def about(self, served: bool = True) -> dict[str, Any]:
        """What the page is told once."""
        return about(self.cells, self.title, self.no_whatif, served)

    def block(self, at: str, columns: str, changes: Iterable[str] = ()) -> bytes:
        """The cells at `at` with these columns, packed; with `changes` planned anew.

        Raises ContractError for a question that is none, StoreError for a file that cannot be read.
        """
        place = place_of(at, self.sizes)
        known = [*(column.name for column in self.cells.columns), LEFT_OUT]
        return pack(self.box(place, named_columns(columns, known, place), self._stated(changes)))

    def box(self, place: Place, names: Sequence[str], changes: Mapping[str, str]) -> Box:
        """The cells at a place with columns of the cube, and `left_out`."""
        cells = self._cells(changes)
        held = {column.name for column in cells.columns}
        if changes:
            self._check_agreement(tuple(own[:1] for own in place))
        if missing := [name for name in names if name not in held and name != LEFT_OUT]:
            raise ContractError([Problem(f"{missing[0]} is not planned with these changes", key="columns")])
        try:
            return self._box(cells, place, names, held)
        except StoreError as error:
            if not changes:
                raise
            raise ContractError([Problem(f"{error}: of values that nobody can mean", key="if")]) from None

    def _box(self, cells: Cells, place: Place, names: Sequence[str], held: Collection[str]) -> Box:
        if LEFT_OUT not in names:
            return cells.box(place, names)
        read = [name for name in READ if name in held]
        wanted = dict.fromkeys([*(name for name in names if name != LEFT_OUT), *read])
        return with_left_out(cells.box(place, list(wanted))).only(names)

    def explain(self, at: str, changes: Iterable[str] = ()) -> dict[str, Any]:
        """The chain of one cell, as `gridplan explain --json` prints it, and each number as text.

        Raises ContractError where the contract cannot be planned anew, or `at` is more than a cell.
        """
        from gridplan.report.explain import explain

        place = self._cell(at)
        grid = self._cells(self._stated(changes), anew=True).grid
        assert grid is not None
        self._check_agreement(place)
        labels = {axis.name: axis.labels[own.start] for axis, own in zip(self.cells.axes, place, strict=True)}
        with self._lock:
            found = explain(grid, **labels)
        return found.to_dict()

    def now(self, at: str) -> dict[str, str]:
        """What each input that may be changed is in one cell, as text; those without a value are left out."""
        place = self._cell(at)
        cells = self._cells({}, anew=True)
        assert cells.grid is not None
        from gridplan.engine.inputs import build_inputs

        with self._lock:
            inputs = build_inputs(cells.grid)
        index = {axis.name: own.start for axis, own in zip(self.cells.axes, place, strict=True)}
        found = {}
        for name in offered(cells.grid):
            item = inputs.labels.get(name) or inputs.stated.get(name) or inputs.values.get(name)
            value = None if item is None else item.at(inputs.space, index)
            if value is not None and (isinstance(value, str) or np.isfinite(value)):
                found[name] = format_quantity(value, dictionary()[name].unit)
        return found

    def _check_agreement(self, place: Place) -> None:
        """Refuse to explain a stored cell, or to say what changes in it, where this version plans it otherwise."""
        if isinstance(self.cells, PlannedCells):
            return
        measures = [column for column in self.cells.columns if column.role == "measure"]
        names = [column.name for column in measures]
        stored = self.cells.box(place, names).dataset()
        if self._no_row(stored):
            return
        again = self._planned_anew().box(place, names).dataset()
        differing = [
            name for name in names if bool(differs(stored[name].values.ravel(), again[name].values.ravel()).any())
        ]
        if differing:
            said = f"this version plans the cell otherwise than the folder has it ({', '.join(differing[:3])})"
            raise ContractError([Problem(f"{said}, so nothing is planned anew", key="if")])

    def _no_row(self, stored: xr.Dataset) -> bool:
        """Whether a cell has no row to be compared with, since it has no plan and the folder leaves such rows out."""
        return getattr(self.cells, "drops_rows", False) and "status" in stored and bool((stored.status != "ok").all())

    def _planned_anew(self) -> Cells:
        """The cells of the contract as it is, planned here; what is asked again and again is prepared once."""
        measures = [column.name for column in self.cells.columns if column.role == "measure"]
        with self._lock:
            if self._anew is None:
                self._anew = planned_cells(self._contract(), measures)
            return self._anew

    def _cell(self, at: str) -> Place:
        place = place_of(at, self.sizes)
        if any(len(own) != 1 for own in place):
            raise ContractError([Problem("one position is due for each axis", key="at")])
        return place

    def _stated(self, changes: Iterable[str]) -> dict[str, str]:
        texts = list(changes)
        if not texts:
            return {}
        return stated_changes(texts, offered(self._contract()))

    def _contract(self) -> Grid:
        if self.no_whatif or self.cells.grid is None:
            raise ContractError([Problem(self.no_whatif or "nothing is planned anew here", key="if")])
        return self.cells.grid

    def _cells(self, changes: Mapping[str, str], anew: bool = False) -> Cells:
        """The cube itself, or that of the changed contract; `anew` asks for one with a contract."""
        if not changes:
            if anew:
                self._contract()
            return self.cells
        key = tuple(sorted(changes.items()))
        with self._lock:
            if key not in self._changed:
                measures = [column.name for column in self.cells.columns if column.role == "measure"]
                measures += PRICES - set(measures)
                changed = changed_contract(self._contract(), changes)
                try:
                    self._changed[key] = planned_cells(changed, measures)
                except ContractError as error:
                    raise without_places(error) from None
                while len(self._changed) > _MOST_KEPT:
                    self._changed.popitem(last=False)
            self._changed.move_to_end(key)
            return self._changed[key]


def explorer_of(source: Grid | str | Path, outputs: Iterable[str] | None = None, catalog: Any = None) -> Explorer:
    """The explorer of a contract, planned cell by cell as it is asked for, or of the folder of a cube.

    Raises
    ------
    ContractError
        For a contract that cannot be planned; for `outputs` that are no measures.
    StoreError
        For a folder that holds no finished cube, or whose files are missing.
    MissingExtraError
        For a folder where DuckDB is not installed.
    """
    if isinstance(source, Grid):
        planned = planned_cells(source, outputs, (*CHECKS, "binding_constraint", *PRICES))
        title = Title(
            source.name, source.description, f"planned from {Path(source.path).name}", planned.inputs.warnings
        )
        return Explorer(planned, title)
    return _of_folder(places.place_of(source), catalog)


def _of_folder(folder: Path, catalog: Any) -> Explorer:
    from gridplan.engine.stored_contract import stored_contract
    from gridplan.explore.stored import StoredCells
    from gridplan.query.database import needs_sql, open_database
    from gridplan.query.table import open_table

    needs_sql()
    table = open_table(folder)
    table.check(table.manifest.parts)
    grid, why_not, manifest = stored_contract(folder, catalog)
    attrs = {name: str(text) for name, text in manifest.attrs.items()}
    origin = f"read from {folder.name or folder.absolute().name}, written by gridplan {manifest.origin.package_version}"
    warnings = attrs.get("warnings", "").splitlines()
    if manifest.options.get("drop_infeasible"):
        warnings.append("the cube was written without the cells that have no plan: they are empty here")
    title = Title(manifest.origin.grid_name, attrs.get("description", ""), origin, tuple(warnings))
    return Explorer(StoredCells(table, open_database(folder=table.folder), grid), title, why_not)
