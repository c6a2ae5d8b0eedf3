"""Every number of the reference texts that formulas give, at its right value.

Texts: THEORY "Sizing a Serving Cluster End to End"; PROBLEM "Implement the cluster sizing formula"; LESSON "Capacity
Planning: From Traffic Profile to GPU Count"; CHAINS "Inference system design chains". Where a text prints a number
wrongly, the test names the erratum (E1 to E30) and holds the right one. Cases (B15, D08, ...) are public planner
questions whose answers are known.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from gridplan import formulas as f

GIB = 2**30
LESSON_WEIGHT, LESSON_PROMPT, LESSON_OUTPUT = [0.7, 0.2, 0.1], [32, 128, 512], [64, 256, 256]
GPU, NODE, ZONE = (f.failure_domain_code(name) for name in ("gpu", "node", "zone"))


def lesson_pool(total_gib: float = 79.65, weights_gib: float = 14.90) -> tuple[float, float]:
    """Pool and magnitude of the lesson's GPU [bytes]: 0.90 of the total, 1.75 GiB of workspace."""
    args = (total_gib * GIB, 0.90, weights_gib * GIB, 1.75 * GIB)
    return f.kv_pool_bytes_per_gpu(f.kv_pool_bytes_raw(*args)), f.memory_magnitude_bytes(*args)


# ---------------------------------------------------------------------------------------------------- THEORY, PROBLEM


def test_theory_example_and_its_variants_g02() -> None:
    assert f.concurrency_ceiling(40e9, 500e6, 0.9) == 72
    assert f.lambda_safe(f.rate_littles_law(72, 4), 0.7) == pytest.approx(12.6, abs=1e-9)
    assert f.replicas_needed(500, 4, 0.7, 72) == 40
    assert f.concurrency_ceiling(40e9, 250e6, 0.9) == 144
    assert f.replicas_needed(500, 4, 0.7, 144) == 20
    assert f.replicas_needed(500, 2, 0.7, 72) == 20
    assert f.replicas_needed(500, 4, 0.9, 72) == 31
    assert f.queue_growth(0.7, 0.9) == pytest.approx(3.857, abs=1e-3)
    assert f.compute_ceiling(300, 2) == 300.0
    assert f.binding_constraint(72, f.compute_ceiling(300, 2)) == "memory"


def test_theory_e24_what_grows_with_72_slots_is_not_the_queue() -> None:
    # Erlang C with 72 slots of 4 s: 0.01% of W waits at 0.7 and 4% at 0.9, not a factor 3.86 on W.
    service = 4.0
    rho = np.array([0.7, 0.9])
    wait = f.mmc_wait_s(rho * 72 / service, 72, service)
    np.testing.assert_allclose(wait / (wait + service), [0.0001, 0.04], atol=0.006)
    assert wait[0] / (wait[0] + service) == pytest.approx(0.0001, abs=5e-5)


def test_problem_example_g01() -> None:
    pool = f.kv_pool_bytes_raw(80e9, 1.0, 28e9, 6e9)
    assert pool == 46e9
    assert f.concurrency_ceiling(pool, 0.64e9, 0.92) == f.concurrency_ceiling(80 - 28 - 6, 0.64, 0.92) == 66
    assert f.replicas_needed(900, 5, 0.65, 66) == 105
    assert f.replicas_fractional(f.little_in_flight(900, 5), 66, 0.65) == pytest.approx(104.895, abs=5e-4)
    assert f.binding_constraint(66, f.compute_ceiling(300, 2)) == "memory"


# ------------------------------------------------------------------------------------------------------------- LESSON


def test_lesson_mix_c07() -> None:
    assert f.prompt_tokens_mean(LESSON_WEIGHT, LESSON_PROMPT) == pytest.approx(99.2)
    assert f.output_tokens_mean(LESSON_WEIGHT, LESSON_OUTPUT) == pytest.approx(121.6)
    assert f.context_tokens_mean(LESSON_WEIGHT, LESSON_PROMPT, LESSON_OUTPUT) == pytest.approx(220.8)
    assert f.context_tokens_max(LESSON_WEIGHT, LESSON_PROMPT, LESSON_OUTPUT) == 768


def test_lesson_kv_bytes_per_token() -> None:
    assert f.kv_bytes_per_token_attention(32, 32, 128, 2) == 524_288
    assert f.kv_bytes_per_token_attention(32, 8, 128, 2) == 131_072
    assert f.kv_bytes_per_token_attention(32, 8, 128, 1) == 65_536


def test_lesson_pool_and_ceilings_g03_e12() -> None:
    # E12: 1,970 from unrounded terms, where the text rounds the pool first and prints 1,971.
    assert f.usable_memory_bytes(79.65 * GIB, 0.90) / GIB == pytest.approx(71.685)
    pool, magnitude = lesson_pool()
    assert pool / GIB == pytest.approx(55.035, abs=1e-9)
    tokens = f.kv_pool_tokens(pool, 131072, 1, magnitude)
    assert tokens == 450_846
    mean = f.resident_tokens(LESSON_WEIGHT, LESSON_PROMPT, LESSON_OUTPUT, "final")
    assert f.concurrency_memory_tokens(tokens, mean, 1 / 1.036) == 1970
    sequence = f.kv_bytes_per_sequence(mean, 131072)
    assert f.concurrency_memory(pool, sequence, 1 / 1.036, magnitude) == 1970
    assert f.concurrency_memory_worst(tokens, 768) == 587
    stay = f.resident_tokens(LESSON_WEIGHT, LESSON_PROMPT, LESSON_OUTPUT, "residence_weighted")
    assert f.concurrency_memory_tokens(tokens, stay, 1 / 1.036) == 1213


def test_lesson_e14_the_total_is_the_other_cards() -> None:
    # E14: 81,559 MiB (79.65 GiB) is what an H100 reports; an A100-80 reports 81,920 MiB, which is another pool.
    h100_gib, a100_gib = 81_559 / 1024, 81_920 / 1024
    assert h100_gib == pytest.approx(79.65, abs=5e-3)
    pool, magnitude = lesson_pool(total_gib=a100_gib)
    assert f.kv_pool_tokens(pool, 131072, 1, magnitude) == 453_427


def test_lesson_e15_the_script_never_subtracts_its_runtime_overhead() -> None:
    with_it = f.kv_pool_bytes_raw(79.65 * GIB, 0.90, 14.90 * GIB, (1.75 + 2.00) * GIB)
    assert with_it / GIB == pytest.approx(53.035, abs=1e-9)
    assert lesson_pool()[0] / GIB == pytest.approx(55.035, abs=1e-9)


def test_lesson_e26_weights_are_14_957_gib() -> None:
    weights = f.weights_bytes(8.03e9, 16)
    assert weights == 16.06e9
    assert weights / GIB == pytest.approx(14.957, abs=5e-4)
    pool, magnitude = lesson_pool(weights_gib=weights / GIB)
    tokens = f.kv_pool_tokens(pool, 131072, 1, magnitude)
    assert f.concurrency_memory_tokens(tokens, 220.8, 1 / 1.036) == 1968
    assert f.concurrency_memory_worst(tokens, 768) == 586


def test_lesson_e23_tail_waste_is_half_a_block_not_a_share() -> None:
    # Blocks of 16: 7.5 tokens on average over lengths, about 8; 3.6% at 221 tokens, 0.8% at 1,024.
    lengths = np.arange(1024, 1024 + 16)
    waste = np.mean(f.blocks_for_tokens(lengths, 16) * 16 - lengths)
    assert waste == 7.5
    np.testing.assert_allclose(8 / np.array([220.8, 1024]), [0.036, 0.008], atol=3e-4)


def test_lesson_decode_and_prefill_gates_e13() -> None:
    assert 32 * f.kv_bytes_per_sequence(220.8, 131072) / 1e6 == pytest.approx(926.1, abs=0.05)
    assert f.decode_bytes(16.06e9, 32, 220.8, 131072) / 1e9 == pytest.approx(16.986, abs=5e-4)
    t_w = f.step_weights_s(16.06e9, 1, 2.039e12, 0.760177)
    k = f.step_per_context_token_s(131072, 1, 2.039e12, 0.760177)
    assert f.decode_step_s(t_w, k, 32, 220.8) * 1e3 == pytest.approx(10.959, abs=5e-4)
    # E13: 8.223 TFLOP, printed 8.23
    assert f.prefill_flop(8.03e9, 512) / 1e12 == pytest.approx(8.223, abs=5e-4)
    p = f.prefill_per_token_s(8.03e9, 1, 312e12, 0.448718)
    assert f.prefill_s(p, 512) * 1e3 == pytest.approx(58.73, abs=5e-3)


def test_lesson_e3_bursts_g08() -> None:
    # E3: printed 10x and 2.3x; 2.33 is rho / (1 - rho) itself.
    assert f.burst_ratio(0.9, 1.1) == pytest.approx(11.0, rel=1e-12)
    assert f.burst_ratio(0.7, 1.1) == pytest.approx(1.4348, abs=5e-5)
    assert f.queue_factor(0.7) == pytest.approx(2.333, abs=5e-4)


def test_lesson_e29_many_servers_do_not_wait_like_one() -> None:
    # E29: rho / (1 - rho) is M/M/1; with 10 servers the wait grows far faster from 0.7 to 0.9.
    one = f.mmc_wait_s(np.array([0.7, 0.9]), 1, 1.0)
    ten = f.mmc_wait_s(np.array([7.0, 9.0]), 10, 1.0)
    assert one[1] / one[0] == pytest.approx(f.queue_growth(0.7, 0.9))
    assert ten[1] / ten[0] > 2 * one[1] / one[0]
    assert (ten < one / 3).all()


def test_lesson_e4_fp8_cache_saves_2_7_percent() -> None:
    # E4: the cache is 5.45% of the bytes at B = 32, and FP8 halves it.
    bf16 = f.decode_bytes(16.06e9, 32, 220.8, 131072)
    fp8 = f.decode_bytes(16.06e9, 32, 220.8, 65536)
    assert 1 - 16.06e9 / bf16 == pytest.approx(0.0545, abs=5e-5)
    assert 1 - fp8 / bf16 == pytest.approx(0.027, abs=5e-4)


def test_lesson_fleet_d08() -> None:
    safe = f.lambda_safe(10.0, 0.70)
    assert safe == pytest.approx(7.0)
    active = f.replicas_active(60, safe)
    assert active == 9
    assert f.replicas(active, 1, GPU, 8, 1) == 10
    assert f.nodes_for(10, 8, 1) == 2
    assert f.replicas_in_nodes(2, 8, 1) == 16
    assert f.replicas_in_nodes(2, 8, 1) * safe == pytest.approx(112)
    assert f.nodes_for(10, 1, 1) == 10  # fractional: one GPU at a time
    # a third node buys back the headroom that a lost node takes
    assert f.nodes_for(f.replicas(active, 1, NODE, 8, 1), 8, 1) == 3


def test_lesson_e6_e7_losses() -> None:
    # E6: 15 GPUs carry 105 req/s, printed 70; nine of ten carry 63.
    assert f.replicas_after_loss(16, 1, GPU, 8, 1) * 7.0 == 105
    assert f.replicas_after_loss(10, 1, GPU, 1, 1) * 7.0 == 63
    # E7: a lost node leaves 56 < 60, headroom gone; at 75% of the rate at the limits the SLO holds.
    left = f.replicas_after_loss(16, 1, NODE, 8, 1)
    assert left * 7.0 == 56
    assert f.holds(60, left, 7.0) == 0.0
    assert f.holds(60, left, 10.0) == 1.0
    assert f.utilization(60, left, 10.0) == pytest.approx(0.75)


def test_lesson_e9_e28_surge() -> None:
    load = 60 * 1.5
    assert f.replicas_active(load, 7.0) == 13
    # E9: one surge, two denominators
    assert f.utilization(load, 16, 7.0) == pytest.approx(0.80, abs=5e-3)
    assert f.utilization(load, 16, 10.0) == pytest.approx(0.5625)
    # E28: ten GPUs run at 9.0 each: below 10, above 7
    assert f.utilization(load, 10, 1.0) == pytest.approx(9.0)
    assert f.holds(load, 10, 10.0) == 1.0
    assert f.holds(load, 10, 7.0) == 0.0
    assert f.utilization(load, 10, 7.0) == pytest.approx(1.286, abs=5e-4)


def test_lesson_e5_tighter_ttft_g07() -> None:
    # E5: N+1 of 12 is 13, printed 15; the text's own sweep at 400 ms gives 8 req/s: 5.6 safe and 11 active.
    assert f.replicas_active(60, 5.2) == 12
    assert f.replicas(12, 1, GPU, 8, 1) == 13
    assert f.lambda_safe(8.0, 0.70) == pytest.approx(5.6)
    assert f.replicas_active(60, f.lambda_safe(8.0, 0.70)) == 11


def test_lesson_e8_longer_context_needs_three_more() -> None:
    safe = f.lambda_safe(7.5, 0.70)
    assert safe == pytest.approx(5.25)
    active = f.replicas_active(60, safe)
    assert (active, f.replicas(active, 1, GPU, 8, 1)) == (12, 13)
    assert f.replicas(active, 1, GPU, 8, 1) - 10 == 3


def test_lesson_e19_e20_longer_context() -> None:
    # E20: P3 x 4 makes the mean context 1.70 times as long, not twice. E19: 2.3% of the pool at B = 28, not 18%.
    mean = f.context_tokens_mean(LESSON_WEIGHT, [32, 128, 2048], LESSON_OUTPUT)
    assert mean == pytest.approx(374.4)
    assert mean / 220.8 == pytest.approx(1.70, abs=5e-3)
    assert f.pool_share(28 * mean, 450_846) == pytest.approx(0.023, abs=5e-4)


def test_lesson_e21_seven_gpus_fit_one_node() -> None:
    assert f.nodes_for(6 + 1, 8, 1) == 1
    assert f.nodes_for(f.replicas(f.replicas_active(60, 7.0), 1, GPU, 8, 1), 8, 1) == 2


def test_lesson_e22_batch_at_25_ms() -> None:
    # E22: 784 by bandwidth, 217 by compute; printed "under 50". A knife edge: catalog parameters give 783.
    t_w, k = 16.06e9 / 1550e9, 131072 / 1550e9
    assert math.floor(f.tpot_batch_bandwidth(t_w, k, 220.8, 0.025)) == 784
    assert math.floor(f.tpot_batch_bandwidth(2 * 8_030_261_248 / 1550e9, k, 220.8, 0.025)) == 783
    assert f.tpot_batch_compute(8.03e9, 140e12, 0.025) == pytest.approx(217.93, abs=5e-3)


def test_lesson_e17_one_gpu_cannot_meet_two_seconds() -> None:
    # E17: 500 tokens take 5.18 s at 1,550 GB/s and 3.94 s at peak, so no batch meets 2 s on one A100.
    achieved = f.step_weights_s(16.06e9, 1, 2.039e12, 0.760177)
    assert 500 * achieved == pytest.approx(5.18, abs=5e-3)
    assert 500 * f.step_weights_s(16.06e9, 1, 2.039e12, 1.0) == pytest.approx(3.94, abs=5e-3)
    assert f.rate_at_e2e(2.0, 0.0, 500, achieved, 0.1) == 0.0
    assert f.rate_at_e2e(2.0, 0.0, 500, f.step_weights_s(16.06e9, 4, 2.039e12, 0.760177), 0.1) > 0.0


def test_lesson_e18_the_sweep_contradicts_the_roofline_and_littles_law() -> None:
    # E18: p99 E2E of a mix in which 30% decode 256 tokens is at least 255 weight reads: rows 1.82 s and 2.15 s.
    assert 255 * f.step_weights_s(16.06e9, 1, 2.039e12, 0.760177) == pytest.approx(2.64, abs=5e-3)
    assert 255 * f.step_weights_s(16.06e9, 1, 2.039e12, 1.0) == pytest.approx(2.01, abs=5e-3)
    # Little: W = B / lambda; less the TTFT, over the mean number of gaps, it is a mean TPOT above the printed p95s.
    rate, batch = np.array([2.0, 8.0]), np.array([4.2, 20.5])
    ttft, printed_p95 = np.array([0.085, 0.280]), np.array([0.0121, 0.0178])
    tpot = (batch / rate - ttft) / (121.6 - 1)
    np.testing.assert_allclose(tpot, [0.0167, 0.0189], atol=5e-5)
    assert (tpot > printed_p95).all()
    np.testing.assert_allclose(f.batch_mean(rate, 1, 121.6 - 1, tpot), batch - rate * ttft)


def test_lesson_month_e09() -> None:
    average = f.arrival_rate_average(60, 3.0)
    assert average == 20.0
    requests = f.requests_per_month(average, 732)
    assert requests == pytest.approx(52.704e6)
    tokens = f.tokens_per_month(requests, 121.6)
    assert tokens == pytest.approx(6.4088e9, rel=1e-5)
    aws = f.usd_per_month(f.usd_per_hour_nodes(2, 40.96), 732)
    assert aws == pytest.approx(59_965.44)
    assert f.usd_per_mtok(aws, tokens) == pytest.approx(9.357, abs=5e-4)
    fractional = f.usd_per_month(f.usd_per_hour_gpus(10, 2.49), 732)
    assert fractional == pytest.approx(18_226.80)
    assert f.usd_per_mtok(fractional, tokens) == pytest.approx(2.844, abs=5e-4)


def test_lesson_lower_rates_at_the_limits() -> None:
    # lambda* 7 (exercise 4): 13 and 14 on 2 nodes, 78.4 safe; with the surge 19 and 20 on 3 nodes.
    safe = f.lambda_safe(7.0, 0.70)
    plan = f.replicas(f.replicas_active(60, safe), 1, GPU, 8, 1)
    assert (f.replicas_active(60, safe), plan, f.nodes_for(plan, 8, 1)) == (13, 14, 2)
    assert 16 * safe == pytest.approx(78.4)
    surge = f.replicas(f.replicas_active(90, safe), 1, GPU, 8, 1)
    assert (f.replicas_active(90, safe), surge, f.nodes_for(surge, 8, 1)) == (19, 20, 3)


def test_lesson_opening_g05_e08_e1_e2_e27() -> None:
    pool, magnitude = lesson_pool()
    assert f.concurrency_memory(pool, f.kv_bytes_per_sequence(1000, 131072), 1.0, magnitude) == 450
    batch = f.batch_from_decode_rate(1000, 1, 500, 2.0, math.inf)
    assert batch == 4.0
    assert f.little_in_flight(50, 2.0) == 100.0
    # E2: 25 active only at rho 1; 36 at the text's own 0.70
    assert f.replicas_needed(50, 2.0, 1.0, batch) == 25
    assert f.replicas_needed(50, 2.0, 0.70, batch) == 36
    plan = f.replicas(25, 1, GPU, 8, 1)
    assert (plan, f.nodes_for(plan, 8, 1)) == (26, 4)
    hourly = f.usd_per_hour_nodes(4, 40.96)
    assert hourly == pytest.approx(163.84)
    assert f.usd_per_day(hourly) == pytest.approx(3932.16)
    # E1: 21.96B tokens and $5.461, printed 2.19B and $54.8
    monthly = f.usd_per_month(hourly, 732)
    assert monthly == pytest.approx(119_930.88)
    tokens = f.tokens_per_month(f.requests_per_month(f.arrival_rate_average(50, 3.0), 732), 500)
    assert tokens == pytest.approx(21.96e9, rel=1e-9)
    assert f.usd_per_mtok(monthly, tokens) == pytest.approx(5.461, abs=5e-4)
    # E27: the price used is 5.12 a GPU, not the 5.00 of the table
    assert f.usd_per_hour_gpus(8, 5.12) == pytest.approx(40.96)


def test_lesson_exercise_1_g04_e10() -> None:
    # E10: 157,040 tokens, printed 156,900
    pool, magnitude = lesson_pool(total_gib=39.8)
    assert pool / GIB == pytest.approx(19.17, abs=1e-9)
    tokens = f.kv_pool_tokens(pool, 131072, 1, magnitude)
    assert tokens == 157_040
    assert f.concurrency_memory_tokens(tokens, 1024, 1 / 1.036) == 148


def test_lesson_exercises_2_and_3_e10_e11() -> None:
    safe = f.lambda_safe(8.0, 0.70)
    plan = f.replicas(f.replicas_active(40, safe), 1, GPU, 8, 1)
    assert (f.replicas_active(40, safe), plan, f.nodes_for(plan, 8, 1)) == (8, 9, 2)
    assert f.replicas_in_nodes(2, 8, 1) * safe == pytest.approx(89.6)
    # E11 (case E10): $13,834.80, 5.127B, $2.698, printed $13,822, 5.15B, $2.68
    monthly = f.usd_per_month(f.usd_per_hour_gpus(9, 2.10), 732)
    assert monthly == pytest.approx(13_834.80)
    tokens = f.tokens_per_month(f.requests_per_month(16, 732), 121.6)
    assert tokens == pytest.approx(5.127e9, rel=1e-4)
    assert f.usd_per_mtok(monthly, tokens) == pytest.approx(2.698, abs=5e-4)


# ------------------------------------------------------------------------------------------------------------- CHAINS

CHAINS_P = 2 * 70.55e9 / (4 * 1979e12 * 0.50)
CHAINS_K = 81_920 / (3.35e12 * 0.75)
CHAINS_T_W = 70.55e9 / (4 * 3.35e12 * 0.75)


def test_chains_prefill_demand_g06() -> None:
    p = f.prefill_per_token_s(70.55e9, 4, 1979e12, 0.50)
    assert p == pytest.approx(CHAINS_P)
    assert p * 1e6 == pytest.approx(35.649, abs=5e-4)
    assert f.demand(200, f.prefill_work_s(p, 2000, 0.0)) == pytest.approx(14.260, abs=5e-4)
    assert f.prefill_s(p, 2000) * 1e3 == pytest.approx(71, abs=0.5)


def test_chains_decode_demand_g06_e16() -> None:
    # E16: 17.6375 GB and 7.020 ms, printed rounded
    assert f.weights_bytes_per_gpu(70.55e9, 4, 1) / 1e9 == 17.6375
    t_w = f.step_weights_s(70.55e9, 4, 3.35e12, 0.75)
    assert t_w == pytest.approx(CHAINS_T_W)
    assert t_w * 1e3 == pytest.approx(7.020, abs=5e-4)
    per_gpu = f.kv_bytes_per_token_per_gpu_attention(80, 8, 128, 2, 4, 1)
    resident = f.resident_tokens(1.0, 2000, 300, "mean")
    assert f.kv_bytes_per_sequence(resident, per_gpu) / 1e6 == pytest.approx(176.128)
    k = f.step_per_context_token_s(per_gpu, 1, 3.35e12, 0.75)
    assert k * 1e9 == pytest.approx(32.60, abs=6e-3)
    assert k * resident * 1e6 == pytest.approx(70.10, abs=5e-3)
    assert f.demand(200, f.decode_work_s(300, k, resident)) == pytest.approx(4.206, abs=5e-4)


def test_chains_replicas_and_operating_point_g06() -> None:
    work = f.request_work_s(CHAINS_P, 2000, 0.0, 300, CHAINS_K, 2150)
    total = f.demand(200, work)
    assert total == pytest.approx(18.466, abs=5e-4)
    share = f.tpot_share(CHAINS_T_W, 0.050)
    assert share == pytest.approx(0.8596, abs=5e-5)
    assert f.replicas_fractional(total, share, 0.65) == pytest.approx(33.05, abs=5e-3)
    instance = f.rate_at_tpot(share, work)
    active = f.replicas_active(200, f.lambda_safe(instance, 0.65))
    assert active == 34
    assert active * 4 == 136
    assert 200 * 300 / active == pytest.approx(1765, abs=0.5)
    tpot = f.implied_tpot_s(CHAINS_T_W, f.busy(200, active, work))
    assert tpot * 1e3 == pytest.approx(15.36, abs=6e-3)
    assert f.batch_mean(200, active, 300, tpot) == pytest.approx(27.1, abs=0.05)
    assert f.burst_to_slo(200, active, instance) == pytest.approx(1.583, abs=5e-4)


def test_chains_spill_rule() -> None:
    p = f.prefill_per_token_s(70.55e9, 2, 1979e12, 0.50)
    assert p * 1e6 == pytest.approx(71.30, abs=5e-3)
    assert f.spill_threshold_s(p, 6000) * 1e3 == pytest.approx(427.8, abs=0.05)


def test_chains_cold_start_d09() -> None:
    headroom = f.cold_start_headroom(1 / 60, (1 + 1 + 4) * 60)
    assert headroom == pytest.approx(6.0)
    assert headroom / 7.39 == pytest.approx(0.81, abs=5e-3)
    assert f.replicas_cold_start(200, headroom, 7.39) == math.ceil(206 / 7.39) == 28
    assert 34 * 24 == 816  # replica-hours of a day at the static peak


def test_chains_e25_the_rate_per_replica_is_already_safe() -> None:
    # E25: 0.65 x share / (1,500 p + 400 x 1,700 k) = 7.386, so rho must not be applied again.
    work = f.request_work_s(CHAINS_P, 1500, 0.0, 400, CHAINS_K, 1700)
    safe = f.lambda_safe(f.rate_at_tpot(f.tpot_share(CHAINS_T_W, 0.050), work), 0.65)
    assert safe == pytest.approx(7.386, abs=5e-4)
    # the pool of 702,879 tokens: an H100's 79.647 GiB, 70.5537e9 bytes over four, 1.75 GB of workspace
    args = (79.647 * GIB, 0.9, f.weights_bytes_per_gpu(70.5537e9, 4, 1), 1.75e9)
    tokens = f.kv_pool_tokens(f.kv_pool_bytes_raw(*args), 81_920, 1, f.memory_magnitude_bytes(*args))
    assert tokens == 702_879


def test_chains_quota() -> None:
    assert f.decode_work_s(1, CHAINS_K, 1700) * 1e6 == pytest.approx(55.43, abs=5e-3)
    assert f.quota_units_per_output_token(CHAINS_K, 1700, CHAINS_P) == pytest.approx(1.555, abs=5e-4)
    assert f.quota_context_per_unit(CHAINS_P, CHAINS_K) == pytest.approx(1093.4, abs=0.05)
    assert f.quota_units_per_output_token(CHAINS_K, 32_768, CHAINS_P) == pytest.approx(29.97, abs=5e-3)


def test_chains_isolation() -> None:
    request = f.kv_bytes_per_sequence(131_072, f.kv_bytes_per_token_attention(80, 8, 128, 2))
    assert request / GIB == 40.0
    per_gpu = f.kv_bytes_per_sequence(131_072, f.kv_bytes_per_token_per_gpu_attention(80, 8, 128, 2, 4, 1))
    assert per_gpu / 1e9 == pytest.approx(10.74, abs=5e-3)
    assert f.pool_share(131_072, 702_879) == pytest.approx(0.1865, abs=5e-5)
    assert f.requests_filling_pool(131_072, 702_879) == 5


def test_chains_price_per_phase() -> None:
    p = f.prefill_per_token_s(8.03e9, 1, 989e12, 0.50)
    assert p * 1e6 == pytest.approx(32.48, abs=5e-3)
    assert 1 / p == pytest.approx(30_791, abs=0.5)
    price_input = f.usd_per_mtok_full_rate(2.50, 1, p)
    assert price_input == pytest.approx(0.02255, abs=5e-6)
    moved = f.decode_bytes(16.06e9, 128, 1500, 131_072)
    assert moved / 1e9 == pytest.approx(41.226, abs=5e-4)
    t_w, k = f.step_weights_s(16.06e9, 1, 3.35e12, 0.75), f.step_per_context_token_s(131_072, 1, 3.35e12, 0.75)
    step = f.decode_step_s(t_w, k, 128, 1500)
    assert step * 1e3 == pytest.approx(16.408, abs=5e-4)
    assert 128 / step == pytest.approx(7801, abs=0.5)
    price_output = f.usd_per_mtok_full_rate(2.50, 1, step / 128)
    assert price_output == pytest.approx(0.08902, abs=5e-6)
    assert price_output / price_input == pytest.approx(3.947, abs=1e-3)


# ------------------------------------------------------------------------------------------------------- public cases


def test_case_b15_moe_bytes_per_token() -> None:
    # SGLang start-up log: K and V 76.44 each, printed "GB", are GiB.
    per_token = f.kv_bytes_per_token_attention(48, 4, 128, 2)
    assert per_token == 98_304
    assert f.kv_bytes_per_sequence(1_669_816, per_token) / GIB == pytest.approx(152.88, abs=0.02)


def test_case_b17_blocks_to_concurrency() -> None:
    tokens = 127_626 * 16
    assert tokens == 2_042_016
    assert 1 / f.pool_share(2048, tokens) == pytest.approx(997.08, abs=0.01)
    assert f.concurrency_memory_worst(tokens, 2048) == 997


def test_case_b18_one_pool_many_answers() -> None:
    # 4.61x at 8,192 tokens holds 46 or 47 requests of 800 tokens.
    tokens = 4.61 * 8192
    assert 46 <= f.concurrency_memory_tokens(tokens, 800, 1.0) <= 47


def test_case_b20_a_70b_model_does_not_fit_one_h100() -> None:
    assert f.kv_bytes_per_sequence(2048, f.kv_bytes_per_token_attention(80, 8, 128, 2)) / GIB == 0.625
    assert f.kv_bytes_per_sequence(2048, f.kv_bytes_per_token_attention(80, 64, 128, 2)) / GIB == 5.0
    raw = f.kv_pool_bytes_raw(79.18 * GIB, 0.9, 131.4 * GIB, 0.0)
    assert f.memory_shortfall_bytes_per_gpu(raw) / GIB == pytest.approx(131.4 - 71.262)
    assert f.concurrency_memory(f.kv_pool_bytes_per_gpu(raw), 0.625 * GIB, 1.0, 0.0) == 0


def test_case_b21_a_pool_shorter_than_the_context() -> None:
    assert 507 * 16 == 8112
    assert f.concurrency_memory_worst(8112, 16_384) == 0


def test_case_b25_four_bit_weights_are_not_half_a_byte() -> None:
    real = f.weights_bytes(70.6e9, 0.52 * 8, 2 * 128_256 * 8192)
    assert real / GIB == pytest.approx(37.1, rel=0.02)
    assert real / GIB == pytest.approx(37.0871, abs=5e-4)
    assert f.weights_bytes(70.6e9, 4) / GIB == pytest.approx(32.9, rel=0.01)


def test_case_c01_resident_tokens_grow_while_decoding() -> None:
    final = f.resident_tokens(1.0, 1000, 5000, "final")
    mean = f.resident_tokens(1.0, 1000, 5000, "mean")
    assert f.concurrency_memory_tokens(299_584, final, 1.0) == 49
    assert f.concurrency_memory_tokens(299_584, mean, 1.0) == 85
    assert f.pool_share(128 * mean, 299_584) == pytest.approx(1.5, abs=0.01)


def test_case_d01_littles_law() -> None:
    assert f.replicas_needed(5000, 0.08, 0.7, 50) == 12


def test_case_d03_and_d04_float_traps() -> None:
    assert math.ceil(21 / (1 * 0.7)) == 31
    assert f.replicas_active(21, f.lambda_safe(1, 0.7)) == 30
    assert math.floor(0.6 * 1 / 0.05) == 11
    assert f.concurrency_ceiling(1, 0.05, 0.6) == 12


def test_case_d06_replicas_wider_than_a_node() -> None:
    assert f.nodes_per_replica(8, 16) == 2
    assert f.nodes_for(3, 8, 16) == 6
    assert f.replicas_per_node(8, 16) == 0


def test_case_d11_users_are_not_requests_in_flight() -> None:
    rate = f.users_to_rate(500, 30, 4)
    assert rate == pytest.approx(14.7059, abs=1e-3)
    assert f.little_in_flight(rate, 4) == pytest.approx(58.82, abs=0.01)


def test_cases_e01_e03_price_by_denominator() -> None:
    assert f.usd_per_mtok_at_rate(2.5, 700) == pytest.approx(0.992, abs=1e-3)
    assert f.usd_per_mtok_at_rate(2.5, 70) == pytest.approx(9.92, abs=0.01)
    output = f.usd_per_mtok_at_rate(85, 274)
    assert output == pytest.approx(86.17, abs=0.05)
    assert 70 <= output / 1.12 <= 80


def test_case_e05_energy() -> None:
    assert f.energy_usd_per_mtok(0.58799, 0.1) == pytest.approx(0.016333, abs=1e-5)
    assert f.energy_kwh_per_mtok(0.58799) == pytest.approx(0.16333, abs=1e-4)


def test_case_e07_hours_per_month() -> None:
    bill = f.usd_per_month(f.usd_per_hour_nodes(2, 40.96), np.array([720, 732, 744]))
    np.testing.assert_allclose(bill, [58_982.40, 59_965.44, 60_948.48], atol=0.01)


def test_three_zones_keep_a_plan_when_one_is_lost() -> None:
    # By hand: 14 replicas over 3 zones are 5 + 5 + 4; the worst zone takes 5 and leaves 9.
    assert f.replicas(9, 1, ZONE, 8, 3) == 14
    assert f.replicas_after_loss(14, 1, ZONE, 8, 3) == 9
