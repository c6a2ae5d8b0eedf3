"""The cost of a step that carries prompts, against a simulation that charges it step by step."""

from __future__ import annotations

import numpy as np
import pytest
from latency_random import Replica
from step_loop import simulate_steps

from gridplan.chain import replica as chain
from gridplan.chain.closed import closed_loop
from gridplan.chain.codes import NULL

ONCE = 0.0025


def config(rate: float, prompts: list[int], outputs: list[int], shares: list[float], budget: int = 8192) -> Replica:
    prompt = np.array(prompts)
    return Replica(rate, np.array(shares), prompt, prompt, np.array(outputs), 0.007, 4e-8, 2e-5, budget)


def planned(made: Replica) -> chain.Replica:
    prompt = made.prompt_tokens.astype(float)
    values = {
        "class_weight": made.class_weights,
        "class_prompt_tokens": prompt,
        "class_prefix_hit_ratio": np.zeros_like(prompt),
        "class_output_tokens": made.output_tokens.astype(float),
        "class_output_tokens_scv": np.zeros_like(prompt),
        "class_prefill_multiplied_s": made.prefill_per_token_s * prompt,
        "class_prefill_chunks": np.ceil(prompt / made.token_budget),
        "chunk_overhead_total_s": ONCE,
        "prefill_experts_s": 0.0,
        "step_fixed_s": made.step_weights_s,
        "step_experts_s": 0.0,
        "num_experts": np.nan,
        "experts_per_token": np.nan,
        "kv_read_per_context_token_s": made.step_per_context_token_s,
        "step_per_sequence_s": 0.0,
        "data_parallel": 1.0,
        "token_budget": float(made.token_budget),
        "arrival_scv": 1.0,
        "slots": np.inf,
    }
    return chain.Replica(**{name: np.asarray(value, dtype=float) for name, value in values.items()})


@pytest.mark.parametrize(
    "made",
    [
        config(10.0, [200], [60], [1.0]),
        config(60.0, [200], [60], [1.0]),
        config(110.0, [200], [60], [1.0]),
        config(70.0, [100, 900], [30, 200], [0.8, 0.2]),
        config(9.0, [1500, 200], [300, 100], [0.6, 0.4], 1024),
    ],
    ids=["few", "one a step", "three a step", "two classes", "full chunks"],
)
def test_latencies_are_those_of_steps_that_pay_once(made: Replica) -> None:
    seen = simulate_steps(made, 30_000, 1, gaps=False, chunk_s=ONCE)
    point = chain.point_at(np.asarray(made.arrival_rate), planned(made))
    assert point.tpot_mean_s == pytest.approx(np.mean(seen["decode_s"] / (seen["output_tokens"] - 1)), rel=0.03)
    assert point.ttft_s == pytest.approx(np.mean(seen["ttft_s"]), rel=0.03)
    assert point.batch_mean == pytest.approx(seen["batch_mean"], rel=0.03)
    assert point.ttft_quantile(0.95) == pytest.approx(np.quantile(seen["ttft_s"], 0.95), rel=0.12)


@pytest.mark.parametrize("clients", [2, 20, 150])
def test_clients_are_those_of_steps_that_pay_once(clients: int) -> None:
    made = config(1.0, [200], [60], [1.0])
    seen = simulate_steps(made, 100 * clients + 4_000, 1, clients=clients, gaps=False, jitter=0.5, chunk_s=ONCE)
    found = closed_loop(np.array(NULL), np.asarray(float(clients)), *planned(made))
    tpot, ttft, tokens = (float(value) for value in found)
    assert tpot == pytest.approx(np.mean(seen["decode_s"] / (seen["output_tokens"] - 1)), rel=0.02)
    assert ttft == pytest.approx(np.mean(seen["ttft_s"]), rel=0.06)
    assert tokens == pytest.approx(60.0 * seen["throughput_rps"], rel=0.02)
