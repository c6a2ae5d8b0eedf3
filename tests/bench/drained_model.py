"""How long a run takes that drains a queue of prompts, from gridplan's step times, slots and shipped constants.

N prompts are there at t = 0 and B of them run at once: the KV slots, the scheduler's cap, or all N. Every request
prefills U tokens and decodes n = O - 1 steps. Whatever the order, the run makes all of its work and all of its steps:

    duration = S t_w + carried t_chunk + N (prefill + n (k c + t_seq)),   tokens/s = N (P + O) / duration

S is what the law is about. Answers of equal length run in ceil(N / B) waves of n steps, the first of which is filled by
B U / C steps of C prompt tokens. Answers of exponential length leave one by one: (N - B) n / B steps with all slots
full, then n H_B steps in which B leave without being replaced, H_B = 1 + 1/2 + ... + 1/B (the mean of the largest of
B). Where prompts come through the token budget more slowly than that, S is N U / C + n. t_w(b) reads the experts of
the batch of each of these phases. A step carries the overhead of a chunk once, however many prompts share it. c is
P + O/2 for equal lengths and P + O for exponential ones, since requests in flight are the long ones.

Slots: paged engines hold what a sequence has, P + O/2 on average (P + O where lengths are exponential); TensorRT-LLM
admits a request with all that it will need, P + O.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from throughput_rows import Run

import gridplan
from gridplan import chain
from gridplan import formulas as f
from gridplan.engine.inputs import build_inputs

__all__ = ["Known", "closed_loop_tokens_per_s", "known", "slots", "steps", "tokens_per_s"]

ENDS = ("best", "low", "high")
"""Ends of the shipped constants."""

_INPUTS = (
    *("num_experts", "experts_per_token", "data_parallel", "weights_read_bytes", "experts_read_bytes"),
    *("memory_bandwidth_bytes_per_s", "peak_flops", "tensor_parallel", "pipeline_parallel"),
    *("attention_full_flop", "attention_window_flop", "attention_window_tokens", "attention_peak_flops"),
    *("gpu_memory_bytes", "moe_data_parallel"),
)
_MEASURES = (
    *("step_fixed_s", "step_experts_s", "kv_read_per_context_token_s", "step_per_sequence_s", "token_budget"),
    *("class_prefill_multiplied_s", "class_prefill_chunks", "chunk_overhead_total_s", "weights_bytes_per_gpu"),
    *("concurrency_memory", "concurrency_memory_mean", "concurrency_scheduler", "flop_params_count"),
    *("kv_read_bytes_per_token_per_gpu", "activation_bytes_per_gpu"),
    *("closed_loop_output_tokens_per_s", "closed_loop_tpot_s", "closed_loop_ttft_s"),
)


@dataclass(frozen=True)
class Known:
    """What gridplan says of the replica of a run, by the names of its dictionary; units as there."""

    values: Mapping[str, float]

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def weights_s(self, batch: float | np.ndarray) -> np.ndarray:
        """t_w at a batch of all ranks [s]."""
        experts = (self["step_experts_s"], self["num_experts"], self["experts_per_token"])
        return np.asarray(f.step_weights_at_batch_s(self["step_fixed_s"], *experts, batch))


def _contract(run: Run) -> str:
    deployment = {
        **{"model": run.model, "gpu": run.gpu, "engine": run.engine, "weight_dtype": run.weight_dtype},
        **{"kv_dtype": run.kv_dtype, "tensor_parallel": run.tensor_parallel},
        **{"pipeline_parallel": run.pipeline_parallel, "data_parallel": run.data_parallel},
        **{"expert_parallel": run.expert_parallel, **dict(run.limits)},
    }
    if run.engine_name == "tensorrt-llm":
        deployment["workspace_bytes"] = "4 GiB"
    clients = run.at_once if math.isfinite(run.at_once) else run.requests
    return json.dumps(
        {
            **{"schema": 1, "deployment": deployment, "policy": {"rho_target": 0.7, "redundancy": 0}},
            "workload": {
                **{"prompt_tokens": run.prompt_tokens, "output_tokens": run.output_tokens, "arrival_rate": 1},
                "prefix_hit_ratio": run.prefix_hit_ratio,
            },
            "capacity": {"closed_loop_concurrency": max(clients, 1.0)},
            "axes": {"step_constants": ENDS},
        }
    )


def known(run: Run, end: str = "best") -> Known:
    """The replica of a run with one end of the shipped constants."""
    return _planned(run)[ENDS.index(end)]


@lru_cache(maxsize=1024)
def _planned(run: Run) -> tuple[Known, ...]:
    """Plan the replica of a run with every end of the shipped constants, which are the only axis."""
    inputs = build_inputs(gridplan.loads_grid(_contract(run)))
    values = {name: item.data for name, item in inputs.values.items()}
    chain.evaluate(chain.needed(inputs.steps, _MEASURES), values)
    found = {name: np.ravel(values[name]) for name in (*_INPUTS, *_MEASURES) if name in values}
    # One class and one axis: a value for each end, or one for all.
    ends = {name: np.broadcast_to(array, len(ENDS)).tolist() for name, array in found.items()}
    return tuple(Known({name: values[at] for name, values in ends.items()}) for at in range(len(ENDS)))


def slots(run: Run, replica: Known) -> float:
    """Requests that run at once: KV slots, the scheduler's cap, those in flight, all there are [requests]."""
    whole = run.engine_name == "tensorrt-llm" or run.output_scv > 0.0
    memory = replica["concurrency_memory" if whole else "concurrency_memory_mean"]
    caps = (memory, replica["concurrency_scheduler"], run.at_once, run.requests)
    return max(min(cap for cap in caps if not math.isnan(cap)), 1.0)


@dataclass(frozen=True)
class Steps:
    """Steps of a run: number, how many carry prompts, and the weight reads of all of them [s]."""

    number: float
    carrying: float
    weights_s: float


def steps(run: Run, replica: Known) -> Steps:
    """Steps of a run of N prompts through B slots."""
    batch, gaps = slots(run, replica), max(run.output_tokens - 1.0, 0.0)
    budget = replica["token_budget"] * replica["data_parallel"]
    of_prompts = run.requests * run.prompt_tokens / budget
    filling = batch * run.prompt_tokens / budget
    if run.output_scv > 0.0:
        full = filling + (run.requests - batch) * gaps / batch
        leaving = gaps * float(np.sum(1.0 / np.arange(1, int(batch) + 1)))
        left = batch * np.exp(-np.arange(int(leaving)) / max(gaps, 1.0))
        tail_s = float(np.sum(replica.weights_s(np.maximum(left, 1.0))))
        # Prompts that start alone in a step: with x of them a step, 1 - e^-x of the steps carry one.
        alone = (full - filling) * -math.expm1(-batch / max(gaps, 1.0))
    else:
        waves = math.ceil(run.requests / batch)
        full, leaving = filling + (waves - 1) * gaps, gaps
        tail_s = gaps * float(replica.weights_s(run.requests - (waves - 1) * batch))
        alone = 0.0
    more = max(of_prompts + gaps - full - leaving, 0.0)
    carrying = max(of_prompts, filling + alone)
    with_prompts = batch + budget
    weights_s = (full + more - min(carrying, full + more)) * float(replica.weights_s(batch)) + tail_s
    weights_s += min(carrying, full + more) * float(replica.weights_s(with_prompts))
    return Steps(full + leaving + more, carrying, weights_s)


def tokens_per_s(run: Run, replica: Known) -> float:
    """Prompt and output tokens a second of the whole run [tokens/s]."""
    made, gaps = steps(run, replica), max(run.output_tokens - 1.0, 0.0)
    context = run.prompt_tokens + run.output_tokens * (1.0 + run.output_scv) / 2.0
    each = replica["kv_read_per_context_token_s"] * context + replica["step_per_sequence_s"]
    work = replica["class_prefill_multiplied_s"] / replica["data_parallel"] + gaps * each
    duration = made.weights_s + made.carrying * replica["chunk_overhead_total_s"] + run.requests * work
    return run.requests * (run.prompt_tokens + run.output_tokens) / duration


def closed_loop_tokens_per_s(run: Run, replica: Known) -> float:
    """The cube's own figure of a loop with as many requests in flight, prompt and output tokens [tokens/s]."""
    made = replica["closed_loop_output_tokens_per_s"]
    return made * (run.prompt_tokens + run.output_tokens) / run.output_tokens
