"""Reads the CSV files that ship with the package and turns their units into base units.

Columns carry their unit: GiB and MiB are powers of two, GB/s is 1e9 bytes a second, TFLOP/s (and TOP/s) 1e12 a second.
Factors are applied to the decimal text, so 165.2 TFLOP/s is 1.652e14 exactly. A GPU row describes one device: a card
with two dies appears as two devices with half of its memory, bandwidth and rate each. Rows whose source cannot be
opened, or that carry another model's values over, have class assumption.
"""

from __future__ import annotations

import csv
from decimal import Decimal
from pkgutil import get_data
from typing import Any

from gridplan.catalog.complete import complete_engine, complete_gpu, complete_instance, complete_model
from gridplan.catalog.entries import ActivationFamily, Dtype, Engine, Gpu, Instance, Model

__all__ = ["read_activation_families", "read_dtypes", "read_engines", "read_gpus", "read_instances", "read_models"]

Row = dict[str, str]
FLOP_FORMATS = ("fp16", "bf16", "fp8", "int8", "fp4")


def _rows(name: str) -> list[Row]:
    data = get_data("gridplan.catalog", f"data/{name}")  # importlib.resources loads slower than all these files
    if data is None:
        raise FileNotFoundError(name)
    return list(csv.DictReader(data.decode("utf-8").splitlines()))


def _scaled(text: str, factor: int = 1) -> float | None:
    return float(Decimal(text) * factor) if text else None


def _count(text: str) -> int | None:
    return int(text) if text else None


def _provenance(row: Row) -> dict[str, Any]:
    return {"cls": row["class"], "source": row["source"], "as_of": row["as_of"], "notes": row["notes"]}


def _memory(row: Row) -> tuple[float | None, str]:
    """Planning memory [bytes] and who says so: what an engine saw, else what the driver reports, else nothing."""
    if row["engine_visible_gib"]:
        return _scaled(row["engine_visible_gib"], 2**30), "engine_visible"
    if row["reported_memory_mib"]:
        return _scaled(row["reported_memory_mib"], 2**20), "driver_reported"
    return None, ""


def _gpu(row: Row) -> Gpu:
    memory, memory_source = _memory(row)
    rates = {name: _scaled(row[f"tflops_{name}"], 10**12) for name in FLOP_FORMATS}
    values: dict[str, Any] = {
        "name": row["name"],
        "vendor": row["vendor"],
        "memory_bytes": memory,
        "memory_source": memory_source,
        "memory_bandwidth_bytes_per_s": _scaled(row["memory_bandwidth_gb_per_s"], 10**9),
        "flops": {name: rate for name, rate in rates.items() if rate is not None},
        "scale_up_bytes_per_s": _scaled(row["scale_up_gb_per_s"], 10**9),
        "max_scale_up_domain": _count(row["max_scale_up_domain"]),
        "tdp_w": _scaled(row["tdp_w"]),
        "devices_per_card": int(row["devices_per_card"]),
        "marketed_memory_bytes": _scaled(row["marketed_memory_gb"], 10**9),
    }
    return complete_gpu(row["id"], values | _provenance(row))


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


def _model(row: Row) -> Model:
    values: dict[str, Any] = {name: _count(row[name]) for name in _MODEL_COUNTS}
    values |= {
        "hf_id": row["hf_id"],
        "family": row["family"],
        "params_total": _scaled(row["params_total"]),
        "params_active": _scaled(row["params_active"]),
        "kv_layers": int(row["num_full_attention_layers"]),
        "num_linear_layers": int(row["num_linear_or_mamba_layers"]),
        "native_weight_dtype": row["native_weight_dtype"],
        "tie_word_embeddings": row["tie_word_embeddings"] == "yes",
    }
    return complete_model(row["id"], values | _provenance(row))


def _instance(row: Row) -> Instance:
    values: dict[str, Any] = {name: row[name] for name in ("provider", "instance_type", "gpu", "price_kind", "region")}
    values |= {
        "gpus_per_node": int(row["gpus_per_node"]),
        "scale_up_gpus": int(row["scale_up_gpus"]),
        "usd_per_node_hour": _scaled(row["usd_per_node_hour"]),
        "spot_usd": _scaled(row["spot_usd"]),
    }
    return complete_instance(row["id"], values | _provenance(row))


_ENGINE_COUNTS = (
    "block_tokens",
    "max_num_seqs_large_gpu",
    "max_num_seqs_else",
    "max_num_batched_tokens_large_gpu",
    "max_num_batched_tokens_else",
)
_ENGINE_NUMBERS = ("default_fraction", "non_torch_gib_tp1", "non_torch_gib_tp2plus", "mbu", "mfu")
_ENGINE_TEXTS = ("version_to", "batched_tokens_rule", "activation_rule")


def _engine(row: Row) -> Engine:
    values: dict[str, Any] = {name: row[name] for name in ("version_from", "fraction_meaning")}
    values |= {name: _count(row[name]) for name in _ENGINE_COUNTS}
    values |= {name: _scaled(row[name]) for name in _ENGINE_NUMBERS}
    values |= {name: row[name] or None for name in _ENGINE_TEXTS}
    values["cuda_graphs_in_budget"] = {"yes": True, "no": False, "": None}[row["cuda_graphs_in_budget"]]
    values |= {"step_cls": row["step_class"], "step_source": row["step_source"], "step_as_of": row["step_as_of"]}
    return complete_engine(row["name"], values | _provenance(row))


def _dtype(row: Row) -> Dtype:
    texts = {name: row[name] for name in ("role", "name", "compute_column", "requires", "vendor")}
    bits = float(row["bits_per_element"])
    return Dtype(bits_per_element=bits, fallback=row["fallback"] == "yes", **texts, **_provenance(row))


def read_gpus() -> dict[str, Gpu]:
    """Accelerators by id, in the order of the file."""
    return {row["id"]: _gpu(row) for row in _rows("gpus.csv")}


def read_models() -> dict[str, Model]:
    """Models by id, in the order of the file."""
    return {row["id"]: _model(row) for row in _rows("models.csv")}


def read_instances() -> dict[str, Instance]:
    """Rentable shapes by id, in the order of the file."""
    return {row["id"]: _instance(row) for row in _rows("instances.csv")}


def read_engines() -> tuple[Engine, ...]:
    """Engine entries, one a range of versions, in the order of the file."""
    return tuple(_engine(row) for row in _rows("engines.csv"))


def read_dtypes() -> dict[tuple[str, str], Dtype]:
    """Number formats by (role, name), in the order of the file."""
    return {(row["role"], row["name"]): _dtype(row) for row in _rows("dtypes.csv")}


def read_activation_families() -> dict[str, ActivationFamily]:
    """Activation peaks by model family, in the order of the file."""
    rows = _rows("activation_families.csv")
    return {
        row["family"]: ActivationFamily(row["family"], float(row["activation_gib"]), **_provenance(row)) for row in rows
    }
