"""What a rule of a contract looks at: the file as it was written and the grid as it was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gridplan.contract.grid import Grid, Place
from gridplan.contract.labels import LabelBook
from gridplan.contract.models import Contract
from gridplan.contract.problems import Problems
from gridplan.contract.yaml import KeyPath

__all__ = ["Context"]


@dataclass(frozen=True)
class Context:
    """One contract under examination.

    `grid` holds what could be read; `stated` has the paths at which each input is stated, also where its value could
    not be read; `axes` the places of all axes by name, likewise.
    """

    contract: Contract
    grid: Grid
    problems: Problems
    labels: LabelBook
    stated: Mapping[str, Sequence[KeyPath]]
    axes: Mapping[str, Place]

    def line_of(self, name: str) -> str:
        """Where an input is an axis or has its first base value, as `line 12`; empty where it has neither."""
        if name in self.axes:
            return f"line {self.axes[name].line}"
        paths = self.stated.get(name)
        return f"line {self.problems.place(paths[0]).line}" if paths else ""

    def is_stated(self, name: str) -> bool:
        """Whether an input is an axis or has a base value somewhere."""
        return name in self.axes or name in self.stated

    def place_for(self, name: str, workload: str) -> Place | None:
        """Where an input is stated for that workload (as an axis, for all workloads, or for this one), or None."""
        if name in self.axes:
            return self.axes[name]
        for path in self.stated.get(name, ()):
            if path[0] != "workloads" or path[1] == workload:
                return self.problems.place(path)
        return None
