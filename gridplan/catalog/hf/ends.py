"""Both ends of a decoder: the embedding, the last norm and the lm_head."""

from __future__ import annotations

from collections.abc import Iterator

from gridplan.catalog.hf.base import Base
from gridplan.catalog.hf.weights import Weight, linear, norm

__all__ = ["ends"]


def ends(base: Base, norm_bias: bool = False) -> Iterator[Weight]:
    """Embedding, final norm, and an lm_head of its own where the embedding is not tied to it."""
    yield Weight("embed_tokens", "embedding", base.vocab, base.hidden)
    yield from norm("norm", base.hidden, norm_bias)
    if not base.tied:
        yield from linear("lm_head", "lm_head", base.hidden, base.vocab)
