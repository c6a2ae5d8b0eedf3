"""A step pays for the chunk of its prompts once: few prompts, many, long ones, and a fixed number in flight."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gridplan.chain.closed import closed_loop
from gridplan.chain.codes import NULL
from gridplan.chain.replica import Replica, load_at, point_at
from gridplan.formulas import operating_point, tpot_at_concurrency
from gridplan.formulas.replica.shared_chunk import chunk_cost, last_pieces, last_pieces_at

STEP, CONTEXT, PROMPT, ONCE = 0.008, 4e-8, 2e-5, 0.003


def replica(prompts: Any = (200.0,), outputs: Any = (60.0,), shares: Any = (1.0,), **changes: Any) -> Replica:
    """t_w 8 ms, k 40 ns, p 20 us, and 3 ms for each step that carries prompts; budget 8,192."""
    prompt = np.asarray(prompts, dtype=float)
    made = {
        "class_weight": np.asarray(shares, dtype=float),
        "class_prompt_tokens": prompt,
        "class_prefix_hit_ratio": np.zeros_like(prompt),
        "class_output_tokens": np.asarray(outputs, dtype=float),
        "class_output_tokens_scv": np.zeros_like(prompt),
        "class_prefill_multiplied_s": PROMPT * prompt,
        "class_prefill_chunks": np.ceil(prompt / changes.get("token_budget", 8192.0)),
        "chunk_overhead_total_s": ONCE,
        "prefill_experts_s": 0.0,
        "step_fixed_s": STEP,
        "step_experts_s": 0.0,
        "num_experts": math.nan,
        "experts_per_token": math.nan,
        "kv_read_per_context_token_s": CONTEXT,
        "step_per_sequence_s": 0.0,
        "data_parallel": 1.0,
        "token_budget": 8192.0,
        "arrival_scv": 1.0,
        "slots": math.inf,
    }
    return Replica(**{name: np.asarray(value, dtype=float) for name, value in (made | changes).items()})


EXPERTS = {"step_experts_s": 0.01, "prefill_experts_s": 0.01, "num_experts": 64.0, "experts_per_token": 4.0}


def paid_alone(rate: float) -> Any:
    """The same replica where every prompt pays in full."""
    prefill = [200 * PROMPT + ONCE]
    return operating_point(
        rate, [1.0], [200], [200], [60], STEP, CONTEXT, 0.0, prefill_s=prefill, token_budget=8192, slots=math.inf
    )


def test_without_load_a_prompt_pays_in_full() -> None:
    quiet, alone = point_at(np.zeros(()), replica()), paid_alone(0.0)
    assert quiet.ttft_s == pytest.approx(float(alone.ttft_s), rel=1e-12)
    assert quiet.tpot_mean_s == pytest.approx(float(alone.tpot_mean_s), rel=1e-12)
    assert point_at(np.asarray(0.01), replica()).ttft_s == pytest.approx(float(paid_alone(0.01).ttft_s), rel=1e-4)


def test_where_every_step_carries_prompts_the_step_pays() -> None:
    """5,000 prompts of no work a second: 55 in a step of 11 ms."""
    load = load_at(np.asarray(5000.0), replica([1.0], [1.0], class_prefill_multiplied_s=[0.0]))
    assert load.step == pytest.approx(STEP + ONCE, rel=1e-12)
    assert load.prefill == pytest.approx(0.0, abs=1e-12)


def test_the_mean_step_has_the_cost_as_often_as_it_carries_prompts() -> None:
    rate, work = 60.0, 200 * PROMPT + 59 * CONTEXT * 230
    load = load_at(np.asarray(rate), replica())
    cycle = float(load.step) / (1.0 - rate * (float(load.prefill[0]) + 59 * CONTEXT * 230))
    carrying = -math.expm1(-rate * cycle)
    assert cycle == pytest.approx(STEP + rate * cycle * work + carrying * ONCE, rel=1e-4)


def test_full_chunks_pay_in_full_and_the_last_one_shares() -> None:
    long, budget = replica([1500.0], [400.0], token_budget=512.0), 512.0
    quiet = load_at(np.zeros(()), long)
    assert quiet.prefill[0] == pytest.approx(PROMPT * 1500 + math.ceil(1500 / budget) * ONCE, rel=1e-12)
    rate, each = 8.0, 399 * CONTEXT * 1700
    load = load_at(np.asarray(rate), long)
    cycle = float(load.step) / (1.0 - rate * (float(load.prefill[0]) + each))
    full = 2 * rate * cycle
    carrying = full + (1 - full) * -math.expm1(-rate * cycle / (1 - full))
    assert cycle == pytest.approx(STEP + rate * cycle * (PROMPT * 1500 + each) + carrying * ONCE, rel=1e-4)
    assert full < carrying < 3 * rate * cycle


def test_no_more_steps_carry_prompts_than_there_are() -> None:
    pieces = last_pieces_at(np.array([0.3, 0.5, 2.0]), np.array(2.0))
    assert pieces[0] == pytest.approx(0.75)
    cost = chunk_cost(pieces[1:])
    assert cost.every_step == pytest.approx([1.0, 1.0])
    assert cost.last == pytest.approx([0.0, 0.0])
    assert cost.full == pytest.approx([0.0, 0.0])


def test_work_that_leaves_no_time_is_unstable_with_or_without_the_cost() -> None:
    ten, none = np.array(10.0), np.zeros(())
    assert last_pieces(ten, none, np.array(0.01), np.array(0.01), np.array(0.1)) > 100
    assert np.isnan(last_pieces(ten, none, np.array(np.nan), np.array(0.01), np.array(0.05)))
    assert np.isnan(point_at(np.asarray(1.0 / (200 * PROMPT)), replica()).tpot_mean_s)


@pytest.mark.parametrize("made", [replica(), replica(**EXPERTS), replica([1500.0], [400.0], token_budget=1024.0)])
def test_latencies_rise_with_the_rate(made: Replica) -> None:
    most = 0.8 / float(made.class_prefill_multiplied_s[0] + 60 * CONTEXT * made.class_prompt_tokens[0])
    point = point_at(np.linspace(0.0, most, 200), made)
    for values in (point.tpot_mean_s, point.ttft_s, point.batch_mean):
        shown = values[~np.isnan(values)]
        assert shown.size > 50
        assert np.all(np.diff(shown) > 0.0)


@pytest.mark.parametrize("more", [{}, EXPERTS], ids=["dense", "experts"])
def test_equal_classes_are_one(more: dict[str, float]) -> None:
    rate = np.asarray(40.0)
    one, two = replica(**more), replica([200.0, 200.0, 900.0], [60.0, 60.0, 5.0], [0.3, 0.7, 0.0], **more)
    for name in ("tpot_mean_s", "ttft_s", "batch_mean", "busy"):
        found = [float(getattr(point_at(rate, made), name)) for made in (one, two)]
        assert found[1] == pytest.approx(found[0], rel=1e-12), name


def loop(clients: float, made: Replica) -> list[float]:
    return [float(value) for value in closed_loop(np.array(NULL), np.asarray(clients), *made)]


def test_one_client_pays_for_its_own_chunk() -> None:
    tpot, ttft, tokens = loop(1.0, replica())
    alone = tpot_at_concurrency(1, [1.0], [200], [200], [60], STEP, CONTEXT, 0.0, prefill_s=[200 * PROMPT + ONCE])
    assert tpot == pytest.approx(float(alone.tpot_mean_s), rel=1e-12)
    assert ttft == pytest.approx(float(alone.ttft_s), rel=1e-9)
    assert tokens == pytest.approx(float(alone.output_tokens_per_s), rel=1e-9)
    # Without an answer to decode every step is a prompt's.
    assert loop(1.0, replica(outputs=[1.0]))[1] == pytest.approx(STEP + 200 * PROMPT + ONCE, rel=1e-9)


def test_clients_pay_once_a_step() -> None:
    """Of 180 requests of 59 steps and a prefill three end in a step, and 1 - (59/60)^180 of the steps carry prompts."""
    tpot = loop(180.0, replica())[0]
    met = 1.0 - (59 / 60) ** 179
    sequences = 59 / 60 * 179 * CONTEXT * 230 + CONTEXT * 230
    assert tpot == pytest.approx(STEP + sequences + 179 / 60 * 200 * PROMPT + met * ONCE, rel=1e-9)
