"""Weights as engines load them: stored bytes, and the bytes on the fullest rank of a replica.

A rank is one GPU. Most weights are split evenly over tensor (tp) and pipeline (pp) parallel ranks; what is not is
described part by part as a ratio: bytes of the part on the fullest rank over its even split, part / (tp pp). The ratio
of all weights is the mean of these, weighted by the parts' shares of the bytes. Since the fullest rank of each part is
taken, and these need not be the same rank, the result is an upper bound; norms and biases (below 0.1%) count as split.

Sources: the parallel layers of vLLM (ReplicatedLinear, QKVParallelLinear, VocabParallelEmbedding, FusedMoE), and the
start-up logs that tests/reference/test_weights_logs.py lists.
"""

from __future__ import annotations

import numpy as np

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value
from gridplan.rounding import ceil_exact

__all__ = [
    "dense_rank_ratio",
    "expert_padding_ratio",
    "experts_rank_ratio",
    "kv_projection_rank_ratio",
    "moe_stage_ratio",
    "replicated_rank_ratio",
    "vocabulary_rank_ratio",
    "weights_bytes",
    "weights_bytes_per_gpu",
    "weights_rank_ratio",
]

BITS_PER_BYTE = 8.0
BYTES_16BIT = 2.0
MXFP4_WIDTH_MULTIPLE = 256.0
"""Multiple to which vLLM pads the hidden size of MXFP4 experts (Mxfp4MoEMethod.create_weights, vLLM 0.11; a fact for
its Marlin and FlashInfer kernels, a measurement for the default of an H100: see `expert_padding_ratio`)."""


@formula
def weights_bytes(params_total: Value, weight_bits: Value, params_16bit: Value = 0.0) -> Value:
    """Bytes of all weights, every shard once: (N - N16) bits / 8 + 2 N16 [bytes].

    params_total [count], weight_bits [bits per parameter, scales included], params_16bit [count] that stay 16-bit in a
    quantised checkpoint (embeddings, lm_head, router). 4-bit weights of a 70.6e9-parameter model are not N/2 bytes:

    >>> weights_bytes(8.03e9, 16)
    16060000000.0
    >>> round(weights_bytes(70.6e9, 4.16, 2 * 128256 * 8192) / 2**30, 2)
    37.09
    """
    return (params_total - params_16bit) * (weight_bits / BITS_PER_BYTE) + params_16bit * BYTES_16BIT


@formula
def dense_rank_ratio(num_layers: Value, pipeline_parallel: Value) -> Value:
    """Attention and dense MLP on the fullest stage, over the even split: pp ceil(L / pp) / L [1].

    num_layers L [layers]; NaN (no model) splits evenly. 61 layers in 2 stages put 31 on one:

    >>> round(dense_rank_ratio(61, 2), 4), dense_rank_ratio(80, 4)
    (1.0164, 1.0)
    """
    fullest = ceil_exact(num_layers / pipeline_parallel)
    return np.where(np.isnan(num_layers), 1.0, pipeline_parallel * fullest / num_layers)


@formula
def moe_stage_ratio(num_layers: Value, num_moe_layers: Value, pipeline_parallel: Value) -> Value:
    """Mixture-of-experts layers on the fullest stage, over the even split [1].

    Where most layers have experts, the dense ones come first and a later stage may have experts in all its
    ceil(L / pp) layers; else the kinds alternate, and a stage has ceil(M / pp) of M (assumption, true of DeepSeek, GLM,
    Kimi, Llama 4 and Nemotron 3). NaN or 0 layers with experts give 1.

    >>> round(moe_stage_ratio(61, 58, 2), 4), moe_stage_ratio(48, 24, 4), moe_stage_ratio(80, 0, 4)
    (1.069, 1.0, 1.0)
    """
    stage = np.minimum(ceil_exact(num_layers / pipeline_parallel), num_moe_layers)
    fullest = np.where(2.0 * num_moe_layers > num_layers, stage, ceil_exact(num_moe_layers / pipeline_parallel))
    return np.where(num_moe_layers > 0.0, pipeline_parallel * fullest / num_moe_layers, 1.0)


@formula
def experts_rank_ratio(
    num_experts: Value,
    expert_parallel: Value,
    data_parallel: Value,
    moe_stage_ratio: Value,
    expert_padding: Value = 1.0,
) -> Value:
    """Routed experts on the fullest rank, over their even split over tp pp ranks: ceil(E / ep) ep / (E dp) [1].

    The tp dp ranks of attention share the experts: ep groups hold ceil(E / ep) whole experts at most, each split over
    the tp dp / ep ranks of its group. Times `moe_stage_ratio` [1] and what the kernel pads, `expert_padding` [1].
    NaN experts (none, or no model) count as evenly split. Source: vLLM's FusedMoEParallelConfig and
    determine_expert_map; SGLang has ep_size. 160 experts over 8 attention ranks, and over 3 groups of 54 at most:

    >>> experts_rank_ratio(160, 8, 8, 1.0), experts_rank_ratio(160, 3, 1, 1.0)
    (0.125, 1.0125)
    """
    uneven = ceil_exact(num_experts / expert_parallel) * expert_parallel / num_experts
    known = num_experts > 0.0
    return np.where(known, uneven, 1.0) / np.where(known, data_parallel, 1.0) * moe_stage_ratio * expert_padding


@formula
def vocabulary_rank_ratio(embedding_share: Value, lm_head_share: Value, pipeline_parallel: Value) -> Value:
    """Embedding and lm_head on the fullest stage, over the even split; vocabulary-parallel over tp [1].

    The first stage holds one table, the last the other: pp max(e, h) / (e + h) from two stages on, both on a single
    one. `embedding_share` e and `lm_head_share` h are shares of the bytes [1]; 0 and 0 give 1.

    >>> vocabulary_rank_ratio(0.02, 0.02, 1), vocabulary_rank_ratio(0.02, 0.02, 4), vocabulary_rank_ratio(0.02, 0.0, 4)
    (1.0, 2.0, 4.0)
    """
    both = embedding_share + lm_head_share
    apart = pipeline_parallel * np.maximum(embedding_share, lm_head_share) / both
    return np.where((pipeline_parallel == 1.0) | (both == 0.0), 1.0, apart)


@formula
def replicated_rank_ratio(tensor_parallel: Value, stage_ratio: Value) -> Value:
    """Weights that every tensor-parallel rank holds whole (router, MLA down projections): tp times the split [1].

    `stage_ratio` [1] is how much of them the fullest pipeline stage has, over the even split.

    >>> replicated_rank_ratio(8, 1.0)
    8.0
    """
    return tensor_parallel * stage_ratio


@formula
def kv_projection_rank_ratio(kv_heads: Value, tensor_parallel: Value, dense_rank_ratio: Value) -> Value:
    """Key and value projections: tp max(1, ceil(heads / tp)) / heads, since a head is never cut [1].

    kv_heads [heads]; NaN splits evenly. 4 KV heads over 8 ranks are stored twice:

    >>> kv_projection_rank_ratio(4, 8, 1.0), kv_projection_rank_ratio(8, 4, 1.0)
    (2.0, 1.0)
    """
    held = np.maximum(1.0, ceil_exact(kv_heads / tensor_parallel))
    return np.where(np.isnan(kv_heads), 1.0, tensor_parallel * held / kv_heads) * dense_rank_ratio


@formula
def expert_padding_ratio(hidden_size: Value) -> Value:
    """Loaded over stored bytes of MXFP4 experts in vLLM: ceil(H / 256) 256 / H [1].

    Class measurement: H100 logs of vLLM 0.11 show 13.47 GiB for gpt-oss-20b and 64.38 for 120b, 1.067 times the bytes
    of the experts (hidden 2,880 held as 3,072). In vLLM's Mxfp4MoEMethod the hidden size goes to a multiple of 256 and
    is not divided by tp; Marlin kernels (A100) pad the intermediate size to 128 as well, 2% more that is not counted.

    >>> round(expert_padding_ratio(2880), 4), expert_padding_ratio(4096)
    (1.0667, 1.0)
    """
    return ceil_exact(hidden_size / MXFP4_WIDTH_MULTIPLE) * MXFP4_WIDTH_MULTIPLE / hidden_size


@formula
def weights_rank_ratio(
    dense_rank_ratio: Value,
    experts_share: Value,
    experts_rank_ratio: Value,
    vocabulary_share: Value,
    vocabulary_rank_ratio: Value,
    replicated_share: Value,
    replicated_rank_ratio: Value,
    kv_projection_share: Value,
    kv_projection_rank_ratio: Value,
) -> Value:
    """Weights on the fullest rank over W / (tp pp): d + sum of share (ratio - d) over the parts [1].

    Shares are of the bytes, each from 0 to 1; what no part names is dense, with ratio d. 2% replicated over 8 ranks:

    >>> round(weights_rank_ratio(1, 0, 1, 0, 1, 0.02, 8, 0, 1), 4)
    1.14
    """
    return (
        dense_rank_ratio
        + experts_share * (experts_rank_ratio - dense_rank_ratio)
        + vocabulary_share * (vocabulary_rank_ratio - dense_rank_ratio)
        + replicated_share * (replicated_rank_ratio - dense_rank_ratio)
        + kv_projection_share * (kv_projection_rank_ratio - dense_rank_ratio)
    )


@formula
def weights_bytes_per_gpu(
    weights_bytes: Value, tensor_parallel: Value, pipeline_parallel: Value, weights_rank_ratio: Value = 1.0
) -> Value:
    """Bytes of weights on the fullest rank: W / (tp pp) times its ratio to the even split [bytes].

    >>> weights_bytes_per_gpu(70.55e9, 4, 1)
    17637500000.0
    >>> weights_bytes_per_gpu(80e9, 8, 1, 1.05)
    10500000000.0
    """
    return weights_bytes / (tensor_parallel * pipeline_parallel) * weights_rank_ratio
