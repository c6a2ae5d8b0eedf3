"""Measures of KV memory against a second computation in fractions, over random grids of models with layer groups."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
import xarray as xr
from layer_oracle import ENGINES, memory

import gridplan
from gridplan.catalog import load_catalog
from gridplan.dictionary import dictionary

Cell = dict[str, Any]
RELATIVE = 1e-12
GROUPED = [
    name
    for name, model in load_catalog().models.items()
    if len(model.layer_groups) > 1 or model.layer_groups[0].kind == "sparse_mla"
]
PLAIN = ["llama-3.1-8b", "deepseek-v3", "qwen3-235b-a22b"]
BY_AXIS = ("model", "tensor_parallel", "kv_dtype")


def classes(rng: random.Random) -> list[tuple[float, int, int]]:
    """One to three request classes with lengths on both sides of windows and blocks."""
    shares = rng.choice([(1.0,), (0.5, 0.5), (0.75, 0.25), (0.2, 0.3, 0.5)])
    longest = rng.choice([60, 600, 4000, 7000])
    return [(share, rng.randint(1, longest), rng.choice([1, 7, 100, rng.randint(1, 900)])) for share in shares]


def settings(rng: random.Random) -> Cell:
    """Inputs of one grid that are not axes."""
    engine = rng.choice([name for name in ENGINES if name])
    given: Cell = {"engine": engine, "classes": classes(rng), "max_num_batched_tokens": rng.choice([256, 2048, 8192])}
    if rng.random() < 0.2:
        del given["engine"]
    optional: Cell = {
        "pipeline_parallel": rng.choice([2, 3, 4]),
        "data_parallel": rng.choice([2, 3, 8]),
        "decode_context_parallel": rng.choice([2, 4]),
        "sliding_policy": rng.choice(["ideal_window", "engine_admission", "full"]),
        "kv_block_tokens": rng.choice([1, 8, 16, 32, 64, 128]),
        "in_flight_steps": rng.choice([1, 2, 3]),
        "state_blocks": rng.choice([1, 2]),
        "num_speculative_tokens": rng.choice([1, 2, 3]),
        "draft_layers": rng.choice([1, 2]),
        "draft_model": rng.choice(["llama-3.2-1b", "gemma-3-4b"]),
        "max_model_len": rng.choice([7900, 8192]),
        "kv_efficiency": rng.choice([0.5, 0.87, 0.95]),
        "resident_context": rng.choice(["mean", "residence_weighted", "max"]),
    }
    given |= {name: value for name, value in optional.items() if rng.random() < 0.35}
    pool = rng.choice(["bytes", "bytes", "tokens"])
    if pool == "bytes":
        given["kv_pool_bytes_given"] = rng.choice([rng.randint(10**8, 10**11), rng.randint(1, 160) * 2**30])
    else:
        given["kv_pool_tokens_given"] = rng.choice([rng.randint(10**4, 10**7), 8192 * rng.randint(1, 300)])
    return given


def contract(given: Cell, axes: Cell) -> str:
    deployment = {name: value for name, value in given.items() if name != "classes"}
    requests = [
        {"name": f"c{i}", "weight": w, "prompt_tokens": p, "output_tokens": o}
        for i, (w, p, o) in enumerate(given["classes"])
    ]
    if "engine" in given:
        deployment |= {"gpu": "b200", "gpu_memory_bytes": 10**13}  # a GPU that holds any pool drawn here
    rates = {"capacity_model": "littles_law", "e2e_latency_s": 10, "max_num_seqs": 512}
    return json.dumps(
        {
            "schema": 1,
            "workload": {"classes": requests, "arrival_rate": 1},
            "deployment": {**deployment, **rates},
            "policy": {"rho_target": 0.6},
            "axes": axes,
        }
    )


def differences(cube: xr.Dataset, labels: Cell, given: Cell) -> Iterator[str]:
    place = {name: cube.indexes[name].get_loc(label) for name, label in labels.items()}
    for name, value in memory({**given, **labels}).items():
        item = cube.variables[name]
        got = float(item.values[tuple(place[str(dim)] for dim in item.dims)])
        whole = dictionary()[name].dtype == "int64"
        same = Fraction(got) == value if whole else math.isclose(got, float(value), rel_tol=RELATIVE)
        if not same:
            yield f"{name}: {got!r}, by hand {float(value)!r} at {labels} of {given}"


def report(wrong: list[str]) -> None:
    """Fail with the first differences."""
    if wrong:
        pytest.fail(f"{len(wrong)} differences\n" + "\n".join(wrong[:8]), pytrace=False)


def compare(rng: random.Random, models: list[str]) -> tuple[int, list[str]]:
    """Cells compared and what differs, of one random grid."""
    given = settings(rng)
    axes: Cell = {
        "model": models,
        "tensor_parallel": sorted(rng.sample([1, 2, 4, 8, 16], 2)),
        "kv_dtype": rng.sample(["bf16", "fp8", "nvfp4", "int8"], 2),
    }
    cells = [dict(zip(BY_AXIS, key, strict=True)) for key in product(axes)]
    cube = gridplan.evaluate(gridplan.loads_grid(contract(given, axes)), list(memory({**given, **cells[0]})))
    return len(cells), [text for labels in cells for text in differences(cube, labels, given)]


def product(axes: Cell) -> Iterator[tuple[Any, ...]]:
    for model in axes["model"]:
        for degree in axes["tensor_parallel"]:
            for dtype in axes["kv_dtype"]:
                yield model, degree, dtype


def test_all_grouped_models_over_random_grids() -> None:
    rng, wrong, compared, seen = random.Random(20261129), [], 0, set()
    for _ in range(120):
        models = rng.sample(GROUPED, 4) + rng.sample(PLAIN, rng.choice([0, 1]))
        seen |= set(models)
        cells, found = compare(rng, models)
        compared += cells
        wrong += found
    report(wrong)
    assert seen >= set(GROUPED)
    assert compared > 1500


@pytest.mark.parametrize("kind", ["window of an axis", "length of an axis"])
def test_policies_and_lengths_as_axes(kind: str) -> None:
    # Another path through the engine: the policy, or the longest length, varies inside one cube.
    name = "sliding_policy" if kind.startswith("window") else "max_model_len"
    labels = ["ideal_window", "engine_admission", "full"] if name == "sliding_policy" else [2048, 5000, 8192]
    wrong: list[str] = []
    for seed in range(12):
        rng = random.Random(seed)
        given = settings(rng) | {"classes": [(1.0, rng.randint(1, 1500), rng.randint(1, 500))]}
        given.pop(name, None)
        axes: Cell = {"model": rng.sample(GROUPED, 3), name: labels}
        given |= {"kv_dtype": "bf16", "tensor_parallel": 2}
        cube = gridplan.evaluate(gridplan.loads_grid(contract(given, axes)))
        for model in axes["model"]:
            for label in labels:
                wrong += differences(cube, {"model": model, name: label}, given)
    report(wrong)


def test_the_oracle_says_what_logs_say() -> None:
    # An oracle that erred as gridplan does would prove nothing: figures that start-up logs print.
    one: Cell = {"classes": [(1.0, 1, 1)], "kv_dtype": "bf16", "max_num_batched_tokens": 8192}
    gemma = one | {"model": "gemma-3-4b", "engine": "vllm@0.25", "max_model_len": 8192}
    found = memory(gemma | {"kv_pool_bytes_given": round(162.84 * 2**30)})
    assert round(float(found["concurrency_at_limit"]), 2) == 148.63
    qwen = one | {"model": "qwen3-next-80b-a3b", "engine": "vllm@0.11", "max_model_len": 262144, "tensor_parallel": 2}
    assert (
        round(float(memory(qwen | {"kv_pool_bytes_given": round(44.59 * 2**30)})["concurrency_at_limit"]), 2) == 14.77
    )
    gptoss = one | {"model": "gpt-oss-120b", "engine": "vllm@0.11", "kv_pool_bytes_given": 2**33}
    each = [memory(gptoss | {"max_model_len": n})["kv_bytes_per_token_per_gpu"] for n in (131072, 8192)]
    assert each == [Fraction(78417, 2), 73800]
