"""The structure of a contract file as frozen models: which keys exist where and what shape each has.

These models know nothing of units, bounds or catalogs. They check the shape of the file, and the JSON Schema is made
from them. Sections only group inputs: workload, deployment, capacity and policy each take every input. An input's own
value has one of the forms of `forms`; it is checked apart, so that one wrong value leaves the rest of its section.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from gridplan.contract.forms import (
    APPLIES_TO,
    AXIS,
    CHANGE,
    CLASS_LENGTH,
    SCALAR,
    TEXT,
    VALUE,
    AxisForm,
    ChangeForm,
    LengthForm,
    Scalar,
    ValueForm,
)
from gridplan.contract.shapes import ANY, Strict, list_of, literal, map_of, optional, required, shape_of
from gridplan.dictionary import dictionary, inputs

__all__ = [
    "Capacity",
    "CatalogEntries",
    "ClassChange",
    "ClassEntry",
    "Contract",
    "Deployment",
    "LimitChange",
    "Policy",
    "ScenarioEntry",
    "Section",
    "Slo",
    "SloLimit",
    "WorkloadSection",
    "section_inputs",
]


@lru_cache(maxsize=2)
def section_inputs(slo_only: bool = False) -> tuple[str, ...]:
    """The inputs that a section may state: all of them, or those of the slo section.

    Workload and scenario are dimensions made of sections of their own, not inputs.
    """
    rows = dictionary()
    names = (name for name in inputs() if name not in ("workload", "scenario", "sample"))
    return tuple(name for name in names if not slo_only or rows[name].section == "slo")


class Section(Strict):
    """A group of inputs."""

    def stated(self) -> dict[str, Any]:
        """The inputs that the file gives in this section, in the order of the dictionary."""
        return {name: getattr(self, name) for name in section_inputs() if name in self.given_keys}


if TYPE_CHECKING:

    class _EveryInput(Section): ...

    class _SloInput(Section): ...
else:
    _INPUT = optional(ANY, "")
    _EveryInput = type("_EveryInput", (Section,), dict.fromkeys(section_inputs(), _INPUT))
    _SloInput = type("_SloInput", (Section,), dict.fromkeys(section_inputs(slo_only=True), _INPUT))


class SloLimit(Strict):
    """A latency limit and the percentile that it binds."""

    limit: ValueForm | None = optional(VALUE, "The limit, in seconds or as text with a unit.")
    percentile: ValueForm | None = optional(VALUE, "`mean`, or a percentile from 50 to 99.9.")


class LimitChange(Strict):
    """What a scenario changes in a latency limit of one class."""

    limit: ChangeForm | None = optional(CHANGE, "The limit, in seconds or as text with a unit.")
    percentile: ChangeForm | None = optional(CHANGE, "`mean`, or a percentile from 50 to 99.9.")


_LIMIT, _LIMIT_CHANGE = shape_of(SloLimit), shape_of(LimitChange)
_OWN = "of this class alone; omitted = that of the contract."


class ClassEntry(Strict):
    """One class of requests; give `weight` for every class or `count` for every class."""

    name: str = required(TEXT, "The name that scenarios use.")
    weight: Scalar | None = optional(SCALAR, "Share of the arrivals; the weights sum to 1.")
    count: Scalar | None = optional(SCALAR, "Number of arrivals; normalised to a share.")
    prompt_tokens: Scalar | LengthForm = required(CLASS_LENGTH, "Prompt length in tokens, or how it is distributed.")
    output_tokens: Scalar | LengthForm = required(CLASS_LENGTH, "Output length in tokens, or how it is distributed.")
    prefix_hit_ratio: ValueForm | None = optional(VALUE, f"Share of prompt tokens found in the prefix cache, {_OWN}")
    ttft: SloLimit | None = optional(_LIMIT, f"Limit on the time to first token {_OWN}")
    tpot: SloLimit | None = optional(_LIMIT, f"Limit on the time per output token {_OWN}")
    e2e: SloLimit | None = optional(_LIMIT, f"Limit on the end-to-end latency {_OWN}")
    itl: SloLimit | None = optional(_LIMIT, f"Limit on the inter-token latency {_OWN}")


class ClassChange(Strict):
    """What a scenario changes in one class of requests."""

    weight: ChangeForm | None = optional(CHANGE, "Share of the arrivals.")
    prompt_tokens: ChangeForm | None = optional(CHANGE, "Prompt length in tokens.")
    output_tokens: ChangeForm | None = optional(CHANGE, "Output length in tokens.")
    prefix_hit_ratio: ChangeForm | None = optional(CHANGE, "Share of prompt tokens found in the prefix cache.")
    ttft: LimitChange | None = optional(_LIMIT_CHANGE, "Limit on the time to first token.")
    tpot: LimitChange | None = optional(_LIMIT_CHANGE, "Limit on the time per output token.")
    e2e: LimitChange | None = optional(_LIMIT_CHANGE, "Limit on the end-to-end latency.")
    itl: LimitChange | None = optional(_LIMIT_CHANGE, "Limit on the inter-token latency.")


class WorkloadSection(_EveryInput):
    """Traffic: what arrives."""

    classes: list[ClassEntry] | None = optional(
        list_of(shape_of(ClassEntry)), "The classes of requests; instead of prompt_tokens and output_tokens."
    )
    hourly_load: list[Scalar] | None = optional(
        list_of(SCALAR),
        "The mean load of each hour of a cycle (a day: 24 numbers) in any one unit; instead of load_floor, and of "
        "peak_to_average, which follows.",
    )


class Slo(_SloInput):
    """Latency limits."""

    ttft: SloLimit | None = optional(_LIMIT, "Time to first token: ttft_slo_s and ttft_slo_percentile.")
    tpot: SloLimit | None = optional(_LIMIT, "Time per output token: tpot_slo_s and tpot_slo_percentile.")
    e2e: SloLimit | None = optional(_LIMIT, "End-to-end latency: e2e_slo_s and e2e_slo_percentile.")
    itl: SloLimit | None = optional(_LIMIT, "Inter-token latency: itl_slo_s and itl_slo_percentile.")
    goodput: ValueForm | None = optional(VALUE, "Share of requests that meet all limits: goodput_target.")


class Deployment(_EveryInput):
    """What runs on what."""


class Capacity(_EveryInput):
    """What one replica sustains."""

    applies_to: Literal["any"] | dict[str, Literal["any"]] = optional(
        APPLIES_TO,
        "The settings that need not match those of the measurement: `any`, or `{kv_dtype: any, slo: any}`.",
        {},
    )
    measured_at: dict[str, Scalar] = optional(
        map_of(SCALAR), "The settings of the measurement, where an axis leaves them open.", {}
    )
    fallback: Literal["analytical", "none"] = optional(
        literal("analytical", "none"),
        "`analytical`: cells where the measurement does not apply use the formulas, unscaled.",
        "none",
    )


class Policy(_EveryInput):
    """Headroom, spares and accounting."""


class ScenarioEntry(_EveryInput):
    """A named set of changes."""

    classes: dict[str, ClassChange] = optional(map_of(shape_of(ClassChange)), "Changes by class name.", {})


_ENTRIES = map_of(map_of(ANY))


class CatalogEntries(Strict):
    """Entries that add to the shipped catalogs or override them, by id."""

    gpus: dict[str, dict[str, Any]] = optional(_ENTRIES, "Accelerators.", {})
    models: dict[str, dict[str, Any]] = optional(_ENTRIES, "Models.", {})
    instances: dict[str, dict[str, Any]] = optional(_ENTRIES, "Rentable shapes with their price.", {})
    engines: dict[str, dict[str, Any]] = optional(_ENTRIES, "Serving engines and their constants.", {})


_WORKLOAD = shape_of(WorkloadSection)


class Contract(Strict):
    """A contract file of gridplan."""

    version: Literal[1] = required(literal(1), "Version of this format; 1.", key="schema")
    name: str = optional(TEXT, "Name of the grid; omitted = the name of the file.", "")
    description: str = optional(TEXT, "What the grid is for.", "")
    workload: WorkloadSection = optional(_WORKLOAD, "Traffic: what arrives.", {})
    workloads: dict[str, WorkloadSection] | None = optional(
        map_of(_WORKLOAD), "Several workloads by name; they become the dimension `workload`."
    )
    slo: Slo = optional(shape_of(Slo), "Latency limits.", {})
    deployment: Deployment = optional(shape_of(Deployment), "What runs on what.", {})
    capacity: Capacity = optional(shape_of(Capacity), "What one replica sustains.", {})
    policy: Policy = optional(shape_of(Policy), "Headroom, spares and accounting.", {})
    catalog: CatalogEntries = optional(
        shape_of(CatalogEntries), "Entries that add to the shipped catalogs or override them.", {}
    )
    axes: dict[str, AxisForm] = optional(map_of(AXIS), "The dimensions of the cube by input name.", {})
    scenarios: dict[str, ScenarioEntry] = optional(
        map_of(shape_of(ScenarioEntry)),
        "Named sets of changes; they become the dimension `scenario`, `nominal` first.",
        {},
    )
    outputs: list[str] | None = optional(
        list_of(TEXT),
        "The measures of the cube; `default` stands for those of every cube. `--outputs` goes before it.",
    )
    priced_on: str = optional(
        TEXT, "The day on which the age of a price is judged; omitted = only `gridplan validate` judges it, today.", ""
    )
