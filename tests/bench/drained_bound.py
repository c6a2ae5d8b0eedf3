"""The most tokens a second that a run can show: peak FLOP/s, peak bandwidth and all of memory, nothing else.

Of N requests on G GPUs, work and bytes overlap perfectly (a roofline), no kernel costs a launch, nothing is reserved:

    FLOP    N (2 A (U + O - 1) + attention of the prompts), at the dense peak of the weights' format
    bytes   S_min W_read + N n c k_bytes, at the catalog's bandwidth; S_min = n max(1, N / B_max)
    B_max   (memory of all GPUs - weights) / cache of a request halfway through its answer, at most N, or those in
            flight

W_read holds the experts that a batch of B_max touches with even routing. tokens/s = N (P + O) / max(FLOP, bytes). A
run above it is not a fast run: its row, its setting or the catalog is wrong.
"""

from __future__ import annotations

import math

import numpy as np
from drained_model import Known
from throughput_rows import Run

from gridplan import formulas as f

__all__ = ["bound_tokens_per_s"]


def _flop_s(run: Run, replica: Known) -> float:
    gaps, gpus = max(run.output_tokens - 1.0, 0.0), run.gpus
    linear = 2.0 * replica["flop_params_count"] * (run.prompt_tokens + gaps)
    prompt = run.prompt_tokens
    pairs = np.nan_to_num(replica["attention_full_flop"]) * f.attended_pairs(prompt, prompt)
    if replica["attention_window_flop"] > 0:
        near = f.attended_pairs(prompt, prompt, replica["attention_window_tokens"])
        pairs += replica["attention_window_flop"] * near
    # A prompt's attention may run at the rate of the weights' format: a bound takes the faster one.
    return float(run.requests * (linear + pairs) / (gpus * replica["peak_flops"]))


def _bytes_s(run: Run, replica: Known) -> float:
    gaps, gpus = max(run.output_tokens - 1.0, 0.0), run.gpus
    room = gpus * (replica["gpu_memory_bytes"] - replica["weights_bytes_per_gpu"])
    tokens = replica["kv_read_bytes_per_token_per_gpu"]
    # Ranks of data-parallel attention and stages of a pipeline hold caches of different requests or layers.
    request = tokens * run.gpus / (replica["data_parallel"]) * (run.prompt_tokens + run.output_tokens / 2.0)
    batch = min(max(room / request, 1.0) if request > 0 else math.inf, run.requests, run.at_once)
    least = gaps * max(1.0, run.requests / batch)
    always = replica["weights_read_bytes"] - replica["experts_read_bytes"]
    touched = 0.0
    if replica["experts_read_bytes"] > 0:
        share = f.experts_touched_share(replica["num_experts"], replica["experts_per_token"], batch)
        touched = replica["experts_read_bytes"] * float(share)
    read = least * (always + touched) + run.requests * gaps * request
    return float(read / (gpus * replica["memory_bandwidth_bytes_per_s"]))


def bound_tokens_per_s(run: Run, replica: Known) -> tuple[float, str]:
    """The bound [prompt and output tokens/s] and what sets it: `FLOP` or `bytes`."""
    flop, read = _flop_s(run, replica), _bytes_s(run, replica)
    total = run.requests * (run.prompt_tokens + run.output_tokens)
    return total / max(flop, read), "FLOP" if flop >= read else "bytes"
