"""Classes of requests as arrays: one more axis, last, over the classes of a workload.

Where a workload has no classes there is one, whose lengths are the inputs `prompt_tokens` and `output_tokens`, or
`context_tokens`, which keeps the output and leaves the rest to the prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from gridplan.contract.grid import Change, TrafficClass
from gridplan.engine.field import Field
from gridplan.engine.resolve import Origin, Resolver

__all__ = ["CLASS_FIELDS", "resolve_classes"]

CLASS_FIELDS = ("weight", "prompt_tokens", "output_tokens")
_LENGTHS = ("prompt_tokens", "output_tokens", "context_tokens")
_WEIGHT_TOLERANCE = 1e-9


def resolve_classes(resolver: Resolver) -> dict[str, Field]:
    """`class_weight`, `class_prompt_tokens` and `class_output_tokens`, with the class axis after those of the cube."""
    with_classes = [workload for workload in resolver.grid.workloads if workload.classes]
    if not with_classes:
        return _single_class(resolver)
    for name in _LENGTHS:
        if resolver.grid.axis(name) is not None:
            resolver.problem(f"{name} is an axis, but workload classes state their own lengths", name)
    return _many_classes(resolver)


def _single_class(resolver: Resolver) -> dict[str, Field]:
    prompt, output = resolver.resolve("prompt_tokens"), resolver.resolve("output_tokens")
    if resolver.is_given("context_tokens"):
        context = resolver.resolve("context_tokens")
        if not resolver.is_given("output_tokens"):
            resolver.problem(
                "context_tokens keeps the output and sets the prompt: output_tokens is needed", "output_tokens"
            )
        rest = Field(context.data - output.data, context.dims | output.dims)
        low = np.argwhere(rest.data <= 0)
        if low.size:
            pair = np.broadcast_arrays(context.data, output.data)
            shown = tuple(low[0])
            resolver.problem(
                f"context_tokens {pair[0][shown]:g} leaves no prompt beside output_tokens {pair[1][shown]:g}: "
                "context must be larger than output",
                "context_tokens",
            )
        filled = np.where(np.isnan(context.data), prompt.data, rest.data)
        prompt = Field(filled, rest.dims | prompt.dims)
        context_origin = resolver.origins["context_tokens"]
        resolver.origins["prompt_tokens"] = _derived(context_origin)
        resolver.fields["prompt_tokens"] = prompt
    weight = resolver.space.constant(1.0, np.float64)
    fields = zip(("class_weight", "class_prompt_tokens", "class_output_tokens"), (weight, prompt, output), strict=True)
    return {name: Field(field.data[..., np.newaxis], field.dims) for name, field in fields}


def _derived(origin: Callable[[Mapping[str, int]], Origin]) -> Callable[[Mapping[str, int]], Origin]:
    def of(index: Mapping[str, int]) -> Origin:
        found = origin(index)
        return Origin(found.cls, "context_tokens - output_tokens", found.as_of, found.provider)

    return of


def _many_classes(resolver: Resolver) -> dict[str, Field]:
    workloads, scenarios = resolver.grid.workloads, resolver.grid.scenarios or (None,)
    classes = {
        (w, s): _classes_of(resolver, workload.name, workload.classes, s)
        for w, workload in enumerate(workloads)
        for s in range(len(scenarios))
    }
    width = max(len(rows) for rows in classes.values())
    space = resolver.space
    changed = len(scenarios) > 1 and any(rows != classes[w, 0] for (w, _), rows in classes.items())
    dims = frozenset({"workload"} & set(space.labels)) | (frozenset({"scenario"}) if changed else frozenset())
    shape = [len(space.labels[name]) if name in dims else 1 for name in space.names]
    arrays = {name: np.zeros([*shape, width]) for name in CLASS_FIELDS}
    for (w, s), rows in classes.items():
        if s and not changed:
            continue
        place = tuple({"workload": w, "scenario": s}[name] if name in dims else 0 for name in space.names)
        for name in CLASS_FIELDS:
            arrays[name][place][: len(rows)] = [getattr(row, name) for row in rows]
    _note_means(resolver, arrays, dims)
    return {f"class_{name}": Field(array, dims) for name, array in arrays.items()}


def _note_means(resolver: Resolver, arrays: Mapping[str, np.ndarray], dims: frozenset[str]) -> None:
    """Lengths as inputs do not exist beside classes; what stands there is absent, not zero."""
    for name in ("prompt_tokens", "output_tokens"):
        resolver.fields[name] = Field(np.full(arrays[name].shape[:-1], np.nan), dims)
        resolver.origins[name] = lambda _: Origin("assumption", "workload classes")


def _classes_of(
    resolver: Resolver, workload: str, classes: tuple[TrafficClass, ...], scenario: int
) -> list[TrafficClass]:
    """Classes of one workload under one scenario."""
    if not classes:
        resolver.problem(f"workload {workload} has no classes while others have: give it one", "workloads")
        return [TrafficClass("", 1.0, np.nan, np.nan)]
    if not resolver.grid.scenarios:
        return list(classes)
    chosen = resolver.grid.scenarios[scenario]
    rows = []
    for row in classes:
        values = {name: float(getattr(row, name)) for name in CLASS_FIELDS}
        for name in ("prompt_tokens", "output_tokens"):
            if (change := chosen.changes.get(name)) is not None:
                values[name] = _apply(resolver, name, values[name], change, every=True)
        for name, change in chosen.classes.get(row.name, {}).items():
            values[name] = _apply(resolver, name, values[name], change, every=False)
        rows.append(TrafficClass(row.name, **values))
    total = sum(row.weight for row in rows)
    if abs(total - 1) > _WEIGHT_TOLERANCE:
        resolver.problem(
            f"class weights of scenario {chosen.name} sum to {total:.12g}, not 1", "scenarios", chosen.place
        )
    if any(row.prompt_tokens < 1 or row.output_tokens < 1 or row.weight <= 0 for row in rows):
        resolver.problem(f"scenario {chosen.name} leaves a class without weight or tokens", "scenarios", chosen.place)
    return rows


def _apply(resolver: Resolver, name: str, value: float, change: Change, every: bool) -> float:
    if not isinstance(change.value, (int, float)):
        resolver.problem(f"{name} of a class takes a number", name, change.place)
        return value
    if change.op == "multiply":
        return value * change.value
    if change.op == "add":
        return value + change.value
    if every:
        resolver.problem(f"{name} would be set alike for every class: name the class under classes", name, change.place)
    return float(change.value)
