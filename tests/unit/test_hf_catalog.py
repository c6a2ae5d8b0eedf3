"""Published configs against the catalog: the same parameters to the last one, the same geometry, the same caches."""

from __future__ import annotations

from pathlib import Path

import pytest
from published_configs import CONFIGS, config_of, written

from gridplan.catalog import Model, groups_text, load_catalog
from gridplan.catalog.hf import import_model

SHIPPED = load_catalog()
GEOMETRY = (
    *("params_total", "params_active", "params_embedding", "params_routed_experts", "params_replicated", "num_layers"),
    *("kv_layers", "hidden_size", "attention_heads", "kv_heads", "attention", "kv_lora_rank", "qk_rope_head_dim"),
    *("num_experts", "experts_per_token", "num_moe_layers", "vocab_size", "native_weight_dtype", "family"),
    *("num_sliding_layers", "num_chunked_layers", "num_linear_layers", "index_head_dim", "tie_word_embeddings"),
)
ELSEWHERE = {
    # The published file says that every layer slides; engines differ, and the catalog has them in full.
    "phi-3-mini-4k": {"kv_layers", "num_sliding_layers", "groups"},
    "phi-3-medium-4k": {"kv_layers", "num_sliding_layers", "groups"},
    # The catalog counts the 49 blocks with attention; the import names the 31 without as well.
    "llama-3.3-nemotron-super-49b": {"groups"},
    # Its format stands in the hf_quant_config.json beside the published file.
    "nemotron-3-super-120b-a12b": {"native_weight_dtype"},
    # Published as models of type llama; whose they are is no field.
    **{name: {"family"} for name in ("falcon3-10b", "yi-6b", "yi-34b")},
}
"""Where an import and the catalog differ, and why."""


def imported(folder: Path, model_id: str) -> Model:
    entry = import_model(written(folder, config_of(model_id))).entry
    return SHIPPED.with_entries({"models": {"imported": entry}}).model("imported")


def test_configs_of_85_catalog_models_are_at_hand() -> None:
    assert len(CONFIGS) == 85
    assert all(item["source"] for item in CONFIGS.values())


@pytest.mark.parametrize("model_id", CONFIGS)
def test_the_import_is_the_catalog_entry(model_id: str, tmp_path: Path) -> None:
    own, known = imported(tmp_path, model_id), SHIPPED.model(model_id)
    different = {name for name in GEOMETRY if getattr(own, name) != getattr(known, name)}
    if caches(own) != caches(known):
        different.add("groups")
    assert different == ELSEWHERE.get(model_id, set())


def caches(model: Model) -> list[str]:
    """The layer groups in words; the bits of a state aside where the file does not say them (see the notes)."""
    silent = model.family in ("qwen3-next", "nemotron")
    return sorted(groups_text([group]) for group in model.layer_groups if not (silent and group.kind == "state"))


@pytest.mark.parametrize(
    ("model_id", "text"),
    [
        ("qwen3-next-80b-a3b", "36 state 524288 at 16 bits + 24576 at 16"),
        ("qwen3.5-397b-a17b", "45 state 1048576 at 32 bits + 36864 at 16"),
        ("nemotron-nano-9b-v2", "27 state 1310720 at 32 bits + 36864 at 16"),
        ("llama-4-scout-17b-16e", "36 chunked 8x128 chunk 8192"),
        ("gemma-3-27b", "52 sliding 16x128 window 1024"),
        ("deepseek-v3.2", "61 sparse_mla 512+64 index 128 656 B in FP8"),
    ],
)
def test_groups_as_published(model_id: str, text: str, tmp_path: Path) -> None:
    assert text in groups_text(imported(tmp_path, model_id).layer_groups)


def test_an_assumed_state_is_noted(tmp_path: Path) -> None:
    entry = import_model(written(tmp_path, config_of("nemotron-nano-9b-v2"))).entry
    assert entry["notes"] == "mamba_ssm_cache_dtype is not in the file: a state of 32 bits is assumed"


def test_the_source_is_the_file_and_its_hash(tmp_path: Path) -> None:
    import hashlib

    path = written(tmp_path, config_of("llama-3-8b"))
    entry = import_model(path).entry
    assert entry["source"] == f"config.json, sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}"
    assert entry["class"] == "fact"
