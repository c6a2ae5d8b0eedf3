"""Reads the models that ship with the package: counts, layer groups, parts of the parameters, and other names."""

from __future__ import annotations

from typing import Any

from gridplan.catalog.complete import complete_model
from gridplan.catalog.entries import LayerGroup, Model
from gridplan.catalog.fields import UNKNOWN
from gridplan.catalog.table import Row, count, provenance, read_table, scaled

__all__ = ["read_model_aliases", "read_models"]

_MODEL_COUNTS = (
    "num_layers",
    "hidden_size",
    "attention_heads",
    "kv_heads",
    "head_dim",
    "kv_lora_rank",
    "qk_rope_head_dim",
    "num_sliding_layers",
    "num_chunked_layers",
    "sliding_window",
    "index_head_dim",
    "num_experts",
    "experts_per_token",
    "num_moe_layers",
    "intermediate_size",
    "moe_intermediate_size",
    "vocab_size",
    "max_position_embeddings",
)


def _parts(row: Row) -> dict[str, Any]:
    """What of a model's parts does not follow from its geometry."""
    counts = {name: scaled(row[name]) for name in ("params_routed_experts", "params_replicated")}
    tower = row["params_vision"]
    vision = None if tower == UNKNOWN else scaled(tower) or 0.0
    return {"q_lora_rank": count(row["q_lora_rank"]), **counts, "params_vision": vision}


_GROUP_COUNTS = (
    "kv_heads",
    "k_head_dim",
    "v_head_dim",
    "kv_lora_rank",
    "qk_rope_head_dim",
    "index_head_dim",
    "window_tokens",
    "recurrent_elements",
    "conv_elements",
    "recurrent_bits",
    "kv_bits",
    "fp8_entry_bytes",
)


def _layer_group(row: Row) -> LayerGroup:
    values: dict[str, Any] = {name: count(row[name]) for name in _GROUP_COUNTS}
    values |= {"compression": scaled(row["compression"]) or 1.0, "beside": row["beside"] == "yes"}
    return LayerGroup(row["kind"], int(row["layers"]), **values, **provenance(row))


def _layer_groups() -> dict[str, list[LayerGroup]]:
    """Groups of the models that are not one plain group, by model, in the order of the file."""
    groups: dict[str, list[LayerGroup]] = {}
    for row in read_table("layer_groups.csv"):
        groups.setdefault(row["model"], []).append(_layer_group(row))
    return groups


def _model(row: Row, parts: dict[str, Any], groups: list[LayerGroup]) -> Model:
    values: dict[str, Any] = {name: count(row[name]) for name in _MODEL_COUNTS} | {"layer_groups": groups}
    values |= {
        "hf_id": row["hf_id"],
        "family": row["family"],
        "params_total": scaled(row["params_total"]),
        "params_active": scaled(row["params_active"]),
        "kv_layers": int(row["num_full_attention_layers"]),
        "num_linear_layers": int(row["num_linear_or_mamba_layers"]),
        "native_weight_dtype": row["native_weight_dtype"],
        "tie_word_embeddings": row["tie_word_embeddings"] == "yes",
    }
    return complete_model(row["id"], values | parts | provenance(row))


def read_models() -> dict[str, Model]:
    """Models by id, in the order of the file."""
    parts = {row["id"]: _parts(row) for row in read_table("model_parts.csv")}
    groups = _layer_groups()
    return {
        row["id"]: _model(row, parts.get(row["id"], {}), groups.get(row["id"], [])) for row in read_table("models.csv")
    }


def read_model_aliases() -> dict[str, str]:
    """Model ids by a name that means a model of the same geometry, in the order of the file."""
    return {row["alias"]: row["model"] for row in read_table("model_aliases.csv")}
