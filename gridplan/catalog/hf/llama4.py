"""The feed-forward half of Llama 4: experts in every n-th layer, with a shared expert beside the one chosen."""

from __future__ import annotations

from collections.abc import Iterator

from gridplan.catalog.hf.base import Base, Block
from gridplan.catalog.hf.fields import Fields
from gridplan.catalog.hf.moe import Experts, MoeStyle, expert_facts, expert_weights, gated, read_chosen
from gridplan.catalog.hf.weights import Weight

__all__ = ["llama4_feed_forward"]

STYLE = MoeStyle(module="feed_forward", router="router", shared="shared_expert")


def llama4_feed_forward(fields: Fields, base: Base) -> Block:
    """Layers of `moe_layers`, else every `interleave_moe_layer_step`-th, have experts; the others a wider dense MLP."""
    count = fields.count("num_local_experts", most=100_000)
    chosen = read_chosen(fields, count, "num_experts_per_tok")
    width = fields.count("intermediate_size")
    step = fields.count("interleave_moe_layer_step", 1)
    listed = set(fields.counts("moe_layers"))
    if any(layer >= base.layers for layer in listed):
        fields.clash("moe_layers", f"names a layer beyond the {base.layers} of the model, counted from 0")
    sparse = [i in listed if listed else (i + 1) % step == 0 for i in range(base.layers)]
    plain = fields.count("intermediate_size_mlp") if not all(sparse) else fields.optional("intermediate_size_mlp")
    fields.flag("use_qk_norm", False)  # this norm has no weights
    own = Experts(count, width, width)

    def weights(layer: int) -> Iterator[Weight]:
        name = f"layers.{layer}.feed_forward"
        if sparse[layer]:
            return expert_weights(name, base.hidden, own, STYLE)
        return gated(name, "mlp", base.hidden, plain or 1)

    return Block(weights, facts={"intermediate_size": plain or width, **expert_facts(own, chosen, sum(sparse))})
