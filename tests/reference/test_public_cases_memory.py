"""Public planner questions about memory: what is left for cache, and what the cache holds.

Each test gives every quantity of its case; values and tolerances are those of `public_cases.py`.
"""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from public_cases import GIB, plan, pool_gib, verify

from gridplan import formulas as f
from gridplan.measured.log_checks import check_estimate, effective_tokens


def memory(total: float, utilization: float, weights: float, workspace: float, more: str = "") -> xr.Dataset:
    """One replica whose memory terms are given in GiB, with a model's cache or 128 KiB a token."""
    per_token = "" if " model:" in more else "kv_bytes_per_token_given: 131072, "
    return plan(
        f"deployment: {{gpu_memory_bytes: {total} GiB, gpu_memory_utilization: {utilization}, {per_token}"
        f"weights_bytes: {weights} GiB, workspace_bytes: {workspace} GiB{more}}}"
    )


# ------------------------------------------------------------------------------------------------------ memory budget


@pytest.mark.parametrize(
    ("case_id", "tp", "weights", "workspace"),
    [("A01", 1, 14.99, 4.89), ("A02", 2, 33.88, 5.39), ("A03", 1, 61.03, 5.78), ("A06", 1, 13.47, 7.51)],
)
def test_a01_a02_a03_a06_pool_from_logged_terms(case_id: str, tp: int, weights: float, workspace: float) -> None:
    ds = memory(79.18, 0.9, weights * tp, workspace, f", tensor_parallel: {tp}")
    verify(case_id, kv_pool_gib_per_gpu=pool_gib(ds))


def test_a07_two_ranks_hold_15_times_the_cache_of_one() -> None:
    one = memory(79.18, 0.9, 61.03, 5.78)
    two = memory(79.18, 0.9, 30.59 * 2, 6.18, ", tensor_parallel: 2")
    verify("A07", kv_pool_replica_ratio_tp2_over_tp1=float(two.kv_pool_tokens) / float(one.kv_pool_tokens))


def test_a08_pool_tokens_and_one_request() -> None:
    model = ", model: mistral-small-24b, kv_block_tokens: 128, max_model_len: 16000"
    ds = memory(79.18, 0.95, 44.76, 2.26, model)
    blocks = f.blocks_for_tokens(15_049, 128)
    verify(
        "A08",
        kv_pool_gib=pool_gib(ds),
        kv_bytes_per_token=int(ds.kv_bytes_per_token),
        kv_tokens=int(ds.kv_pool_tokens),
        concurrency_worst=int(ds.concurrency_memory_worst),
        blocks_for_15049_tokens=blocks,
        kv_usage_fraction_one_request=f.pool_share(blocks * 128, float(ds.kv_pool_tokens)),
    )


def test_a09_a_published_row_that_does_not_add_up() -> None:
    claimed, low, high = 3.33, memory(79.18, 0.90, 64.38, 7.51), memory(79.18, 1.0, 64.38, 7.51)
    assert low.infeasible_reason.item() == "weights_exceed_memory"
    slope = (pool_gib(high) - pool_gib(low)) / 0.1
    verify(
        "A09",
        profile_consistent=abs(pool_gib(low) - claimed) < 0.1,
        kv_pool_at_claimed_util_gib=pool_gib(low),
        util_that_explains_claim=0.90 + (claimed - pool_gib(low)) / slope,
    )


def test_a10_no_room_for_cache() -> None:
    ds = memory(79.18, 0.9, 67.72, 4.97, ", model: llama-3.3-70b, weight_dtype: fp8, max_model_len: 16000")
    assert float(ds.kv_pool_bytes_per_gpu) == 0
    assert np.isnan(ds.concurrency)
    verify(
        "A10",
        feasible=ds.status.item() == "ok",
        concurrency=int(ds.concurrency_memory),
        kv_pool_gib_raw=pool_gib(ds),
        infeasible_reason=ds.infeasible_reason.item(),
    )


def test_a12_workspace_grows_with_the_context() -> None:
    ds = memory(23.58, 0.9, 17.06, 0.35, ", kv_block_tokens: 16, max_model_len: 20000")
    tokens = float(ds.kv_pool_tokens)
    verify("A12", kv_pool_gib=pool_gib(ds), blocks=tokens / 16, concurrency_ratio=tokens / 20_000)


def test_a13_a_longer_context_does_not_start() -> None:
    ds = memory(23.58, 0.9, 17.98, 0.35, ", kv_block_tokens: 16, max_model_len: 29000")
    assert ds.infeasible_reason.item() == "sequence_exceeds_pool"
    verify(
        "A13",
        kv_pool_gib=pool_gib(ds),
        kv_tokens=int(ds.kv_pool_tokens),
        concurrency_worst=int(ds.concurrency_memory_worst),
        feasible=ds.status.item() == "ok",
    )


def test_a14_a_still_longer_one_starts_again() -> None:
    ds = memory(23.58, 0.9, 15.05, 0.35, ", kv_block_tokens: 16, max_model_len: 35000")
    verify(
        "A14",
        kv_pool_gib=pool_gib(ds),
        concurrency_worst=int(ds.concurrency_memory_worst),
        feasible=ds.status.item() == "ok",
    )


def test_a12_a13_a14_the_engine_rule_is_not_monotone() -> None:
    # No printed term: up to 32k tokens the whole length is profiled at once, beyond that 2,048.
    ds = plan("""
workload: {prompt_tokens: 100, output_tokens: 100, arrival_rate: 1}
deployment: {model: llama-3.1-8b, gpu: rtx-3090, engine: vllm@0.6, gpu_memory_utilization: 0.9}
axes: {max_model_len: [20000, 29000, 35000]}
""")
    assert ds.concurrency_memory_worst.values.tolist() == [1, 0, 1]
    assert ds.infeasible_reason.values.tolist() == [None, "sequence_exceeds_pool", None]
    peaks = ds.activation_bytes_per_gpu / GIB
    assert peaks.values == pytest.approx([2.07, 2.99, 1.2], rel=0.03)  # the first two are printed in the log


def test_a16_activations_before_and_after_a_fix() -> None:
    # The ratios follow from the logged pools: terms of two decimals leave 0.02 GiB of them open.
    cache = "model: mistral-nemo-12b, kv_dtype: bf16, kv_block_tokens: 16"  # 40 layers, 8 heads of 128
    before, after = (memory(47.53, 0.9, 23.87, 0.11 + peak, f", {cache}") for peak in (8.27, 1.08))
    logged = [plan(f"deployment: {{kv_pool_bytes_given: {pool} GiB, {cache}}}") for pool in (10.53, 17.72)]
    verify(
        "A16",
        kv_pool_gib_before=pool_gib(before),
        kv_pool_gib_after=pool_gib(after),
        concurrency_ratio_before=float(logged[0].kv_pool_tokens) / 8192,
        concurrency_ratio_after=float(logged[1].kv_pool_tokens) / 8192,
        kv_per_request_gib=float(before.kv_bytes_per_token) * 8192 / GIB,
    )


def test_a18_a_fraction_with_and_without_graphs() -> None:
    def gap(total: float) -> float:
        """How much larger the pool is at 0.82 with 0.36 GiB of graphs than at 0.8048 without."""
        return pool_gib(memory(total, 0.82, 10, 2.36)) - pool_gib(memory(total, 0.8048, 10, 2.00))

    total = 20 - gap(20) * 10 / (gap(30) - gap(20))  # the pool is linear in the total
    assert gap(total) == pytest.approx(0, abs=1e-9)
    kept = 0.82 + (0.82 - 0.8048)
    assert pool_gib(memory(total, kept, 10, 2.36)) == pytest.approx(pool_gib(memory(total, 0.82, 10, 2.00)), abs=1e-9)
    verify("A18", gpu_total_gib_implied=total, util_to_keep_old_pool=kept)


def test_a19_a_fraction_of_one_is_warned_of() -> None:
    used, right = memory(180, 1.0, 179.7, 0), memory(180, 0.92, 179.7, 0)
    assert used.status.item() == "ok"
    admitted = plan(
        "workload: {prompt_tokens: 900, output_tokens: 100, arrival_rate: 1}\ndeployment: {kv_pool_tokens_given: 28980}"
    )
    verify(
        "A19",
        warn_util_ge_0_99="gpu_memory_utilization" in used.attrs.get("warnings", ""),
        ceiling_memory_gib=float(right.usable_memory_bytes_per_gpu) / GIB,
        bs96_feasible_at_0_92=right.status.item() == "ok",
        bs_over_estimate_factor=f.pool_share(96 * float(admitted.resident_tokens), float(admitted.kv_pool_tokens)),
    )
    assert "warnings" not in right.attrs


# ---------------------------------------------------------------------------------------------------------- KV cache


def test_b01_b02_a_latent_cache_has_no_factor_two() -> None:
    ds = plan(
        "workload: {prompt_tokens: 9999, output_tokens: 1, arrival_rate: 1}\n"
        "deployment: {kv_pool_bytes_given: 40 GiB, kv_dtype: bf16}\naxes: {model: [deepseek-v3, deepseek-v2]}"
    )
    per_token, per_request = ds.kv_bytes_per_token, ds.kv_bytes_per_sequence / GIB
    v3, v2 = {"model": "deepseek-v3"}, {"model": "deepseek-v2"}
    verify("B01", kv_per_request_gib=float(per_request.sel(v3)), kv_bytes_per_token=int(per_token.sel(v3)))
    verify("B02", kv_per_request_gib=float(per_request.sel(v2)))


def test_b04_legal_tensor_parallel_of_14_heads() -> None:
    # an MLP that every size divides, so that heads alone decide
    ds = plan("""
deployment: {model: tiny, kv_dtype: bf16, kv_pool_bytes_given: 40 GiB}
catalog: {models: {tiny: {params_total: 0.5e9, num_layers: 24, hidden_size: 896, attention_heads: 14, kv_heads: 2,
  head_dim: 64, vocab_size: 151936, intermediate_size: 7840, native_weight_dtype: bf16}}}
axes: {tensor_parallel: [1, 2, 4, 7, 8, 14]}
""")
    legal = ds.tensor_parallel[ds.infeasible_reason.values != "tensor_parallel_illegal"].values
    per_gpu = float(ds.kv_bytes_per_token_per_gpu.sel(tensor_parallel=14))
    verify(
        "B04",
        tp_legal_by_heads=legal.tolist(),
        kv_heads_per_gpu_at_tp14=per_gpu / (2 * 24 * 64 * 2),
        kv_replication_at_tp14=per_gpu * 14 / float(ds.kv_bytes_per_token),
    )


def test_b07_data_parallel_attention_keeps_eight_caches() -> None:
    cache = "deployment: {model: deepseek-v3, kv_dtype: bf16, kv_pool_bytes_given: 60 GiB, "
    tp, dp = plan(cache + "tensor_parallel: 8}"), plan(cache + "data_parallel: 8}")
    verify("B07", kv_capacity_ratio_dp8_over_tp8=float(dp.kv_pool_tokens) / float(tp.kv_pool_tokens))


def test_b08_every_layer_counts_in_an_old_log() -> None:
    cache = "model: gpt-oss-120b, kv_dtype: bf16, kv_pool_bytes_given: 5.38 GiB, kv_block_tokens: 16"
    ds = plan(f"deployment: {{{cache}, sliding_policy: full}}")
    verify("B08", kv_bytes_per_token=int(ds.kv_bytes_per_token), kv_tokens=int(ds.kv_pool_tokens))
    # What admission really charges depends on the length.
    admitted = plan(
        f"deployment: {{{cache}, engine: vllm@0.11, max_num_batched_tokens: 8192}}\n"
        "axes: {max_model_len: [8192, 131072]}"
    )
    assert admitted.kv_bytes_per_token.values.tolist() == [73_800, 39_208.5]


def test_b10_heads_and_windows_of_two_kinds() -> None:
    def tokens(pool: float, more: str) -> xr.Dataset:
        return plan(
            f"deployment: {{model: gemma-4-31b, kv_dtype: bf16, kv_pool_bytes_given: {pool} GiB, {more},\n"
            "  max_model_len: 262144, kv_block_tokens: 16, max_num_batched_tokens: 8192}"
        )

    observed, nvfp4 = (tokens(pool, "engine: vllm@0.21") for pool in (64.68, 103.92))
    assert int(observed.kv_pool_tokens) == pytest.approx(626_949, rel=1e-4)
    assert int(nvfp4.kv_pool_tokens) == pytest.approx(1_007_303, rel=1e-4)
    every_layer, windows = (tokens(64.68, f"sliding_policy: {policy}") for policy in ("full", "ideal_window"))
    assert float(every_layer.kv_bytes_per_token) == 880 * 1024
    assert 80 * 1024 < float(windows.kv_bytes_per_token) < 84 * 1024
    estimate = check_estimate(74.95 * GIB, 972_134, 880 * 1024)
    verify(
        "B10",
        observed_kib_per_token=float(observed.kv_bytes_per_token) / 1024,
        observed_kib_per_token_nvfp4_weights=float(nvfp4.kv_bytes_per_token) / 1024,
        estimate_self_consistent=estimate.severity != "error",
        estimate_implied_kib_per_token=estimate.numbers["implied_bytes"] / 1024,
        planner_kib_per_token_bounds=float(observed.kv_bytes_per_token_per_gpu) / 1024,
    )


def test_b12_the_concurrency_of_a_hybrid_is_right_and_its_token_line_is_not() -> None:
    found = effective_tokens(290_864, 33.04, 32_768)
    assert found is not None
    verify("B12", effective_tokens=found, ratio=found / 290_864)


def test_b13_fixed_pages_of_a_request() -> None:
    # 90,000 tokens' worth of pages a request beside its 2,400 tokens, in a pool that a log gives in tokens
    workload = "workload: {prompt_tokens: 2300, output_tokens: 100, arrival_rate: 1}\n"
    pool = "deployment: {kv_pool_tokens_given: 356667, kv_bytes_per_token_given: 131072"
    naive = plan(f"{workload}{pool}}}")
    fixed = plan(f"{workload}{pool}, kv_bytes_per_sequence_given: {92_400 * 131_072}}}")
    assert float(fixed.kv_bytes_per_sequence) == 92_400 * 131_072
    verify("B13", concurrency=int(fixed.concurrency_memory), concurrency_naive=int(naive.concurrency_memory))


def test_b15_bytes_of_a_logged_token_count() -> None:
    ds = plan("deployment: {model: qwen3-30b-a3b, kv_dtype: bf16, kv_pool_tokens_given: 1669816}")
    verify("B15", kv_bytes_per_token=int(ds.kv_bytes_per_token), kv_gib=float(ds.kv_pool_bytes_per_gpu) / GIB)


def test_b17_blocks_to_concurrency() -> None:
    text = "kv_pool_bytes_given: {}, kv_bytes_per_token_given: 131072, kv_block_tokens: 16, max_model_len: 2048"
    ds = plan(f"deployment: {{{text.format(127_626 * 16 * 131_072)}, max_num_seqs: 256}}")
    assert (int(ds.concurrency), ds.binding_constraint.item()) == (256, "scheduler")
    verify(
        "B17",
        kv_tokens=int(ds.kv_pool_tokens),
        concurrency_ratio=float(ds.kv_pool_tokens) / 2048,
        concurrency_worst=int(ds.concurrency_memory_worst),
    )


def test_b18_one_pool_many_answers() -> None:
    ds = plan(
        "workload: {prompt_tokens: 700, output_tokens: 100, arrival_rate: 1}\n"
        f"deployment: {{kv_pool_tokens_given: {4.61 * 8192}, kv_block_tokens: 16, max_model_len: 8192}}"
    )
    assert int(ds.concurrency_memory_worst) == 4
    verify("B18", concurrency_avg=int(ds.concurrency_memory))


def test_b20_a_70b_model_on_one_h100() -> None:
    text = """
workload: {prompt_tokens: 2000, output_tokens: 48, arrival_rate: 1}
deployment: {model: llama-3.3-70b, kv_dtype: bf16, gpu_memory_bytes: 79.18 GiB, gpu_memory_utilization: 0.9,
  weights_bytes: 131.4 GiB, workspace_bytes: 0 GiB}
"""
    gqa, mha = plan(text), plan(text + "catalog: {models: {llama-3.3-70b: {kv_heads: 64}}}")
    verify(
        "B20",
        kv_per_request_gib=float(gqa.kv_bytes_per_sequence) / GIB,
        kv_per_request_gib_if_mha=float(mha.kv_bytes_per_sequence) / GIB,
        concurrency=int(gqa.concurrency_memory),
        feasible=gqa.status.item() == "ok",
    )


def test_b21_a_pool_shorter_than_the_context() -> None:
    kappa = 2 * 32 * 32 * 128 * 2 // 2  # one of two ranks
    ds = plan(
        f"deployment: {{tensor_parallel: 2, kv_pool_bytes_given: {507 * 16 * kappa}, kv_block_tokens: 16,\n"
        f"  kv_bytes_per_token_given: {2 * kappa}, max_model_len: 16384}}"
    )
    assert ds.infeasible_reason.item() == "sequence_exceeds_pool"
    verify(
        "B21",
        kv_tokens=int(ds.kv_pool_tokens),
        concurrency_worst=int(ds.concurrency_memory_worst),
        feasible=ds.status.item() == "ok",
    )


def test_b23_one_tp8_against_two_tp4() -> None:
    # Two logs give memory M of a GPU and weights W in requests of 1 GiB: 8 M - W = 21.89, 4 M - W = 7.56.
    gpu = (21.89 - 7.56) / 4
    weights = 8 * gpu - 21.89
    ds = plan(
        f"deployment: {{gpu_memory_bytes: {gpu} GiB, gpu_memory_utilization: 1, weights_bytes: {weights} GiB,\n"
        "  workspace_bytes: 0, kv_bytes_per_sequence_given: 1 GiB}\naxes: {tensor_parallel: [1, 2, 4, 8]}"
    )
    held = ds.kv_pool_bytes_per_gpu / ds.kv_bytes_per_sequence_per_gpu
    assert float(held.sel(tensor_parallel=8)) == pytest.approx(21.89, rel=1e-9)
    verify(
        "B23",
        implied_weights_in_requests=float(ds.weights_bytes_per_gpu.sel(tensor_parallel=1)) / GIB,
        fleet_2xTP4=2 * float(held.sel(tensor_parallel=4)),
        fleet_4xTP2=4 * float(held.sel(tensor_parallel=2)),
        fleet_8xTP1_feasible=ds.status.sel(tensor_parallel=1).item() == "ok",
    )


def test_b25_four_bit_weights_are_not_half_a_byte() -> None:
    ds = plan(
        "deployment: {model: llama-3.3-70b, weight_dtype: int4, params_total: 70.6e9, kv_pool_bytes_given: 1 GiB}"
    )
    stored = f.weights_bytes(70.6e9, 0.52 * 8, 2 * 128_256 * 8192)
    assert float(ds.weights_bytes_per_gpu) == pytest.approx(stored, rel=0.005)
    verify("B25", weights_gib=float(ds.weights_bytes_per_gpu) / GIB, naive_gib=f.weights_bytes(70.6e9, 4) / GIB)
