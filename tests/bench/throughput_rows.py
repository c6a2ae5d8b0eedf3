"""Rows of measured throughput, sorted by what they can be compared with; what a row leaves open is settled here.

`throughput.csv` in the folder `shared` beside the project holds runs that drain a queue of prompts, runs with a fixed
number of requests in flight and sweeps over arrival rates. `sort_rows` makes a `Run` of each that gridplan can
predict, and says of every other why not. Nothing here looks at a measured throughput.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from latency_rows import SHARED, catalog_model
from throughput_assumptions import GPUS, MODELS, REQUESTS, WEIGHTS, assumed_kv, limits

from gridplan.catalog import load_catalog

__all__ = ["Run", "Sorted", "run_of", "sort_rows"]

_ENGINES = {"vLLM": "vllm", "SGLang": "sglang", "TensorRT-LLM": "tensorrt-llm"}
_SHAREGPT = (190.0, 340.0)
"""Mean prompts of ShareGPT samples [tokens]: all sets of random tokens are of 128 or of 500 and more."""

_STATED = re.compile(r"v?(\d+(?:\.\d+){1,2})")


@dataclass(frozen=True)
class Run:
    """One measured run of a replica; lengths in tokens, throughput of prompt and output tokens in tokens/s.

    output_scv is the squared coefficient of variation of the output length, at_once the requests in flight at most
    (infinite where all are queued), and `assumed` says what the row leaves open and how it was settled.
    """

    row: str
    kind: str
    model: str
    gpu: str
    engine: str
    weight_dtype: str
    kv_dtype: str
    tensor_parallel: int
    pipeline_parallel: int
    data_parallel: int
    expert_parallel: int
    prompt_tokens: float
    output_tokens: float
    output_scv: float
    requests: float
    at_once: float
    limits: tuple[tuple[str, float], ...]
    tokens_per_s: float
    tpot_s: float
    assumed: str
    prefix_hit_ratio: float = 0.0

    @property
    def gpus(self) -> int:
        return self.tensor_parallel * self.pipeline_parallel * self.data_parallel

    @property
    def engine_name(self) -> str:
        return self.engine.partition("@")[0]

    @property
    def is_moe(self) -> bool:
        return bool(load_catalog().models[self.model].num_experts)

    @property
    def family(self) -> str:
        """Models of one make, as the catalog names it."""
        return load_catalog().models[self.model].family

    @property
    def lengths(self) -> str:
        return f"{self.prompt_tokens:g}/{self.output_tokens:g}"


@dataclass(frozen=True)
class Sorted:
    """Runs by kind, rows of sweeps as they are, rows that are left out with the reason, and where each row is from."""

    drained: tuple[Run, ...]
    closed: tuple[Run, ...]
    sweeps: tuple[Mapping[str, str], ...]
    left_out: tuple[tuple[str, str], ...]
    sources: Mapping[str, str]


def _number(row: Mapping[str, str], name: str) -> float:
    return float(row[name]) if row[name] else math.nan


def _kind(row: Mapping[str, str]) -> str:
    scenario = row["scenario"]
    if scenario.startswith("open loop constant rate"):
        return "sweep"
    if "concurrency" in scenario or "closed loop" in scenario:
        return "closed"
    return "drained"


def _named(name: str) -> str | None:
    return MODELS.get(name.casefold()) or catalog_model(name)


def _reason(row: Mapping[str, str]) -> str:
    """Why a row cannot be compared; empty where it can."""
    notes = row["notes"].casefold()
    catalog = load_catalog()
    model = _named(row["model"])
    if model is None or model not in catalog.models:
        return f"{row['model']} is not in the catalog"
    if not row["isl_mean"]:
        return "lengths are not printed (ShareGPT)"
    if "speculative" in notes or "eagle" in notes:
        return "speculative decoding: several tokens a step"
    if "cp2" in notes:
        return "context-parallel prefill, which gridplan does not model"
    if row["scenario"].startswith("static batch"):
        return "one static batch without a server; its figure is of decoding alone"
    if ("weight", WEIGHTS.get(row["weight_precision"], row["weight_precision"])) not in catalog.dtypes:
        return f"weights in {row['weight_precision']}, which the catalog does not hold"
    return ""


def _parallel(row: Mapping[str, str], is_moe: bool) -> tuple[int, int, int, int]:
    """Tensor, pipeline, data and expert parallel degrees; data-parallel attention divides a replica's GPUs."""
    gpus, tensor = int(_number(row, "n_gpus")), int(_number(row, "tp"))
    pipeline = int(_number(row, "pp")) if row["pp"] else 1
    text = row["ep_dp"].strip()
    if text.startswith("DEP") or text == "DP8":
        return 1, pipeline, gpus // pipeline, gpus // pipeline if text.startswith("DEP") else 1
    expert = tensor if text.startswith("EP") and is_moe else 1
    return min(tensor, gpus // pipeline), pipeline, 1, expert


def _engine(row: Mapping[str, str]) -> str:
    stated = _STATED.match(row["engine_version"])
    return _ENGINES[row["engine"]] + (f"@{stated[1]}" if stated else "")


def _weights(row: Mapping[str, str], model: str) -> str:
    own = load_catalog().models[model].native_weight_dtype
    return own if own in ("mxfp4", "int4_experts") else WEIGHTS.get(row["weight_precision"], row["weight_precision"])


def run_of(row: Mapping[str, str], kind: str) -> Run:
    """A row as a run, with what it leaves open settled."""
    model = _named(row["model"])
    assert model is not None
    tensor, pipeline, data, expert = _parallel(row, bool(load_catalog().models[model].num_experts))
    prompt, output = _number(row, "isl_mean"), max(_number(row, "osl_mean"), 1.0)
    weight, gpu = _weights(row, model), GPUS[row["gpu"]]
    kv, kv_note = assumed_kv(row, weight, load_catalog().gpus[gpu].family)
    requests = _number(row, "completed")
    notes = [kv_note] if kv_note else []
    if math.isnan(requests):
        # A loop whose length is not stated is taken as long: what it shows is its steady state.
        requests = REQUESTS[prompt, output] if kind == "drained" else 100.0 * _number(row, "concurrency")
        notes.append(f"{requests:g} prompts")
    random = _SHAREGPT[0] < prompt < _SHAREGPT[1] or row["source_kind"].startswith("vLLM recipes")
    if random:
        notes.append("outputs exponential")
    if not _STATED.match(row["engine_version"]):
        notes.append("engine version not stated")
    if row["gpu"] in ("H100-80GB", "A100-80GB"):
        notes.append("GPU taken for the SXM card")
    bounds, of_engine = limits(row, gpu)
    notes += of_engine
    total, made = _number(row, "total_tok_s_system"), _number(row, "output_tok_s_system")
    return Run(
        **{"row": row["id"], "kind": kind, "model": model, "gpu": gpu, "engine": _engine(row)},
        **{"weight_dtype": weight, "kv_dtype": kv, "tensor_parallel": tensor, "pipeline_parallel": pipeline},
        **{"data_parallel": data, "expert_parallel": expert, "prompt_tokens": prompt, "output_tokens": output},
        **{"output_scv": 1.0 if random else 0.0, "requests": requests, "limits": tuple(sorted(bounds.items()))},
        at_once=_number(row, "concurrency") if kind == "closed" else math.inf,
        tokens_per_s=made * (prompt + output) / output if math.isnan(total) else total,
        tpot_s=_number(row, "tpot_mean_ms") / 1e3,
        assumed=", ".join(notes),
    )


@lru_cache(maxsize=1)
def sort_rows(folder: Path = SHARED) -> Sorted:
    """All rows of throughput.csv, each in one place."""
    runs: dict[str, list[Run]] = {"drained": [], "closed": []}
    sweeps, left_out, sources = [], [], {}
    with (folder / "throughput.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            kind = _kind(row)
            sources[row["id"]] = row["source_url"]
            if kind == "sweep":
                sweeps.append(dict(row))
            elif reason := _reason(row):
                left_out.append((row["id"], reason))
            else:
                runs[kind].append(run_of(row, kind))
    return Sorted(tuple(runs["drained"]), tuple(runs["closed"]), tuple(sweeps), tuple(left_out), sources)
