"""Classes of requests as arrays: one more axis, last, over the classes of a workload.

Where a workload has no classes there is one, whose lengths are the inputs `prompt_tokens` and `output_tokens`, or
`context_tokens`, which keeps the output and leaves the rest to the prompt. A class whose lengths are random becomes
several, one for each pair of nodes; a scenario that changes its lengths changes every node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from gridplan.contract.grid import Change, Scenario, TrafficClass, Workload
from gridplan.engine.class_groups import limit_groups
from gridplan.engine.class_inputs import Owners, class_inputs, named
from gridplan.engine.field import Field
from gridplan.engine.lengths import LengthsError, Pairs, pairs_of, whole_tokens
from gridplan.engine.resolve import Origin, Resolver

__all__ = ["resolve_classes"]

_NONE = np.zeros((len(Pairs._fields), 0))
_LENGTHS = ("prompt_tokens", "output_tokens", "context_tokens")
_WEIGHT_TOLERANCE = 1e-9


def resolve_classes(resolver: Resolver) -> dict[str, Field]:
    """The arrays of classes, with the class axis after those of the cube.

    `class_weight`, `class_prompt_tokens`, `class_output_tokens`; the longest lengths that each stands for,
    `class_prompt_tokens_max`, `class_output_tokens_max`, and how far outputs differ within it,
    `class_output_tokens_scv`; and what holds for each class, its own or that of the contract: `class_prefix_hit_ratio`,
    `class_ttft_slo_s`, `class_ttft_slo_percentile` and so on. A workload with fewer classes than another has more of
    weight 0, with the lengths of its last one.
    """
    with_classes = [workload for workload in resolver.grid.workloads if workload.classes]
    if not with_classes:
        alone = [[0] for _ in resolver.grid.workloads]
        return {**_single_class(resolver), **class_inputs(resolver, alone), **limit_groups(resolver, alone)}
    for name in _LENGTHS:
        if resolver.grid.axis(name) is not None:
            resolver.problem(f"{name} is an axis, but workload classes state their own lengths", name)
    fields, owners = _many_classes(resolver)
    return {**fields, **class_inputs(resolver, owners), **limit_groups(resolver, owners)}


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
    known = resolver.space.constant(0.0, np.float64)
    fields = zip(Pairs._fields, (weight, prompt, output, prompt, output, known), strict=True)
    return _named({name: Field(field.data[..., np.newaxis], field.dims) for name, field in fields})


def _named(fields: Mapping[str, Field]) -> dict[str, Field]:
    """The arrays under the names that the chain reads; the deviation of outputs as their scv [1]."""
    output, spread = fields["output_tokens"], fields["output_tokens_deviation"]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(spread.data > 0, spread.data / output.data, 0.0)
    arrays = {f"class_{name}": item for name, item in fields.items() if name != "output_tokens_deviation"}
    return {**arrays, "class_output_tokens_scv": Field(share**2, output.dims | spread.dims)}


def _derived(origin: Callable[[Mapping[str, int]], Origin]) -> Callable[[Mapping[str, int]], Origin]:
    def of(index: Mapping[str, int]) -> Origin:
        found = origin(index)
        return Origin(found.cls, "context_tokens - output_tokens", found.as_of, found.provider)

    return of


def _many_classes(resolver: Resolver) -> tuple[dict[str, Field], Owners]:
    workloads, scenarios = resolver.grid.workloads, resolver.grid.scenarios or (None,)
    parts = [_parts(resolver, workload) for workload in workloads]
    rows = {
        (w, s): _rows(resolver, workload.classes, parts[w], scenario)
        for w, workload in enumerate(workloads)
        for s, scenario in enumerate(scenarios)
    }
    owners = [[k for k, part in enumerate(of_class) for _ in part.weight] for of_class in parts]
    width = max(map(len, owners))
    space = resolver.space
    changed = len(scenarios) > 1 and any(not np.array_equal(row, rows[w, 0]) for (w, _), row in rows.items())
    dims = frozenset({"workload"} & set(space.labels)) | (frozenset({"scenario"}) if changed else frozenset())
    shape = [len(space.labels[name]) if name in dims else 1 for name in space.names]
    arrays = {name: np.zeros([*shape, width]) for name in Pairs._fields}
    for (w, s), row in rows.items():
        if s and not changed:
            continue
        place = tuple({"workload": w, "scenario": s}[name] if name in dims else 0 for name in space.names)
        for name, values in zip(Pairs._fields, row, strict=True):
            arrays[name][place][: len(values)] = values
            if name != "weight":
                # Lengths of a class that does not occur are not looked at; those of another are legal everywhere.
                arrays[name][place][len(values) :] = values[-1:]
    _note_means(resolver, arrays["weight"].shape[:-1], dims)
    fields = {name: Field(array, dims) for name, array in arrays.items()}
    return _named(_shifted(resolver, fields)), owners


def _shifted(resolver: Resolver, fields: dict[str, Field]) -> dict[str, Field]:
    """Lengths after what a study does to them: every class alike, at least one token each."""
    found = dict(fields)
    for name in ("prompt_tokens", "output_tokens"):
        shift = resolver.grid.shifts.get(name)
        if shift is None:
            continue
        if shift.op != "multiply":
            resolver.problem(f"{name} differs by class: a study can multiply it only", name)
            continue
        factor = np.nan_to_num(shift.values, nan=1.0)[..., np.newaxis]
        varied = frozenset(at for axis, at in enumerate(resolver.space.names) if shift.values.shape[axis] > 1)
        spread = ("output_tokens_deviation",) if name == "output_tokens" else ()
        for key in (name, f"{name}_max", *spread):
            least = 0.0 if key in spread else 1.0
            moved = np.where(factor == 1.0, found[key].data, np.maximum(found[key].data * factor, least))
            found[key] = Field(moved, found[key].dims | varied)
    return found


def _note_means(resolver: Resolver, shape: tuple[int, ...], dims: frozenset[str]) -> None:
    """Lengths as inputs do not exist beside classes; what stands there is absent, not zero."""
    for name in ("prompt_tokens", "output_tokens"):
        resolver.fields[name] = Field(np.full(shape, np.nan), dims)
        resolver.origins[name] = lambda _: Origin("assumption", "workload classes")


def _parts(resolver: Resolver, workload: Workload) -> list[Pairs]:
    """The nodes of every class of a workload, before any scenario."""
    if not workload.classes:
        said = f"workload {workload.name} has no classes while others have (random lengths are classes): give it one"
        resolver.problem(said, "workloads", workload.place)
        return [Pairs(*(np.ones(1) for _ in Pairs._fields))]
    found = []
    for item in workload.classes:
        try:
            found.append(pairs_of(item))
        except LengthsError as error:
            resolver.problem(f"{named(item)}{error}", "classes", error.place)
            found.append(Pairs(*(np.ones(1) for _ in Pairs._fields)))
    return found


def _rows(
    resolver: Resolver, classes: tuple[TrafficClass, ...], parts: list[Pairs], scenario: Scenario | None
) -> np.ndarray:
    """The nodes of all classes of one workload under one scenario: a row for each field of `Pairs`."""
    weights, changed = [], []
    for item, part in zip(classes, parts, strict=False):
        weight, moved = item.weight, part
        for name, change, every in _changes(item, scenario):
            if name == "weight":
                weight = float(_apply(resolver, name, np.array(weight), change))
            else:
                if every and change.op == "set" and item.name:
                    said = f"{name} would be set alike for every class: name the class under classes"
                    resolver.problem(said, name, change.place)
                lengths = {key: _apply(resolver, name, getattr(moved, key), change) for key in (name, f"{name}_max")}
                moved = moved._replace(**lengths)
                if name == "output_tokens" and change.op != "add":
                    spread = moved.output_tokens_deviation
                    left = _apply(resolver, name, spread, change) if change.op == "multiply" else 0.0 * spread
                    moved = moved._replace(output_tokens_deviation=left)
        weights.append(weight)
        changed.append(moved)
    if scenario is not None:
        _check_changed(resolver, scenario, weights, changed)
    kept = [part._replace(weight=weight * part.weight) for weight, part in zip(weights, changed, strict=True)]
    return np.array([np.concatenate(row) for row in zip(*map(whole_tokens, kept), strict=True)]) if kept else _NONE


def _changes(item: TrafficClass, scenario: Scenario | None) -> Iterator[tuple[str, Change, bool]]:
    """What a scenario does to the weight and the lengths of a class, and whether it does so to every class."""
    if scenario is None:
        return
    for name in ("prompt_tokens", "output_tokens"):
        if (change := scenario.changes.get(name)) is not None:
            yield name, change, True
    for name, change in scenario.classes.get(item.name, {}).items():
        if name in ("weight", "prompt_tokens", "output_tokens"):
            yield name, change, False


def _check_changed(resolver: Resolver, scenario: Scenario, weights: list[float], parts: list[Pairs]) -> None:
    total = sum(weights)
    if abs(total - 1) > _WEIGHT_TOLERANCE:
        said = f"class weights of scenario {scenario.name} sum to {total:.12g}, not 1"
        resolver.problem(said, "scenarios", scenario.place)
    means = [np.sum(part.weight * length) for part in parts for length in (part.prompt_tokens, part.output_tokens)]
    if min(means, default=1.0) < 1 - _WEIGHT_TOLERANCE or min(weights, default=1.0) <= 0:
        said = f"scenario {scenario.name} leaves a class without weight or tokens"
        resolver.problem(said, "scenarios", scenario.place)


def _apply(resolver: Resolver, name: str, value: np.ndarray, change: Change) -> np.ndarray:
    if not isinstance(change.value, (int, float)):
        resolver.problem(f"{name} of a class takes a number", name, change.place)
        return value
    if change.op == "multiply":
        return np.asarray(value * change.value)
    return np.asarray(value + change.value) if change.op == "add" else np.full_like(value, change.value)
