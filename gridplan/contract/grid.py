"""What a contract says, checked and frozen: the `Grid` that the engine turns into arrays.

Nothing here computes. A `Grid` holds names, numbers and labels in base units (bytes, seconds, requests per second,
tokens, USD), each with its class, source and date, in the order the file gave them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from gridplan.contract.catalog_folder import CatalogFolder

__all__ = [
    *(
        "Axis",
        "By",
        "Change",
        "Given",
        "Grid",
        "Lengths",
        "Measured",
        "Place",
        "Scenario",
        "Shift",
        "TrafficClass",
        "Workload",
    ),
]

Scalar = float | str


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in the contract file; lines and columns count from 1."""

    file: str
    line: int
    column: int
    key: str


@dataclass(frozen=True, slots=True)
class By:
    """One value per label of `dimension`: `{by: model, llama-3.3-70b: 4, default: 1}`."""

    dimension: str
    values: Mapping[str, Scalar]
    default: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Given:
    """A value that the contract states for one input, with its provenance."""

    value: Scalar | By
    cls: str
    source: str
    as_of: str = ""
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What a scenario does to one input: set it, multiply it or add to it; the provenance is empty unless stated."""

    op: Literal["set", "multiply", "add"]
    value: Scalar | By
    place: Place | None = None
    cls: str = ""
    source: str = ""
    as_of: str = ""


@dataclass(frozen=True, slots=True)
class Lengths:
    """Random lengths in tokens: `kind` with its mean and scv, or `empirical` with its quantiles.

    `quantiles` holds pairs of a percentile and a length, both rising; `longest` is the greatest length where one is
    stated; `nodes` is the number of classes that stand for the distribution, where it is stated.
    """

    kind: str
    mean: float
    scv: float
    quantiles: tuple[tuple[float, float], ...] = ()
    longest: float | None = None
    nodes: int | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class TrafficClass:
    """One class of requests: its share of arrivals, its lengths in tokens, and what it states of itself.

    `own` has the inputs that hold for this class alone (latency limits, prefix hits), under their names; what it lacks
    is that of the contract. The one class of a workload whose lengths are random has the name "".
    """

    name: str
    weight: float
    prompt_tokens: float | Lengths
    output_tokens: float | Lengths
    own: Mapping[str, Given] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Workload:
    """One traffic description. Either `classes`, or `prompt_tokens` and `output_tokens` among `given`, or neither.

    `hourly_load` is the mean load of each hour of a cycle as a share of the highest, or empty.
    """

    name: str
    classes: tuple[TrafficClass, ...]
    given: Mapping[str, Given]
    place: Place | None = None
    hourly_load: tuple[float, ...] = ()
    hourly_place: Place | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """A named set of changes; `classes` maps a class name to changes of its weight, lengths, hits and limits."""

    name: str
    changes: Mapping[str, Change]
    classes: Mapping[str, Mapping[str, Change]]
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Shift:
    """What a study does to one input in every cell, after its scenarios: set it, multiply it or add to it.

    `values` has one array axis per dimension of the cube, of size 1 where it does not depend on it; NaN leaves the
    input as it is.
    """

    op: Literal["set", "multiply", "add"]
    values: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of the cube. `labels` are all text or all numbers (rounded to 12 significant digits)."""

    name: str
    labels: tuple[Scalar, ...]
    place: Place | None = None

    @property
    def is_text(self) -> bool:
        """True when the labels are names, False when they are numbers."""
        return bool(self.labels) and isinstance(self.labels[0], str)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a measured rate belongs to and how far it may be carried.

    `measured_at` names the settings of the measurement where an axis leaves them open; `applies_to` names the settings
    that need not match (`{"any"}` for all); `fallback` is `none` or `analytical`.
    """

    measured_at: Mapping[str, Scalar] = field(default_factory=dict)
    applies_to: frozenset[str] = frozenset()
    fallback: Literal["none", "analytical"] = "none"
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """A checked contract.

    `workloads` has one entry named "" when the file has a single `workload:` (or none). `scenarios` is empty when the
    file has none, else starts with `nominal`. `given` holds every input of the slo, deployment, capacity and policy
    sections; values of the workload section live in the workloads. `catalog` holds the contract's own entries as
    `{"gpus": {id: {...}}, ...}`; they go over those of `folder`, where a catalog folder is in use.
    `priced_on` is the date (ISO) against which a cube judges the age of its prices, or empty. `outputs` are the
    measures that the contract asks for, with `default` among them for those of every cube; empty where it names none.
    A study of the contract adds `shifts`, by input, and `samples`, the number of labels of a dimension `sample`.
    """

    name: str
    description: str
    axes: tuple[Axis, ...]
    given: Mapping[str, Given]
    workloads: tuple[Workload, ...]
    scenarios: tuple[Scenario, ...]
    measured: Measured
    catalog: Mapping[str, Mapping[str, Mapping[str, object]]]
    priced_on: str
    path: str
    text: str
    sha256: str
    folder: CatalogFolder | None = None
    outputs: tuple[str, ...] = ()
    shifts: Mapping[str, Shift] = field(default_factory=dict)
    samples: int = 0

    def axis(self, name: str) -> Axis | None:
        """The axis of that name, or None."""
        return next((axis for axis in self.axes if axis.name == name), None)

    @property
    def dimensions(self) -> dict[str, tuple[Scalar, ...]]:
        """Labels of the cube: samples of a study, scenario and workload outermost, then the axes as declared."""
        labels: dict[str, tuple[Scalar, ...]] = {}
        if self.samples:
            labels["sample"] = tuple(map(float, range(self.samples)))
        if self.scenarios:
            labels["scenario"] = tuple(scenario.name for scenario in self.scenarios)
        if self.workloads and self.workloads[0].name:
            labels["workload"] = tuple(workload.name for workload in self.workloads)
        return labels | {axis.name: axis.labels for axis in self.axes}

    def __repr__(self) -> str:
        sizes = {name: len(labels) for name, labels in self.dimensions.items()}
        shape = " x ".join(f"{name} {size:,}" for name, size in sizes.items())
        return f"<Grid {self.name!r}: {prod(sizes.values()):,} cells{f' ({shape})' if shape else ''}>"

    def _repr_html_(self) -> str:
        from gridplan.contract.grid_html import grid_html

        return grid_html(self)
