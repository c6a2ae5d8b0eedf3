"""What a memory budget and a charge need, whatever the plan: every term, and the numbers that windows depend on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridplan.engine.field import Field
from gridplan.engine.resolve import Resolver

__all__ = ["check_budget", "check_memory", "check_windows", "has_values"]


def has_values(values: Mapping[str, Field], *names: str) -> np.ndarray:
    """True where every one of `names` has a value."""
    known = ~np.isnan(values[names[0]].data)
    for name in names[1:]:
        known = known & ~np.isnan(values[name].data)
    return np.asarray(known)


def check_memory(resolver: Resolver, values: Mapping[str, Field], labels: Mapping[str, Field]) -> None:
    """Note what is needed to know a pool and the charge of a sequence, and nothing of rates and fleets."""
    pool = has_values(values, "kv_pool_bytes_given") | has_values(values, "kv_pool_tokens_given")
    gpu, model = (labels[name].data != None for name in ("gpu", "model"))  # noqa: E711 - elementwise on labels
    sized = gpu | has_values(values, "gpu_memory_bytes")
    weighed = model | has_values(values, "weights_bytes")
    if not np.all(pool | (sized & weighed)):
        message = "a KV pool is needed: name a gpu and a model, or give gpu_memory_bytes and weights_bytes, or the pool"
        resolver.problem(message, "kv_pool_bytes_given")
    charged = model | has_values(values, "kv_bytes_per_token_given")
    if not np.all(charged):
        resolver.problem("kv_bytes_per_token_given is needed where no model is named", "kv_bytes_per_token_given")
    check_budget(resolver, values, labels)
    check_windows(resolver, values, labels)


def check_windows(resolver: Resolver, values: Mapping[str, Field], labels: Mapping[str, Field]) -> None:
    """Admission by window needs the batched tokens that stand beside it."""
    unknown = np.isnan(values["kv_rows_rank"].data[..., 2]).any(axis=-1) & ~np.isnan(
        values["kv_rows_rank"].data[..., 0]
    ).any(axis=-1)
    if unknown.any():
        resolver.problem(
            f"max_num_batched_tokens is needed: sliding_policy engine_admission admits a window by it, and engine "
            f"{_engines(labels)} has no default",
            "sliding_policy",
        )


def check_budget(resolver: Resolver, values: Mapping[str, Field], labels: Mapping[str, Field]) -> None:
    """A pool that follows from a memory size needs every term of the budget; an unknown term is never taken as zero."""
    pool = has_values(values, "kv_pool_bytes_given") | has_values(values, "kv_pool_tokens_given")
    budget = has_values(values, "gpu_memory_bytes", "weights_bytes") & ~pool
    # A draft model without a parameter count leaves the sum open, whatever the engine has defaults for.
    draft = resolver.is_given("draft_model") & np.isnan(values["draft_weights_bytes"].data)
    unweighed = draft & ~has_values(values, "workspace_bytes")
    if (budget & unweighed).any():
        names = ", ".join(str(label) for label in resolver.peek("draft_model").unique if label)
        resolver.problem(
            f"draft_weights_bytes is needed: the catalog has no parameter count of draft_model {names}", "draft_model"
        )
    budget = budget & ~unweighed
    open_sum = ~has_values(values, "workspace_bytes")
    slots = np.isnan(values["lora_bytes"].data) & (values["max_loras"].data > 0) & open_sum
    if (budget & slots).any():
        where = np.broadcast_arrays(budget & slots, labels["model"].data)
        names = ", ".join(str(name) for name in dict.fromkeys(where[1][where[0]].tolist()) if name)
        resolver.problem(
            f"lora_bytes is needed: what adapters of {names or 'no model'} take is not understood", "max_loras"
        )
    budget = budget & ~slots
    for name in ("gpu_memory_utilization", "workspace_bytes"):
        if (budget & ~has_values(values, name)).any():
            resolver.problem(f"{name} is needed: engine {_engines(labels)} has no default for it", name)


def _engines(labels: Mapping[str, Field]) -> str:
    """The engines of a grid, for a message."""
    return ", ".join(str(label) for label in labels["engine"].unique if label) or "(none)"
