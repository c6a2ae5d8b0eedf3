"""Decoders whose layers are attention and a feed-forward half with norms around them: nearly all architectures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from gridplan.catalog.hf.base import Base, Block, Plan, grouped, read_base
from gridplan.catalog.hf.ends import ends
from gridplan.catalog.hf.fields import Fields
from gridplan.catalog.hf.mtp import MTP_FIELDS, MtpStyle, mtp_weights
from gridplan.catalog.hf.positions import longest
from gridplan.catalog.hf.weights import Weight, norm, vector

__all__ = ["Decoder"]

Part = Callable[[Fields, Base], Block]


@dataclass(frozen=True)
class Decoder:
    """One architecture: its two halves of a layer, and what its config does not say.

    `norms` are those of a layer, `scalars` further single numbers of it, `tied` holds where `tie_word_embeddings` is
    silent, `mtp` says how extra layers for multi-token prediction are made. `defaults` are those of the class `owner`
    that published files leave out.
    """

    attention: Part
    feed_forward: Part
    norms: tuple[str, ...] = ("input_layernorm", "post_attention_layernorm")
    norm_bias: bool = False
    scalars: int = 0
    tied: bool = False
    mtp: MtpStyle | None = None
    defaults: Mapping[str, int] = field(default_factory=dict)
    owner: str = ""

    def __call__(self, fields: Fields) -> Plan:
        """The plan of a config; CatalogError with every fault of its fields."""
        fields = fields.with_defaults(self.defaults, self.owner)
        base = read_base(fields, self.tied)
        attention, forward = self.attention(fields, base), self.feed_forward(fields, base)
        extra = max(fields.count(name, 0, least=0, most=100) for name in MTP_FIELDS)
        fields.report.raise_if_any()

        def layer(index: int) -> Iterator[Weight]:
            for name in self.norms:
                yield from norm(f"layers.{index}.{name}", base.hidden, self.norm_bias)
            if self.scalars:
                yield vector(f"layers.{index}.layer_scalar", "norms", self.scalars)
            yield from attention.weights(index)
            yield from forward.weights(index)

        weights = list(ends(base, self.norm_bias))
        for index in range(base.layers):
            weights += layer(index)
        found, reason = {}, {}
        if extra and self.mtp is None:
            reason["mtp"] = "extra layers for multi-token prediction are not counted for this architecture"
        elif extra and self.mtp is not None:
            found["mtp"] = tuple(mtp_weights(self.mtp, base, extra, layer))
        facts = {**attention.facts, **forward.facts, "max_position_embeddings": longest(fields)}
        return Plan(base, tuple(weights), grouped(attention.groups), facts, found, reason)
