"""Parameters of a model by part, since each part is stored and split over ranks in its own way [counts].

A figure that an entry states wins; else it follows from the geometry. Norms and biases (below 0.1%) are in no part.
"""

from __future__ import annotations

from gridplan.catalog.entries import Model

__all__ = ["kv_projection_params", "mla_down_params", "routed_expert_params", "router_params"]

GATED_MATRICES = 3
"""Gate, up and down of one expert (fact for gated MLPs; entries with other experts state their count)."""


def routed_expert_params(
    num_moe_layers: int, num_experts: int | None, hidden_size: int, moe_intermediate_size: int | None
) -> float | None:
    """Routed experts: layers x experts x 3 hidden x width [count]; 0 without experts, None where the width is unknown.

    >>> routed_expert_params(58, 256, 7168, 2048) / 1e9
    653.908770816
    """
    if not num_experts:
        return 0.0
    if moe_intermediate_size is None:
        return None
    return float(num_moe_layers * num_experts * GATED_MATRICES * hidden_size * moe_intermediate_size)


def router_params(model: Model) -> float:
    """Routers: layers x hidden x experts [count]; every tensor-parallel rank holds them whole, in 16 bits.

    >>> from gridplan.catalog import load_catalog
    >>> router_params(load_catalog().model("deepseek-v3"))
    106430464.0
    """
    return float(model.num_moe_layers * model.hidden_size * (model.num_experts or 0))


def mla_down_params(
    num_layers: int, hidden_size: int, q_lora_rank: int | None, kv_lora_rank: int | None, qk_rope_head_dim: int | None
) -> float:
    """Down projections of latent attention: layers x hidden x (q rank + kv rank + rope) [count]; 0 for other attention.

    Every tensor-parallel rank holds them whole (ReplicatedLinear in vLLM's deepseek_v2.py). Without a q rank the
    queries are projected at once, and split.

    >>> mla_down_params(61, 7168, 1536, 512, 64)
    923467776.0
    """
    if kv_lora_rank is None:
        return 0.0
    return float(num_layers * hidden_size * ((q_lora_rank or 0) + kv_lora_rank + (qk_rope_head_dim or 0)))


def kv_projection_params(model: Model) -> float:
    """Key and value projections: layers x 2 hidden x KV heads x head_dim [count]; 0 for latent attention.

    Ranks beyond the number of KV heads hold copies. Layers that keep a fixed state are split by their own heads.

    >>> from gridplan.catalog import load_catalog
    >>> kv_projection_params(load_catalog().model("llama-3-8b"))
    268435456.0
    """
    if model.attention == "mla":
        return 0.0
    layers = model.kv_layers + model.num_sliding_layers + model.num_chunked_layers
    return float(layers * 2 * model.hidden_size * model.kv_heads * (model.head_dim or 0))
