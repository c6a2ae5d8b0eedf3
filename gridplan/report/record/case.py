"""What a record is about: a contract or the folder of a cube, and the one cell of it that is the plan."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gridplan.contract.grid import Grid, Workload
from gridplan.dictionary import all_measures, dictionary
from gridplan.report.explanation import Explanation

if TYPE_CHECKING:
    import xarray as xr

    from gridplan.engine.resolve import Origin
    from gridplan.store.manifest import Manifest

__all__ = ["Asked", "Case", "Label"]

Label = str | float


@dataclass(frozen=True)
class Asked:
    """What a record is asked for: labels that are fixed, and how the plan is chosen among the levers left open."""

    at: Mapping[str, Label] = field(default_factory=dict)
    measure: str = "usd_per_mtok_output"
    survives: str | None = None
    where: Sequence[str] = ()
    accept: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """The source of a record and its plan.

    `plan` has the label of every axis, or is None where axes stay open (`still_open`) and no single plan is meant;
    `choice` is what `gridplan.cheapest` said where levers were chosen along (`chosen`). `grid` is the contract, None
    where that of a folder cannot be planned anew: `no_grid` says why. `classes` are weights, lengths, limits and
    hits of the classes of requests in this cell, empty where lengths are random.
    """

    source: Grid | Path
    axes: Mapping[str, tuple[Label, ...]]
    asked: Asked
    grid: Grid | None
    no_grid: str
    manifest: Manifest | None
    plan: Mapping[str, Label] | None
    still_open: tuple[str, ...]
    chosen: tuple[str, ...]
    choice: xr.Dataset | None
    figures: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, str | None] = field(default_factory=dict)
    explanation: Explanation | None = None
    inputs: Mapping[str, Label] = field(default_factory=dict)
    origins: Mapping[str, Origin] = field(default_factory=dict)
    classes: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the contract."""
        if self.manifest is not None:
            return self.manifest.origin.grid_name
        return self.grid.name if self.grid is not None else ""

    @property
    def refused(self) -> str:
        """Why no cell along the open levers may be chosen, in words; empty where one is, or the one cell says why."""
        if self.choice is None:
            return ""
        row = {name: self.choice[name].values.ravel().tolist()[0] for name in ("cells", "candidates")}
        if row["candidates"] or (not self.chosen and self.labels.get("status") != "ok"):
            return ""
        counts = self.choice["left_out_by_reason"]
        reasons = zip(self.choice["reason"].values.tolist(), counts.values.ravel().tolist(), strict=True)
        why = ", ".join(f"{reason}: {count:,}" for reason, count in reasons if count)
        cells = "the cell is no candidate" if row["cells"] == 1 else f"none of {row['cells']:,} cells is a candidate"
        return f"{cells} ({why})"

    @property
    def several(self) -> dict[str, tuple[Label, ...]]:
        """Axes with more than one label."""
        return {name: labels for name, labels in self.axes.items() if len(labels) > 1}

    def place(self, without: Sequence[str] = ()) -> dict[str, Label]:
        """Labels of the plan on the axes that have several, `without` some; `nominal` goes without saying."""
        return {
            name: label
            for name, label in (self.plan or {}).items()
            if name in self.several and name not in without and label != "nominal"
            if not (self.refused and name in self.chosen)
        }

    @property
    def workload(self) -> Workload | None:
        """The workload of the plan as the contract states it, None where the contract is not at hand."""
        label = (self.plan or {}).get("workload", "")
        known = self.grid.workloads if self.grid is not None else ()
        return next((item for item in known if item.name in (label, "")), None)

    @property
    def decided(self) -> bool:
        """Whether the plan is one to decide for: it is feasible, its fleet holds it, and it meets what was asked."""
        held = self.number("fleet_sufficient") != 0.0
        return self.labels.get("status") == "ok" and held and not self.refused

    def has(self, name: str) -> bool:
        """Whether the source has this measure: every one of a contract, the columns of a folder."""
        if self.manifest is None:
            return name in all_measures()
        return any(column.name == name for column in self.manifest.layout.given)

    def label(self, name: str) -> str | None:
        """A label of the plan: of an axis, of what follows from one, or of an input; None where there is none."""
        value = (self.plan or {}).get(name) or self.labels.get(name) or self.inputs.get(name)
        return value if isinstance(value, str) else None

    def input(self, name: str) -> Label | None:
        """An input of the plan, None where it has no value or is not known."""
        value = self.inputs.get(name, self.figures.get(name, self.labels.get(name)))
        return None if isinstance(value, float) and math.isnan(value) else value

    def origin(self, name: str) -> str:
        """Class, origin, source and date of an input, nothing twice; what is computed says so."""
        found = self.origins.get(name)
        if found is None:
            return "-" if dictionary()[name].is_input else "computed"
        parts = (found.cls, found.provider, found.source, found.as_of)
        return ", ".join(dict.fromkeys(part for part in parts if part))

    def number(self, name: str) -> float | None:
        """A number of the plan, None where it is null or not known."""
        value = self.figures.get(name, math.nan)
        return None if math.isnan(value) else value
