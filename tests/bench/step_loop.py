"""A replica step by step, the plainest possible simulation: an arrival stream or a fixed number of clients.

Each step decodes one token for every running sequence and prefills prompts, first come first served, in what is left
of the token budget; it lasts t_w + t_seq x sequences + k x resident tokens + p x prefill tokens. Every step is kept,
so that gaps between tokens can be counted. Compiled by numba, which only these comparisons need.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from latency_random import Replica
from numba import njit

Array = npt.NDArray[np.float64]


@njit(cache=False)
def _loop(  # type: ignore[no-untyped-def]
    arrival, clients, prompt, uncached, output, step_s, context_s, prefill_s, sequence_s, chunk_s, budget, slots, most
):
    n = prompt.shape[0]
    admitted, first, done = np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan)
    born = arrival.copy()
    joined = np.zeros(n, np.int64)
    length, running = np.zeros(most), np.zeros(most, np.int64)
    left = uncached.copy()
    due_head, due_next = np.full(most + 1, -1, np.int64), np.full(n, -1, np.int64)
    clock, step, decoding, context = 0.0, 0, 0, 0.0
    served = 0  # requests before this one have their prompt complete
    entered = 0  # requests before this one hold a slot
    here = min(clients, n) if clients > 0 else 0  # requests before this one have arrived
    finished = 0
    for i in range(here):
        born[i] = 0.0
    while finished < n and step < most:
        if clients == 0:
            if decoding == 0 and served == here and here < n and arrival[here] > clock:
                clock = arrival[here]
            while here < n and arrival[here] <= clock:
                here += 1
        if decoding == 0 and served == here:
            break
        room = budget - decoding
        tokens = 0
        work = 0.0
        i = served
        while i < here and room > 0:
            if i >= entered:
                if i - finished >= slots:
                    break
                entered = i + 1
                admitted[i] = clock
            take = min(left[i], room)
            left[i] -= take
            room -= take
            tokens += take
            work += prefill_s * take
            if left[i] > 0:
                break
            i += 1
        took = step_s + sequence_s * decoding + context_s * context + work
        if tokens > 0:
            took += chunk_s
        clock += took
        length[step], running[step] = took, decoding
        context += decoding
        # Sequences that give their last token in this step leave.
        v = due_head[step]
        while v >= 0:
            done[v] = clock
            decoding -= 1
            context -= prompt[v] + output[v]
            finished += 1
            if clients > 0 and here < n:
                born[here] = clock
                here += 1
            v = due_next[v]
        while served < i:
            v = served
            served += 1
            first[v], joined[v] = clock, step + 1
            if output[v] <= 1:
                done[v] = clock
                finished += 1
                if clients > 0 and here < n:
                    born[here] = clock
                    here += 1
            else:
                decoding += 1
                context += prompt[v] + 1
                last = step + output[v] - 1
                if last <= most:
                    due_next[v] = due_head[last]
                    due_head[last] = v
        step += 1
    return born, admitted, first, done, joined, length[:step], running[:step]


@njit(cache=False)
def _longest(joined, steps, length):  # type: ignore[no-untyped-def]
    out = np.zeros(joined.shape[0])
    for i in range(joined.shape[0]):
        for j in range(joined[i], min(joined[i] + steps[i], length.shape[0])):
            out[i] = max(out[i], length[j])
    return out


def simulate_steps(
    config: Replica,
    requests: int,
    seed: int,
    clients: int = 0,
    gaps: bool = True,
    jitter: float = 0.0,
    chunk_s: float = 0.0,
) -> dict[str, Any]:
    """Samples by request, as `latency_random` names them, and by step: `gap_s` with `gap_count` tokens each.

    clients > 0: that many requests are always in flight and the arrival rate is not used. jitter: outputs are even
    between (1 - jitter) and (1 + jitter) of their class's length. chunk_s [s]: what a step that carries prompts takes
    longer, however many they are.
    """
    rng = np.random.default_rng(seed)
    kind = rng.choice(len(config.class_weights), size=requests, p=config.class_weights)
    prompt, uncached, output = (
        np.broadcast_to(values, config.class_weights.shape).astype(np.int64)[kind]
        for values in (config.prompt_tokens, config.uncached_tokens, config.output_tokens)
    )
    if jitter > 0.0:
        output = np.maximum(1, np.rint(output * rng.uniform(1.0 - jitter, 1.0 + jitter, requests))).astype(np.int64)
    scv = config.arrival_scv
    arrival = np.cumsum(rng.gamma(1.0 / scv, scv, requests)) / config.arrival_rate
    steps = (config.step_weights_s, config.step_per_context_token_s, config.prefill_per_token_s, 0.0, chunk_s)
    slots = requests if config.slots is None else config.slots
    most = 40_000_000 if gaps else 20_000_000
    born, admitted, first, done, joined, length, running = _loop(
        arrival, clients, prompt, uncached, output, *steps, config.token_budget, slots, most
    )
    kept = np.arange(int(0.1 * requests), int(0.95 * requests))
    kept = kept[np.isfinite(done[kept])]
    span = np.nanmax(born[kept]) - born[kept[0]]
    inside = (np.cumsum(length) > 0.1 * length.sum()) & (np.cumsum(length) < 0.95 * length.sum())
    out: dict[str, Any] = {
        "class": kind[kept],
        "output_tokens": output[kept],
        "ttft_s": (first - born)[kept],
        "decode_s": (done - first)[kept],
        "slot_wait_s": float(np.mean((admitted - born)[kept])),
        "batch_mean": float((running * length)[inside].sum() / length[inside].sum()),
        "step_mean_s": float(length[inside].mean()),
        "throughput_rps": len(kept) / span,
        "gap_s": length[inside],
        "gap_count": running[inside],
    }
    if gaps:
        out["gap_longest_s"] = _longest(joined[kept], output[kept] - 1, length)
    return out


def gap_quantile(sample: dict[str, Any], q: Any) -> Array:
    """Quantile of the gaps between tokens, each counted once per sequence that waits for it [s]."""
    order = np.argsort(sample["gap_s"])
    share = np.cumsum(sample["gap_count"][order])
    return np.asarray(sample["gap_s"][order][np.searchsorted(share, np.asarray(q) * share[-1])])
