"""What the reference texts print wrongly, one test each, with the right value; E1 to E30.

LESSON "Capacity Planning: From Traffic Profile to GPU Count"; THEORY "Sizing a Serving Cluster End to End"; CHAINS
"Inference system design chains". Values come from the shipped grids wherever a grid can show them, else from formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import xarray as xr

import gridplan
from gridplan import formulas as f
from gridplan.catalog import load_catalog

Cube = Callable[[str], xr.Dataset]
Changed = Callable[..., xr.Dataset]
GIB, MIB = 2**30, 2**20
AWS, FRACTIONAL = "aws-p4de", "fractional"


@pytest.fixture(scope="module")
def lesson(cube: Cube) -> Callable[..., xr.Dataset]:
    """One cell of the lesson's grid."""

    def cell(scenario: str = "nominal", instance: str = AWS) -> xr.Dataset:
        return cube("lesson").sel(scenario=scenario, instance=instance)

    return cell


@pytest.fixture(scope="module")
def opening(cube: Cube) -> xr.Dataset:
    """The lesson's opening with its throughput as a measurement, along rho_target."""
    return cube("lesson-opening").sel(scenario="given_1000_tok_s")


Lesson = Callable[..., xr.Dataset]


def test_e01_tokens_and_price_of_the_opening(opening: xr.Dataset) -> None:
    """Printed: 2.19B output tokens a month and $54.8 per 1M, a slip of ten. Right: 21.96B and $5.461."""
    full = opening.sel(rho_target=1.0)
    assert float(full.output_tokens_per_month) == pytest.approx(21.96e9, rel=1e-12)
    assert float(full.usd_per_mtok_output) == pytest.approx(5.461, abs=5e-4)


def test_e02_active_gpus_of_the_opening(opening: xr.Dataset) -> None:
    """Printed: 25 active GPUs, which leaves the headroom out. Right: 25 at rho 1.0 and 36 at the text's own 0.70."""
    assert opening.replicas_active.sel(rho_target=[1.0, 0.7]).values.tolist() == [25, 36]


def test_e03_bursts_at_two_utilisations() -> None:
    """Printed: a 10% burst multiplies delay by about 10x at 0.9 and 2.3x at 0.7. Right: 11.0x and 1.43x."""
    assert f.burst_ratio(0.9, 1.1) == pytest.approx(11.0, rel=1e-12)
    assert f.burst_ratio(0.7, 1.1) == pytest.approx(1.43, abs=5e-3)
    assert f.queue_factor(0.7) == pytest.approx(2.33, abs=5e-3)  # what was printed is the factor itself


def test_e04_fp8_cache_saves_bandwidth(lesson: Lesson) -> None:
    """Printed: bandwidth down 5.5%. Right: 2.7% at B = 32; the cache is 5.45% of the bytes and FP8 halves it."""
    bf16, fp8 = float(lesson().decode_bytes), float(lesson("fp8_kv").decode_bytes)
    assert 1 - 16.06e9 / bf16 == pytest.approx(0.0545, abs=5e-5)
    assert 1 - fp8 / bf16 == pytest.approx(0.027, abs=5e-4)


def test_e05_tighter_ttft(lesson: Lesson) -> None:
    """Printed: 12 active, 15 resilient. Right: 12 and 13 (N+1); the sweep's last pass at 400 ms is 8: 5.6 and 11."""
    row, sweep = lesson("ttft_400ms"), lesson("ttft_400ms_sweep")
    assert (int(row.replicas_active), int(row.replicas)) == (12, 13)
    assert float(sweep.lambda_safe) == pytest.approx(5.6, rel=1e-12)
    assert int(sweep.replicas_active) == 11


def test_e06_fifteen_gpus_carry_105(lesson: Lesson) -> None:
    """Printed: 15 GPUs carry 70 req/s, which is ten GPUs' worth. Right: 105 (15 x 7.0)."""
    lost = lesson("gpu_loss")
    assert int(lost.replicas_after_loss) == 15
    assert float(lost.arrival_rate_safe_after_loss) == pytest.approx(105, rel=1e-12)


def test_e07_a_gpu_spare_is_no_node_spare(lesson: Lesson) -> None:
    """Printed: the N+1 plan holds. Right: a lost node leaves 56 < 60, headroom gone; at 75% of lambda* limits hold."""
    lost = lesson("node_loss")
    assert float(lost.arrival_rate_safe_after_loss) == pytest.approx(56, rel=1e-12)
    assert (int(lost.headroom_kept_after_loss), int(lost.slo_held_after_loss)) == (0, 1)
    assert 60 / (int(lost.replicas_after_loss) * float(lost.lambda_instance)) == pytest.approx(0.75, rel=1e-12)


def test_e08_longer_context_adds_three(lesson: Lesson) -> None:
    """Printed: lambda* 7.5, add 2 GPUs. Right: 5.25 safe, 12 active, 13 resilient, +3; at lambda* 7 it is 13 and 14."""
    row, at_7 = lesson("context_x2"), lesson("context_x2_lambda7")
    assert float(row.lambda_safe) == pytest.approx(5.25, rel=1e-12)
    assert (int(row.replicas_active), int(row.replicas)) == (12, 13)
    assert int(row.replicas) - int(lesson().replicas) == 3
    assert (int(at_7.replicas_active), int(at_7.replicas)) == (13, 14)


def test_e09_surge_has_two_denominators(lesson: Lesson) -> None:
    """Printed: rho rises to 80%. Right: 90/112 = 80% of the safe capacity, 90/160 = 56% of the lambda* capacity."""
    row = lesson("surge")
    assert float(row.utilization_deployed_safe) == pytest.approx(90 / 112, rel=1e-12)
    assert float(row.utilization_deployed) == pytest.approx(90 / 160, rel=1e-12)


def test_e10_tokens_of_the_a100_40(cube: Cube) -> None:
    """Printed: 156,900 tokens. Right: 19.17 GiB / 128 KiB = 157,040 tokens, 148 sequences."""
    row = cube("lesson-exercises").sel(scenario="exercise_1", instance=AWS)
    assert float(row.kv_pool_bytes_per_gpu) / GIB == pytest.approx(19.17, abs=1e-9)
    assert (int(row.kv_pool_tokens), int(row.concurrency_memory)) == (157_040, 148)


def test_e11_price_of_nine_fractional_gpus(cube: Cube) -> None:
    """Printed: $13,822, 5.15B tokens, $2.68. Right: $13,834.80, 5.127B, $2.698."""
    row = cube("lesson-exercises").sel(scenario="nominal", instance=FRACTIONAL)
    assert float(row.usd_per_month) == pytest.approx(13_834.80, abs=5e-3)
    assert float(row.output_tokens_per_month) == pytest.approx(5.127e9, abs=5e5)
    assert float(row.usd_per_mtok_output) == pytest.approx(2.698, abs=5e-4)


def test_e12_average_ceiling_from_unrounded_terms(lesson: Lesson) -> None:
    """Printed: C_max(avg) about 1,971, from a pool rounded to 450,900 tokens. Right: 1,970."""
    assert int(lesson().concurrency_memory) == 1970
    assert f.concurrency_memory_tokens(450_900, 220.8, 1 / 1.036) == 1971


def test_e13_flop_of_the_longest_prefill(lesson: Lesson) -> None:
    """Printed: 8.23 TFLOP. Right: 8.223."""
    assert float(lesson().prefill_longest_flop) / 1e12 == pytest.approx(8.223, abs=5e-4)


def test_e14_the_total_is_another_cards(changed: Changed) -> None:
    """Printed: the A100-80 reports 81,559 MiB. Right: 81,920 MiB on current drivers; 81,559 is the H100's.

    The lesson's plan needs its 79.65 GiB stated. Without it the catalog's A100 counts: an engine sees 79.15 GiB of it.
    """
    catalog = load_catalog()
    a100, h100 = catalog.gpu("a100-sxm-80gb"), catalog.gpu("h100-sxm")
    assert abs(81_559 * MIB / GIB - 79.65) < 5e-3
    assert a100.memory_bytes is not None
    assert h100.memory_bytes is not None
    assert h100.memory_bytes < 81_559 * MIB < 81_920 * MIB
    assert a100.memory_bytes < 81_920 * MIB
    reported = changed("lesson", ("gpu_memory_bytes: 79.65 GiB", "gpu_memory_bytes: 81920 MiB"))
    assert int(reported.kv_pool_tokens.sel(scenario="nominal", instance=AWS)) == 453_427
    shipped = changed("lesson", ("  gpu_memory_bytes: 79.65 GiB\n", "")).sel(scenario="nominal", instance=AWS)
    assert str(shipped.gpu_memory_source.item()) == "engine_visible"
    assert float(shipped.usable_memory_bytes_per_gpu) == pytest.approx(0.90 * a100.memory_bytes, rel=1e-12)


def test_e15_runtime_overhead_is_part_of_the_workspace(lesson: Lesson, changed: Changed) -> None:
    """Printed: `runtime_overhead_gib = 2.00`, which nothing uses. Right: one workspace; unknown terms are refused."""
    with_it = changed("lesson", ("workspace_bytes: 1.75 GiB", "workspace_bytes: 3.75 GiB"))
    pool = with_it.kv_pool_bytes_per_gpu.sel(scenario="nominal", instance=AWS)
    assert (float(lesson().kv_pool_bytes_per_gpu) - float(pool)) / GIB == pytest.approx(2.00, abs=1e-9)
    with pytest.raises(gridplan.ContractError, match="runtime_overhead_gib"):
        changed("lesson", ("  workspace_bytes: 1.75 GiB", "  workspace_bytes: 1.75 GiB\n  runtime_overhead_gib: 2.00"))


def test_e16_weights_and_their_read(cube: Cube) -> None:
    """Printed: 17.6 GB per GPU and 7.02 ms. Right: 70.55 / 4 = 17.6375 GB, 7.020 ms; 17.6 would give 7.005 ms."""
    ds = cube("chains-70b")
    assert float(ds.weights_bytes_per_gpu) == 17.6375e9
    assert float(ds.step_weights_read_s) * 1e3 == pytest.approx(7.0199, abs=5e-5)


def test_e17_two_seconds_cannot_be_met_on_one_a100(cube: Cube, changed: Changed) -> None:
    """Printed: B <= 4 meets E2E 2 s for 500 tokens. Right: infeasible at TP1 (5.18 s, 3.94 s at peak); TP4 could."""
    first = cube("lesson-opening").sel(scenario="first_principles")
    assert first.infeasible_reason.item() == "e2e_unreachable"
    assert np.isnan(first.replicas.sel(rho_target=0.7))
    assert 500 * float(first.step_weights_read_s) == pytest.approx(5.18, abs=5e-3)
    assert 500 * float(first.step_weights_read_s) * 0.76 == pytest.approx(3.94, abs=5e-3)
    four = changed("lesson-opening", ("  model: llama-3-8b", "  model: llama-3-8b\n  tensor_parallel: 4"))
    assert four.status.sel(scenario="first_principles").item() == "ok"
    given = cube("lesson-opening").sel(scenario="given_1000_tok_s", rho_target=1.0)
    assert [int(given[name]) for name in ("replicas_active", "replicas", "nodes")] == [25, 26, 4]


def test_e18_the_sweep_contradicts_the_roofline_and_little(lesson: Lesson) -> None:
    """Printed: p99 E2E 1.82 s and 2.15 s, p95 TPOT 12.1 to 17.8 ms. Right: at least 2.64 s (2.01 s at peak bandwidth).

    Three in ten requests decode 256 tokens, so a p99 spans 255 weight reads. By Little's law rows 2 to 8 have a mean
    TPOT of 16.7 to 18.9 ms, above their printed p95; rows 12 and 14 complete fewer tokens than are offered.
    """
    least = 255 * float(lesson().step_weights_read_s)
    assert least == pytest.approx(2.64, abs=5e-3)
    assert least * 0.760177 == pytest.approx(2.01, abs=5e-3)
    assert 1.82 < least * 0.760177 < 2.15 < least
    rate, batch = np.array([2.0, 4, 6, 8]), np.array([4.2, 8.8, 14.1, 20.5])
    ttft, p95 = np.array([0.085, 0.110, 0.165, 0.280]), np.array([0.0121, 0.0134, 0.0152, 0.0178])
    output = float(lesson().output_tokens_mean)
    tpot = (batch / rate - ttft) / (output - 1)
    assert (tpot.min(), tpot.max()) == pytest.approx((0.0167, 0.0189), abs=5e-5)
    assert (tpot > p95).all()
    assert 10 * output == pytest.approx(1216)
    assert 12 * output > 1410 * 1.03
    assert 14 * output > 1480 * 1.14


def test_e19_share_of_the_pool_at_28_sequences(lesson: Lesson) -> None:
    """Printed: 18% of the KV pool used. Right: 28 x 374 tokens are 2.3% of it."""
    row = lesson("context_x2")
    assert 28 * float(row.resident_tokens) / float(row.kv_pool_tokens) == pytest.approx(0.023, abs=5e-4)


def test_e20_what_doubles_is_not_the_context(lesson: Lesson) -> None:
    """Printed: "context doubling". Right: the third class's prompt x 4, which makes the mean context x 1.70."""
    row = lesson("context_x2")
    assert float(row.prompt_tokens_max) / float(lesson().prompt_tokens_max) == 4
    assert float(row.context_tokens_mean) == pytest.approx(374.4, rel=1e-12)
    assert float(row.context_tokens_mean) / float(lesson().context_tokens_mean) == pytest.approx(1.70, abs=5e-3)


def test_e21_headroom_forces_the_second_node(lesson: Lesson, changed: Changed) -> None:
    """Printed: 6 GPUs and a spare force two nodes. Right: 7 fit one node; the headroom (9 + 1) forces two."""
    without = changed("lesson", ("rho_target: 0.70", "rho_target: 1.0")).sel(scenario="nominal", instance=AWS)
    assert [int(without[name]) for name in ("replicas_active", "replicas", "nodes")] == [6, 7, 1]
    assert [int(lesson()[name]) for name in ("replicas_active", "replicas", "nodes")] == [9, 10, 2]


def test_e22_batch_at_the_tpot_limit(changed: Changed) -> None:
    """Printed: the SLO-bound batch is under 50. Right: 784 by bandwidth, 217 by compute (217.93); catalog weights: 783.

    784 reads P + O in every step; the grid's own convention, the mean context while decoding, gives 650.
    """
    final = ("  resident_context: final", "  resident_context: final\n  step_context: final")
    pinned = changed("lesson", final).sel(scenario="nominal", instance=AWS)
    assert int(pinned.concurrency_slo) == 784
    catalog = changed("lesson", final, ("  params_total: 8.03e9\n", "")).sel(scenario="nominal", instance=AWS)
    assert int(catalog.concurrency_slo) == 783
    assert f.tpot_batch_compute(8.03e9, 140e12, 0.025) == pytest.approx(217.93, abs=5e-3)
    flops = 2 * 8.03e9 / float(pinned.prefill_compute_per_token_s)
    assert int(f.tpot_batch_compute(8.03e9, flops, 0.025)) == 217


def test_e23_tail_waste_is_tokens_not_a_share(changed: Changed) -> None:
    """Printed: 3.6% tail waste at every length. Right: half a 16-token block, 3.6% at 221 tokens and 0.8% at 1,024."""
    lengths = np.arange(1, 16 * 64 + 1)
    waste = f.blocks_for_tokens(lengths, 16) * 16 - lengths
    assert waste.mean() == 7.5  # of whole tokens; half a block of a continuous length is 8
    np.testing.assert_allclose(8 / np.array([220.8, 1024]), [0.036, 0.008], atol=5e-4)
    eta = ("kv_efficiency: 0.9652509652509652", f"kv_efficiency: {1024 / (1024 + 8)}")
    exercise = changed("lesson-exercises", eta).sel(scenario="exercise_1", instance=AWS)
    assert int(exercise.concurrency_memory) == 152  # 157,040 / 1,032; the printed share gives 148


def test_e24_what_grows_is_not_the_slot_queue(cube: Cube) -> None:
    """Printed: rho 0.9 is "a net loss" by the factor 3.86 (M/M/1). Right: with 72 slots 0.01% and 4% of W wait."""
    ds = cube("theory").sel(scenario="nominal")
    slots, hold = int(ds.concurrency), float(ds.e2e_latency_s)
    waits = [f.mmc_wait_s(rho * float(ds.lambda_instance), slots, hold) / hold for rho in (0.7, 0.9)]
    assert waits[0] == pytest.approx(0.0001, abs=5e-5)
    assert waits[1] == pytest.approx(0.04, abs=6e-3)
    assert ds.replicas.sel(rho_target=[0.7, 0.9]).values.tolist() == [40, 31]


def test_e25_the_rate_per_replica_is_already_safe(changed: Changed) -> None:
    """Printed: 7.39 req/s a replica and a pool of 702,879 tokens, without their inputs. Right: 7.386 is lambda_safe.

    Prompt 1,500 and output 400 (mean context 1,700); 79.647 GiB x 0.9 less 70.5537e9 / 4 and 1.75 GB (inferred).
    """
    lengths = ("prompt_tokens: 2000, output_tokens: 300", "prompt_tokens: 1500, output_tokens: 400")
    ds = changed("chains-70b", lengths)
    assert float(ds.step_context_tokens) == 1700
    assert float(ds.lambda_safe) == pytest.approx(7.386, abs=5e-4)
    assert float(ds.lambda_instance) == pytest.approx(7.386 / 0.65, abs=1e-3)
    budget = "gpu_memory_bytes: 79.647 GiB\n  gpu_memory_utilization: 0.9\n  workspace_bytes: 1.75 GB"
    weights = ("weights_bytes: 70.55 GB", "weights_bytes: 70.5537 GB")
    assert int(changed("chains-70b", weights, ("kv_pool_tokens_given: 702879", budget)).kv_pool_tokens) == 702_879


def test_e26_weights_are_14_957_gib(changed: Changed) -> None:
    """Printed: 8.03e9 x 2 B = 14.90 GiB. Right: 16.06 GB = 14.957 GiB, which leaves 1,968 and 586 sequences."""
    ds = changed("lesson", ("  weights_bytes: 14.90 GiB\n", "")).sel(scenario="nominal", instance=AWS)
    assert float(ds.weights_bytes_per_gpu) == 16.06e9
    assert float(ds.weights_bytes_per_gpu) / GIB == pytest.approx(14.957, abs=5e-4)
    assert (55.035 - float(ds.kv_pool_bytes_per_gpu) / GIB) == pytest.approx(0.057, abs=5e-4)
    assert (int(ds.concurrency_memory), int(ds.concurrency_memory_worst)) == (1968, 586)


def test_e27_price_of_a_gpu_hour(opening: xr.Dataset) -> None:
    """Printed: $5.00 per GPU-hour, which nothing uses. Right: 40.96 / 8 = 5.12."""
    assert float(opening.usd_per_gpu_hour_used) == pytest.approx(5.12, rel=1e-12)


def test_e28_fractional_surge_keeps_the_limits(changed: Changed) -> None:
    """Printed: queue blow-up at 90 req/s. Right: ten GPUs at 9.0 each, below lambda* 10; 128% of the safe rate."""
    bought = ("surge: {arrival_rate: {multiply: 1.5}}", "surge: {arrival_rate: {multiply: 1.5}, nodes_given: 10}")
    row = changed("lesson", bought).sel(scenario="surge", instance=FRACTIONAL)
    assert int(row.replicas_deployed) == 10
    assert float(row.utilization_deployed) == pytest.approx(0.9, rel=1e-12)
    assert float(row.utilization_deployed_safe) == pytest.approx(9 / 7, rel=1e-12)
    assert (int(row.headroom_kept_after_loss), int(row.slo_held_after_loss), int(row.fleet_sufficient)) == (0, 1, 0)


def test_e29_one_server_is_not_many() -> None:
    """Printed: in an M/M/c queue the wait is proportional to rho / (1 - rho). Right: that is M/M/1; Erlang C for c."""
    rhos = (0.5, 0.7, 0.9)
    for rho in rhos:
        assert f.mmc_wait_s(rho, 1, 1.0) == pytest.approx(f.queue_factor(rho), rel=1e-12)
    for low, high in pairwise(rhos):
        many = f.mmc_wait_s(10 * high, 10, 1.0) / f.mmc_wait_s(10 * low, 10, 1.0)
        assert many > 1.5 * f.queue_growth(low, high)
    # Erlang C of two servers by hand, at rho 1/2: C = 1/3, wait = C / (2 - 1)
    assert f.mmc_wait_s(1.0, 2, 1.0) == pytest.approx(1 / 3, rel=1e-12)


def test_e30_goodput_is_a_limit_of_its_own(lesson: Lesson, changed: Changed) -> None:
    """Printed: goodput >= 99% beside limits at p95, p95, p99. Right: three marginal percentiles guarantee 89% only.

    In the worst case no request breaks two limits. A rate that holds percentiles therefore says so and nothing more,
    and a goodput target is not taken as met: a plan says that it limits no rate.
    """
    requests = np.arange(100)
    breaks = [requests < 5, (requests >= 5) & (requests < 10), requests == 10]
    assert [1 - broken.mean() for broken in breaks] == pytest.approx([0.95, 0.95, 0.99])
    assert 1 - np.any(breaks, axis=0).mean() == pytest.approx(0.89)
    assert lesson().slo_basis.item() == "percentile"
    assert lesson().lambda_basis.item() == "percentile_measured"
    cube = changed("lesson", ("slo:\n", "slo:\n  goodput_target: 0.99\n"))
    assert "goodput_target limits no rate" in cube.attrs["warnings"]
