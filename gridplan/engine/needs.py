"""What each capacity model needs, and what a catalog lacks for it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridplan.chain.codes import code
from gridplan.engine.field import Field
from gridplan.engine.needs_fleet import check_fleet
from gridplan.engine.needs_memory import check_budget, check_windows, has_values
from gridplan.engine.portfolio import check_portfolio
from gridplan.engine.purchase import check_purchase
from gridplan.engine.resolve import Resolver

__all__ = ["check_needs", "has_values", "incomplete"]


def _dims(values: Mapping[str, Field], *names: str) -> frozenset[str]:
    return frozenset[str]().union(*(values[name].dims for name in names))


_READ = (
    *("kv_pool_bytes_given", "kv_pool_tokens_given", "gpu_memory_bytes", "weights_bytes", "capacity_model_code"),
    *(
        "e2e_latency_s",
        "e2e_latency_basis_code",
        "e2e_slo_s",
        "memory_bandwidth_bytes_per_s",
        "step_weights_s",
        "peak_flops",
    ),
    *("step_per_context_token_s", "prefill_per_token_s", "failure_domain_code", "gpus_per_node", "redundancy"),
    *("weights_read_bytes", "params_active"),
)


def _latency_is_limit(values: Mapping[str, Field]) -> np.ndarray:
    """True where the E2E limit is taken as the latency of Little's law."""
    basis = values["e2e_latency_basis_code"].data == code("e2e_latency_basis", "slo")
    return np.asarray(basis & has_values(values, "e2e_slo_s"))


def incomplete(values: Mapping[str, Field], labels: Mapping[str, Field]) -> Field:
    """1 where everything a cell needs from the catalog is known, 0 where an entry named in it lacks a value.

    Only what the cell's own capacity model reads counts: a measured rate needs no FLOP/s.
    """
    has_gpu = labels["gpu"].data != None  # noqa: E711 - elementwise on labels
    has_model = labels["model"].data != None  # noqa: E711
    pool = ~np.isnan(values["kv_pool_bytes_given"].data) | ~np.isnan(values["kv_pool_tokens_given"].data)
    memory = np.isnan(values["gpu_memory_bytes"].data) & ~pool
    weights = has_model & np.isnan(values["weights_bytes"].data) & ~pool
    by_steps = [code("capacity_model", name) for name in ("replica_seconds", "queueing")]
    needs_step = np.isin(values["capacity_model_code"].data, by_steps)
    needs_step = needs_step | (
        (values["capacity_model_code"].data == code("capacity_model", "littles_law"))
        & np.isnan(values["e2e_latency_s"].data)
        & ~_latency_is_limit(values)
    )
    decode = np.isnan(values["memory_bandwidth_bytes_per_s"].data) & (
        np.isnan(values["step_weights_s"].data) | np.isnan(values["step_per_context_token_s"].data)
    )
    prefill = np.isnan(values["peak_flops"].data) & np.isnan(values["prefill_per_token_s"].data)
    node = (values["failure_domain_code"].data == code("failure_domain", "node")) & np.isnan(
        values["gpus_per_node"].data
    )
    node = node & (values["redundancy"].data > 0)
    # A measured pool says what fits, not what a step reads and multiplies: a model without counts has no step times.
    counts = has_model & (
        (np.isnan(values["weights_read_bytes"].data) & np.isnan(values["step_weights_s"].data))
        | (np.isnan(values["params_active"].data) & np.isnan(values["prefill_per_token_s"].data))
    )
    sized = has_gpu | ~np.isnan(values["gpu_memory_bytes"].data)
    missing = (
        (has_gpu & (memory | (needs_step & (decode | prefill)) | node)) | (sized & weights) | (needs_step & counts)
    )
    dims = _dims(values, *_READ) | labels["gpu"].dims | labels["model"].dims
    return Field(np.where(missing, 0.0, 1.0), dims)


def check_needs(resolver: Resolver, values: Mapping[str, Field], labels: Mapping[str, Field]) -> None:
    """Note every input that a capacity model in use needs and nobody provides."""
    if not resolver.is_given("arrival_rate"):
        resolver.problem("arrival_rate is needed for the fleet", "arrival_rate")
    if np.isnan(values["rho_target"].data).any():
        resolver.problem("rho_target (or its margins) is needed for the planned rate of a replica", "rho_target")
    models = set(labels["capacity_model"].unique)
    checks = {
        "littles_law": _needs_littles_law,
        "replica_seconds": _needs_replica_seconds,
        "queueing": _needs_queueing,
        "measured": _needs_measured,
    }
    for model, check in checks.items():
        if model in models:
            for name, why in check(values, labels).items():
                resolver.problem(f"{name} is needed: capacity_model {model} {why}", name)
    check_budget(resolver, values, labels)
    check_windows(resolver, values, labels)
    check_fleet(resolver, values)
    check_portfolio(resolver, values)
    check_purchase(resolver, values, labels)


def _known(labels: Mapping[str, Field], name: str) -> np.ndarray:
    return np.asarray(labels[name].data != None)  # noqa: E711


def _machine(values: Mapping[str, Field], labels: Mapping[str, Field]) -> dict[str, np.ndarray]:
    """Where the times of a step can be known: given, or from a GPU and a model; holes of the catalog do not count."""
    gpu, model = _known(labels, "gpu"), _known(labels, "model")
    bandwidth = gpu | has_values(values, "memory_bandwidth_bytes_per_s")
    weights = model | has_values(values, "weights_read_bytes")
    kv = model | has_values(values, "kv_bytes_per_token_given")
    rate = (gpu | has_values(values, "peak_flops")) & (model | has_values(values, "params_active"))
    return {
        "step_weights_s": has_values(values, "step_weights_s") | (bandwidth & weights),
        "step_per_context_token_s": has_values(values, "step_per_context_token_s") | (bandwidth & kv),
        "prefill_per_token_s": has_values(values, "prefill_per_token_s") | rate,
    }


def _tokens(values: Mapping[str, Field]) -> dict[str, str]:
    needs = {}
    for name in ("prompt_tokens", "output_tokens"):
        if np.isnan(values[f"class_{name}"].data).any():
            needs[name] = "prices a request by its lengths (or give classes)"
    return needs


def _memory_known(values: Mapping[str, Field], labels: Mapping[str, Field]) -> np.ndarray:
    pool = has_values(values, "kv_pool_bytes_given") | has_values(values, "kv_pool_tokens_given")
    return np.asarray(
        pool | _known(labels, "gpu") | (has_values(values, "gpu_memory_bytes") & has_values(values, "weights_bytes"))
    )


def _needs_littles_law(values: Mapping[str, Field], labels: Mapping[str, Field]) -> dict[str, str]:
    needs: dict[str, str] = {}
    tokens_known = ~np.isnan(values["class_output_tokens"].data).any(axis=-1)
    sequence = has_values(values, "kv_bytes_per_sequence_given") | (
        tokens_known
        & (
            _known(labels, "model")
            | has_values(values, "kv_bytes_per_token_given")
            | has_values(values, "kv_pool_tokens_given")
        )
    )
    memory = _memory_known(values, labels)
    other = ~np.isnan(values["max_num_seqs"].data) | has_values(values, "decode_tokens_per_s")
    if not (other | (memory & sequence)).all():
        if not memory.all():
            needs["kv_pool_bytes_given"] = (
                "counts slots in a KV pool (or give a gpu, or gpu_memory_bytes and weights_bytes)"
            )
        if not sequence.all():
            needs["kv_bytes_per_sequence_given"] = "counts sequences in a KV pool (or give a model and token lengths)"
    slo_basis = _latency_is_limit(values)
    machine = _machine(values, labels)
    predicted = machine["step_weights_s"] & machine["step_per_context_token_s"] & machine["prefill_per_token_s"]
    if not (has_values(values, "e2e_latency_s") | slo_basis | (predicted & tokens_known)).all():
        needs["e2e_latency_s"] = "divides slots by a latency (or give a gpu, a model and token lengths to predict it)"
    return needs


def _needs_replica_seconds(values: Mapping[str, Field], labels: Mapping[str, Field]) -> dict[str, str]:
    needs = _needs_queueing(values, labels)
    capped = _memory_known(values, labels) | ~np.isnan(values["max_num_seqs"].data)
    limited = capped | has_values(values, "tpot_slo_s") | has_values(values, "e2e_slo_s")
    if not limited.all() and not {"gpu", "model"} & set(needs):
        needs["tpot_slo_s"] = "needs a limit: a latency limit, a KV pool or max_num_seqs"
    return needs


def _needs_queueing(values: Mapping[str, Field], labels: Mapping[str, Field]) -> dict[str, str]:
    needs = _tokens(values)
    unknown = {name: known for name, known in _machine(values, labels).items() if not known.all()}
    if len(unknown) == len(_machine(values, labels)):
        # One cause, one message: nothing is known of the machine because a label is missing.
        absent = [name for name in ("gpu", "model") if not _known(labels, name).all()]
        return {**needs, **{name: "prices a request in replica time (or give the times of a step)" for name in absent}}
    for name, known in unknown.items():
        if not known.all():
            needs[name] = "prices a request in replica time (or give a gpu and a model)"
    return needs


def _needs_measured(values: Mapping[str, Field], labels: Mapping[str, Field]) -> dict[str, str]:
    if np.isnan(values["lambda_instance_given"].data).all():
        return {"lambda_instance_given": "takes the rate of one replica from a load sweep"}
    return {}
