"""Vision towers, which serving text alone does not load: that of Qwen3-VL and Qwen3.5."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gridplan.catalog.hf.fields import MOST_LAYERS, Fields
from gridplan.catalog.hf.weights import Weight, as_part, linear, norm

__all__ = ["TOWERS", "qwen_tower"]

TOWERS = ("qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe")
"""Model types of whole models whose tower is counted."""
PART = "vision"


@dataclass(frozen=True, slots=True)
class _Tower:
    depth: int
    hidden: int
    width: int
    out: int
    merged: int
    patch: int
    positions: int
    deep: int


def qwen_tower(fields: Fields) -> tuple[Weight, ...]:
    """Patches, positions, blocks, the merger, and one more for each layer that `deepstack_visual_indexes` names."""
    patch = fields.count("patch_size")
    hidden, merge = fields.count("hidden_size"), fields.count("spatial_merge_size")
    own = _Tower(
        depth=fields.count("depth", most=MOST_LAYERS),
        hidden=hidden,
        width=fields.count("intermediate_size"),
        out=fields.count("out_hidden_size"),
        merged=hidden * merge * merge,
        patch=fields.count("in_channels") * fields.count("temporal_patch_size") * patch * patch,
        positions=fields.count("num_position_embeddings"),
        deep=len(fields.counts("deepstack_visual_indexes")),
    )
    return tuple(as_part(_weights(own), PART))


def _weights(own: _Tower) -> Iterator[Weight]:
    yield Weight("visual.patch_embed.proj", PART, own.hidden, own.patch)
    yield Weight("visual.patch_embed.proj.bias", PART, own.hidden)
    yield Weight("visual.pos_embed", PART, own.positions, own.hidden)
    for index in range(own.depth):
        name = f"visual.blocks.{index}"
        yield from norm(f"{name}.norm1", own.hidden, bias=True)
        yield from norm(f"{name}.norm2", own.hidden, bias=True)
        yield from linear(f"{name}.attn.qkv", PART, own.hidden, 3 * own.hidden, bias=True)
        yield from linear(f"{name}.attn.proj", PART, own.hidden, own.hidden, bias=True)
        yield from linear(f"{name}.mlp.linear_fc1", PART, own.hidden, own.width, bias=True)
        yield from linear(f"{name}.mlp.linear_fc2", PART, own.width, own.hidden, bias=True)
    yield from _merger("visual.merger", own, own.hidden)
    for index in range(own.deep):
        yield from _merger(f"visual.deepstack_merger_list.{index}", own, own.merged)


def _merger(name: str, own: _Tower, normed: int) -> Iterator[Weight]:
    """Neighbouring patches made into one token of the language model."""
    yield from norm(f"{name}.norm", normed, bias=True)
    yield from linear(f"{name}.linear_fc1", PART, own.merged, own.merged, bias=True)
    yield from linear(f"{name}.linear_fc2", PART, own.merged, own.out, bias=True)
