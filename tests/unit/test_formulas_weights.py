"""Weights on the fullest rank, by hand: what is split, what is copied, and what is uneven."""

from __future__ import annotations

import math

import pytest

import gridplan
from gridplan.catalog import load_catalog
from gridplan.catalog.parts import kv_projection_params, mla_down_params, routed_expert_params, router_params
from gridplan.formulas import (
    dense_rank_ratio,
    expert_padding_ratio,
    experts_rank_ratio,
    kv_projection_rank_ratio,
    moe_stage_ratio,
    replicated_rank_ratio,
    vocabulary_rank_ratio,
    weights_bytes,
    weights_bytes_per_gpu,
    weights_rank_ratio,
)

GIB = 2**30
MODEL = load_catalog().model


def test_stored_bytes_leave_named_parameters_in_16_bits() -> None:
    assert weights_bytes(10.0, 4, 2.0) == 8 * 0.5 + 2 * 2
    # Llama-3.3-70B in FP8 with 2 x 128,256 x 8,192 in 16 bits: 72.655 GB; an H100 log prints 67.72 GiB
    stored = weights_bytes(70_553_706_496, 8, 2 * 128_256 * 8192)
    assert stored == 70_553_706_496 + 2 * 128_256 * 8192
    assert stored / GIB == pytest.approx(67.72, rel=0.001)


def test_even_splits_are_even_to_the_bit() -> None:
    assert dense_rank_ratio(80, 4) == 1.0
    assert dense_rank_ratio(math.nan, 3) == 1.0  # no model: nothing is known of its layers
    assert kv_projection_rank_ratio(8, 8, 1.0) == 1.0
    assert vocabulary_rank_ratio(0.1, 0.1, 1) == 1.0
    assert vocabulary_rank_ratio(0.0, 0.0, 4) == 1.0
    assert experts_rank_ratio(math.nan, 1, 4, 1.0) == 1.0
    assert experts_rank_ratio(256, 8, 1, 1.0) == 1.0
    assert weights_rank_ratio(1, 0.5, 1, 0.1, 1, 0, 1, 0.1, 1) == 1.0
    assert weights_bytes_per_gpu(70.55e9, 4, 1, 1.0) == 17.6375e9


def test_stages_are_as_full_as_the_fullest() -> None:
    assert dense_rank_ratio(61, 4) == 4 * 16 / 61
    assert moe_stage_ratio(61, 58, 4) == 4 * 16 / 58  # the dense layers are the first three
    assert moe_stage_ratio(61, 58, 61) == 61 / 58
    assert moe_stage_ratio(88, 40, 8) == 1.0  # every second layer or so: 5 of 40 in each stage of 11
    assert vocabulary_rank_ratio(0.06, 0.06, 2) == 1.0  # one table each
    assert vocabulary_rank_ratio(0.06, 0.0, 2) == 2.0


def test_experts_are_spread_over_attention_ranks() -> None:
    # 8 attention ranks of one GPU: a rank holds 1/8 of the experts, whole with ep 8 or sliced with ep 1
    assert experts_rank_ratio(128, 8, 8, 1.0) == experts_rank_ratio(128, 1, 8, 1.0) == 1 / 8
    # 128 experts over 6 ranks: one holds 22, not 21.33
    assert experts_rank_ratio(128, 6, 6, 1.0) * 128 == pytest.approx(22)
    assert experts_rank_ratio(128, 2, 4, 1.0, 1.5) == 1.5 / 4


def test_copies_count_once_a_rank() -> None:
    assert replicated_rank_ratio(8, 1.0) == 8.0
    assert kv_projection_rank_ratio(4, 8, 1.0) == 2.0
    assert kv_projection_rank_ratio(2, 16, 1.0) == 8.0


def test_mxfp4_experts_are_held_wider() -> None:
    # 2,880 is held as 3,072; the logs of vLLM 0.11 on an H100 print 13.47 and 64.38 GiB
    assert expert_padding_ratio(2880) == 3072 / 2880
    assert expert_padding_ratio(2048) == 1.0


def test_counts_of_parts_by_hand() -> None:
    v3 = MODEL("deepseek-v3")
    assert v3.params_routed_experts == 58 * 256 * 3 * 7168 * 2048 == routed_expert_params(58, 256, 7168, 2048)
    assert v3.params_replicated == 61 * 7168 * (1536 + 512 + 64) == mla_down_params(61, 7168, 1536, 512, 64)
    assert router_params(v3) == 58 * 7168 * 256
    assert kv_projection_params(v3) == 0
    assert kv_projection_params(MODEL("qwen3-235b-a22b")) == 94 * 2 * 4096 * 4 * 128
    assert MODEL("llama-3-8b").params_routed_experts == 0
    assert MODEL("llama-3-8b").params_replicated == 0
    # experts of two matrices, and experts on a latent
    assert MODEL("nemotron-3-nano-30b-a3b").params_routed_experts == 23 * 128 * 2 * 2688 * 1856
    assert MODEL("nemotron-3-super-120b-a12b").params_routed_experts == 40 * 512 * 2 * 1024 * 2688
    # latent attention and the indexer, as the difference of V3.2 to V3 says: 61 (1536 64 128 + 7168 (128 + 64))
    v32 = MODEL("deepseek-v3.2")
    indexer = 61 * (1536 * 64 * 128 + 7168 * (128 + 64))
    assert v32.params_replicated == v3.params_replicated + indexer
    assert v32.params_total is not None
    assert v3.params_total is not None
    assert v32.params_total - v3.params_total == pytest.approx(indexer, rel=1e-4)


def test_a_written_width_changes_the_experts_that_followed_from_it() -> None:
    ours = load_catalog().with_entries({"models": {"qwen3-30b-a3b": {"moe_intermediate_size": 512}}})
    assert ours.model("qwen3-30b-a3b").params_routed_experts == 48 * 128 * 3 * 2048 * 512
    stated = load_catalog().with_entries({"models": {"qwen3-30b-a3b": {"params_routed_experts": 2e10}}})
    assert stated.model("qwen3-30b-a3b").params_routed_experts == 2e10


def test_more_experts_than_parameters_is_a_contradiction() -> None:
    with pytest.raises(gridplan.errors.CatalogError, match="are above params_total"):
        load_catalog().with_entries({"models": {"qwen3-30b-a3b": {"params_routed_experts": 4e10}}})
