"""Families of layers on models small enough to count by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from published_configs import config_of, written

from gridplan.catalog.hf import Imported, import_model
from gridplan.errors import CatalogError

LLAMA: dict[str, Any] = {
    **{"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 8, "intermediate_size": 16, "vocab_size": 10},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "torch_dtype": "bfloat16"},
}
EXPERTS: dict[str, Any] = {"num_experts": 4, "num_experts_per_tok": 1, "moe_intermediate_size": 3}


def read(folder: Path, config: dict[str, Any], **options: Any) -> Imported:
    return import_model(written(folder, config), **options)


def problems(folder: Path, config: dict[str, Any], **options: Any) -> dict[str | None, str]:
    """Message by key."""
    with pytest.raises(CatalogError) as error:
        read(folder, config, **options)
    return {item.key: item.message for item in error.value.problems}


def test_grouped_query_attention(tmp_path: Path) -> None:
    # Head size 8 / 4 = 2. q and o 8 x 8, k and v 8 x 4; MLP 3 x 8 x 16; two norms a layer and one more.
    parts = read(tmp_path, LLAMA).parts
    assert parts == {"embedding": 80, "attention": 2 * 192, "mlp": 2 * 384, "norms": 40, "lm_head": 80}


@pytest.mark.parametrize(
    ("changes", "part", "more"),
    [
        ({"attention_bias": True}, "attention", 2 * (8 + 4 + 4 + 8)),
        ({"mlp_bias": True}, "mlp", 2 * (16 + 16 + 8)),
        ({"head_dim": 4}, "attention", 2 * 192),  # twice the size of every projection
        ({"num_key_value_heads": 1}, "attention", -2 * 32),
        ({"num_key_value_heads": 4}, "attention", 2 * 64),
        ({"tie_word_embeddings": True}, "lm_head", -80),
        ({"model_type": "qwen2"}, "attention", 2 * (8 + 4 + 4)),
        ({"model_type": "qwen3", "head_dim": 2}, "norms", 2 * (2 + 2)),
        ({"model_type": "olmo2"}, "norms", 2 * (8 + 4)),
        ({"model_type": "gemma2", "head_dim": 2, "sliding_window": 4, "tie_word_embeddings": False}, "norms", 2 * 16),
        ({"model_type": "cohere", "tie_word_embeddings": False}, "norms", -2 * 8),
        ({"model_type": "cohere", "tie_word_embeddings": False, "use_qk_norm": True}, "norms", 2 * (8 + 4) - 2 * 8),
    ],
)
def test_what_a_flag_or_a_type_adds(changes: dict[str, Any], part: str, more: int, tmp_path: Path) -> None:
    plain = read(tmp_path, LLAMA).parts
    own = read(tmp_path, LLAMA | changes).parts
    assert own.get(part, 0) == plain[part] + more
    assert {name: own[name] for name in own if name != part} == {name: plain[name] for name in plain if name != part}


def test_experts_every_second_layer_and_one_that_is_dense(tmp_path: Path) -> None:
    config = LLAMA | EXPERTS | {"model_type": "qwen3_moe", "num_hidden_layers": 6, "head_dim": 2}
    config |= {"decoder_sparse_step": 2, "mlp_only_layers": [3]}
    model = read(tmp_path, config)
    # Layers 1 and 5: 4 experts of 3 x 8 x 3 and a router of 8 x 4; the other four 3 x 8 x 16.
    assert (model.parts["experts"], model.parts["router"], model.parts["mlp"]) == (2 * 288, 2 * 32, 4 * 384)
    assert model.entry["num_moe_layers"] == 2
    assert model.entry["params_active"] == model.entry["params_total"] - 2 * 288 * 3 // 4


def test_a_shared_expert_has_a_gate(tmp_path: Path) -> None:
    config = LLAMA | EXPERTS | {"model_type": "qwen2_moe", "shared_expert_intermediate_size": 5}
    assert read(tmp_path, config).parts["shared_experts"] == 2 * (3 * 8 * 5 + 8)


LATENT: dict[str, Any] = {
    **{
        "model_type": "deepseek_v3",
        "num_hidden_layers": 3,
        "hidden_size": 8,
        "intermediate_size": 16,
        "vocab_size": 10,
    },
    **{"num_attention_heads": 2, "q_lora_rank": 6, "kv_lora_rank": 5, "qk_nope_head_dim": 3, "qk_rope_head_dim": 2},
    **{"v_head_dim": 4, "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 3},
    **{"n_shared_experts": 1, "first_k_dense_replace": 1, "torch_dtype": "bfloat16"},
}


def test_latent_attention(tmp_path: Path) -> None:
    model = read(tmp_path, LATENT)
    # q: 8 x 6 and 6 x 2 x 5; kv: 8 x 7 and 5 x 2 x 7; o: 2 x 4 x 8.
    assert model.parts["attention"] == 3 * (48 + 60 + 56 + 70 + 64)
    assert model.entry["params_replicated"] == 3 * (48 + 56)
    assert model.parts["norms"] == 3 * (6 + 5 + 2 * 8) + 8
    # Two layers of experts, each router with one correction an expert.
    assert model.parts["router"] == 2 * (32 + 4)
    assert model.entry["layer_groups"] == [{"kind": "mla", "layers": 3, "kv_lora_rank": 5, "qk_rope_head_dim": 2}]


def test_queries_that_are_not_compressed(tmp_path: Path) -> None:
    assert read(tmp_path, LATENT | {"q_lora_rank": None}).parts["attention"] == 3 * (8 * 10 + 56 + 70 + 64)


def test_an_indexer_that_some_layers_share(tmp_path: Path) -> None:
    config = LATENT | {"model_type": "glm_moe_dsa", "index_n_heads": 2, "index_head_dim": 4}
    config |= {"indexer_types": ["full", "shared", "shared"]}
    model = read(tmp_path, config)
    # One layer: 6 x 8, 8 x 4 and 8 x 2; the norm of its keys has a bias.
    assert model.parts["indexer"] == 48 + 32 + 16
    assert [(group["kind"], group["layers"]) for group in model.entry["layer_groups"]] == [
        ("mla", 2),
        ("sparse_mla", 1),
    ]


def test_deltas_and_gated_attention(tmp_path: Path) -> None:
    config = LLAMA | EXPERTS | {"model_type": "qwen3_next", "num_hidden_layers": 4, "head_dim": 2}
    config |= {"linear_num_key_heads": 1, "linear_num_value_heads": 2, "linear_key_head_dim": 3}
    config |= {"linear_value_head_dim": 5, "linear_conv_kernel_dim": 4, "shared_expert_intermediate_size": 0}
    model = read(tmp_path, config)
    # 16 channels (2 x 3 + 2 x 5): 8 x (16 + 10), 8 x 4, convolution 16 x 4, 2 x 2 numbers, 10 x 8 back.
    assert model.parts["state"] == 3 * (208 + 32 + 64 + 4 + 80)
    assert model.parts["attention"] == 8 * 16 + 2 * 8 * 4 + 64
    state = {"kind": "state", "layers": 3, "recurrent_elements": 30, "conv_elements": 48, "recurrent_bits": 16}
    assert model.entry["layer_groups"][1] == state


def test_blocks_of_one_sublayer(tmp_path: Path) -> None:
    config = LLAMA | {"model_type": "nemotron_h", "num_hidden_layers": 4, "hybrid_override_pattern": "ME*-"}
    config |= {"mamba_num_heads": 2, "mamba_head_dim": 3, "ssm_state_size": 5, "n_groups": 1, "conv_kernel": 4}
    config |= {"n_routed_experts": 4, "num_experts_per_tok": 1, "moe_intermediate_size": 3, "n_shared_experts": 1}
    config |= {"moe_shared_expert_intermediate_size": 7, "mamba_ssm_cache_dtype": "float32"}
    model = read(tmp_path, config)
    # 6 channels and 10 of the state: 8 x (6 + 16 + 2), convolution 16 x 4 with a bias, 3 x 2 numbers, 6 x 8 back.
    assert model.parts["state"] == 192 + 64 + 16 + 6 + 48
    assert (model.parts["mlp"], model.parts["experts"], model.parts["shared_experts"]) == (2 * 128, 4 * 48, 2 * 56)
    assert model.parts["norms"] == 4 * 8 + 8 + 6
    kinds = [(group["kind"], group["layers"]) for group in model.entry["layer_groups"]]
    assert kinds == [("full", 1), ("state", 1), ("shared", 2)]


def test_windows_of_all_or_of_some_layers(tmp_path: Path) -> None:
    def groups(**changes: Any) -> list[tuple[str, int]]:
        entry = read(tmp_path, LLAMA | {"num_hidden_layers": 6} | changes).entry
        return [(group["kind"], group["layers"]) for group in entry["layer_groups"]]

    assert groups(model_type="mistral", sliding_window=4) == [("sliding", 6)]
    assert groups(model_type="mistral", sliding_window=None) == [("full", 6)]
    assert groups(model_type="qwen2", sliding_window=4, max_window_layers=2) == [("full", 6)]
    flagged = {"sliding_window": 4, "max_window_layers": 2, "use_sliding_window": True}
    assert groups(model_type="qwen2", **flagged) == [("full", 2), ("sliding", 4)]
    assert groups(model_type="gemma2", sliding_window=4) == [("full", 3), ("sliding", 3)]
    assert groups(model_type="gemma3_text", sliding_window=4) == [("full", 1), ("sliding", 5)]
    types = ["full_attention"] * 2 + ["sliding_attention"] * 4
    assert groups(model_type="olmo3", sliding_window=4, layer_types=types) == [("full", 2), ("sliding", 4)]


def test_heads_that_differ_between_full_and_sliding_layers(tmp_path: Path) -> None:
    config = LLAMA | {"model_type": "gemma4_text", "num_hidden_layers": 6, "head_dim": 2, "sliding_window": 4}
    config |= {"global_head_dim": 4, "num_global_key_value_heads": 1, "attention_k_eq_v": True}
    model = read(tmp_path, config)
    # Five layers as above; the full one has q and o 8 x 16, k 8 x 4 and no v.
    assert model.parts["attention"] == 5 * 192 + 2 * 128 + 32
    assert model.entry["layer_groups"][0] == {
        "kind": "full",
        "layers": 1,
        "kv_heads": 1,
        "k_head_dim": 4,
        "v_head_dim": 4,
    }


def test_what_gemma_3_leaves_out_is_noted(tmp_path: Path) -> None:
    text = {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34}
    config = {"model_type": "gemma3", "text_config": text | {"sliding_window": 1024}, "torch_dtype": "bfloat16"}
    entry = read(tmp_path, config).entry
    # 64 rows of padding more than the catalog's 262,144.
    assert entry["params_total"] == 3_880_099_328 + 64 * 2560
    assert "num_attention_heads is not in the file: 8, the default of Gemma3TextConfig" in entry["notes"]


def test_deepseek_v4(tmp_path: Path) -> None:
    config: dict[str, Any] = {"model_type": "deepseek_v4", "num_hidden_layers": 3, "compress_ratios": [0, 4, 128]}
    config |= {"hidden_size": 8, "vocab_size": 10, "num_attention_heads": 2, "head_dim": 6, "qk_rope_head_dim": 2}
    config |= {"q_lora_rank": 3, "o_lora_rank": 2, "o_groups": 2, "index_n_heads": 2, "index_head_dim": 4}
    config |= {"sliding_window": 7, "hc_mult": 2, "n_routed_experts": 4, "num_experts_per_tok": 1}
    config |= {"moe_intermediate_size": 3, "torch_dtype": "bfloat16"}
    model = read(tmp_path, config)
    # Sinks 2, q 8 x 3 and 3 x 12, kv 8 x 6, o 6 x 4 and 4 x 8; compressors of two layers.
    compressors = (4 * 12 + 2 * 8 * 12) + (128 * 6 + 2 * 8 * 6)
    assert model.parts["attention"] == 3 * (2 + 24 + 36 + 48 + 24 + 32) + compressors
    # The indexer of the layer that compresses four: 3 x 8, 8 x 2, a compressor of 4 x 8 and 2 x 8 x 8, and its norm.
    assert model.parts["indexer"] == 24 + 16 + 32 + 128 + 4
    kinds = [(group["kind"], group["layers"], group.get("window_tokens")) for group in model.entry["layer_groups"]]
    assert kinds[:3] == [("sliding", 1, 7), ("mla", 1, None), ("sparse_mla", 1, None)]
    assert sorted(kinds[3:]) == [("sliding", 1, 8), ("sliding", 1, 8), ("sliding", 1, 128), ("sliding", 2, 7)]


def test_extra_layers_and_towers_are_counted_apart(tmp_path: Path) -> None:
    config = config_of("deepseek-v3")
    model = read(tmp_path, config)
    # 14 GB of the 685e9 of the model card: a layer of experts, a projection of 2 x 7168 x 7168 and three norms.
    assert model.apart == {"mtp": 11_610_068_224}
    assert "not in params_total: mtp 11,610,068,224" in model.entry["notes"]
    whole = read(tmp_path, config, extras=("mtp",))
    assert whole.entry["params_total"] == model.entry["params_total"] + 11_610_068_224
    assert whole.parts["mtp"] == 11_610_068_224
    # 256 experts of 3 x 7168 x 2048; a token is sent to 8 of them
    experts = 256 * 3 * 7168 * 2048
    added = {name: whole.entry[name] - model.entry[name] for name in ("params_active", "params_routed_experts")}
    assert added == {"params_active": 11_610_068_224 - experts + experts // 32, "params_routed_experts": experts}
    cache = "layer_groups do not hold the cache of the mtp layer: draft_layers: 1 in the contract does"
    assert cache in whole.entry["notes"]
    assert cache not in model.entry["notes"]


def test_parts_that_are_asked_for_and_are_not_there(tmp_path: Path) -> None:
    notes = read(tmp_path, config_of("deepseek-v3"), extras=("vision",)).entry["notes"]
    assert "vision was asked for, and the file has no such part" in notes
    config = config_of("llama-3-8b", num_nextn_predict_layers=0)
    assert "mtp was asked for, and" in read(tmp_path, config, extras=("mtp",)).entry["notes"]


def test_parts_that_are_there_and_are_not_counted(tmp_path: Path) -> None:
    config = config_of("llama-3-8b", num_mtp_modules=1, visual={"hidden_size": 1})
    assert problems(tmp_path, config, extras=("mtp", "vision")) == {
        "num_mtp_modules": "--with mtp: extra layers for multi-token prediction are not counted for this architecture",
        "visual": "--with vision: visual is not counted for this architecture",
    }


def test_the_tower_of_qwen3_vl_8b(tmp_path: Path) -> None:
    vision = {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "in_channels": 3, "num_heads": 16}
    vision |= {"num_position_embeddings": 2304, "out_hidden_size": 4096, "patch_size": 16, "spatial_merge_size": 2}
    vision |= {"temporal_patch_size": 2, "deepstack_visual_indexes": [8, 16, 24]}
    text = config_of("qwen3-8b", model_type="qwen3_vl_text")
    config = {"model_type": "qwen3_vl", "text_config": text, "vision_config": vision}
    # The model card says 8,767,123,696 parameters in all.
    whole = read(tmp_path, config, extras=("vision",)).entry
    # A token of text does not pass the tower.
    assert (whole["params_total"], whole["params_active"]) == (8_767_123_696, 8_190_735_360)
    assert read(tmp_path, config).entry["params_total"] == 8_190_735_360


def test_granite_4_h_small(tmp_path: Path) -> None:
    config: dict[str, Any] = {"model_type": "granitemoehybrid", "hidden_size": 4096, "num_hidden_layers": 40}
    config |= {"num_attention_heads": 32, "num_key_value_heads": 8, "num_local_experts": 72, "num_experts_per_tok": 10}
    config |= {"shared_intermediate_size": 1536, "intermediate_size": 768, "vocab_size": 100352, "mamba_expand": 2}
    config |= {"mamba_d_state": 128, "mamba_d_conv": 4, "mamba_n_heads": 128, "mamba_d_head": 64, "mamba_n_groups": 1}
    config |= {"tie_word_embeddings": True, "torch_dtype": "bfloat16", "position_embedding_type": "nope"}
    config |= {"layer_types": (["mamba"] * 5 + ["attention"] + ["mamba"] * 4) * 4}
    # One Mamba layer: 4096 x (2 x 8192 + 256 + 128), convolution 8448 x (4 + 1), 3 x 128 numbers, 8192 x 4096.
    mamba = 4096 * 16768 + 8448 * 5 + 384 + 8192 * 4096
    assert read(tmp_path, config).parts["state"] == 36 * mamba
    assert read(tmp_path, config).parts["experts"] == 40 * 72 * 3 * 4096 * 768
    assert read(tmp_path, config).entry["params_total"] == 32_207_337_984


def test_a_language_model_inside_a_whole_one(tmp_path: Path) -> None:
    text = config_of("mistral-small-24b")
    dtype = text.pop("torch_dtype")
    config = {"model_type": "mistral3", "text_config": text, "torch_dtype": dtype, "vision_config": {"hidden_size": 1}}
    entry = read(tmp_path, config).entry
    assert (entry["params_total"], entry["family"]) == (23_572_403_200, "mistral")
    assert entry["notes"] == "vision: vision_config is not counted for this architecture"


def test_what_is_not_understood_is_refused_by_name(tmp_path: Path) -> None:
    why = "is not understood for model_type llama: it may change weights or cache, and nothing is guessed"
    assert problems(tmp_path, LLAMA | {"hyper_expert_count": 3}) == {"hyper_expert_count": why}
    assert read(tmp_path, LLAMA | {"hyper_expert_count": None, "hidden_act": "silu"}).parts
    found = problems(tmp_path, LLAMA | {"model_type": "mamba9"})
    assert list(found) == ["model_type"]
    assert found["model_type"].startswith("'mamba9' is not understood")
    silent = {name: value for name, value in LATENT.items() if name not in ("first_k_dense_replace", "q_lora_rank")}
    assert sorted(problems(tmp_path, silent)) == ["first_k_dense_replace", "q_lora_rank"]
    assert "is missing (null" in problems(tmp_path, LLAMA | {"model_type": "mistral"})["sliding_window"]
