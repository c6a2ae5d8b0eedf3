"""Attention work of a prompt by the layers of each cell's model: FLOP per pair of tokens, and the windows.

Every query head takes part, whatever the number of KV heads. Latent attention multiplies with keys of 128 + 64 and
values of 128 dimensions a head in prefill, where its projections are expanded (facts of the configurations of
DeepSeek-V2 and V3 and of Kimi K2; an assumption for others). Sparse latent attention looks at 2,048 tokens that an
indexer of 64 heads picks among all (facts of the configuration of DeepSeek-V3.2-Exp; an assumption for others). Layers
with a state have no pairs, layers that reuse a cache are not counted.
"""

from __future__ import annotations

import numpy as np

from gridplan.catalog import LayerGroup, Model
from gridplan.engine.field import Field, combine, lookup
from gridplan.engine.labels import Labels
from gridplan.formulas import attention_flop_per_pair

__all__ = ["attention_values"]

MLA_QK_HEAD_DIM, MLA_V_HEAD_DIM = 192, 128
INDEX_HEADS, INDEX_TOP_TOKENS = 64, 2048


def attention_values(labels: Labels, peak_flops: Field) -> dict[str, Field]:
    """FLOP of one pair in all layers that see everything and in those that see a window, the widest window, and a rate.

    Attention computes in 16 bits whatever the weights are stored in; a stated peak rate holds for it as well.
    """

    def of_model(pick: int) -> Field:
        return labels.by_model(lambda m: attention_of(m)[pick])

    def rate(name: str | None) -> float | None:
        flops = {} if name is None else labels.catalog.gpu(name).flops
        return flops.get("bf16", flops.get("fp16"))

    stated, sixteen = labels.resolver.peek("peak_flops"), lookup(rate, labels.gpu)
    known = combine(_rate_of_attention, stated, sixteen, peak_flops)
    return {
        "attention_full_flop": of_model(0),
        "attention_window_flop": of_model(1),
        "attention_window_tokens": of_model(2),
        "attention_peak_flops": known,
    }


def _rate_of_attention(stated: np.ndarray, sixteen: np.ndarray, peak: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(np.isnan(stated) & ~np.isnan(sixteen), sixteen, peak))


def attention_of(model: Model) -> tuple[float, float, float]:
    """FLOP per pair without and with a window [FLOP], and the widest window [tokens]."""
    full, windowed, window = 0.0, 0.0, 1.0
    for group in model.layer_groups:
        flop = _flop(group, model.attention_heads)
        if group.kind in ("full", "mla"):
            full += flop / group.compression
        elif group.kind == "sparse_mla":
            full += _index_flop(group) / group.compression
            windowed, window = windowed + flop, max(window, float(INDEX_TOP_TOKENS))
        elif group.kind in ("sliding", "chunked"):
            windowed, window = windowed + flop, max(window, float(group.window_tokens or 0))
    return full, windowed, window


def _flop(group: LayerGroup, heads: int) -> float:
    if group.kind in ("mla", "sparse_mla"):
        return float(attention_flop_per_pair(group.layers, heads, MLA_QK_HEAD_DIM, MLA_V_HEAD_DIM))
    if group.k_head_dim is None:
        return 0.0
    # A value vector that is stored with the key (0) is as wide as that.
    return float(attention_flop_per_pair(group.layers, heads, group.k_head_dim, group.v_head_dim or group.k_head_dim))


def _index_flop(group: LayerGroup) -> float:
    """Scores of the indexer: one product a pair and head, no values."""
    return float(attention_flop_per_pair(group.layers, INDEX_HEADS, group.index_head_dim or 0, 0))
