"""What each capacity model needs, and what a catalog lacks for it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridplan.chain.codes import code
from gridplan.contract.bounds import bounds_of
from gridplan.contract.grid import By
from gridplan.dictionary import dictionary
from gridplan.engine.anchor import MEASURED_SETTINGS
from gridplan.engine.field import Field
from gridplan.engine.resolve import Resolver
from gridplan.errors import suggestion

__all__ = ["check_agreement", "check_bounds", "check_needs", "incomplete"]


def _given(values: Mapping[str, Field], *names: str) -> np.ndarray:
    """True where every one of `names` has a value."""
    known = ~np.isnan(values[names[0]].data)
    for name in names[1:]:
        known = known & ~np.isnan(values[name].data)
    return np.asarray(known)


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
)


def _latency_is_limit(values: Mapping[str, Field]) -> np.ndarray:
    """True where the E2E limit is taken as the latency of Little's law."""
    basis = values["e2e_latency_basis_code"].data == code("e2e_latency_basis", "slo")
    return np.asarray(basis & _given(values, "e2e_slo_s"))


_BYTES_OF_FORMAT = {
    "weights_bytes": "weight_dtype",
    "weights_read_bytes": "weight_dtype",
    "kv_bytes_per_token_given": "kv_dtype",
}
"""Bytes that depend on a number format."""


def incomplete(values: Mapping[str, Field], labels: Mapping[str, Field]) -> Field:
    """1 where everything a cell needs from the catalog is known, 0 where an entry named in it lacks a value.

    Only what the cell's own capacity model reads counts: a measured rate needs no FLOP/s.
    """
    has_gpu = labels["gpu"].data != None  # noqa: E711 - elementwise on labels
    has_model = labels["model"].data != None  # noqa: E711
    pool = ~np.isnan(values["kv_pool_bytes_given"].data) | ~np.isnan(values["kv_pool_tokens_given"].data)
    memory = np.isnan(values["gpu_memory_bytes"].data) & ~pool
    weights = has_model & np.isnan(values["weights_bytes"].data) & ~pool
    needs_step = values["capacity_model_code"].data == code("capacity_model", "replica_seconds")
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
    missing = has_gpu & (memory | weights | (needs_step & (decode | prefill)) | node)
    dims = _dims(values, *_READ) | labels["gpu"].dims | labels["model"].dims
    return Field(np.where(missing, 0.0, 1.0), dims)


def check_needs(resolver: Resolver, values: Mapping[str, Field], labels: Mapping[str, Field]) -> None:
    """Note every input that a capacity model in use needs and nobody provides."""
    for name, purpose in (("arrival_rate", "the fleet"), ("rho_target", "the planned rate of a replica")):
        if not resolver.is_given(name):
            resolver.problem(f"{name} is needed for {purpose}", name)
    models = set(labels["capacity_model"].unique)
    checks = {"littles_law": _needs_littles_law, "replica_seconds": _needs_replica_seconds, "measured": _needs_measured}
    for model, check in checks.items():
        if model in models:
            for name, why in check(values, labels).items():
                resolver.problem(f"{name} is needed: capacity_model {model} {why}", name)
    _check_budget(resolver, values, labels)
    _check_domains(resolver, values)


def check_agreement(resolver: Resolver, values: Mapping[str, Field], labels: Mapping[str, Field]) -> None:
    """Note stated values that contradict each other, or that one number cannot be for every label of the grid."""
    if (_given(values, "kv_pool_bytes_given") & _given(values, "kv_pool_tokens_given")).any():
        resolver.problem("kv_pool_bytes_given and kv_pool_tokens_given are two pools: give one", "kv_pool_tokens_given")
    for name, dtype in _BYTES_OF_FORMAT.items():
        given = resolver.grid.given.get(name)
        if given is not None and not isinstance(given.value, By) and len(labels[dtype].unique) > 1:
            resolver.problem(f"one {name} cannot be that of several {dtype}: write it {{by: {dtype}, ...}}", name)
    matmul = values["flop_params_code"].data == code("flop_params", "matmul")
    left = values["params_active"].data - values["params_embedding"].data - values["params_lm_head"].data
    if (matmul & (left <= 0)).any():
        resolver.problem("params_active leaves nothing to multiply beside embedding and lm_head", "flop_params")
    basis = values["e2e_latency_basis_code"].data == code("e2e_latency_basis", "slo")
    if (basis & ~_given(values, "e2e_slo_s")).any():
        resolver.problem(
            "e2e_latency_basis slo takes the E2E limit as the latency, and there is none", "e2e_latency_basis"
        )
    for name in resolver.grid.measured.measured_at:
        if name not in MEASURED_SETTINGS:
            near = suggestion(name, MEASURED_SETTINGS)
            resolver.problem(f"{name} is not a setting that a measurement belongs to{near}", "measured_at")


def _check_budget(resolver: Resolver, values: Mapping[str, Field], labels: Mapping[str, Field]) -> None:
    """A pool that follows from a memory size needs every term of the budget; an unknown term is never taken as zero."""
    pool = _given(values, "kv_pool_bytes_given") | _given(values, "kv_pool_tokens_given")
    budget = _given(values, "gpu_memory_bytes", "weights_bytes") & ~pool
    for name in ("gpu_memory_utilization", "workspace_bytes"):
        if (budget & ~_given(values, name)).any():
            engines = ", ".join(str(label) for label in labels["engine"].unique if label)
            resolver.problem(f"{name} is needed: engine {engines or '(none)'} has no default for it", name)


def _known(labels: Mapping[str, Field], name: str) -> np.ndarray:
    return np.asarray(labels[name].data != None)  # noqa: E711


def _machine(values: Mapping[str, Field], labels: Mapping[str, Field]) -> dict[str, np.ndarray]:
    """Where the times of a step can be known: given, or from a GPU and a model; holes of the catalog do not count."""
    gpu, model = _known(labels, "gpu"), _known(labels, "model")
    bandwidth = gpu | _given(values, "memory_bandwidth_bytes_per_s")
    weights = model | _given(values, "weights_read_bytes")
    kv = model | _given(values, "kv_bytes_per_token_given")
    rate = (gpu | _given(values, "peak_flops")) & (model | _given(values, "params_active"))
    return {
        "step_weights_s": _given(values, "step_weights_s") | (bandwidth & weights),
        "step_per_context_token_s": _given(values, "step_per_context_token_s") | (bandwidth & kv),
        "prefill_per_token_s": _given(values, "prefill_per_token_s") | rate,
    }


def _tokens(values: Mapping[str, Field]) -> dict[str, str]:
    needs = {}
    for name in ("prompt_tokens", "output_tokens"):
        if np.isnan(values[f"class_{name}"].data).any():
            needs[name] = "prices a request by its lengths (or give classes)"
    return needs


def _memory_known(values: Mapping[str, Field], labels: Mapping[str, Field]) -> np.ndarray:
    pool = _given(values, "kv_pool_bytes_given") | _given(values, "kv_pool_tokens_given")
    return np.asarray(
        pool | _known(labels, "gpu") | (_given(values, "gpu_memory_bytes") & _given(values, "weights_bytes"))
    )


def _needs_littles_law(values: Mapping[str, Field], labels: Mapping[str, Field]) -> dict[str, str]:
    needs: dict[str, str] = {}
    tokens_known = ~np.isnan(values["class_output_tokens"].data).any(axis=-1)
    sequence = _given(values, "kv_bytes_per_sequence_given") | (
        tokens_known
        & (
            _known(labels, "model")
            | _given(values, "kv_bytes_per_token_given")
            | _given(values, "kv_pool_tokens_given")
        )
    )
    memory = _memory_known(values, labels)
    other = ~np.isnan(values["max_num_seqs"].data) | _given(values, "decode_tokens_per_s")
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
    if not (_given(values, "e2e_latency_s") | slo_basis | (predicted & tokens_known)).all():
        needs["e2e_latency_s"] = "divides slots by a latency (or give a gpu, a model and token lengths to predict it)"
    return needs


def _needs_replica_seconds(values: Mapping[str, Field], labels: Mapping[str, Field]) -> dict[str, str]:
    needs = _tokens(values)
    unknown = {name: known for name, known in _machine(values, labels).items() if not known.all()}
    if len(unknown) == len(_machine(values, labels)):
        # One cause, one message: nothing is known of the machine because a label is missing.
        absent = [name for name in ("gpu", "model") if not _known(labels, name).all()]
        return {**needs, **{name: "prices a request in replica time (or give the times of a step)" for name in absent}}
    for name, known in unknown.items():
        if not known.all():
            needs[name] = "prices a request in replica time (or give a gpu and a model)"
    capped = _memory_known(values, labels) | ~np.isnan(values["max_num_seqs"].data)
    limited = capped | _given(values, "tpot_slo_s") | _given(values, "e2e_slo_s")
    if not limited.all():
        needs["tpot_slo_s"] = "needs a limit: a latency limit, a KV pool or max_num_seqs"
    return needs


def _needs_measured(values: Mapping[str, Field], labels: Mapping[str, Field]) -> dict[str, str]:
    if np.isnan(values["lambda_instance_given"].data).all():
        return {"lambda_instance_given": "takes the rate of one replica from a load sweep"}
    return {}


def _check_domains(resolver: Resolver, values: Mapping[str, Field]) -> None:
    zone = values["failure_domain_code"].data == code("failure_domain", "zone")
    short = zone & (values["redundancy"].data > 0) & (values["zones"].data <= values["redundancy"].data)
    if short.any():
        resolver.problem(
            "failure_domain zone needs more zones than redundancy: set zones, or nothing is left after the loss",
            "zones",
        )
    no_node = np.isnan(values["gpus_per_node"].data)
    node = (values["failure_domain_code"].data == code("failure_domain", "node")) & (values["redundancy"].data > 0)
    if (node & no_node).all():
        resolver.problem("failure_domain node needs the size of a node: an instance, or gpus_per_node", "gpus_per_node")
    if (~np.isnan(values["nodes_given"].data) & no_node).any():
        resolver.problem("nodes_given needs the size of a node: an instance, or gpus_per_node", "gpus_per_node")
    if (~np.isnan(values["usd_per_node_hour"].data) & no_node).any():
        resolver.problem("usd_per_node_hour needs the size of a node: gpus_per_node", "gpus_per_node")


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
