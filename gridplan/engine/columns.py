"""Which columns a cube has: labels and overridden inputs as coordinates, then the measures of the dictionary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from gridplan import chain
from gridplan.chain.codes import choices
from gridplan.chain.graph import Array
from gridplan.contract.grid import By, Grid
from gridplan.contract.margins import MARGINS
from gridplan.dictionary import DEFAULT, all_measures, dictionary, measures
from gridplan.engine.bundle import Inputs
from gridplan.engine.field import Field, Space
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.store.columns import AxisSpec, Column, dictionary_meta
from gridplan.store.layout import Layout, make_layout

__all__ = ["CHAIN_NAMES", "Plan", "asked", "column_array", "column_arrays", "named_outputs", "plan_columns"]

_LIMITS = (*chain.LIMITS, "balanced")
_TIES = tuple("+".join(group) for size in range(1, len(chain.LIMITS) + 1) for group in combinations(chain.LIMITS, size))
_LABEL_COORDS = ("instance", "gpu", "model", "engine", "weight_dtype", "kv_dtype", "capacity_model")
_PASSED = ("gpu_memory_source", "priced_by", "price_as_of", "price_kind")

_VOCABULARY: Mapping[str, tuple[str, ...]] = {
    "status": ("ok", "infeasible"),
    "binding_constraint": _LIMITS,
    "binding_ties": _TIES,
    "binding_next": _LIMITS,
    "slo_basis": ("mean", "percentile"),
    "capacity_source": choices("capacity_source"),
    "lambda_basis": choices("lambda_basis"),
    "infeasible_reason": choices("infeasible_reason"),
    "fleet_constraint": choices("fleet_constraint"),
    "capacity_flag": choices("capacity_flag"),
    "latency_flag": choices("latency_flag"),
    "latency_source": choices("latency_source"),
    "api_verdict": choices("api_verdict"),
    "api_verdict_released": choices("api_verdict_released"),
    "price_flag": choices("price_flag"),
}
"""Labels of each text measure that the chain computes, in the order of its codes."""

CHAIN_NAMES: Mapping[str, str] = {
    **{name: f"{name}_code" for name in _VOCABULARY},
    "infeasible_reason": "plan_reason_code",
}
"""Names under which the chain computes the text measures; all other measures keep theirs."""


@dataclass(frozen=True)
class Plan:
    """What to compute and how to lay it out.

    `steps` are the chain's steps that `layout` needs, `source` maps each column to the chain's array behind it,
    `constants` are columns that need no computing (labels and overridden inputs), on their own dimensions.
    """

    layout: Layout
    steps: tuple[chain.Step, ...]
    source: Mapping[str, str]
    constants: Mapping[str, Field]
    tie_table: np.ndarray


def column_arrays(plan: Plan, values: Mapping[str, Array], constants: Mapping[str, Array]) -> dict[str, Array]:
    """The chain's arrays under the names of the columns."""
    return {**constants, **{name: column_array(plan, name, values[source]) for name, source in plan.source.items()}}


def column_array(plan: Plan, name: str, array: Array) -> Array:
    """The chain's array behind column `name` as that column holds it."""
    array = np.asarray(array)
    return np.where(array < 0, -1, plan.tie_table[np.maximum(array, 0)]) if name == "binding_ties" else array


def named_outputs(outputs: Iterable[str] | None) -> list[str] | None:
    """`outputs` as a list of names; a single name needs no list around it, `default` stands for its names.

    A planned rate is never alone: what kind of number it is a share of stands beside it.
    """
    if outputs is None:
        return None
    stated = [outputs] if isinstance(outputs, str) else list(outputs)
    names = [name for item in stated for name in (measures() if item == DEFAULT else (item,))]
    return [*names, "lambda_basis"] if "lambda_safe" in names and "lambda_basis" not in names else names


def asked(grid: Grid, outputs: Iterable[str] | None) -> list[str] | None:
    """The measures that are asked for: `outputs`, else those that the contract names; None for those of every cube."""
    return named_outputs((grid.outputs or None) if outputs is None else outputs)


def plan_columns(inputs: Inputs, outputs: Iterable[str] | None = None) -> Plan:
    """The columns of a cube and the steps they need; `outputs` chooses the measures (those of every cube by default).

    Raises
    ------
    ContractError
        If an output is not a measure, with the nearest names.
    """
    chosen = named_outputs(outputs)
    wanted = tuple(measures() if chosen is None else chosen)
    known = all_measures()
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ContractError([Problem(f"{name} is not a measure{suggestion(name, known)}") for name in unknown])
    wanted = tuple(name for name in known if name in wanted)
    computed = {name: CHAIN_NAMES.get(name, name) for name in wanted if name not in _PASSED}
    steps = chain.needed(inputs.steps, computed.values())
    dims = chain.propagate(steps, inputs.dims)
    constants = {**_coordinates(inputs), **{name: inputs.labels[name] for name in wanted if name in _PASSED}}
    coords, encoded = [], {}
    for name, item in constants.items():
        column, encoded[name] = _constant_column(inputs.space, name, item)
        coords.append(column)
    columns = [*coords, *(_measure_column(inputs.space, name, dims[source]) for name, source in computed.items())]
    position = {name: order for order, name in enumerate(wanted)}
    columns.sort(key=lambda column: (column.role == "measure", position.get(column.name, -1)))
    layout = make_layout(_axes(inputs.space), columns)
    return Plan(layout, steps, computed, encoded, _tie_table())


@lru_cache(maxsize=1)
def _tie_table() -> np.ndarray:
    """Code of `binding_ties` for each bit mask of limits; read-only."""
    table = np.full(1 << len(chain.LIMITS), -1)
    for mask in range(1, len(table)):
        table[mask] = _TIES.index("+".join(name for bit, name in enumerate(chain.LIMITS) if mask >> bit & 1))
    table.flags.writeable = False
    return table


def _axes(space: Space) -> list[AxisSpec]:
    return [
        AxisSpec(name, labels, bool(labels) and isinstance(labels[0], str), dictionary()[name].unit)
        for name, labels in space.labels.items()
    ]


def _ordered(space: Space, dims: frozenset[str]) -> tuple[str, ...]:
    return tuple(name for name in space.names if name in dims)


def _measure_column(space: Space, name: str, dims: frozenset[str]) -> Column:
    row = dictionary()[name]
    dtype = row.dtype if row.dtype in ("string", "int64", "bool") else "float64"
    return Column(name, "measure", dtype, _ordered(space, dims), _VOCABULARY.get(name, ()), dictionary_meta(name))  # type: ignore[arg-type]


def _coordinates(inputs: Inputs) -> dict[str, Field]:
    """Labels that are not axes, values per label, and inputs that a scenario changes (`<axis>_effective` for axes)."""
    found = {name: inputs.labels[name] for name in _LABEL_COORDS if name not in inputs.space.labels}
    if "scenario" not in inputs.space.labels:
        # In every cube, so that the tables of two grids stack.
        found["scenario"] = inputs.space.constant("nominal", object)
    for name in _per_label(inputs.grid):
        if name not in inputs.space.labels and name in inputs.values:
            found[name] = inputs.values[name]
    for name in _changed(inputs.grid):
        item = inputs.values.get(name) or inputs.labels.get(name) or inputs.stated.get(name)
        if item is not None and _says_something(item):
            found[f"{name}_effective" if name in inputs.space.labels else name] = item
    if "rho_target" not in inputs.space.labels and any(inputs.values[name].dims for name in MARGINS):
        found["rho_target"] = inputs.values["rho_target"]  # no axis and no scenario shows what the margins make of it
    return found


def _says_something(item: Field) -> bool:
    """Whether any cell has a value; lengths beside classes have none."""
    return item.data.dtype == object or not bool(np.isnan(item.data).all())


def _per_label(grid: Grid) -> list[str]:
    return [name for name, given in grid.given.items() if isinstance(given.value, By)]


def _changed(grid: Grid) -> list[str]:
    return sorted({name for scenario in grid.scenarios for name in scenario.changes})


def _constant_column(space: Space, name: str, item: Field) -> tuple[Column, Field]:
    """A column of labels or numbers that is known before anything is computed, and its codes or values."""
    role = "measure" if name in _PASSED else "coord"
    base = name.removesuffix("_effective")
    meta = dict(dictionary_meta(base))
    if base != name:
        meta["long_name"] = f"{meta['long_name']} after the scenario's change"
    dims = _ordered(space, item.dims)
    if item.data.dtype != object:
        dtype = "int64" if dictionary()[base].dtype == "int64" else "float64"
        return Column(name, role, dtype, dims, (), meta), item  # type: ignore[arg-type]
    labels = [label for label in item.unique if label is not None]
    place = {label: code for code, label in enumerate(labels)}
    codes = np.array([place.get(label, -1) for label in item.data.ravel()], dtype=np.int32).reshape(item.data.shape)
    return Column(name, role, "string", dims, tuple(labels), meta), Field(codes, item.dims)  # type: ignore[arg-type]
