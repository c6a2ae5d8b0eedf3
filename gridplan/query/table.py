"""The table that SQL sees of a stored cube: its columns, the labels of its axes, and the files that hold its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gridplan.errors import Problem, StoreError, suggestion
from gridplan.store.blocks import Part
from gridplan.store.columns import AxisSpec, Column
from gridplan.store.files import check_name
from gridplan.store.manifest import Manifest, read_manifest
from gridplan.store.place import place_of
from gridplan.store.sizes import check_sizes

__all__ = ["Table", "open_table"]


@dataclass(frozen=True)
class Table:
    """A finished cube in a folder. Rows come in the order of the axes, axes and labels as declared."""

    folder: Path
    manifest: Manifest

    @property
    def axes(self) -> tuple[AxisSpec, ...]:
        """The axes in declared order."""
        return self.manifest.layout.axes

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns of the files, in their order."""
        return self.manifest.layout.columns

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(receipt.rows for receipt in self.manifest.receipts)

    def column(self, name: str) -> Column | None:
        """The column that SQL means by a name, whatever its case."""
        folded = name.casefold()
        return next((column for column in self.columns if column.name.casefold() == folded), None)

    def axis(self, name: str) -> AxisSpec | None:
        """The axis of that name; None for every other column."""
        return next((axis for axis in self.axes if axis.name == name), None)

    def found(self, names: Iterable[str], key: str, problems: list[Problem]) -> list[Column]:
        """The columns of these names, each once; names of none, with the nearest, go to `problems` under `key`."""
        found: list[Column] = []
        for name in dict.fromkeys(names):
            column = self.column(name)
            if column is None:
                problems.append(Problem(f"{name} is no column of {self.folder}{self.near(name)}", key=key))
            elif column not in found:
                found.append(column)
        return found

    def near(self, name: str) -> str:
        """The nearest names of columns, as a sentence for a message."""
        return suggestion(name, [column.name for column in self.columns])

    def check(self, parts: Sequence[Part]) -> None:
        """Raise StoreError if a file of these parts is missing or has another size than it was written with."""
        _refuse(self.manifest.size_problems(self.folder, parts))

    def check_dims(self) -> None:
        """The same for the small tables beside the facts."""
        _refuse(check_sizes(self.folder, self.manifest.dims))


def _refuse(problems: list[str]) -> None:
    if problems:
        raise StoreError("\n".join([*problems, "run it again with --resume"]))


def open_table(folder: str | Path) -> Table:
    """The table of the cube in `folder`, with or without the rows of cells that have no plan.

    Raises StoreError when there is no finished cube in it.
    """
    place = place_of(folder)
    check_name(place)
    return Table(place, read_manifest(place))
