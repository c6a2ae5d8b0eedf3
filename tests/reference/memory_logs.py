"""Public start-up logs of engines, as contracts: what each row says of model, formats, GPU, engine and limits.

`memory_logs.csv` holds 80 logs as facts with their source. A row becomes a contract in one of three ways: with its
printed terms, with its printed pool, or with no printed figure at all. What a row does not say stays at the default of
its engine and version.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import gridplan
from gridplan.catalog import LayerGroup, find_model, load_catalog

GIB = 2**30
FILE = Path(__file__).with_name("memory_logs.csv")

GPUS: Mapping[str, str] = {
    "RTX3090-24GB": "rtx-3090",
    "RTX3090/4090-24GB": "rtx-3090",
    "RTX4090-24GB": "rtx-4090",
    "RTX5090": "rtx-5090",
    "RTX 6000 Ada": "rtx-6000-ada",
    "RTX PRO 6000": "rtx-pro-6000-blackwell-server",
    "T4-16GB": "t4",
    "24GB L4/A10G": "l4",
    "L4-24GB": "l4",
    "L40S": "l40s",
    "A40-48GB": "a40",
    "A100-40GB": "a100-sxm-40gb",
    "A100-80GB": "a100-sxm-80gb",
    "A100 (80 GB deduced)": "a100-sxm-80gb",
    "A800-80GB": "a100-sxm-80gb",
    "H100-80GB": "h100-sxm",
    "H100/A100-80GB": "h100-sxm",
    "H200-141GB": "h200-sxm",
    "B200-180GB": "b200",
    "B300-288GB": "b300",
    "GB200-186GB": "gb200",
    "MI300X": "mi300x",
}
"""Beginning of a row's GPU and the catalog's id; a GPU that is not named so is not known."""

QUANTS: Mapping[str, str] = {
    "fp8": "fp8",
    "int4": "int4",
    "int4 (native)": "int4",
    "mxfp4": "mxfp4",
    "nvfp4": "nvfp4",
    "awq-int4": "int4",
    "gptq-int4": "int4",
    "bnb-int4": "bnb4",
    "float16": "fp16",
}
TWO_OF_ONE_GEOMETRY: Mapping[str, str] = {
    "DeepSeek-R1/V3 671B (FP8)": "deepseek-r1",
    "DeepSeek-V3/R1 (DP attention)": "deepseek-v3",
    "Qwen2/2.5-0.5B": "qwen2.5-0.5b",
}
"""Names of two models that have the same layers."""
IN_NAME = {r"fp8": "fp8", r"nvfp4": "nvfp4", r"awq|gptq|4-?bit|\bw4\b": "int4"}


class Log:
    """One row: its texts, its numbers (None where nothing is printed), and the labels that it implies."""

    def __init__(self, row: Mapping[str, str]) -> None:
        self.row = row
        self.id, self.flag, self.notes = row["id"], row["flag"], row["notes"]

    def number(self, name: str) -> float | None:
        return float(self.row[name]) if self.row[name] else None

    @property
    def is_named(self) -> bool:
        """Whether the log itself names the model; a name in brackets or a deduced one was inferred from the numbers."""
        return not self.row["model_deduced"] and not self.row["model"].startswith("(")

    @property
    def model(self) -> str | None:
        if not self.is_named:
            return None
        text = self.row["model"]
        return TWO_OF_ONE_GEOMETRY.get(text) or find_model(load_catalog(), text)

    @property
    def is_hybrid(self) -> bool:
        return "hybrid" in self.flag or (self.model is not None and len(groups_of(self.model)) > 1)

    @property
    def gpu(self) -> str | None:
        return next((gpu for start, gpu in GPUS.items() if self.row["gpu"].startswith(start)), None)

    @property
    def engine(self) -> str:
        """Engine and version; the old generation kept its rules while versions went on."""
        name = self.row["engine"].partition("-")[0]
        if self.row["engine"] == "vllm-V0":
            return "vllm@0.7"
        text = self.row["engine_version"] or (version_of_the_day(self.row) if name == "vllm" else "")
        found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?(x?)", text)
        if found is None:
            return name
        version = f"{found[1]}.{found[2]}{'0' if found[4] else ''}" if len(found[2]) < 2 and found[4] else None
        return f"{name}@{version or '.'.join(part for part in found.groups()[:3] if part)}"

    @property
    def weight_dtype(self) -> str | None:
        """The format that the name of the checkpoint says, else the one the row states."""
        for pattern, dtype in IN_NAME.items():
            if re.search(pattern, self.row["model"], re.IGNORECASE):
                return dtype
        return QUANTS.get(self.row["weight_dtype_or_quant"])

    @property
    def kv_dtype(self) -> str | None:
        """As the row states it; `auto` is 8-bit where the pool holds more tokens than 16 bits of the full layers could.

        A checkpoint may bring an 8-bit cache of its own, and `auto` takes it.
        """
        if self.row["kv_dtype"].startswith("fp8"):
            return "fp8"
        pool, tokens = self.number("kv_pool_gib"), self.number("kv_tokens_effective")
        if self.model is None or not pool or not tokens:
            return None
        growing = [group for group in groups_of(self.model) if group.kind == "full"]
        least = sum(group.layers * group.kv_heads * (group.k_head_dim + group.v_head_dim) * 2 for group in growing)
        return "fp8" if pool * GIB / tokens < least / (self.number("tp") or 1) else None

    @property
    def draft(self) -> dict[str, int]:
        """A draft head that the row names."""
        if "MTP" not in self.row["model"] + self.notes or self.model is None:
            return {}
        found = re.search(r"speculative (\d)", self.notes)
        return {"draft_layers": 1, "num_speculative_tokens": int(found[1]) if found else 1}

    def deployment(self) -> dict[str, Any]:
        """What the row says of the replica, without a printed figure of memory."""
        labels = {
            "model": self.model,
            "gpu": self.gpu,
            "engine": self.engine,
            "weight_dtype": self.weight_dtype,
            "kv_dtype": self.kv_dtype,
        }
        names = {
            "tp": "tensor_parallel",
            "pp": "pipeline_parallel",
            "dp": "data_parallel",
            "dcp": "decode_context_parallel",
            "util_or_mem_fraction": "gpu_memory_utilization",
            "max_model_len": "max_model_len",
            "max_num_batched_tokens": "max_num_batched_tokens",
            "max_num_seqs": "max_num_seqs",
            "block_size": "kv_block_tokens",
        }
        numbers = {name: self.number(column) for column, name in names.items()}
        whole = {name: int(value) if value == int(value) else value for name, value in numbers.items() if value}
        return {name: value for name, value in labels.items() if value} | whole | self.draft

    def cube(self, **more: Any) -> xr.Dataset:
        """The plan of the row with more inputs; its one request fills the model length."""
        stated = {**self.deployment(), **more}
        return planned(tuple(sorted(stated.items())))


@lru_cache(maxsize=512)
def planned(stated: tuple[tuple[str, Any], ...]) -> xr.Dataset:
    deployment = dict(stated)
    length = int(deployment.get("max_model_len", 1024))
    text = "".join(f"  {name}: {value}\n" for name, value in deployment.items())
    grid = gridplan.loads_grid(
        f"schema: 1\nname: log\nworkload: {{prompt_tokens: {length - 1}, output_tokens: 1, arrival_rate: 1}}\n"
        f"deployment:\n{text}capacity: {{capacity_model: littles_law, e2e_latency_s: 1}}\npolicy: {{rho_target: 0.7}}\n"
    )
    return gridplan.evaluate(grid)


def groups_of(model: str) -> tuple[LayerGroup, ...]:
    return tuple(group for group in load_catalog().model(model).layer_groups if group.kind != "shared")


def version_of_the_day(row: Mapping[str, str]) -> str:
    """Version of the last log that states one on or before the day of a log that states none; empty where none does."""
    stated = [
        (other["date"], other["engine_version"])
        for other in rows()
        if other["engine"] == row["engine"] and other["engine_version"] and len(other["date"]) == len("2026-01-01")
    ]
    before = [item for item in stated if item[0] <= f"{row['date']}-31"] if row["date"] else []
    return max(before)[1] if before else ""


def value(cube: xr.Dataset, name: str) -> float:
    return float(cube[name].values.ravel()[0])


@lru_cache
def rows() -> tuple[dict[str, str], ...]:
    with FILE.open(encoding="utf-8") as file:
        return tuple(csv.DictReader(file))


def logs() -> list[Log]:
    return [Log(row) for row in rows()]


def error(found: float | None, printed: float | None) -> float:
    """Relative error; NaN where one of the two is missing."""
    if found is None or printed is None or np.isnan(found) or printed == 0:
        return float("nan")
    return found / printed - 1
