"""What a step costs beside its bytes: launches by layer, all-reduces, and each sequence's own share.

Bandwidth alone promises twice what engines reach at small batches, because a step is hundreds of short kernels in
turn. A layer costs a fixed time whatever it computes, a step has a fixed cost of scheduling and sampling, and tensor
parallelism adds two all-reduces a layer: latency, and the bytes of every token over the link. A ring moves
2 (tp - 1) / tp of the message over each link (Thakur, Rabenseifner, Gropp, Int. J. High Perform. Comput. Appl. 19(1),
2005, doi:10.1177/1094342005051521); two all-reduces a layer: Shoeybi et al. 2019, arXiv:1909.08053. Pipeline stages
work in turn, so the overheads of all layers add up.
"""

from __future__ import annotations

import numpy as np

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value

__all__ = [
    "all_reduce_per_token_s",
    "chunk_overhead_s",
    "step_overheads_s",
    "step_per_sequence_total_s",
]

ALL_REDUCES_PER_LAYER = 2.0
"""One after attention, one after the MLP (fact: arXiv:1909.08053, section 3)."""

ACTIVATION_BYTES = 2.0
"""Hidden states are reduced in 16 bits (fact of vLLM, SGLang and TensorRT-LLM without quantised all-reduce)."""


@formula
def step_overheads_s(
    step_overhead_s: Value, layer_overhead_s: Value, num_layers: Value, tensor_parallel: Value, all_reduce_s: Value
) -> Value:
    """Fixed cost of a decode step: t_0 + L (t_layer + 2 t_ar), t_ar only at tp > 1 [s].

    step_overhead_s [s] of a step, layer_overhead_s [s] of a layer, all_reduce_s [s] the latency of a small all-reduce.

    >>> round(step_overheads_s(0.001, 30e-6, 80, 1, 10e-6) * 1e3, 3)
    3.4
    >>> round(step_overheads_s(0.001, 30e-6, 80, 8, 10e-6) * 1e3, 3)
    5.0
    """
    reduces = ALL_REDUCES_PER_LAYER * all_reduce_s * np.minimum(tensor_parallel - 1.0, 1.0)
    return step_overhead_s + num_layers * (layer_overhead_s + reduces)


@formula
def all_reduce_per_token_s(
    num_layers: Value, hidden_size: Value, tensor_parallel: Value, link_bandwidth_bytes_per_s: Value
) -> Value:
    """Bytes that the all-reduces of one token move over each link, as time: 2 L 2 (tp - 1) / tp 2 H / BW_link [s].

    link_bandwidth_bytes_per_s [bytes/s] is achieved, in one direction. 0 at tp = 1, whatever the link. 80 layers of
    8,192 over NVLink at 300 GB/s, and over PCIe at 20 GB/s:

    >>> round(all_reduce_per_token_s(80, 8192, 8, 300e9) * 1e6, 2)
    15.29
    >>> round(all_reduce_per_token_s(80, 8192, 2, 20e9) * 1e6, 1), all_reduce_per_token_s(80, 8192, 1, float("nan"))
    (131.1, 0.0)
    """
    over_link = 2.0 * (tensor_parallel - 1.0) / tensor_parallel * ACTIVATION_BYTES * hidden_size
    moved = ALL_REDUCES_PER_LAYER * num_layers * over_link / link_bandwidth_bytes_per_s
    return np.where(tensor_parallel == 1, 0.0, moved)


@formula
def step_per_sequence_total_s(
    sequence_overhead_s: Value, prefill_per_token_s: Value, data_parallel: Value = 1.0
) -> Value:
    """What one more sequence adds to a step beside its cache: t_seq = t_o / dp + p [s].

    sequence_overhead_s [s] is scheduling and sampling of a sequence, on attention ranks side by side. A decoding
    sequence is one token of work like one of a prompt, so p [s] (its multiplications and all-reduce bytes) is added:
    the step then grows past the batch at which FLOPs bind, and is a little long below it.

    >>> round(step_per_sequence_total_s(10e-6, 24e-6, 2) * 1e6, 3)
    29.0
    """
    return sequence_overhead_s / data_parallel + prefill_per_token_s


@formula
def chunk_overhead_s(chunk_layer_overhead_s: Value, num_layers: Value) -> Value:
    """What a step costs more because a prompt's chunk rides in it: L t_chunk [s].

    Steps that mix prompts and decoding often run without captured graphs, so each layer launches its kernels anew.

    >>> round(chunk_overhead_s(50e-6, 80) * 1e3, 3)
    4.0
    """
    return chunk_layer_overhead_s * num_layers
