"""Which splits of a model over GPUs are illegal, and why: tensor, pipeline, data, expert and context parallelism.

Each function returns a sentence, or None where the split is legal. A model of None is not known: then only what holds
for any model is checked. Degrees are whole numbers of GPUs from 1 on; whether the GPUs share a fast fabric is not
asked here. Sources: the load-time checks of vLLM (ParallelConfig, ModelConfig.verify_with_parallel_config, `divide`,
QKVParallelLinear) and, for uneven experts, its determine_expert_map.
"""

from __future__ import annotations

from gridplan.catalog.entries import Model

__all__ = [
    "context_parallel_problem",
    "data_parallel_problem",
    "expert_parallel_problem",
    "pipeline_parallel_problem",
    "tensor_parallel_problem",
]


def tensor_parallel_problem(model: Model, tp: int, ep: int = 1) -> str | None:
    """Why `tp` ranks cannot split the model; None when they can. What is not known of the MLP is not checked.

    Heads and the MLP's width must divide by tp; KV heads divide by tp or into it (they are replicated then); MLA keeps
    a full copy of the latent on every rank, so its KV heads do not matter. The experts' width is checked here without
    expert parallelism (`ep` 1); see `expert_parallel_problem` for the rest.

    >>> from gridplan.catalog import load_catalog
    >>> tiny = load_catalog().model("qwen2.5-0.5b")
    >>> [tp for tp in (1, 2, 4, 7, 8, 14) if tensor_parallel_problem(tiny, tp) is None]
    [1, 2]
    """
    if tp < 1:
        return f"tensor_parallel is at least 1, not {tp}"
    if model.attention_heads % tp:
        return f"{model.attention_heads} attention heads do not divide by tensor_parallel {tp}"
    if model.attention != "mla" and model.kv_heads % tp and tp % model.kv_heads:
        return f"{model.kv_heads} KV heads divide neither by tensor_parallel {tp} nor into it"
    has_dense_mlp = not model.num_experts or model.num_moe_layers < model.num_layers
    if has_dense_mlp and model.intermediate_size is not None and model.intermediate_size % tp:
        return f"the MLP's intermediate size {model.intermediate_size} does not divide by tensor_parallel {tp}"
    width = model.moe_intermediate_size
    if ep == 1 and model.num_experts and width is not None and width % tp:
        return f"the experts' intermediate size {width} does not divide by tensor_parallel {tp}"
    return None


def pipeline_parallel_problem(model: Model | None, pp: int) -> str | None:
    """Why `pp` stages cannot hold the model: a stage without a layer does nothing.

    >>> from gridplan.catalog import load_catalog
    >>> pipeline_parallel_problem(load_catalog().model("llama-3-8b"), 33)
    '32 layers leave a stage of pipeline_parallel 33 without one'
    """
    if pp < 1:
        return f"pipeline_parallel is at least 1, not {pp}"
    if model is not None and pp > model.num_layers:
        return f"{model.num_layers} layers leave a stage of pipeline_parallel {pp} without one"
    return None


def data_parallel_problem(model: Model | None, tp: int, dp: int, ep: int = 1) -> str | None:
    """Why `dp` attention ranks of `tp` GPUs cannot share the experts: without ep their width divides by tp dp.

    >>> from gridplan.catalog import load_catalog
    >>> qwen = load_catalog().model("qwen3-30b-a3b")
    >>> data_parallel_problem(qwen, 1, 8) is None, data_parallel_problem(qwen, 1, 9, ep=9) is None
    (True, True)
    >>> data_parallel_problem(qwen, 2, 9)
    "the experts' intermediate size 768 does not divide by tensor_parallel x data_parallel 18"
    """
    if dp < 1:
        return f"data_parallel is at least 1, not {dp}"
    width = model.moe_intermediate_size if model is not None and model.num_experts else None
    if ep == 1 and dp > 1 and width is not None and width % (tp * dp):
        return f"the experts' intermediate size {width} does not divide by tensor_parallel x data_parallel {tp * dp}"
    return None


def expert_parallel_problem(model: Model | None, tp: int, dp: int, ep: int) -> str | None:
    """Why the experts cannot lie in `ep` groups of the tp dp ranks: groups of one size, none without an expert.

    Experts need not divide by ep: the fullest group holds one more. Within a group the experts' width is split.

    >>> from gridplan.catalog import load_catalog
    >>> v3 = load_catalog().model("deepseek-v3")
    >>> [ep for ep in (1, 3, 4, 8, 16) if expert_parallel_problem(v3, 8, 1, ep) is None]
    [1, 4, 8]
    """
    if ep < 1:
        return f"expert_parallel is at least 1, not {ep}"
    if ep == 1:
        return None
    ranks = tp * dp
    if ranks % ep:
        return f"tensor_parallel x data_parallel {ranks} does not divide by expert_parallel {ep}"
    if model is None:
        return None
    if not model.num_experts:
        return f"{model.id} has no experts for expert_parallel {ep}"
    if ep > model.num_experts:
        return f"{model.num_experts} experts leave a rank of expert_parallel {ep} without one"
    width, split = model.moe_intermediate_size, ranks // ep
    if width is not None and width % split:
        return (
            f"the experts' intermediate size {width} does not divide by the {split} ranks of an expert_parallel group"
        )
    return None


def context_parallel_problem(model: Model | None, tp: int, dcp: int) -> str | None:
    """Why `dcp` ranks cannot share the KV cache of a sequence: they are the ranks that would hold copies of it.

    dcp divides tp. Attention with KV heads has tp / heads copies, and the query heads of each divide by dcp; the latent
    of MLA is copied on every rank.

    >>> from gridplan.catalog import load_catalog
    >>> shipped = load_catalog()
    >>> [dcp for dcp in (1, 2, 4, 8) if context_parallel_problem(shipped.model("qwen3-235b-a22b"), 8, dcp) is None]
    [1, 2]
    >>> context_parallel_problem(shipped.model("deepseek-v3"), 8, 8) is None
    True
    """
    if dcp < 1:
        return f"decode_context_parallel is at least 1, not {dcp}"
    if dcp == 1:
        return None
    if tp % dcp:
        return f"tensor_parallel {tp} does not divide by decode_context_parallel {dcp}"
    if model is None or model.attention == "mla":
        return None
    heads = model.kv_heads
    if tp <= heads:
        return f"tensor_parallel {tp} leaves no copy of the {heads} KV heads for decode_context_parallel {dcp} to share"
    if dcp > tp // heads:
        return f"tensor_parallel {tp} holds {tp // heads} copies of the {heads} KV heads, fewer than {dcp}"
    queries = model.attention_heads // heads
    if queries % dcp:
        return f"{queries} query heads a KV head do not divide by decode_context_parallel {dcp}"
    return None
