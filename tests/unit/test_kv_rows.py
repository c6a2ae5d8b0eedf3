"""Layer groups as an engine charges them: each rule of each policy by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gridplan.catalog import LayerGroup, load_catalog
from gridplan.engine.kv_rows import Row, Setting, charge_of, read_of

GIB = 2**30
INF = math.inf
HEADS: dict[str, Any] = {"kv_heads": 8, "k_head_dim": 64, "v_head_dim": 64}
FULL = LayerGroup("full", 12, **HEADS)
SLIDING = LayerGroup("sliding", 12, **HEADS, window_tokens=128)
LATENT = LayerGroup("mla", 61, kv_lora_rank=512, qk_rope_head_dim=64)
STATE = LayerGroup("state", 36, recurrent_elements=524288, conv_elements=24576, recurrent_bits=16)
ADMIT = Setting(16, block_tokens=16, block_alignment_tokens=16, sliding_policy="engine_admission")


def setting(**changes: Any) -> Setting:
    return Setting(**{**{field: getattr(ADMIT, field) for field in ADMIT.__slots__}, **changes})


def test_one_row_where_every_token_costs_the_same() -> None:
    assert charge_of([LATENT], ADMIT).rows == (Row(16 * 70272, 16, INF, 0),)
    assert charge_of([LATENT], ADMIT).uniform
    assert charge_of([FULL, SLIDING], setting(sliding_policy="full")).rows == (Row(16 * 24 * 2048, 16, INF, 0),)


def test_rows_of_old_mla_take_whole_units() -> None:
    padded = charge_of([LATENT], setting(mla_row_align_bytes=256))
    assert padded.rows[0].block_bytes == 16 * 61 * 1280
    # 576 B in FP8 make three units
    assert charge_of([LATENT], setting(kv_bits=8.0, mla_row_align_bytes=256)).rows[0].block_bytes == 16 * 61 * 768


@pytest.mark.parametrize(
    ("policy", "rows"),
    [
        ("ideal_window", (Row(12 * 16 * 2048, 16, INF, 0), Row(12 * 16 * 2048, 16, 128, 0))),
        ("engine_admission", (Row(12 * 16 * 2048, 16, INF, 0), Row(12 * 16 * 2048, 16, 127, 1, in_flight=1))),
    ],
)
def test_what_each_policy_keeps_of_a_window(policy: str, rows: tuple[Row, ...]) -> None:
    found = charge_of([FULL, SLIDING], setting(sliding_policy=policy))
    assert found.rows == rows
    assert not found.uniform
    assert found.page_bytes == (12 * 16 * 2048 if policy == "engine_admission" else 0)


def test_a_chunk_is_admitted_whole_without_a_further_block() -> None:
    # Llama-4-Scout: 12 full layers and 36 that keep a chunk of 8,192: three bundles of 12.
    groups = load_catalog().model("llama-4-scout-17b-16e").layer_groups
    page = 12 * 16 * 8 * 256 * 2
    assert charge_of(groups, ADMIT).rows == (Row(page, 16, INF, 0), Row(3 * page, 16, 8192, 0, in_flight=1))
    assert charge_of(groups, setting(sliding_policy="ideal_window")).rows[1].limit_tokens == 8192


def test_layers_without_a_cache_cost_nothing() -> None:
    shared = LayerGroup("shared", 20)
    for policy in ("ideal_window", "engine_admission", "full"):
        given = setting(sliding_policy=policy)
        assert charge_of([FULL, SLIDING, shared], given) == charge_of([FULL, SLIDING], given)


def test_one_vector_as_key_and_value_costs_half() -> None:
    both, one = (LayerGroup("full", 10, kv_heads=4, k_head_dim=512, v_head_dim=value) for value in (512, 0))
    assert charge_of([both], ADMIT).rows[0].block_bytes == 2 * charge_of([one], ADMIT).rows[0].block_bytes


def test_narrow_layers_get_longer_blocks() -> None:
    # Gemma-4-31B: pages of 16 tokens of 16 heads of 256; 4 heads of 512 fit 32 tokens.
    full, sliding = charge_of(load_catalog().model("gemma-4-31b").layer_groups, ADMIT).rows
    assert (full.block_tokens, sliding.block_tokens) == (32, 16)
    assert (full.block_bytes, sliding.block_bytes) == (10 * 262144, 5 * 10 * 262144)


def test_states_lie_in_pages_of_the_attention_blocks() -> None:
    groups = load_catalog().model("qwen3-next-80b-a3b").layer_groups
    full, state = charge_of(groups, setting(tensor_parallel=2.0)).rows
    page = 12 * 544 * 1024
    assert full == Row(page, 544, INF, 0)
    assert state == Row(3 * page, 1, 0, 1)
    assert 44.59 * GIB // page == 7162  # the blocks that the log prints
    held = setting(tensor_parallel=2.0, state_blocks=2.0, num_speculative_tokens=2.0)
    assert charge_of(groups, held).rows[1].extra_blocks == 4


def test_states_do_not_shrink_with_the_format_of_the_cache() -> None:
    groups = [FULL, STATE]
    ideal = [setting(sliding_policy="ideal_window", kv_bits=bits) for bits in (16.0, 8.0)]
    wide, narrow = (charge_of(groups, item).rows for item in ideal)
    assert wide[0].block_bytes == 2 * narrow[0].block_bytes
    assert wide[1] == narrow[1] == Row(36 * 1097728, 1, 0, 1)


def test_a_draft_head_joins_the_full_layers_of_the_last_stage() -> None:
    on_four = setting(pipeline_parallel=4.0, sliding_policy="ideal_window", draft_layers=1.0)
    assert [row.block_bytes for row in charge_of([FULL, SLIDING], on_four).rows] == [4 * 32768, 3 * 32768]


def test_a_draft_model_lies_whole_on_the_last_stage() -> None:
    draft = LayerGroup("full", 6, **HEADS)
    two = setting(pipeline_parallel=2.0)
    assert charge_of([FULL], two, [draft]).rows[0].block_bytes == (6 + 6) * 16 * 2048
    # The stages' reads add up to those of a step: 18 layers of two stages.
    assert read_of([FULL], two, [draft]).rows[0].block_bytes == (6 + 3) * 2048


@pytest.mark.parametrize(("pp", "layers"), [(1, 61), (2, 31), (4, 16), (8, 8), (61, 1)])
def test_the_fullest_stage_decides(pp: int, layers: int) -> None:
    assert charge_of([LATENT], setting(pipeline_parallel=float(pp))).rows[0].block_bytes == layers * 16 * 1152


def test_ranks_that_share_a_sequence_lengthen_its_blocks() -> None:
    full, sliding = charge_of([FULL, SLIDING], setting(decode_context_parallel=4.0)).rows
    assert (full.block_tokens, sliding.block_tokens) == (64, 16)


def test_a_step_reads_true_windows_and_each_state_once() -> None:
    given = setting(state_blocks=2.0, num_speculative_tokens=3.0)
    assert read_of([FULL, SLIDING], given).rows == (Row(12 * 2048, 1, INF, 0), Row(12 * 2048, 1, 128, 0))
    assert read_of([FULL, STATE], given).rows[1] == Row(36 * 1097728, 1, 0, 1)


def test_a_cache_of_a_format_of_its_own_heeds_no_kv_dtype() -> None:
    own = LayerGroup("sliding", 20, kv_heads=1, k_head_dim=1024, v_head_dim=0, window_tokens=8, kv_bits=32)
    found = {charge_of([own], setting(sliding_policy="ideal_window", kv_bits=bits)) for bits in (16.0, 8.0, 4.5)}
    assert [item.rows for item in found] == [(Row(20 * 16 * 4096, 16, 8, 0),)]


def test_entries_that_stand_for_several_tokens() -> None:
    v4 = load_catalog().model("deepseek-v4-flash").layer_groups
    sparse, latent = (next(group for group in v4 if group.kind == kind) for kind in ("sparse_mla", "mla"))
    ideal = setting(sliding_policy="ideal_window", kv_bits=8.0, block_tokens=1.0)
    assert charge_of([sparse], ideal).rows[0].block_bytes == 21 * (584 + 132) / 4
    assert charge_of([latent], ideal).rows[0].block_bytes == 20 * 584 / 128
