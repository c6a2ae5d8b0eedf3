"""From a contract to the arrays that the chain reads: every input on its own dimensions, with its provenance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from gridplan.catalog import Catalog, load_catalog
from gridplan.chain.figures import NO_LIMIT
from gridplan.contract.grid import Grid
from gridplan.contract.sections import LIMITS
from gridplan.dictionary import dictionary
from gridplan.engine.agreement import check_agreement, check_bounds
from gridplan.engine.anchor import anchor_fields
from gridplan.engine.bundle import Inputs
from gridplan.engine.class_inputs import PERCENTILES, percentile_labels, percentile_numbers
from gridplan.engine.curves import curves_pay
from gridplan.engine.engine_defaults import engine_values
from gridplan.engine.field import Field, combine, lookup
from gridplan.engine.hardware import gpu_values, legality, model_values, parallelism
from gridplan.engine.headroom import cell_warnings
from gridplan.engine.kv_fields import kv_values
from gridplan.engine.labels import Labels
from gridplan.engine.load_profile import check_load, load_values
from gridplan.engine.margins import margin_values
from gridplan.engine.needs import check_needs, incomplete
from gridplan.engine.needs_fleet import spares_by_availability
from gridplan.engine.prefill_fields import attention_values
from gridplan.engine.price import Pricing
from gridplan.engine.price_texts import price_stale, price_texts
from gridplan.engine.resolve import Resolver, unknown_labels
from gridplan.engine.routing import check_routing
from gridplan.engine.step_constants import step_values
from gridplan.engine.traffic import resolve_classes
from gridplan.engine.warnings import warnings_of
from gridplan.errors import ContractError

__all__ = ["Inputs", "build_inputs", "catalog_of"]

_CODES = {
    "resident_context": "resident_context_code",
    "step_context": "step_context_code",
    "failure_domain": "failure_domain_code",
    "lost_domain": "lost_domain_code",
    "compute_ceiling_model": "compute_ceiling_code",
    "flop_params": "flop_params_code",
    "e2e_latency_basis": "e2e_latency_basis_code",
    "capacity_model": "capacity_model_code",
    "latency_model": "latency_model_code",
    "redundancy_basis": "redundancy_basis_code",
    "maintenance_domain": "maintenance_domain_code",
    "purchase": "purchase_code",
    "routing": "routing_code",
}
"""Label inputs that choose between formulas, and the code arrays the chain reads instead."""

_PLAIN = (
    *("prefix_hit_ratio", "arrival_rate", "ttft_slo_s", "tpot_slo_s", "e2e_slo_s"),
    *("itl_slo_s", "goodput_target", "arrival_scv", "routing_credit"),
    *("redundancy", "zones", "lost_units", "nodes_given", "hours_per_month", "kv_efficiency", "kv_pool_bytes_given"),
    *("kv_pool_tokens_given", "kv_bytes_per_token_given", "kv_bytes_per_sequence_given", "decode_tokens_per_s"),
    *("step_weights_s", "step_per_context_token_s", "prefill_per_token_s", "step_per_sequence_s", "e2e_latency_s"),
    *("lambda_instance_given", "decode_batch", "decode_context_tokens", "decode_tokens_at_concurrency"),
    *("closed_loop_concurrency", "maintenance_units", "mtbf_h", "mttr_h", "availability_target", "load_floor", "users"),
    *("budget_usd_per_month", "power_budget_kw", "reserved_usd_per_node_hour", "reserved_discount", "commitment_years"),
    *("spot_share", "capital_usd_per_node", "amortization_years", "residual_share", "interest_rate"),
    *("hosting_usd_per_node_month", "power_w_per_node", "power_utilization", "pue", "usd_per_kwh"),
    *("api_usd_per_mtok_input", "api_usd_per_mtok_cached", "api_usd_per_mtok_output"),
)
"""Numeric inputs that no catalog provides; defaults are those of the dictionary."""

Needs = Callable[[Resolver, Mapping[str, Field], Mapping[str, Field]], None]
"""Notes in the resolver what is missing for a purpose."""

MAX_DIMENSIONS = 30
"""Dimensions of a cube (fact: NumPy broadcasts 32 arrays axes, and two are needed beside them)."""


def catalog_of(grid: Grid) -> Catalog:
    """The shipped catalog with the entries of the catalog folder, then the contract's own."""
    known = load_catalog() if grid.folder is None else grid.folder.catalog
    return known.with_entries(grid.catalog)


_KEPT: list[tuple[Grid, Inputs]] = []
"""The last grids whose inputs were built, newest first: a report asks for those of one grid two dozen times."""

_MOST_KEPT = 4


def build_inputs(grid: Grid, lenient: bool = False, needs: Needs = check_needs) -> Inputs:
    """All inputs of a grid as fields; `lenient` does not ask whether they suffice, else `needs` does: for a plan.

    Raises
    ------
    ContractError
        With every problem found: unknown labels, missing inputs and what they are needed for, values out of bounds
        after a scenario's change, context that leaves no prompt.
    """
    if not isinstance(grid, Grid):
        raise TypeError(f"a grid is due, from gridplan.load_grid, not {type(grid).__name__}")
    usual = not lenient and needs is check_needs and not grid.shifts and not grid.samples
    for known, inputs in _KEPT if usual else ():
        if known is grid:
            return inputs
    found = _built(grid, lenient, needs)
    if usual:
        _KEPT[:] = [(grid, found), *_KEPT[: _MOST_KEPT - 1]]
    return found


def _built(grid: Grid, lenient: bool, needs: Needs) -> Inputs:
    catalog = catalog_of(grid)
    resolver = Resolver(grid)
    if len(resolver.space.names) > MAX_DIMENSIONS:
        resolver.problem(f"{len(resolver.space.names)} dimensions are more than {MAX_DIMENSIONS}", "axes")
        _stop(resolver)
    unknown_labels(resolver, catalog)
    _stop(resolver)
    named = Labels(resolver, catalog)
    labels = named.fields()
    values = parallelism(named)
    values.update(model_values(named, values))
    values.update(gpu_values(named))
    values.update(engine_values(named, values))
    values.update(step_values(named))
    values.update(attention_values(named, values["peak_flops"]))
    values.update(kv_values(named, values))
    values.update(legality(named, values))
    resolver.resolve("failure_policy")
    values.update(_codes(resolver))  # first: numbers may differ by one of these labels
    values.update(load_values(resolver))
    pricing = Pricing.of(named, values)
    values.update(pricing.values())
    values.update({name: resolver.resolve(name, _default(resolver, name)) for name in _PLAIN})
    spares_by_availability(resolver, values)
    values["step_per_sequence_given_s"] = values.pop("step_per_sequence_s")  # the chain makes the figure in use
    values.update(margin_values(resolver))
    values.update(resolve_classes(resolver))
    limits = (values["ttft_slo_s"], values["tpot_slo_s"], values["e2e_slo_s"])
    values["any_slo"] = combine(lambda a, b, c: (~(np.isnan(a) & np.isnan(b) & np.isnan(c))).astype(float), *limits)
    values.update(_any_limit(values))
    values["catalog_complete"] = incomplete(values, labels)
    labels["gpu_memory_source"] = named.memory_source()
    for name in PERCENTILES:
        labels[name] = percentile_labels(resolver, name)
        values[name] = percentile_numbers(labels[name])
    for name in ("ttft", "tpot", "e2e", "itl"):
        values[f"{name}_slo_share"] = combine(_share, values[f"{name}_slo_percentile"], values[f"{name}_slo_s"])
    labels.update(price_texts(pricing, values))
    values["price_stale"] = price_stale(labels["price_as_of"], resolver.grid.priced_on)
    check_bounds(resolver, values)
    check_agreement(resolver, values, labels)
    check_routing(resolver, values)
    check_load(resolver, values)
    if not lenient:
        needs(resolver, values, labels)
    _stop(resolver)
    values.update(anchor_fields(resolver, values, labels, partial(build_inputs, lenient=True)))
    _stop(resolver)
    stated = dict(resolver.fields)
    said = warnings_of(resolver, values, labels, catalog)
    found = Inputs(grid, catalog, resolver.space, values, labels, stated, resolver.origins, said)
    found = replace(found, curves=curves_pay(found.space, found.steps, found.dims))
    return found if lenient else replace(found, warnings=(*said, *cell_warnings(found)))


def _stop(resolver: Resolver) -> None:
    if resolver.problems:
        raise ContractError(sorted(set(resolver.problems), key=lambda p: (p.line or 0, p.column or 0, p.key or "")))


def _default(resolver: Resolver, name: str) -> Field | None:
    """The dictionary's default of a numeric input, where it is a number."""
    try:
        value = float(dictionary()[name].default)
    except ValueError:
        return None
    return resolver.space.constant(value, np.float64)


def _latency_law(flop_params: str) -> str:
    """Parameters counted as in the published texts: latencies as there as well, so that one word reproduces a text."""
    return "mean_step" if flop_params == "total" else "queueing"


def _any_limit(values: Mapping[str, Field]) -> dict[str, Field]:
    """1 where some class has a limit (`any_limit`), and one at a percentile (`any_percentile`), else 0."""
    limits = [values[f"class_{name}_slo_s"] for name in LIMITS]
    shares = [values[f"class_{name}_slo_percentile"] for name in LIMITS]

    def limited(*arrays: np.ndarray) -> np.ndarray:
        return np.asarray(sum(~np.isnan(item).all(axis=-1) for item in arrays) > 0, dtype=np.float64)

    def at_percentile(*arrays: np.ndarray) -> np.ndarray:
        pairs = zip(arrays[: len(limits)], arrays[len(limits) :], strict=True)
        return np.asarray(sum((~np.isnan(a) & ~np.isnan(b)).any(axis=-1) for a, b in pairs) > 0, dtype=np.float64)

    return {"any_limit": combine(limited, *limits), "any_percentile": combine(at_percentile, *limits, *shares)}


def _share(percentile: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """The share of requests that a limit is stated for: NaN for the mean, `NO_LIMIT` where there is none."""
    return np.asarray(np.where(np.isnan(limit), NO_LIMIT, percentile / 100))


def _codes(resolver: Resolver) -> dict[str, Field]:
    values = {}
    for name, output in _CODES.items():
        known = dictionary()[name].labels
        default = resolver.space.constant(dictionary()[name].default, object)
        if name == "latency_model":
            default = lookup(_latency_law, resolver.fields["flop_params"], dtype=object)
        labels = resolver.resolve(name, default)
        values[output] = lookup(known.index, labels, dtype=np.int64)
    return values
