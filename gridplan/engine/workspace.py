"""Memory that an engine takes beside weights and KV cache, as named terms that add up."""

from __future__ import annotations

import math
from collections.abc import Mapping

from gridplan import formulas
from gridplan.catalog import Catalog, Engine, Model

__all__ = ["workspace_terms"]

GIB = 2**30


def workspace_terms(
    catalog: Catalog, engine: Engine, model: Model, tensor_parallel: float, max_num_seqs: float, batched_tokens: float
) -> Mapping[str, float] | None:
    """Named terms of the workspace of one GPU [bytes], or None where the catalog lacks one.

    `activation` is the larger of sampler and forward pass (rule `sampler_forward`) or one figure a model family
    (`by_family`); `non_torch` depends on tensor parallelism alone. An engine whose rule is `none` takes both out of the
    share that its static fraction leaves free.
    """
    if engine.activation_rule == "none":
        return {"activation": 0.0, "non_torch": 0.0}
    non_torch = engine.non_torch_gib_tp1 if tensor_parallel == 1 else engine.non_torch_gib_tp2plus
    activation = _activation_bytes(catalog, engine, model, tensor_parallel, max_num_seqs, batched_tokens)
    if activation is None or non_torch is None or not math.isfinite(activation):
        return None
    return {"activation": activation, "non_torch": non_torch * GIB}


def _activation_bytes(
    catalog: Catalog, engine: Engine, model: Model, tensor_parallel: float, max_num_seqs: float, batched_tokens: float
) -> float | None:
    if engine.activation_rule == "by_family":
        return catalog.activation_family(model).activation_gib * GIB
    if engine.activation_rule != "sampler_forward":
        return None
    widest = max(model.intermediate_size or 0, model.moe_intermediate_size or 0)
    return float(
        formulas.activation_peak_bytes(
            max_num_seqs, model.vocab_size, model.hidden_size, widest, tensor_parallel, batched_tokens
        )
    )
