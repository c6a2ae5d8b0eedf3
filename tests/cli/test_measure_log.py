"""`gridplan measure log`: the page, JSON, the comparison, the block that -o writes, and every exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import gridplan
from gridplan.report.log_terms import compare_terms

GIB = 2**30
ENGINE = (
    "(EngineCore_0 pid=9) INFO 10-06 15:10:00 [core.py:77] Initializing a V1 LLM engine (v{version}) with config: "
    "model='{model}', dtype=torch.bfloat16, max_seq_len=131072, tensor_parallel_size=1, pipeline_parallel_size=1, "
    "data_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto, device_config=cuda"
)
BUDGET = (
    "(EngineCore_0 pid=9) INFO 2026-10-06 15:14:56 [gpu_worker.py:391] Free memory on device (78.84/79.25 GiB) on "
    "startup. Desired GPU memory utilization is (0.92, 72.91 GiB). Actual usage is 15.26 GiB for consumed memory "
    "(weights + non-torch), 1.44 GiB for peak activation, and 0.23 GiB for CUDAGraph memory. Current kv cache "
    "memory in use is {pool} GiB."
)
MODEL = "meta-llama/Llama-3.1-8B-Instruct"


def text(
    version: str = "0.30.0", model: str = MODEL, pool: str = "56.21", tokens: str = "460,496", times: str = "3.51"
) -> str:
    """A public log of Llama-3.1-8B on an 80 GB card."""
    lines = [
        ENGINE.format(version=version, model=model),
        "(EngineCore_0 pid=9) INFO 10-06 15:10:09 [gpu_model_runner.py:1] Model loading took 14.9889 GiB and 3.2 s",
        f"(EngineCore_0 pid=9) INFO 10-06 15:10:09 [kv_cache_utils.py:1] GPU KV cache size: {tokens} tokens, Maximum "
        f"concurrency for 131,072 tokens per request: {times}x",
        BUDGET.format(pool=pool),
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "engine.log"
    path.write_text(text())
    return path


def test_the_page(cli: Any, log: Path) -> None:
    outcome = cli("measure", "log", log, "--gpu", "h100-sxm")
    assert (outcome.code, outcome.err) == (0, "")
    page = outcome.out.splitlines()
    assert page[0] == f"{log}: vllm 0.30.0 (V1), lines 1 to 4"
    assert "  weights                14.99 GiB                         line 2" in page
    assert any(line.startswith("  info    budget: terms and pool agree: 72.91 GiB - ") for line in page)
    assert "printed and predicted: llama-3.1-8b in bf16 on h100-sxm, TP 1, vllm@0.30.0" in page
    weights = next(line.split() for line in page if line.startswith("  weights  ") and "line" not in line)
    assert weights[1:5] == ["14.99", "GiB", "14.96", "GiB"]
    assert "is predicted than printed" in page[-1]


def test_json_is_in_base_units_with_lines(cli: Any, log: Path) -> None:
    outcome = cli("measure", "log", log, "--gpu", "h100-sxm", "--json")
    assert outcome.code == 0
    (found,) = json.loads(outcome.out)["logs"]
    assert found["readings"]["kv_pool_bytes"] == {"value": 56.21 * GIB, "line": 4, "rank": "EngineCore_0 pid=9"}
    assert found["kv_tokens_effective"] == 460496
    terms = {term["name"]: term for term in found["comparison"]["terms"]}
    assert terms["KV pool in tokens"]["printed"] == 460496
    assert terms["KV bytes of a token"]["predicted"] == 131072
    assert {check["severity"] for check in found["checks"]} == {"info"}


def test_a_gpu_that_the_log_does_not_name_is_asked_for(cli: Any, log: Path) -> None:
    outcome = cli("measure", "log", log)
    assert outcome.code == 0
    assert "printed and predicted" not in outcome.out
    assert (
        "not compared with a prediction: --gpu: give the catalog id of the GPU with 79.25 GiB (line 4)" in outcome.err
    )
    assert "h100-sxm" in outcome.err


def test_a_name_of_the_gpu_in_the_log_is_used(cli: Any, log: Path) -> None:
    log.write_text(f"{text()}INFO Config file not found at E=1,N=2,device_name=NVIDIA_H100_80GB_HBM3.json\n")
    outcome = cli("measure", "log", log)
    assert outcome.err == ""
    assert "on h100-sxm, TP 1" in outcome.out


@pytest.mark.parametrize(
    ("options", "messages"),
    [
        (["--gpu", "l4"], ["--gpu: l4 shows 22.06 GiB to an engine, but the log says 79.25 GiB (line 4): another GPU"]),
        (["--gpu", "h100-sxmm"], ["--gpu: unknown GPU h100-sxmm (did you mean h100-sxm"]),
        (
            ["--model", "lama-3.1-8b", "--weight-dtype", "bf17", "--engine", "sglang"],
            [
                "--model: unknown model lama-3.1-8b (did you mean llama-3.1-8b",
                "--weight-dtype: unknown weight dtype bf17",
                "--engine: sglang did not write this log",
                "--gpu: give the catalog id",
            ],
        ),
        (["--gpu", "h100-sxm", "--engine", "vllm@0.1"], ["--engine: engine vllm 0.1 is not in the catalog"]),
    ],
)
def test_a_comparison_that_was_asked_for_needs_its_labels(
    cli: Any, log: Path, options: list[str], messages: list[str]
) -> None:
    outcome = cli("measure", "log", log, *options)
    assert outcome.code == 2
    assert outcome.out == ""
    assert all(line.startswith(f"error: {log}: --") for line in outcome.err.splitlines())
    for message in messages:
        assert message in outcome.err


def test_a_model_that_is_not_in_the_catalog_is_named_with_its_nearest(cli: Any, log: Path) -> None:
    log.write_text(text(model="acme/Llama-3.1-8X"))
    outcome = cli("measure", "log", log, "--gpu", "h100-sxm")
    assert outcome.code == 2
    assert (
        "--model: acme/Llama-3.1-8X (line 1) is not a model of the catalog; give its id; nearest: llama-3.1"
        in outcome.err
    )


def merged(block: Path, deployment: dict[str, Any]) -> dict[str, Any]:
    measured = yaml.safe_load(block.read_text())
    assert list(measured) == ["deployment"]
    return {
        "schema": 1,
        "workload": {"prompt_tokens": 1000, "output_tokens": 100, "arrival_rate": 1},
        "deployment": {**deployment, **measured["deployment"]},
        "policy": {"rho_target": 0.7},
    }


def test_the_block_of_a_contract(cli: Any, log: Path, tmp_path: Path) -> None:
    block = tmp_path / "measured.yaml"
    outcome = cli("measure", "log", log, "-o", block)
    assert outcome.code == 0
    assert outcome.err.endswith(f"{block}: written\n")
    contract = merged(block, {"gpu": "h100-sxm", "model": "llama-3.1-8b", "weight_dtype": "bf16"})
    path = tmp_path / "grid.yaml"
    path.write_text(yaml.safe_dump(contract))
    given = gridplan.load_grid(path).given
    tokens = given["kv_pool_tokens_given"]
    assert (tokens.value, tokens.cls, tokens.source, tokens.as_of) == (
        460496,
        "measurement",
        f"{log} line 3",
        "2026-10-06",
    )
    assert given["weights_bytes"].value == pytest.approx(14.9889 * GIB)
    assert float(gridplan.evaluate(gridplan.load_grid(path))["kv_pool_tokens"]) == 460496


def test_tokens_of_several_layer_groups_are_concurrency_times_length(cli: Any, log: Path, tmp_path: Path) -> None:
    """B12: the token line of https://github.com/vllm-project/vllm/issues/40691 is 3.72 times too small."""
    log.write_text(
        "INFO 04-23 10:00:00 [kv_cache_utils.py:1] GPU KV cache size: 290,864 tokens\n"
        "INFO 04-23 10:00:00 [kv_cache_utils.py:2] Maximum concurrency for 32,768 tokens per request: 33.04x\n"
    )
    block = tmp_path / "measured.yaml"
    outcome = cli("measure", "log", log, "-o", block)
    assert outcome.code == 0
    assert "warning concurrency:" in outcome.out
    assert yaml.safe_load(block.read_text())["deployment"]["kv_pool_tokens_given"]["value"] == 1082654


def test_a_refused_start_gives_its_pool_in_bytes(cli: Any, log: Path, tmp_path: Path) -> None:
    log.write_text(
        "ValueError: To serve at least one request with the model's max seq len (262144), (62.00 GiB KV cache "
        "is needed, which is larger than the available KV cache memory (48.66 GiB). Based on the available "
        "memory, the estimated maximum model length is 205728.\n"
    )
    block = tmp_path / "measured.yaml"
    assert cli("measure", "log", log, "-o", block).code == 0
    measured = yaml.safe_load(block.read_text())["deployment"]
    assert measured["kv_pool_bytes_given"]["value"] == pytest.approx(48.66 * GIB)


def test_terms_that_do_not_add_up_are_refused_as_measured_values(cli: Any, log: Path, tmp_path: Path) -> None:
    log.write_text(text(pool="60.21"))
    block = tmp_path / "measured.yaml"
    outcome = cli("measure", "log", log, "-o", block)
    assert outcome.code == 1
    assert "error   budget: terms do not add up" in outcome.out
    assert "a memory fraction of 0.9705 would explain it" in outcome.out
    assert f"{block}: not written, since terms of the log contradict each other" in outcome.err
    assert not block.exists()


def test_a_file_is_replaced_by_force_alone(cli: Any, log: Path, tmp_path: Path) -> None:
    block = tmp_path / "measured.yaml"
    block.write_text("mine\n")
    outcome = cli("measure", "log", log, "-o", block)
    assert outcome.code == 3
    assert f"error: {block} is already there; replace it with --force" in outcome.err
    assert block.read_text() == "mine\n"
    assert cli("measure", "log", log, "-o", block, "--force").code == 0
    assert "kv_pool_tokens_given" in block.read_text()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_what_is_no_log_is_an_error_of_every_file_at_once(cli: Any, log: Path, tmp_path: Path) -> None:
    other, empty, binary = tmp_path / "other.txt", tmp_path / "empty.log", tmp_path / "core"
    other.write_text("nothing of an engine\n")
    empty.write_text("\n")
    binary.write_bytes(b"\x7fELF\0\0")
    outcome = cli("measure", "log", log, other, empty, binary, tmp_path, tmp_path / "gone.log")
    assert (outcome.code, outcome.out) == (2, "")
    errors = outcome.err.splitlines()
    assert errors[0].startswith(f"error: {other}: is not a start-up log of vLLM or SGLang; looked for ")
    assert errors[1:] == [
        f"error: {empty}: is empty",
        f"error: {binary}: is not text",
        f"error: {tmp_path}: is a folder, not a file",
        f"error: {tmp_path / 'gone.log'}: no such file",
    ]


def test_restarts_are_said_and_all_are_read_on_request(cli: Any, log: Path) -> None:
    log.write_text(text(times="3.50") + text())
    outcome = cli("measure", "log", log, "--gpu", "h100-sxm")
    assert outcome.err == f"{log}: start-up 2 of 2, the last complete one, is read; --all reads every one\n"
    assert f"{log}: vllm 0.30.0 (V1), lines 5 to 8, start-up 2 of 2" in outcome.out
    every = json.loads(cli("measure", "log", log, "--gpu", "h100-sxm", "--all", "--json").out)["logs"]
    assert [item["readings"]["max_concurrency"]["value"] for item in every] == [3.5, 3.51]


def test_one_file_at_a_time_is_written(cli: Any, log: Path, tmp_path: Path) -> None:
    outcome = cli("measure", "log", log, log, "-o", tmp_path / "measured.yaml")
    assert outcome.code == 2
    assert "-o writes one start-up" in outcome.err


def test_terms_are_compared_by_the_measures_of_the_cube() -> None:
    printed = {"activation and CUDA graphs": 3.0, "weights": 10.0, "KV pool in tokens": 500.0}
    predicted = {
        "activation_bytes_per_gpu": 1.5,
        "cuda_graphs_bytes_per_gpu": 0.5,
        "weights_bytes_per_gpu": 11.0,
    }
    found = {term.name: (term.printed, term.predicted, term.difference) for term in compare_terms(printed, predicted)}
    assert found == {
        "weights": (10.0, 11.0, 1.0),
        "activation and CUDA graphs": (3.0, 2.0, -1.0),
        "KV pool in tokens": (500.0, None, None),
    }
