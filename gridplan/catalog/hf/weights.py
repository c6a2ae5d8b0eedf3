"""The tensors of a checkpoint by name, size and part, and the linear layers that they are mostly made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

__all__ = ["PARTS", "Weight", "as_part", "linear", "norm", "total", "vector"]

PARTS = (
    *("embedding", "attention", "indexer", "state", "mlp", "experts", "shared_experts", "router", "norms", "lm_head"),
    *("mtp", "vision"),
)
"""Parts in the order in which they are listed; `state` is the mixing of linear-attention and Mamba layers."""


@dataclass(frozen=True, slots=True)
class Weight:
    """A tensor of `rows` outputs by `columns` inputs, or `copies` of it.

    `quantised` says whether a number format of weights applies to it: to the matrices of linear layers, never to norms,
    biases, embeddings and convolutions. `routed` marks routed experts, also where they are counted with another part.
    """

    name: str
    part: str
    rows: int
    columns: int = 1
    copies: int = 1
    quantised: bool = False
    routed: bool = False

    @property
    def params(self) -> int:
        """Parameters of all copies [count]."""
        return self.rows * self.columns * self.copies


def linear(name: str, part: str, inputs: int, outputs: int, bias: bool = False, copies: int = 1) -> Iterator[Weight]:
    """A linear layer: its matrix, and its bias where it has one.

    >>> total(linear("layers.0.self_attn.q_proj", "attention", 896, 896, bias=True))
    803712
    """
    yield Weight(name, part, outputs, inputs, copies, quantised=True)
    if bias:
        yield Weight(f"{name}.bias", part, outputs, 1, copies)


def norm(name: str, size: int, bias: bool = False) -> Iterator[Weight]:
    """A normalisation over `size` elements: a scale of each, and a bias for a LayerNorm."""
    yield Weight(name, "norms", size)
    if bias:
        yield Weight(f"{name}.bias", "norms", size)


def vector(name: str, part: str, size: int, copies: int = 1) -> Weight:
    """Parameters that no matrix format applies to."""
    return Weight(name, part, size, 1, copies)


def total(weights: Iterable[Weight]) -> int:
    """Parameters of all of them [count]."""
    return sum(weight.params for weight in weights)


def as_part(weights: Iterable[Weight], part: str) -> Iterator[Weight]:
    """The same tensors counted as one part."""
    return (replace(weight, part=part, routed=weight.part == "experts" or weight.routed) for weight in weights)
