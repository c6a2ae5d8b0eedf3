"""Extra layers for multi-token prediction, which serving without speculation does not load."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from gridplan.catalog.hf.base import Base
from gridplan.catalog.hf.weights import Weight, as_part, linear, norm

__all__ = ["MTP_FIELDS", "MtpStyle", "mtp_weights"]

MTP_FIELDS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "mtp_transformer_layers")
"""Fields that state how many there are."""


@dataclass(frozen=True, slots=True)
class MtpStyle:
    """How they are made: a projection of two hidden states to one beside the layers, and norms around it.

    `each`: every layer has a projection and norms of its own (DeepSeek); else they are shared by all (Qwen).
    """

    projection: str
    norms: tuple[str, ...]
    each: bool = True


def mtp_weights(style: MtpStyle, base: Base, layers: int, layer: Callable[[int], Iterable[Weight]]) -> Iterator[Weight]:
    """The extra layers as one part; copies of embedding and lm_head that a checkpoint repeats are not counted.

    `layer` gives the weights of layer i; beyond the last one it is a layer of experts with full attention.
    """
    for index in range(layers):
        name = f"layers.{base.layers + index}"
        yield from as_part(layer(base.layers + index), "mtp")
        if style.each or index == 0:
            yield from as_part(linear(f"{name}.{style.projection}", "mtp", 2 * base.hidden, base.hidden), "mtp")
            for part in style.norms:
                yield from as_part(norm(f"{name}.{part}", base.hidden), "mtp")
