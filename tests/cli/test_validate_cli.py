"""`gridplan validate` and `gridplan schema` as a person or a script calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gridplan.cli.schema import command as schema_command
from gridplan.cli.validate import command as validate_command
from gridplan.errors import ContractError

GOOD = """\
schema: 1
name: small
workload: {prompt_tokens: 500, output_tokens: 500}
deployment: {gpu: h100-sxm, model: llama-3.1-8b}
slo: {tpot: {limit: 50 ms}}
policy: {redundancy: 1}
axes:
  rho_target: [0.6, 0.7, 0.8]
  arrival_rate: {geomspace: [1, 1000, 4]}
scenarios:
  surge: {arrival_rate: {multiply: 2}}
"""


def write(folder: Path, text: str) -> str:
    path = folder / "small.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_good_contract_says_how_large_its_cube_is(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    result = CliRunner().invoke(validate_command, [path])
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{path}: ok, 24 cells = 2 scenario x 3 rho_target x 4 arrival_rate\n"


def test_a_grid_without_axes_is_one_cell(tmp_path: Path) -> None:
    text = (
        GOOD[: GOOD.index("axes:")]
        .replace("redundancy: 1", "rho_target: 0.7")
        .replace("500, o", "500, arrival_rate: 1, o")
    )
    result = CliRunner().invoke(validate_command, [write(tmp_path, text)])
    assert result.stdout.endswith(": ok, 1 cell\n")


def test_json_of_a_good_contract(tmp_path: Path) -> None:
    result = CliRunner().invoke(validate_command, [write(tmp_path, GOOD), "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "ok": True,
        "problems": [],
        "warnings": [],
        "name": "small",
        "cells": 24,
        "dimensions": {"scenario": 2, "rho_target": 3, "arrival_rate": 4},
    }


def test_a_bad_contract_raises_with_its_problems(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("h100-sxm", "h100"))
    result = CliRunner().invoke(validate_command, [path])
    assert isinstance(result.exception, ContractError)
    assert result.exception.exit_code == 2
    assert f"{path}:4:19: deployment.gpu: unknown gpu h100" in str(result.exception)
    assert result.stdout == ""


def test_json_of_a_bad_contract_goes_to_stdout_with_exit_code_2(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("h100-sxm", "h100").replace("redundancy: 1", "redundancy: -1"))
    result = CliRunner().invoke(validate_command, [path, "--json"])
    assert result.exit_code == 2
    report = json.loads(result.stdout)
    assert report["ok"] is False
    assert [(item["line"], item["column"], item["key"]) for item in report["problems"]] == [
        (4, 19, "deployment.gpu"),
        (6, 22, "policy.redundancy"),
    ]
    assert all(item["file"] == path and item["message"] for item in report["problems"])


def test_warnings_go_to_stderr(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("gpu: h100-sxm", "gpu: h100-sxm, gpu_memory_utilization: 1.0"))
    result = CliRunner().invoke(validate_command, [path])
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{path}: ok, 24 cells")
    assert f"{path}: warning: gpu_memory_utilization" in result.stderr


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_missing_file(tmp_path: Path, flags: list[str]) -> None:
    result = CliRunner().invoke(validate_command, [str(tmp_path / "none.yaml"), *flags])
    if flags:
        assert result.exit_code == 2
        assert json.loads(result.stdout)["problems"][0]["message"] == "no such file"
    else:
        assert isinstance(result.exception, ContractError)


def test_what_only_the_inputs_can_tell_is_a_problem_of_the_file_too(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("policy: {", "capacity: {capacity_model: measured}\npolicy: {"))
    result = CliRunner().invoke(validate_command, [path, "--json"])
    assert result.exit_code == 2
    problems = json.loads(result.stdout)["problems"]
    assert any("lambda_instance_given" in str(item) for item in problems)
    assert all(item["file"] == path for item in problems)


def test_schema_prints_json() -> None:
    result = CliRunner().invoke(schema_command)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["title"] == "gridplan contract"
