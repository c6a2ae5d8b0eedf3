"""The structure of a contract file as frozen models: which keys exist where and what shape each has.

These models know nothing of units, bounds or catalogs. They check the shape of the file, and the JSON Schema is made
from them. Sections only group inputs: workload, deployment, capacity and policy each take every input. An input's own
value has one of the forms of `forms`; it is checked apart, because a union in each of some 400 fields would take
pydantic half a second to build.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, Field, create_model

from gridplan.contract.forms import AppliesTo, AxisForm, ChangeForm, Scalar, Strict, Text, ValueForm
from gridplan.dictionary import dictionary, inputs

__all__ = [
    "Capacity",
    "CatalogEntries",
    "ClassChange",
    "ClassEntry",
    "Contract",
    "Deployment",
    "Policy",
    "ScenarioEntry",
    "Section",
    "Slo",
    "SloLimit",
    "WorkloadSection",
    "section_inputs",
]

_DOCUMENTED = ConfigDict(use_attribute_docstrings=True)


def section_inputs(slo_only: bool = False) -> tuple[str, ...]:
    """The inputs that a section may state: all of them, or those of the slo section.

    Workload and scenario are dimensions made of sections of their own, not inputs.
    """
    rows = dictionary()
    names = (name for name in inputs() if name not in ("workload", "scenario"))
    return tuple(name for name in names if not slo_only or rows[name].section == "slo")


class Section(Strict):
    """A group of inputs."""

    model_config = ConfigDict(use_attribute_docstrings=False)  # reading the source again for 70 fields is slow

    def stated(self) -> dict[str, Any]:
        """The inputs that the file gives in this section, in the order of the dictionary."""
        return {name: getattr(self, name) for name in section_inputs() if name in self.model_fields_set}


def _with_inputs(name: str, names: Iterable[str]) -> Any:
    """A section with one optional field per input."""
    fields: dict[str, Any] = {field: (Any, None) for field in names}
    return create_model(name, __base__=Section, __module__=__name__, **fields)


if TYPE_CHECKING:

    class _EveryInput(Section): ...

    class _SloInput(Section): ...
else:
    _EveryInput = _with_inputs("_EveryInput", section_inputs())
    _SloInput = _with_inputs("_SloInput", section_inputs(slo_only=True))


class ClassEntry(Strict):
    """One class of requests; give `weight` for every class or `count` for every class."""

    name: Text
    """The name that scenarios use."""
    weight: Scalar | None = None
    """Share of the arrivals; the weights sum to 1."""
    count: Scalar | None = None
    """Number of arrivals; normalised to a share."""
    prompt_tokens: Scalar
    """Prompt length in tokens."""
    output_tokens: Scalar
    """Output length in tokens."""


class SloLimit(Strict):
    """A latency limit and the percentile that it binds."""

    limit: ValueForm | None = None
    """The limit, in seconds or as text with a unit."""
    percentile: ValueForm | None = None
    """`mean`, or a percentile from 50 to 99.9."""


class ClassChange(Strict):
    """What a scenario changes in one class of requests."""

    weight: ChangeForm | None = None
    """Share of the arrivals."""
    prompt_tokens: ChangeForm | None = None
    """Prompt length in tokens."""
    output_tokens: ChangeForm | None = None
    """Output length in tokens."""


class WorkloadSection(_EveryInput):
    """Traffic: what arrives."""

    model_config = _DOCUMENTED
    classes: list[ClassEntry] | None = None
    """The classes of requests; instead of prompt_tokens and output_tokens."""


class Slo(_SloInput):
    """Latency limits."""

    model_config = _DOCUMENTED
    ttft: SloLimit | None = None
    """Time to first token: ttft_slo_s and ttft_slo_percentile."""
    tpot: SloLimit | None = None
    """Time per output token: tpot_slo_s and tpot_slo_percentile."""
    e2e: SloLimit | None = None
    """End-to-end latency: e2e_slo_s and e2e_slo_percentile."""
    itl: SloLimit | None = None
    """Inter-token latency: itl_slo_s and itl_slo_percentile."""


class Deployment(_EveryInput):
    """What runs on what."""


class Capacity(_EveryInput):
    """What one replica sustains."""

    model_config = _DOCUMENTED
    applies_to: AppliesTo = Field(default_factory=dict)
    """The settings that need not match those of the measurement: `any`, or `{kv_dtype: any, slo: any}`."""
    measured_at: dict[str, Scalar] = Field(default_factory=dict)
    """The settings of the measurement, where an axis leaves them open."""
    fallback: Literal["analytical", "none"] = "none"
    """`analytical`: cells where the measurement does not apply use the formulas, unscaled."""


class Policy(_EveryInput):
    """Headroom, spares and accounting."""


class ScenarioEntry(_EveryInput):
    """A named set of changes."""

    model_config = _DOCUMENTED
    classes: dict[str, ClassChange] = Field(default_factory=dict)
    """Changes by class name."""


class CatalogEntries(Strict):
    """Entries that add to the shipped catalogs or override them, by id."""

    gpus: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Accelerators."""
    models: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Models."""
    instances: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Rentable shapes with their price."""
    engines: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Serving engines and their constants."""


class Contract(Strict):
    """A contract file of gridplan."""

    model_config = ConfigDict(title="gridplan contract")

    version: Literal[1] = Field(alias="schema")
    """Version of this format; 1."""
    name: Text = ""
    """Name of the grid; omitted = the name of the file."""
    description: Text = ""
    """What the grid is for."""
    workload: WorkloadSection = WorkloadSection()
    """Traffic: what arrives."""
    workloads: dict[str, WorkloadSection] | None = None
    """Several workloads by name; they become the dimension `workload`."""
    slo: Slo = Slo()
    """Latency limits."""
    deployment: Deployment = Deployment()
    """What runs on what."""
    capacity: Capacity = Capacity()
    """What one replica sustains."""
    policy: Policy = Policy()
    """Headroom, spares and accounting."""
    catalog: CatalogEntries = CatalogEntries()
    """Entries that add to the shipped catalogs or override them."""
    axes: dict[str, AxisForm] = Field(default_factory=dict)
    """The dimensions of the cube by input name."""
    scenarios: dict[str, ScenarioEntry] = Field(default_factory=dict)
    """Named sets of changes; they become the dimension `scenario`, `nominal` first."""
    priced_on: Text = ""
    """The date against which the age of a price is judged; omitted = the newest date used."""
