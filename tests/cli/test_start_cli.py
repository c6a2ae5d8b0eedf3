"""Commands start quickly because they load little: which modules each of them leaves alone, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

WRONG = """\
schema: 1
workload: {prompt_tokenz: 100, output_tokens: [1, 2], arrival_rate: -1 req/s}
slo: {ttft: {limit: 2 parsec, percentile: 95}}
deployment: {gpu: h100-sxmm, tensor_parallel: {by: gpuu, x: 1}}
policy: {rho_target: 1.2}
axes: {model: [llama-3-8bb], tensor_paralel: [1, 2], kv_dtype: {linspace: [1, 2, 3]}}
scenarios: {surge: {arrival_rate: {multiply: high}}}
"""
RIGHT = """\
schema: 1
workload: {prompt_tokens: 1000, output_tokens: 200, arrival_rate: 5}
slo: {tpot: {limit: 50 ms, percentile: mean}}
deployment: {gpu: h100-sxm, model: llama-3.1-8b, workspace_bytes: 4 GiB}
policy: {rho_target: 0.7}
"""
ARRAYS = ("numpy", "scipy", "pandas", "xarray", "pyarrow")
MODELS = ("pydantic", "pydantic_core")
CODE = """\
import sys
from gridplan.cli import main
try:
    main(sys.argv[2:])
except SystemExit as stop:
    loaded = [name for name in sys.argv[1].split(",") if name in sys.modules]
    print(stop.code, loaded, file=sys.stderr)
"""


def loaded(unwanted: tuple[str, ...], *arguments: str) -> str:
    """The exit code of a command and which of those modules it loaded, as `0 []`."""
    command = [sys.executable, "-c", CODE, ",".join(unwanted), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "arguments",
    [
        *("--help", "--version", "run --help", "validate --help", "schema"),
        *("catalog gpus", "catalog models", "catalog instances", "catalog engines", "catalog dtypes"),
        *("catalog models qwen3-8b", "catalog gpus h100-sxm --json"),
    ],
)
def test_what_reads_no_contract_loads_neither_arrays_nor_models(arguments: str) -> None:
    assert loaded((*ARRAYS, *MODELS, "yaml"), *arguments.split()) == "0 []"


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_wrong_contract_is_reported_without_arrays_and_with_the_core_of_pydantic_alone(
    tmp_path: Path, form: list[str]
) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(WRONG, encoding="utf-8")
    assert loaded((*ARRAYS, *MODELS), "validate", str(path), *form) == "2 ['pydantic_core']"


def test_a_right_contract_is_checked_with_numpy_alone(tmp_path: Path) -> None:
    path = tmp_path / "right.yaml"
    path.write_text(RIGHT, encoding="utf-8")
    assert loaded((*ARRAYS, "pydantic"), "validate", str(path)) == "0 ['numpy']"
