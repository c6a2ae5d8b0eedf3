"""A fixed number of requests in flight: one client by hand, Little's law, and the cost of replacing answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gridplan.formulas import operating_point, tpot_at_concurrency


def clients(number: Any, **changes: Any) -> Any:
    """t_w 10 ms, k 1 us, p 10 us, prompts of 1,000 and answers of 201 tokens."""
    inputs: dict[str, Any] = {
        "concurrency": number,
        "class_weights": [1.0],
        "prompt_tokens": [1000],
        "uncached_tokens": [1000],
        "output_tokens": [201],
        "step_weights_s": 0.010,
        "step_per_context_token_s": 1e-6,
        "prefill_per_token_s": 1e-5,
    }
    return tpot_at_concurrency(**(inputs | changes))


def test_one_client_by_hand() -> None:
    # 200 steps of 10 ms + 1 us x (1000 + 100.5), after one of 10 ms + 10 ms.
    alone = clients(1)
    assert alone.tpot_mean_s == pytest.approx(0.0111005, rel=1e-12)
    assert alone.ttft_s == pytest.approx(0.020, rel=1e-9)
    assert alone.e2e_s == pytest.approx(2.2401, rel=1e-9)
    assert alone.throughput_rps == pytest.approx(1 / 2.2401, rel=1e-9)
    assert alone.output_tokens_per_s == pytest.approx(201 / 2.2401, rel=1e-9)


def test_one_client_is_the_replica_without_load() -> None:
    shape = ([0.3, 0.7], [500, 3000], [200, 1500], [80, 400], 0.012, 2e-7, 3e-5)
    alone, quiet = tpot_at_concurrency(1, *shape), operating_point(0.0, *shape)
    assert alone.tpot_s == pytest.approx(quiet.tpot_s, rel=1e-12)
    assert alone.ttft_s == pytest.approx(quiet.ttft_s, rel=1e-9)


def test_a_replaced_answer_slows_the_others_by_its_prefill() -> None:
    # 100 clients, 201 steps each: 100/201 requests a step, each with 200 x 1.1005 ms of decode and 10 ms of prefill.
    many = clients(100, token_budget=100_000)
    work = 200 * 0.0011005 + 0.010
    assert many.tpot_mean_s == pytest.approx(0.010 + 0.0011005 + 99 / 201 * work, rel=1e-9)
    assert many.batch_mean == pytest.approx(100 * 200 / 201, rel=1e-9)
    without = clients(100, token_budget=100_000, uncached_tokens=[0])
    assert many.tpot_mean_s - without.tpot_mean_s == pytest.approx(99 / 201 * 0.010, rel=1e-6)


def test_little() -> None:
    number = np.array([1.0, 8.0, 64.0, 512.0])
    point = clients(number)
    assert point.throughput_rps * point.e2e_s == pytest.approx(number, rel=1e-12)
    assert point.ttft_s + 200 * point.tpot_mean_s == pytest.approx(point.e2e_s, rel=1e-12)
    assert np.all(np.diff(point.throughput_rps) > 0)


def test_the_token_budget_caps_requests_a_step() -> None:
    # 2,048 tokens a step hold 2048/1200 requests of 1,000 prompt tokens and 200 decode steps each.
    full = clients(100_000)
    step = 0.010 + 2048 / 1200 * (200 * 0.0011005 + 0.010)
    assert full.throughput_rps == pytest.approx(2048 / 1200 / step, rel=1e-3)


def test_slots_below_the_clients() -> None:
    few, many = clients(40), clients(100, slots=40)
    assert many.tpot_mean_s == few.tpot_mean_s
    assert many.throughput_rps == few.throughput_rps
    assert many.ttft_s == pytest.approx(few.ttft_s + 60 / few.throughput_rps, rel=1e-9)


def test_answers_of_one_token() -> None:
    both = clients(4, class_weights=[0.5, 0.5], output_tokens=[1, 201])
    assert np.isnan(both.tpot_s[0])
    assert both.tpot_mean_s == both.tpot_s[1]
    assert np.isnan(clients(4, output_tokens=[1]).tpot_mean_s)


def test_bad_concurrency() -> None:
    for number in (0, 0.5, -1, np.inf):
        with pytest.raises(ValueError, match="concurrency must be finite and at least 1"):
            clients(number)
    assert np.isnan(clients(np.nan).tpot_mean_s)
