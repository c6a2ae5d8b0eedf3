"""All that `reports/memory.md` holds: gridplan's memory plan beside two other public planners and start-up logs.

    python tests/bench/compare_memory.py [-o reports/memory.md] [--python PATH]

The others are installed from PyPI into a virtual environment of their own in a temporary folder; `--python` names an
interpreter that has them already. Given the versions, the answer is the same on every machine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "reference")]

from memory_cases import (  # noqa: E402
    BATCHED_TOKENS,
    DEGREES,
    ENGINE,
    FRACTION,
    LENGTH,
    MODELS,
    SEQUENCES,
    Gpu,
    Model,
    gpu_for,
)
from memory_log_cases import (  # noqa: E402
    CACHE_ONLY,
    CACHE_ONLY_OF_OTHERS,
    LOG_CASES,
    NEW_CASES,
    LogCase,
    all_logs,
)
from memory_logs import Log  # noqa: E402
from memory_page import page  # noqa: E402
from memory_rows import LogRow, PlanRow  # noqa: E402
from memory_verdicts import GIB, Figures, figures  # noqa: E402

import gridplan  # noqa: E402

PINS: Mapping[str, str] = {"kvfit": "0.3.0", "aiconfigurator-core": "0.12.0"}
ADAPTERS: Mapping[str, str] = {"kvfit": "adapter_kvfit.py", "aiconfigurator": "adapter_aiconfigurator.py"}


def installed(folder: Path) -> Path:
    """The interpreter of a new environment that has the pinned planners; needs a package index."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pins = [f"{name}=={version}" for name, version in PINS.items()]
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *pins], check=True)
    return python


def asked(python: Path, adapter: str, jobs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The answers of one adapter, by the job's id."""
    command = [str(python), str(HERE / adapter)]
    run = subprocess.run(command, input=json.dumps(jobs), capture_output=True, text=True, check=True)
    return dict(json.loads(run.stdout))


def plan_job(model: Model, gpu: Gpu, degree: int) -> dict[str, Any]:
    return {
        "id": f"{model.name}@{degree}",
        "hf_id": model.hf_id,
        "config": model.config,
        "checkpoint_bytes": model.checkpoint_bytes,
        "gpu": gpu.name,
        "system": gpu.system,
        "gpu_memory_gib": gpu.nominal_gib,
        "fraction": FRACTION,
        "length": LENGTH,
        "tp": degree,
        "kv_element_bytes": 2,
        "batched_tokens": BATCHED_TOKENS,
        "sequences": SEQUENCES,
        "expert_parallel": False,
        "formats": {},
    }


def log_job(case: LogCase, log: Log) -> dict[str, Any]:
    fraction = log.number("util_or_mem_fraction") or 0.9
    return {
        "id": case.row,
        "hf_id": case.hf_id,
        "config": case.config,
        "checkpoint_bytes": case.checkpoint_bytes,
        "gpu": log.row["gpu"],
        "system": case.system,
        "gpu_memory_gib": case.nominal_gib,
        "fraction": fraction,
        "length": int(log.number("max_model_len") or LENGTH),
        "tp": int(log.number("tp") or 1),
        "kv_element_bytes": 1 if log.kv_dtype == "fp8" else 2,
        "batched_tokens": int(log.number("max_num_batched_tokens") or default_tokens(case, log)),
        "sequences": int(log.number("max_num_seqs") or SEQUENCES),
        "expert_parallel": log.row["ep"] == "yes",
        "formats": dict(case.formats),
    }


def default_tokens(case: LogCase, log: Log) -> int:
    """vLLM's default of batched tokens: V0 takes a whole prompt of up to 32,768, V1 goes by the GPU's size."""
    if log.row["engine"] == "vllm-V0":
        length = int(log.number("max_model_len") or 0)
        return max(2048, length) if length <= 32768 else 2048
    return BATCHED_TOKENS if case.nominal_gib >= 70 and "A100" not in log.row["gpu"] else 2048


def ours(cube: Any) -> Figures:
    """gridplan's figures of a cube of one cell; a pool that lacks memory is negative by what is missing."""

    def read(name: str) -> float | None:
        value = float(cube[name].values.ravel()[0]) if name in cube else float("nan")
        return None if value != value else value

    pool, short = read("kv_pool_bytes_per_gpu"), read("memory_shortfall_bytes_per_gpu")
    return Figures(
        read("kv_bytes_per_token_per_gpu"),
        read("weights_bytes_per_gpu"),
        None if pool is None else pool - (short or 0),
        read("workspace_bytes_per_gpu"),
    )


def planned(model: Model, gpu: Gpu, degree: int) -> Figures:
    return ours(
        gridplan.evaluate(
            gridplan.loads_grid(
                "schema: 1\nname: compare\n"
                f"workload: {{prompt_tokens: {LENGTH - 1}, output_tokens: 1, arrival_rate: 1}}\n"
                f"deployment: {{model: {model.name}, gpu: {gpu.name}, engine: {ENGINE}, tensor_parallel: {degree},\n"
                f"  max_model_len: {LENGTH}, kv_dtype: bf16}}\n"
                "capacity: {capacity_model: littles_law, e2e_latency_s: 1}\npolicy: {rho_target: 0.7}\n"
            )
        )
    )


def printed(case: LogCase, log: Log) -> Figures:
    """What the log prints. Of layers of several kinds, a token is the pool over concurrency x length."""
    pool, token = log.number("kv_pool_gib"), log.number("implied_bytes_per_token_per_gpu")
    tokens = log.number("kv_tokens_printed")
    if log.is_hybrid:
        times, length = log.number("max_concurrency_printed"), log.number("max_model_len")
        token = pool * GIB / (times * length) if pool and times and length else None
    elif token is None and pool and tokens and case in NEW_CASES:
        token = pool * GIB / tokens
    weights = log.number("weights_gib")
    is_whole = case.row not in CACHE_ONLY
    return Figures(
        token,
        weights * GIB if weights and is_whole else None,
        pool * GIB if pool is not None and is_whole and log.gpu is not None else None,
    )


def logged(case: LogCase, log: Log) -> Figures:
    """gridplan from nothing printed; where the GPU or its memory is not known, with the printed pool, for the cache."""
    if log.gpu is None or case.row in CACHE_ONLY:
        found = ours(log.cube(kv_pool_bytes_given=GIB))
        return Figures(found.token_bytes, found.weights_bytes if case.row not in CACHE_ONLY else None)
    return ours(log.cube())


def without_total(case: LogCase, found: Figures) -> Figures:
    """Answers on rows where formats differ keep the cache alone."""
    if case.row not in CACHE_ONLY | CACHE_ONLY_OF_OTHERS:
        return found
    return Figures(found.token_bytes, refused=found.refused, naive=found.naive)


def main() -> None:
    """Ask everyone, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=HERE.parents[1] / "reports" / "memory.md")
    parser.add_argument("--python", type=Path, help="an interpreter that has the pinned planners")
    options = parser.parse_args()
    cells = [(model, gpu_for(model, degree), degree) for model in MODELS for degree in DEGREES]
    by_id = all_logs()
    plan_jobs = [plan_job(*cell) for cell in cells]
    cases = (*LOG_CASES, *NEW_CASES)
    log_jobs = [log_job(case, by_id[case.row]) for case in cases]
    with tempfile.TemporaryDirectory() as folder:
        python = options.python or installed(Path(folder))
        answers = {name: asked(python, adapter, [*plan_jobs, *log_jobs]) for name, adapter in ADAPTERS.items()}

    def said(job: Mapping[str, Any]) -> dict[str, Figures]:
        return {name: figures(found[job["id"]], job["length"]) for name, found in answers.items()}

    plan_rows = [
        PlanRow(model.name, f"TP{degree}", gpu.name, planned(model, gpu, degree), said(job))
        for (model, gpu, degree), job in zip(cells, plan_jobs, strict=True)
    ]
    log_rows = [
        LogRow(
            case.row,
            printed(case, by_id[case.row]),
            logged(case, by_id[case.row]),
            {name: without_total(case, found) for name, found in said(job).items()},
            case in NEW_CASES,
        )
        for case, job in zip(cases, log_jobs, strict=True)
    ]
    text = page(plan_rows, log_rows, f"{date.today():%Y-%m-%d}", {"gridplan": gridplan.__version__, **PINS})
    options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
