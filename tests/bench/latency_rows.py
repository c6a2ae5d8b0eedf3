"""Measured points of single replicas under a fixed number of requests in flight, and what gridplan knows of each.

Two public sources, read from the folder `shared` beside the project where it is present: `closed_loop.csv` (TTFT and
TPOT of serving benchmarks), and the rows of `throughput.csv` that state a fixed concurrency. What the sources leave
open is settled here for all rows alike: an FP8 or FP4 checkpoint of TensorRT-LLM and every NVFP4 one keep their cache
in 8 bits, all others in 16; workspace is 4 GiB a GPU; lengths are exact.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import gridplan
from gridplan import chain
from gridplan.catalog import load_catalog
from gridplan.engine.inputs import build_inputs

__all__ = ["SHARED", "Point", "Rows", "catalog_model", "closed_loop", "fixed_concurrency", "load_rows"]

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "truth"

_GPUS = {
    **{"h100_sxm": "h100-sxm", "h200_sxm": "h200-sxm", "b200_sxm": "b200", "b300_sxm": "b300", "gb200": "gb200"},
    **{"gb300": "gb300", "H100-SXM-80GB": "h100-sxm", "H200-SXM-141GB": "h200-sxm", "A100-SXM-80GB": "a100-sxm-80gb"},
}
_ENGINES = {"trtllm": "tensorrt-llm", "TensorRT-LLM": "tensorrt-llm", "vLLM": "vllm", "SGLang": "sglang"}
_PRECISIONS = {"": "bf16", "fp4": "nvfp4", "fp8 (native checkpoint)": "fp8"}
_MEASURED_BY_STEPS = 1.3
"""Where the gap between tokens exceeds TPOT by more, a step made several tokens: speculative decoding, not compared."""


@dataclass(frozen=True)
class Point:
    """One measured point; lengths in tokens, times in seconds."""

    model: str
    gpu: str
    engine: str
    weight_dtype: str
    kv_dtype: str
    tensor_parallel: int
    expert_parallel: int
    prompt_tokens: int
    output_tokens: int
    concurrency: int
    tpot_s: float
    ttft_s: float

    @property
    def setting(self) -> tuple[Any, ...]:
        """All that decides the times of a step."""
        return (self.model, self.gpu, self.engine, self.weight_dtype, self.kv_dtype, *self.degrees)

    @property
    def degrees(self) -> tuple[int, int]:
        return self.tensor_parallel, self.expert_parallel

    @property
    def group(self) -> str:
        """Model, GPU and engine: what is left out together when constants are checked on what they have not seen."""
        return f"{self.model} {self.gpu} {self.engine}"


@lru_cache(maxsize=1)
def _models() -> dict[str, str]:
    return {model.hf_id.casefold(): model.id for model in load_catalog().models.values()}


def catalog_model(name: str) -> str | None:
    """The catalog's model behind a published name; suffixes of formats and variants of the same shape are dropped."""
    bare = name.casefold()
    for suffix in ("", "-fp8", "-instruct-2507", "-instruct-2507-fp8", "-instruct", "-nvfp4"):
        if bare.endswith(suffix) and (found := _models().get(bare.removesuffix(suffix))):
            return found
    short = bare.rpartition("/")[2].removesuffix("-instruct").removesuffix("-fp8").removesuffix("-0528")
    return short if short in load_catalog().models else None


def _kv(engine: str, weight: str) -> str:
    return "fp8" if weight == "nvfp4" or (engine == "tensorrt-llm" and weight == "fp8") else "bf16"


def _point(row: Mapping[str, str], names: tuple[str, ...], milliseconds: tuple[str, str]) -> Point | None:
    """A row as a point; None where the catalog does not hold its model, GPU or format."""
    model, gpu, engine, precision, prompt, output, at_once, tp = (row[name] for name in names)
    entry, device = catalog_model(model), _GPUS.get(gpu)
    engine, weight = _ENGINES.get(engine, engine), _PRECISIONS.get(precision, precision)
    if entry is None or device is None or ("weight", weight) not in load_catalog().dtypes:
        return None
    tensor = int(float(tp))
    spread = max(1, int(row["moe_ep"])) if "moe_ep" in row else tensor if row["ep_dp"].startswith("EP") else 1
    experts = spread if load_catalog().models[entry].num_experts else 1
    lengths = (round(float(prompt)), round(float(output)), int(float(at_once)))
    tpot, ttft = (float(row[name]) / 1e3 for name in milliseconds)
    return Point(entry, device, engine, weight, _kv(engine, weight), tensor, experts, *lengths, tpot, ttft)


def closed_loop(folder: Path = SHARED) -> list[Point]:
    """Points at fixed concurrency, without data-parallel attention."""
    names = ("model", "system", "backend", "precision", "isl", "osl", "concurrency", "tp")
    with (folder / "closed_loop.csv").open(encoding="utf-8", newline="") as file:
        found = [
            _point(row, names, ("measured_tpot_ms", "measured_ttft_ms"))
            for row in csv.DictReader(file)
            if row["attention_dp"] in ("", "0", "1")
        ]
    return [point for point in found if point is not None]


def fixed_concurrency(folder: Path = SHARED) -> list[Point]:
    """The rows of drained runs that hold a stated number of requests in flight, without speculative decoding."""
    names = ("model", "gpu", "engine", "weight_precision", "isl_mean", "osl_mean", "concurrency", "tp")
    points = []
    with (folder / "throughput.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if "max-concurrency" not in row["scenario"] or not row["tpot_mean_ms"] or "DP" in row["ep_dp"]:
                continue
            if row["itl_mean_ms"] and float(row["itl_mean_ms"]) > _MEASURED_BY_STEPS * float(row["tpot_mean_ms"]):
                continue
            points.append(_point(row, names, ("tpot_mean_ms", "ttft_mean_ms")))
    return [point for point in points if point is not None]


_FROM_INPUTS = (
    *("weights_read_bytes", "experts_read_bytes", "memory_bandwidth_bytes_per_s", "peak_flops", "num_layers"),
    *("hidden_size", "num_experts", "experts_per_token", "max_num_batched_tokens"),
    *("attention_full_flop", "attention_window_flop", "attention_window_tokens", "attention_peak_flops"),
)
_FROM_CHAIN = ("kv_read_bytes_per_token_per_gpu", "flop_params_count", "concurrency_memory_mean", "step_context_tokens")


@dataclass(frozen=True)
class Rows:
    """Measured points as arrays, and what the plan of each knows before any constant of the step time.

    A fit asks for the same arrays thousands of times: each is made once, in `read` where it is an attribute.
    """

    points: tuple[Point, ...]
    known: Mapping[str, np.ndarray]
    read: dict[str, np.ndarray] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.points)

    def of(self, name: str) -> np.ndarray:
        """An attribute of the points as an array, text as objects."""
        if name not in self.read:
            values = [getattr(point, name) for point in self.points]
            self.read[name] = _fixed(np.array(values, dtype=object if isinstance(values[0], str) else float))
        return self.read[name]

    @cached_property
    def is_moe(self) -> np.ndarray:
        return _fixed(np.array([bool(load_catalog().models[point.model].num_experts) for point in self.points]))

    @cached_property
    def family(self) -> np.ndarray:
        return _fixed(np.array([load_catalog().gpus[point.gpu].family for point in self.points], dtype=object))

    @cached_property
    def link_bytes_per_s(self) -> np.ndarray:
        return _fixed(np.array([load_catalog().gpus[point.gpu].link_bytes_per_s for point in self.points]))

    @cached_property
    def pairs(self) -> np.ndarray:
        """Family and engine of the rows of models with experts, empty for dense ones."""
        named = [f"{family} {point.engine}" for family, point in zip(self.family, self.points, strict=True)]
        return _fixed(np.where(self.is_moe, np.array(named, dtype=object), ""))

    def where(self, mask: np.ndarray) -> Rows:
        """The points under a mask."""
        kept = tuple(point for point, keep in zip(self.points, mask, strict=True) if keep)
        return Rows(kept, {name: array[mask] for name, array in self.known.items()})


def _fixed(array: np.ndarray) -> np.ndarray:
    """An array that nobody writes to, since many read it."""
    array.flags.writeable = False
    return array


def _contract(setting: tuple[Any, ...], prompts: Iterable[int], outputs: Iterable[int]) -> str:
    model, gpu, engine, weight, kv, tensor, experts = setting
    deployment = {
        **{"model": model, "gpu": gpu, "engine": engine, "weight_dtype": weight, "kv_dtype": kv},
        **{"tensor_parallel": tensor, "expert_parallel": experts, "workspace_bytes": "4 GiB"},
    }
    axes = {"prompt_tokens": sorted(set(prompts)), "output_tokens": sorted(set(outputs))}
    rest = {"workload": {"arrival_rate": 1}, "policy": {"rho_target": 0.7, "redundancy": 0}}
    return json.dumps({"schema": 1, "deployment": deployment, "axes": axes, **rest})


def load_rows(points: Iterable[Point]) -> Rows:
    """Plan every setting once over the lengths that were measured of it, and take each point's cell."""
    points = tuple(points)
    by_setting: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for place, point in enumerate(points):
        by_setting[point.setting].append(place)
    known = {name: np.full(len(points), np.nan) for name in (*_FROM_INPUTS, *_FROM_CHAIN)}
    for setting, places in by_setting.items():
        mine = [points[place] for place in places]
        text = _contract(setting, (p.prompt_tokens for p in mine), (p.output_tokens for p in mine))
        inputs = build_inputs(gridplan.loads_grid(text), lenient=True)
        values = {name: item.data for name, item in inputs.values.items()}
        chain.evaluate(chain.needed(inputs.steps, _FROM_CHAIN), values)
        for place, point in zip(places, mine, strict=True):
            cell = inputs.space.position(
                {"prompt_tokens": float(point.prompt_tokens), "output_tokens": float(point.output_tokens)}
            )
            index = tuple(cell[name] for name in inputs.space.names)
            for name, array in known.items():
                array[place] = np.broadcast_to(values[name], inputs.space.shape)[index]
    return Rows(points, known)
