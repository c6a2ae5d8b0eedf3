"""The second half of the plan as SQL expressions, which Polars and DuckDB both read, and the table they start from.

The capacity of a replica (all that depends on neither the utilisation target nor the arrival rate) is taken ready-made
from gridplan: 1,440 rows that cost the data frames nothing. Fleet, planned point and bill are theirs to compute, with
the same guarded ceilings and the same nulls.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from stretched import COMPARED, stretched

from gridplan import chain
from gridplan.chain import Array
from gridplan.engine.columns import Plan, column_arrays, plan_columns
from gridplan.engine.inputs import Inputs, build_inputs
from gridplan.store.arrow import ARROW_TYPES
from gridplan.store.cells import CellValues
from gridplan.store.columns import Column

__all__ = ["LAYERS", "Tables", "tables"]

_HIDDEN = ("prefill_work_s", "decode_work_s", "prefill_latency_s", "usd_per_node_hour", "gpus_per_node")
_EXPERTS = ("step_fixed_s", "step_experts_s")
_SETTINGS = ("redundancy", "hours_per_month", "peak_to_average")
_OUTER = ("rho_target", "arrival_rate")


def _ceil(x: str) -> str:
    """The guarded ceiling of gridplan.rounding, for values that are not negative."""
    return f"(ceil({x} - least({x} * 1e-14, 0.49)) + 0.0)"


def _floor(x: str) -> str:
    return f"(floor({x} + least({x} * 1e-14, 0.49)) + 0.0)"


def _whole(x: str) -> str:
    return f"CAST({x} AS BIGINT)"


_ROUNDS = 12
"""Newton steps to the batch at which a replica settles, as many as gridplan takes."""


def _settle(number: int) -> Mapping[str, str]:
    """One step on n = y t_w(n) / (1 - busy), where t_w grows with the experts that n sequences touch."""
    each = "(planned * output_tokens_mean / (1.0 - busy))"
    if number == 0:
        return {"n0": f"CASE WHEN busy < 1 THEN {each} * (step_fixed_s + step_experts_s) END"}
    n = f"n{number - 1}"
    made = f"{each} * (step_fixed_s + step_experts_s * (1.0 - exp({n} * log_miss)))"
    fall = f"(1.0 + {each} * step_experts_s * log_miss * exp({n} * log_miss))"
    return {f"n{number}": f"CASE WHEN busy < 1 THEN {n} - ({n} - {made}) / {fall} END"}


LAYERS: tuple[Mapping[str, str], ...] = (
    {
        "lambda_safe": "rho_target * lambda_instance",
        "arrival_rate_average": "arrival_rate / peak_to_average",
        "prefill_demand": "arrival_rate * CASE WHEN lambda_instance IS NOT NULL THEN prefill_work_s END",
        "decode_demand": "arrival_rate * CASE WHEN lambda_instance IS NOT NULL THEN decode_work_s END",
        "per_node": f"greatest({_floor('gpus_per_node / gpus_per_replica')}, 1.0)",
        "nodes_each": _ceil("gpus_per_replica / gpus_per_node"),
    },
    {
        "replicas_fractional": "arrival_rate / lambda_safe",
        "requests_per_month": "arrival_rate_average * (hours_per_month * 3600.0)",
    },
    {
        "active": _ceil("replicas_fractional"),
        "output_tokens_per_month": "requests_per_month * output_tokens_mean",
    },
    {
        "needed": "active + redundancy",
        "planned": "arrival_rate / active",
    },
    {
        "node_count": f"{_ceil('(needed / per_node)')} * nodes_each",
        "busy": "planned * request_work_s",
        "output_tokens_per_s_replica": "planned * output_tokens_mean",
        "utilization_peak": "arrival_rate / (active * lambda_instance)",
        "utilization_safe": "arrival_rate / (active * lambda_safe)",
        "burst_to_slo": "active * lambda_instance / arrival_rate",
    },
    {
        "deployed": f"{_floor('(node_count / nodes_each)')} * per_node",
        "held": "node_count * gpus_per_node",
        "usd_per_hour": "node_count * usd_per_node_hour",
    },
    *(_settle(number) for number in range(_ROUNDS + 1)),
    {
        "tpot_s": "CASE WHEN busy < 1 THEN (step_fixed_s + step_experts_s * (1.0 - exp(greatest("
        f"n{_ROUNDS}, 1.0) * log_miss))) / (1.0 - busy) END",
    },
    {
        "safe_rate": "deployed * lambda_safe",
        "edge_rate": "deployed * lambda_instance",
        "stranded": "held - deployed * gpus_per_replica",
        "batch_mean": "planned * output_tokens_mean * tpot_s",
        "e2e_latency_used_s": "prefill_latency_s + output_tokens_mean * tpot_s",
        "usd_per_month": "usd_per_hour * hours_per_month",
    },
    {
        "replicas_active": _whole("active"),
        "replicas": _whole("needed"),
        "gpus": _whole("needed * gpus_per_replica"),
        "nodes": _whole("node_count"),
        "gpus_deployed": _whole("held"),
        "gpus_stranded": _whole("stranded"),
        "replicas_deployed": _whole("deployed"),
        "replicas_after_loss": _whole("deployed"),
        "fleet_sufficient": "needed <= deployed",
        "utilization_deployed": "arrival_rate / edge_rate",
        "utilization_deployed_safe": "arrival_rate / safe_rate",
        "arrival_rate_safe_deployed": "safe_rate",
        "arrival_rate_safe_after_loss": "safe_rate",
        "headroom_kept_after_loss": "arrival_rate <= safe_rate * (1.0 + 1e-12)",
        "slo_held_after_loss": "arrival_rate <= edge_rate * (1.0 + 1e-12)",
        "arrival_rate_next_step": "greatest(deployed - redundancy, 0.0) * lambda_safe",
        "in_flight": "arrival_rate * e2e_latency_used_s",
        "usd_per_day": "usd_per_hour * 24.0",
        "usd_per_request": "usd_per_month / requests_per_month",
    },
    {
        "usd_per_mtok_output": "usd_per_request * (1e6 / output_tokens_mean)",
        "usd_per_mtok_input": "usd_per_request * (1e6 / prompt_tokens_mean)",
        "usd_per_mtok_total": "usd_per_request * (1e6 / context_tokens_mean)",
    },
)
"""Columns by layer: those of a layer read the tables and earlier layers only. Loss of nothing and no nodes bought
beforehand, as in the quickstart; spares are GPUs."""


@dataclass(frozen=True)
class Tables:
    """`capacity` has a row per replica choice, `outer` the labels of the two axes to cross with; `columns` in order."""

    capacity: pa.Table
    outer: Mapping[str, tuple[float, ...]]
    columns: tuple[str, ...]

    @property
    def rows(self) -> int:
        """Rows of the crossed table."""
        return math.prod([self.capacity.num_rows, *map(len, self.outer.values())])


def tables(cells: float) -> Tables:
    """What the data frames start from, for the quickstart of about `cells` cells."""
    inputs = build_inputs(stretched(cells))
    plan = plan_columns(inputs, COMPARED)
    own = [column for column in plan.layout.columns if not set(column.dims) & set(_OUTER) and column.name != "instance"]
    made = {name for layer in LAYERS for name in layer} | set(_OUTER) | {"instance"}
    own = [column for column in own if column.name not in made]
    values = _values(inputs, plan, own)
    rows = {column.name: _column(plan, column, values) for column in own}
    shape = _shape(plan)
    for name in (*_HIDDEN, *_EXPERTS, *_SETTINGS):
        rows[name] = pa.array(np.broadcast_to(values[name], shape).ravel())
    miss = np.log1p(-inputs.values["experts_per_token"].data / inputs.values["num_experts"].data)
    rows["log_miss"] = pa.array(np.broadcast_to(np.nan_to_num(miss), shape).ravel())
    rows["instance"] = pa.array([None] * int(np.prod(shape)), pa.string())
    outer = {
        axis.name: tuple(float(label) for label in axis.labels) for axis in plan.layout.axes if axis.name in _OUTER
    }
    return Tables(pa.table(rows), outer, tuple(column.name for column in plan.layout.columns))


def _shape(plan: Plan) -> tuple[int, ...]:
    """The cube with one label on the axes that the data frames cross with."""
    return tuple(1 if axis.name in _OUTER else len(axis.labels) for axis in plan.layout.axes)


def _values(inputs: Inputs, plan: Plan, own: list[Column]) -> dict[str, Array]:
    """Arrays of the columns that need neither outer axis, and of the inputs that only the expressions read."""
    sources = [plan.source[column.name] for column in own if column.name in plan.source]
    hidden = [name for name in (*_HIDDEN, *_EXPERTS) if name not in inputs.values]
    steps = chain.needed(inputs.steps, (*sources, *hidden))
    values: dict[str, Array] = {name: item.data for name, item in inputs.values.items()}
    chain.evaluate(steps, values)
    small = Plan(
        plan.layout, steps, {c.name: plan.source[c.name] for c in own if c.name in plan.source}, {}, plan.tie_table
    )
    constants = {name: item.data for name, item in plan.constants.items()}
    return {
        **{name: values[name] for name in (*_HIDDEN, *_EXPERTS, *_SETTINGS)},
        **column_arrays(small, values, constants),
    }


def _column(plan: Plan, column: Column, values: Mapping[str, Array]) -> Any:
    """One column of the capacity table, as its file holds it."""
    found, valid = CellValues(plan.layout).of(column, plan.layout.block, values)
    shape = _shape(plan)
    flat = np.broadcast_to(found, shape).ravel()
    mask = None if valid is None else ~np.broadcast_to(valid, shape).ravel()
    if column.dtype != "string":
        return pa.array(flat, ARROW_TYPES[column.dtype], mask=mask)
    codes = pa.array(flat, pa.int32(), mask=mask)
    return pa.DictionaryArray.from_arrays(codes, pa.array(column.categories, pa.string()))
