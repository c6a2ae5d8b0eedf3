"""A measured rate belongs to the settings it was measured at; this module finds where they hold and the anchor
elsewhere.

In a cell whose settings equal those of the measurement the rate is used as it stands. In any other cell it is scaled
by the ratio of the analytical rates here and at the measured setting, so one measurement carries over without a jump.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from gridplan import chain
from gridplan.contract.grid import Given, Grid, Measured
from gridplan.engine.bundle import Inputs
from gridplan.engine.class_inputs import CLASS_INPUTS
from gridplan.engine.field import Field
from gridplan.engine.resolve import Resolver

__all__ = ["MEASURED_SETTINGS", "SETTINGS", "anchor_fields"]

_LIMIT_INPUTS = tuple(name for name in CLASS_INPUTS if "_slo_" in name)

SETTINGS: Mapping[str, tuple[str, ...]] = {
    "gpu": ("gpu",),
    "model": ("model",),
    "engine": ("engine",),
    "weight_dtype": ("weight_dtype",),
    "kv_dtype": ("kv_dtype",),
    "tensor_parallel": ("tensor_parallel",),
    "pipeline_parallel": ("pipeline_parallel",),
    "data_parallel": ("data_parallel",),
    "classes": ("class_weight", "class_prompt_tokens", "class_output_tokens"),
    "prefix_hit_ratio": ("class_prefix_hit_ratio",),
    "scheduler": ("max_num_seqs", "max_num_batched_tokens"),
    "slo": tuple(f"class_{name}" for name in _LIMIT_INPUTS),
}
"""What a measurement belongs to: names under which `applies_to` widens it, and the inputs each compares."""

_AXES_OF = {
    "classes": ("prompt_tokens", "output_tokens", "context_tokens", "workload"),
    "gpu": ("gpu", "instance"),
    "prefix_hit_ratio": ("prefix_hit_ratio",),
    "slo": _LIMIT_INPUTS,
}
"""Axes that carry a setting where they are not the inputs it compares."""


def _axes_of(setting: str) -> tuple[str, ...]:
    return _AXES_OF.get(setting, SETTINGS[setting])


MEASURED_SETTINGS = tuple(name for setting in SETTINGS for name in _axes_of(setting))
"""Inputs at which a rate is measured; `measured_at` may name them."""


def anchor_fields(
    resolver: Resolver,
    values: Mapping[str, Field],
    labels: Mapping[str, Field],
    build: Callable[[Grid], Inputs],
) -> dict[str, Field]:
    """`measured_here`, `lambda_anchor` and `fallback_analytical` for the chain."""
    measured = resolver.grid.measured
    fallback = resolver.space.constant(float(measured.fallback == "analytical"), np.float64)
    nowhere = resolver.space.constant(0.0, np.float64)
    unknown = resolver.space.constant(np.nan, np.float64)
    fields = {"fallback_analytical": fallback, "measured_here": nowhere, "lambda_anchor": unknown}
    if "measured" not in labels["capacity_model"].unique or resolver.problems:
        return fields
    given = values["lambda_instance_given"]
    known = Field((~np.isnan(given.data)).astype(float), given.dims)
    if "any" in measured.applies_to:
        return {**fields, "measured_here": known}
    here, anchored = _compare(resolver, values, labels, build, given)
    own = _own_scenarios(resolver, given)
    matches = np.maximum(here.data, own.data) * known.data
    return {
        **fields,
        "measured_here": Field(matches, here.dims | own.dims | known.dims),
        "lambda_anchor": anchored,
    }


def _own_scenarios(resolver: Resolver, given: Field) -> Field:
    """1 in scenarios that state the rate themselves: such a value belongs to its scenario as it stands."""
    scenarios = resolver.grid.scenarios
    states = [("lambda_instance_given" in item.changes) for item in scenarios]
    if not any(states):
        return resolver.space.constant(0.0, np.float64)
    return resolver.space.along("scenario", [float(state) for state in states], np.float64)


def _compare(
    resolver: Resolver,
    values: Mapping[str, Field],
    labels: Mapping[str, Field],
    build: Callable[[Grid], Inputs],
    given: Field,
) -> tuple[Field, Field]:
    """Where every setting equals that of the measurement, and the analytical rate there."""
    grid = resolver.grid
    settings = [name for name in SETTINGS if not _widened(name, grid.measured.applies_to)]
    fixed = _settings_axes(resolver, settings, given)
    if resolver.problems:
        return resolver.space.constant(0.0, np.float64), resolver.space.constant(np.nan, np.float64)
    # Labels along which the measured value itself varies belong to it; they stay dimensions of the anchor.
    anchor = build(_anchor_grid(grid, fixed))
    here = np.array(True)
    dims: frozenset[str] = frozenset()
    weights = _same_classes(values["class_weight"], _lift(resolver, anchor, anchor.values["class_weight"]))
    absent = (weights[0].data == 0) & (weights[1].data == 0)
    for setting in settings:
        for name in SETTINGS[setting]:
            mine = labels[name] if name in labels else values[name]
            theirs = anchor.labels[name] if name in anchor.labels else anchor.values[name]
            lifted = _lift(resolver, anchor, theirs)
            of_class = name.startswith("class_")
            if of_class:
                mine, lifted = _same_classes(mine, lifted, edge=setting != "classes")
            same = _equal(mine.data, lifted.data)
            here = here & ((same | absent).all(axis=-1) if of_class else same)
            dims |= mine.dims | lifted.dims | (weights[0].dims | weights[1].dims if of_class else frozenset())
    rate = _analytical(anchor)
    return Field(np.asarray(here, dtype=float).reshape(_at_least(here, resolver)), dims), _lift(resolver, anchor, rate)


def _at_least(array: np.ndarray, resolver: Resolver) -> tuple[int, ...]:
    rank = len(resolver.space.names)
    return array.shape if array.ndim == rank else (1,) * (rank - array.ndim) + array.shape


def _same_classes(mine: Field, theirs: Field, edge: bool = False) -> tuple[Field, Field]:
    """Class axes padded to one width; a class that one lacks has weight and lengths 0, and else what the last has."""
    width = max(mine.data.shape[-1], theirs.data.shape[-1])

    def padded(item: Field) -> Field:
        missing = [(0, 0)] * (item.data.ndim - 1) + [(0, width - item.data.shape[-1])]
        return Field(np.pad(item.data, missing, mode="edge" if edge else "constant"), item.dims)

    return padded(mine), padded(theirs)


def _equal(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Elementwise equality where two absent values are equal."""
    if mine.dtype == object or theirs.dtype == object:
        return np.asarray(mine == theirs, dtype=bool)
    return np.asarray(np.isclose(mine, theirs, rtol=1e-12, atol=0.0, equal_nan=True))


def _widened(setting: str, applies_to: frozenset[str]) -> bool:
    return setting in applies_to or all(name in applies_to for name in _axes_of(setting))


def _settings_axes(resolver: Resolver, settings: list[str], given: Field) -> dict[str, float | str]:
    """The label of every axis that is a setting at which the rate was measured; a problem for each one left open."""
    stated = resolver.grid.measured.measured_at
    fixed: dict[str, float | str] = {}
    for setting in settings:
        for name in _axes_of(setting):
            if name in stated:
                fixed[name] = stated[name]
            elif name in resolver.space.labels and name not in given.dims:
                labels = resolver.space.labels[name]
                if len(labels) == 1:
                    fixed[name] = labels[0]
                elif name == "instance" and len(resolver.fields["gpu"].unique) == 1:
                    continue
                else:
                    resolver.problem(
                        f"{name} is an axis, and lambda_instance_given does not say at which one it was measured: "
                        f"add measured_at: {{{name}: ...}} or applies_to: {{{setting}: any}}",
                        name,
                    )
    return fixed


def _anchor_grid(grid: Grid, fixed: Mapping[str, float | str]) -> Grid:
    """The same contract at the measured setting: nominal, setting axes fixed, planned by replica-seconds."""
    axes = tuple(axis for axis in grid.axes if axis.name not in fixed and axis.name != "capacity_model")
    stated = {name: Given(value, "measurement", "measured_at") for name, value in fixed.items() if name != "workload"}
    stated["capacity_model"] = Given("replica_seconds", "policy", "anchor of a measured rate")
    workloads = grid.workloads
    if "workload" in fixed:
        workloads = tuple(replace(item, name="") for item in workloads if item.name == fixed["workload"])
    workloads = tuple(
        replace(item, given={k: v for k, v in item.given.items() if k not in stated}) for item in workloads
    )
    given = {**{k: v for k, v in grid.given.items() if k not in stated}, **stated}
    at = {"axes": axes, "given": given, "workloads": workloads, "scenarios": (), "measured": Measured()}
    return replace(grid, **at, shifts={}, samples=0)  # type: ignore[arg-type]


def _analytical(anchor: Inputs) -> Field:
    steps = chain.needed(anchor.steps, ["lambda_analytical"])
    values = chain.evaluate(steps, {name: item.data for name, item in anchor.values.items()})
    return Field(values["lambda_analytical"], chain.propagate(steps, anchor.dims)["lambda_analytical"])


def _lift(resolver: Resolver, anchor: Inputs, item: Field) -> Field:
    """A field of the anchor's space as one of the cube's, by the names of its dimensions."""
    extra = item.data.ndim - len(anchor.space.names)
    names = anchor.space.names
    shape = [1] * len(resolver.space.names) + list(item.data.shape[item.data.ndim - extra :] if extra else ())
    for axis, name in enumerate(names):
        shape[resolver.space.names.index(name)] = item.data.shape[axis]
    order = sorted(range(len(names)), key=lambda axis: resolver.space.names.index(names[axis]))
    moved = item.data.transpose([*order, *range(len(names), item.data.ndim)])
    return Field(moved.reshape(shape), item.dims)
