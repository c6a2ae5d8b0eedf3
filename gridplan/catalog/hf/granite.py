"""The feed-forward half of Granite 4: a shared MLP in every layer, and experts where the model has them."""

from __future__ import annotations

from collections.abc import Iterator

from gridplan.catalog.hf.base import Base, Block
from gridplan.catalog.hf.fields import Fields
from gridplan.catalog.hf.moe import Experts, MoeStyle, expert_facts, expert_weights, gated, read_chosen
from gridplan.catalog.hf.weights import Weight

__all__ = ["granite_feed_forward"]

STYLE = MoeStyle(module="block_sparse_moe", router="router")


def granite_feed_forward(fields: Fields, base: Base) -> Block:
    """`num_local_experts` 0 leaves the shared MLP alone, which is then dense."""
    count = fields.count("num_local_experts", 0, least=0, most=100_000)
    shared = fields.count("shared_intermediate_size")
    width = fields.count("intermediate_size") if count else fields.optional("intermediate_size") or 1
    chosen = read_chosen(fields, count, "num_experts_per_tok") if count else fields.optional("num_experts_per_tok", 0)
    own = Experts(count, width, 0)

    def weights(layer: int) -> Iterator[Weight]:
        part = "shared_experts" if count else "mlp"
        yield from gated(f"layers.{layer}.shared_mlp", part, base.hidden, shared)
        if count:
            yield from expert_weights(f"layers.{layer}.block_sparse_moe", base.hidden, own, STYLE)

    facts = expert_facts(own, chosen or 1, base.layers) if count else {}
    return Block(weights, facts={"intermediate_size": shared, **facts})
