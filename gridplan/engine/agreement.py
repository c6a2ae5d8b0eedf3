"""Stated values that contradict each other, and values that a scenario takes out of bounds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridplan.chain.codes import code
from gridplan.contract.bounds import bounds_of
from gridplan.contract.grid import By
from gridplan.dictionary import dictionary
from gridplan.engine.anchor import MEASURED_SETTINGS
from gridplan.engine.api_prices import check_api_prices
from gridplan.engine.budget import BUDGET_TERMS
from gridplan.engine.field import Field
from gridplan.engine.needs import has_values
from gridplan.engine.resolve import Resolver
from gridplan.errors import suggestion

__all__ = ["check_agreement", "check_bounds"]

_BYTES_OF_FORMAT = {
    "weights_bytes": "weight_dtype",
    "weights_read_bytes": "weight_dtype",
    "kv_bytes_per_token_given": "kv_dtype",
}
"""Bytes that depend on a number format."""

_SUM = ("gpu_memory_bytes", "gpu_memory_utilization", "weights_bytes")

SUM_SLACK_BYTES = 0.05 * 2**30
"""What terms printed with two decimals of a GiB may miss their sum by (policy: half a hundredth each)."""


def check_agreement(resolver: Resolver, values: Mapping[str, Field], labels: Mapping[str, Field]) -> None:
    """Note stated values that contradict each other, or that one number cannot be for every label of the grid."""
    if (has_values(values, "kv_pool_bytes_given") & has_values(values, "kv_pool_tokens_given")).any():
        resolver.problem("kv_pool_bytes_given and kv_pool_tokens_given are two pools: give one", "kv_pool_tokens_given")
    total = ~np.isnan(resolver.peek("workspace_bytes").data)
    for name in BUDGET_TERMS:
        if (total & ~np.isnan(resolver.peek(name).data)).any():
            resolver.problem(f"workspace_bytes is the sum of {', '.join(BUDGET_TERMS)}: give it or its terms", name)
    check_api_prices(resolver, values)
    _check_sum(resolver, values)
    _check_size(resolver, values)
    for name, dtype in _BYTES_OF_FORMAT.items():
        given = resolver.grid.given.get(name)
        if given is not None and not isinstance(given.value, By) and len(labels[dtype].unique) > 1:
            resolver.problem(f"one {name} cannot be that of several {dtype}: write it {{by: {dtype}, ...}}", name)
    matmul = values["flop_params_code"].data == code("flop_params", "matmul")
    left = values["params_active"].data - values["params_embedding"].data - values["params_lm_head"].data
    if (matmul & (left <= 0)).any():
        resolver.problem("params_active leaves nothing to multiply beside embedding and lm_head", "flop_params")
    basis = values["e2e_latency_basis_code"].data == code("e2e_latency_basis", "slo")
    if (basis & ~has_values(values, "e2e_slo_s")).any():
        resolver.problem(
            "e2e_latency_basis slo takes the E2E limit as the latency, and there is none", "e2e_latency_basis"
        )
    for name in resolver.grid.measured.measured_at:
        if name not in MEASURED_SETTINGS:
            near = suggestion(name, MEASURED_SETTINGS)
            resolver.problem(f"{name} is not a setting that a measurement belongs to{near}", "measured_at")


def _check_sum(resolver: Resolver, values: Mapping[str, Field]) -> None:
    """A measured pool beside stated terms that leave another one: one of the figures is wrong."""
    stated = all(resolver.is_given(name) for name in (*_SUM, "kv_pool_bytes_given"))
    engine_terms = ("non_torch_bytes", "activation_bytes")
    if not stated or not (
        resolver.is_given("workspace_bytes") or all(resolver.is_given(name) for name in engine_terms)
    ):
        return
    ranks = values["tensor_parallel"].data * values["pipeline_parallel"].data
    if (ranks * values["data_parallel"].data > 1).any() or (values["fraction_of_free"].data == 1).any():
        return  # a rank's weights are not known from the whole model's
    total, fraction, weights = (values[name].data for name in _SUM)
    left = total * fraction - weights - values["workspace_bytes"].data
    apart = np.abs(left - values["kv_pool_bytes_given"].data)
    if (apart > SUM_SLACK_BYTES).any():
        worst = np.unravel_index(np.nanargmax(apart), apart.shape)
        gib = [
            float(np.broadcast_to(x, apart.shape)[worst]) / 2**30 for x in (left, values["kv_pool_bytes_given"].data)
        ]
        resolver.problem(
            f"the terms of the budget leave {gib[0]:,.2f} GiB, not the {gib[1]:,.2f} GiB that are given: "
            "one of them is wrong, or of another start",
            "kv_pool_bytes_given",
        )


def _check_size(resolver: Resolver, values: Mapping[str, Field]) -> None:
    """A measured pool that is larger than the memory of its GPU is of another GPU, or of several."""
    of_rank = values["kv_pool_tokens_given"].data / values["data_parallel"].data * values["kv_any_token_bytes"].data
    pools = {
        "kv_pool_bytes_given": values["kv_pool_bytes_given"].data,
        "kv_pool_tokens_given": np.where(values["kv_uniform"].data == 1, of_rank, np.nan),
    }
    size = values["gpu_memory_bytes"].data
    for name, pool in pools.items():
        larger = pool > size
        if larger.any():
            worst = np.unravel_index(np.argmax(larger), larger.shape)
            gib = [float(np.broadcast_to(x, larger.shape)[worst]) / 2**30 for x in (pool, size)]
            resolver.problem(
                f"a pool of {gib[0]:,.2f} GiB on each GPU is more than its memory of {gib[1]:,.2f} GiB "
                "(bytes are of one GPU, tokens of a replica)",
                name,
            )


def check_bounds(resolver: Resolver, values: Mapping[str, Field]) -> None:
    """Note every value that a scenario's change takes out of its bounds."""
    for scenario in resolver.grid.scenarios:
        for name, change in scenario.changes.items():
            item = values.get(name)
            if change.op == "set" or item is None or item.data.ndim != len(resolver.space.names):
                continue
            axis = resolver.space.names.index("scenario")
            position = resolver.grid.scenarios.index(scenario)
            chosen = np.take(item.data, position if item.data.shape[axis] > 1 else 0, axis=axis)
            bounds = bounds_of(name)
            fractions = [value for value in chosen.ravel().tolist() if not np.isnan(value) and value != np.floor(value)]
            if fractions and dictionary()[name].dtype == "int64":
                resolver.problem(
                    f"scenario {scenario.name} takes {name} to {fractions[0]:g}; it must be a whole number",
                    name,
                    change.place,
                )
            outside = [value for value in chosen.ravel().tolist() if not np.isnan(value) and not bounds.holds(value)]
            if outside:
                resolver.problem(
                    f"scenario {scenario.name} takes {name} to {outside[0]:g}; it must be {bounds}", name, change.place
                )
