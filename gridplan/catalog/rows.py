"""Reads the CSV files that ship with the package and turns their units into base units.

Columns carry their unit: GiB and MiB are powers of two, GB/s is 1e9 bytes a second, TFLOP/s (and TOP/s) 1e12 a second.
Factors are applied to the decimal text, so 165.2 TFLOP/s is 1.652e14 exactly. A GPU row describes one device: a card
with two dies appears as two devices with half of its memory, bandwidth and rate each. Rows whose source cannot be
opened, or that carry another model's values over, have class assumption.
"""

from __future__ import annotations

from typing import Any

from gridplan.catalog.complete import complete_engine, complete_gpu, complete_instance
from gridplan.catalog.entries import ActivationFamily, Dtype, Engine, Gpu, Instance, MemoryTerm
from gridplan.catalog.step_constants import StepConstant
from gridplan.catalog.table import Row, count, provenance, read_table, scaled

__all__ = [
    "read_activation_families",
    "read_dtypes",
    "read_engines",
    "read_gpus",
    "read_instances",
    "read_memory_terms",
    "read_step_constants",
]

FLOP_FORMATS = ("fp16", "bf16", "fp8", "int8", "fp4")


def _memory(row: Row) -> tuple[float | None, str]:
    """Planning memory [bytes] and who says so: what an engine saw, else what the driver reports, else nothing."""
    if row["engine_visible_gib"]:
        return scaled(row["engine_visible_gib"], 2**30), "engine_visible"
    if row["reported_memory_mib"]:
        return scaled(row["reported_memory_mib"], 2**20), "driver_reported"
    return None, ""


def _gpu(row: Row) -> Gpu:
    memory, memory_source = _memory(row)
    rates = {name: scaled(row[f"tflops_{name}"], 10**12) for name in FLOP_FORMATS}
    values: dict[str, Any] = {
        "name": row["name"],
        "vendor": row["vendor"],
        "family": row["family"],
        "pcie_generation": count(row["pcie_gen"]),
        "memory_bytes": memory,
        "memory_source": memory_source,
        "memory_bandwidth_bytes_per_s": scaled(row["memory_bandwidth_gb_per_s"], 10**9),
        "flops": {name: rate for name, rate in rates.items() if rate is not None},
        "scale_up_bytes_per_s": scaled(row["scale_up_gb_per_s"], 10**9),
        "max_scale_up_domain": count(row["max_scale_up_domain"]),
        "tdp_w": scaled(row["tdp_w"]),
        "devices_per_card": int(row["devices_per_card"]),
        "marketed_memory_bytes": scaled(row["marketed_memory_gb"], 10**9),
    }
    return complete_gpu(row["id"], values | provenance(row))


def _instance(row: Row) -> Instance:
    values: dict[str, Any] = {name: row[name] for name in ("provider", "instance_type", "gpu", "price_kind", "region")}
    values |= {
        "gpus_per_node": int(row["gpus_per_node"]),
        "scale_up_gpus": int(row["scale_up_gpus"]),
        "usd_per_node_hour": scaled(row["usd_per_node_hour"]),
        "spot_usd": scaled(row["spot_usd"]),
    }
    return complete_instance(row["id"], values | provenance(row))


_ENGINE_COUNTS = (
    "block_tokens",
    "max_num_seqs_large_gpu",
    "max_num_seqs_else",
    "max_num_batched_tokens_large_gpu",
    "max_num_batched_tokens_huge_gpu",
    "max_num_batched_tokens_else",
    "mla_row_align_bytes",
    "state_blocks",
    "in_flight_steps",
    "block_alignment_tokens",
)
_ENGINE_NUMBERS = (
    "default_fraction",
    "sampler_bytes_per_logit",
    "non_torch_gib_tp1",
    "non_torch_gib_tp2plus",
    "cuda_graphs_gib",
    "sliding_pool_ratio",
)
_ENGINE_TEXTS = (
    "version_to",
    "fraction_rule",
    "batched_tokens_rule",
    "activation_rule",
    "sliding_policy",
    "chunked_policy",
)


def _engine(row: Row) -> Engine:
    values: dict[str, Any] = {name: row[name] for name in ("version_from", "fraction_meaning")}
    values |= {name: count(row[name]) for name in _ENGINE_COUNTS}
    values |= {name: scaled(row[name]) for name in _ENGINE_NUMBERS}
    values |= {name: row[name] or None for name in _ENGINE_TEXTS}
    values["cuda_graphs_in_budget"] = {"yes": True, "no": False, "": None}[row["cuda_graphs_in_budget"]]
    return complete_engine(row["name"], values | provenance(row))


def _dtype(row: Row) -> Dtype:
    texts = {name: row[name] for name in ("role", "name", "sixteen_bit", "compute_column", "requires", "vendor")}
    bits = float(row["bits_per_element"])
    return Dtype(bits_per_element=bits, fallback=row["fallback"] == "yes", **texts, **provenance(row))


def read_gpus() -> dict[str, Gpu]:
    """Accelerators by id, in the order of the file."""
    return {row["id"]: _gpu(row) for row in read_table("gpus.csv")}


def read_instances() -> dict[str, Instance]:
    """Rentable shapes by id, in the order of the file."""
    return {row["id"]: _instance(row) for row in read_table("instances.csv")}


def read_engines() -> tuple[Engine, ...]:
    """Engine entries, one a range of versions, in the order of the file."""
    return tuple(_engine(row) for row in read_table("engines.csv"))


def read_dtypes() -> dict[tuple[str, str], Dtype]:
    """Number formats by (role, name), in the order of the file."""
    return {(row["role"], row["name"]): _dtype(row) for row in read_table("dtypes.csv")}


def read_activation_families() -> dict[str, ActivationFamily]:
    """Activation peaks by model family, in the order of the file."""
    rows = read_table("activation_families.csv")
    return {
        row["family"]: ActivationFamily(row["family"], float(row["activation_gib"]), **provenance(row)) for row in rows
    }


def read_memory_terms() -> tuple[MemoryTerm, ...]:
    """Terms of the memory budget with their spread, in the order of the file."""
    return tuple(_memory_term(row) for row in read_table("memory_terms.csv"))


def _memory_term(row: Row) -> MemoryTerm:
    texts = {name: row[name] for name in ("engine", "version_from", "term", "condition", "rule", "spread_unit")}
    return MemoryTerm(
        version_to=row["version_to"] or None,
        best_gib=scaled(row["best_gib"]),
        low=float(row["low"]),
        high=float(row["high"]),
        rows=int(row["rows"]),
        valid_where=row["valid_where"],
        **texts,
        **provenance(row),
    )


def read_step_constants() -> tuple[StepConstant, ...]:
    """Constants of the step time, in the order of the file."""
    return tuple(_step_constant(row) for row in read_table("step_constants.csv"))


def _step_constant(row: Row) -> StepConstant:
    texts = {name: row[name] for name in ("gpu_families", "engine", "version_from", "kind", "valid_where")}
    return StepConstant(
        version_to=row["version_to"] or None,
        name=row["constant"],
        low=float(row["low"]),
        best=float(row["best"]),
        high=float(row["high"]),
        rows=int(row["rows"]),
        groups=int(row["groups"]),
        **texts,
        **provenance(row),
    )
