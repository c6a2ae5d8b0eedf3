"""Rules about labels that must agree: instance and GPU, values by label, overrides of catalog values."""

from __future__ import annotations

from collections.abc import Iterator

from gridplan.contract.context import Context
from gridplan.contract.grid import By, Place, Scalar
from gridplan.contract.lookup import gpus_of, labels_of, stated
from gridplan.dictionary import dictionary

__all__ = ["GPU_VALUES", "MODEL_VALUES", "check_labels"]

GPU_VALUES = ("gpu_memory_bytes", "memory_bandwidth_bytes_per_s", "peak_flops", "machine_intensity")
"""Values of a GPU that the catalog has: one number for several GPUs would be wrong for all but one."""
MODEL_VALUES = (
    *("weights_bytes", "weights_read_bytes", "params_total", "params_active", "params_embedding"),
    "params_vision",
    "kv_bytes_per_token_given",
)
"""The same for a model."""
_SHOWN = 4


def check_labels(context: Context) -> None:
    """All rules of this module."""
    _instance_fixes_gpu(context)
    _scenarios_keep_hardware(context)
    gpus, models = gpus_of(context.grid, context.labels), labels_of(context.grid, "model")
    for name in GPU_VALUES:
        _one_value_over_many(context, name, "gpu", ("gpu", "instance"), list(gpus))
    for name in MODEL_VALUES:
        _one_value_over_many(context, name, "model", ("model",), list(models))
    for name, value, place in _by_values(context):
        _covers_labels(context, name, value, place)


def _instance_fixes_gpu(context: Context) -> None:
    if "gpu" in context.axes and "instance" in context.axes:
        message = f"gpu comes from the instance, which is an axis (line {context.axes['instance'].line}); leave gpu out"
        context.problems.at(context.axes["gpu"], message)
        return
    gpus = labels_of(context.grid, "gpu", with_scenarios=False)
    if not gpus:
        return
    wrong = {
        str(instance): gpu
        for instance in labels_of(context.grid, "instance")
        if (gpu := context.labels.gpu_of(str(instance))) is not None and any(gpu != label for label in gpus)
    }
    if wrong:
        listed = ", ".join(f"{instance} has {gpu}" for instance, gpu in wrong.items())
        message = (
            f"gpu {_listed(list(gpus))} contradicts the instance: {listed}. An instance fixes its GPU; leave gpu out"
        )
        context.problems.at(next(iter(gpus.values())), message)


def _scenarios_keep_hardware(context: Context) -> None:
    if not context.is_stated("instance"):
        return
    for scenario in context.grid.scenarios:
        for name in ("gpu", "instance"):
            change = scenario.changes.get(name)
            if change is not None and name not in context.axes:
                line = context.line_of("instance")
                message = f"scenario {scenario.name} may not change {name}: the instance of {line} fixes it"
                context.problems.at(change.place, message)


def _one_value_over_many(
    context: Context, name: str, what: str, dimensions: tuple[str, ...], labels: list[Scalar]
) -> None:
    if len(labels) < 2 or name in context.axes:
        return
    for value, place in _set_values(context, name):
        if not (isinstance(value, By) and value.dimension in dimensions):
            message = f"{name} is one value for {len(labels)} {what}s ({_listed(labels)}); write {{by: {what}, ...}}"
            context.problems.at(place, message)


def _set_values(context: Context, name: str) -> Iterator[tuple[Scalar | By, Place | None]]:
    """Base values of an input and the values that scenarios set."""
    yield from ((given.value, given.place) for given in stated(context.grid, name))
    for scenario in context.grid.scenarios:
        change = scenario.changes.get(name)
        if change is not None and change.op == "set":
            yield change.value, change.place


def _by_values(context: Context) -> Iterator[tuple[str, By, Place | None]]:
    grid = context.grid
    for given in (grid.given, *(workload.given for workload in grid.workloads)):
        yield from ((name, item.value, item.place) for name, item in given.items() if isinstance(item.value, By))
    for scenario in grid.scenarios:
        changes = scenario.changes.items()
        yield from ((name, item.value, item.place) for name, item in changes if isinstance(item.value, By))


def _covers_labels(context: Context, name: str, value: By, place: Place | None) -> None:
    """A value for every label that the dimension has here, and no circle of inputs that differ by each other."""
    if _circular(context, name, value.dimension):
        context.problems.at(place, f"{name} differs by {value.dimension}, which differs by {name} in turn")
        return
    labels = _dimension_labels(context, value.dimension)
    if not labels and value.dimension in ("gpu", "model", "instance"):
        if not context.is_stated(value.dimension):
            context.problems.at(
                place, f"{name} differs by {value.dimension}, but the contract names no {value.dimension}"
            )
        return
    missing = [label for label in labels if label not in value.values]
    # A measured rate may be known for some labels only: the others are scaled from it.
    if missing and value.default is None and name != "lambda_instance_given":
        context.problems.at(place, f"{name} has no value for {value.dimension} {_listed(missing)}; add it or a default")


def _circular(context: Context, name: str, dimension: str) -> bool:
    seen = {name}
    while dimension not in seen:
        seen.add(dimension)
        onward = [given.value.dimension for given in stated(context.grid, dimension) if isinstance(given.value, By)]
        if not onward:
            return False
        dimension = onward[0]
    return dimension == name


def _dimension_labels(context: Context, dimension: str) -> list[Scalar]:
    if dimension == "workload":
        return [workload.name for workload in context.grid.workloads]
    if dimension == "gpu":
        return list(gpus_of(context.grid, context.labels))
    found = list(labels_of(context.grid, dimension))
    row = dictionary()[dimension]
    if not context.is_stated(dimension) and row.default in row.labels:
        found.append(row.default)
    return found


def _listed(labels: list[Scalar]) -> str:
    shown = ", ".join(str(label) for label in labels[:_SHOWN])
    return shown if len(labels) <= _SHOWN else f"{shown} and {len(labels) - _SHOWN} more"
