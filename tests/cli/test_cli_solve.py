"""`gridplan solve`: the table, JSON, files, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from gridplan.cli import cli, main

ROOT = Path(__file__).parents[2]

GRID = """
schema: 1
workload: {prompt_tokens: 900, output_tokens: 100, arrival_rate: 1}
deployment: {engine: vllm@0.25, gpu: h100-sxm}
policy: {rho_target: 1}
axes: {model: [llama-3.1-8b, deepseek-v3], tensor_parallel: [1, 2]}
"""


@pytest.fixture
def grid(tmp_path: Path) -> str:
    path = tmp_path / "grid.yaml"
    path.write_text(GRID, encoding="utf-8")
    return str(path)


def solved(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["solve", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(["solve", *arguments])
    assert stop.value.code == 2
    shown = capsys.readouterr()
    assert not shown.out
    return shown.err


def test_the_table_names_answer_reason_and_what_fails(grid: str) -> None:
    lines = solved(grid, "--for", "max_context", "--concurrency", "8").splitlines()
    assert lines[0] == (
        "max_context for 8 sequences by concurrency_memory_worst; context is the length of the sequences"
    )
    assert lines[1] == "at gpu=h100-sxm, engine=vllm@0.25"
    assert "max context" in lines[2]
    assert len(lines) == 7
    assert lines[5].split()[:4] == ["deepseek-v3", "1", "-", "1"]
    assert lines[5].split()[4] == "weights_exceed_memory"
    folded = solved(grid, "--for", "max_context", "--concurrency", "8", "--by", "model").splitlines()
    assert len(folded) == 5
    assert "best tensor parallel" in folded[2]


def test_json_has_plain_numbers_and_nulls(grid: str) -> None:
    text = solved(grid, "--for", "min_tensor_parallel", "--concurrency", "500", "--tokens", "2000", "--json")
    found: dict[str, Any] = json.loads(text)
    assert (found["target"], found["concurrency"], found["tokens"]) == ("min_tensor_parallel", 500, 2000)
    first, second = found["rows"]
    assert first["min_tensor_parallel"] == 2
    assert isinstance(first["min_tensor_parallel"], int)
    assert second["min_tensor_parallel"] is None
    assert second["no_answer_reason"] == "weights_exceed_memory"


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_written_table_holds_all_rows_with_nulls(grid: str, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"answers.{suffix}"
    result = CliRunner().invoke(cli, ["solve", grid, "--for", "max_concurrency", "-o", str(path)])
    assert (result.exit_code, result.stdout) == (0, "")
    assert "4 rows" in result.stderr
    table = pq.read_table(path) if suffix == "parquet" else pacsv.read_csv(path)
    assert table.num_rows == 4
    assert table["max_concurrency"].null_count == 2
    assert table.schema.field("max_concurrency").type == "int64"
    if suffix == "parquet":
        assert table.schema.field("max_concurrency").metadata[b"unit"] == b"sequences"
        assert table.schema.metadata[b"target"] == b"max_concurrency"


def test_a_long_table_says_what_it_leaves_out(grid: str, tmp_path: Path) -> None:
    path = tmp_path / "long.yaml"
    path.write_text(GRID.replace("[1, 2]", "[1, 2], reserve_bytes: {linspace: [0, 1e9, 40]}"), encoding="utf-8")
    lines = solved(str(path), "--for", "max_context").splitlines()
    assert lines[-1] == "... 100 more rows: fold them with --by, or write them with -o"
    assert len(lines) == 64


def test_warnings_stand_beside_the_data(grid: str) -> None:
    result = CliRunner().invoke(cli, ["solve", grid, "--for", "max_context", "--concurrency", "2000"])
    assert "above the scheduler's cap of 1,024" in result.stderr
    assert "warning" not in result.stdout


def test_bad_questions_are_named_at_once(grid: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = refused(capsys, grid, "--for", "max_contxt", "--concurrency", "0", "--by", "tensor_par")
    assert "did you mean max_context" in shown
    assert "concurrency: must be from 1" in shown
    assert "did you mean tensor_parallel" in shown
    assert "-o x.txt: a file that ends in .parquet or .csv" in refused(
        capsys, grid, "--for", "max_context", "-o", "x.txt"
    )


def test_a_file_that_cannot_be_written_is_said(grid: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["solve", grid, "--for", "max_context", "-o", "/nowhere/at/all.csv"])
    assert stop.value.code == 3
    assert "/nowhere/at/all.csv: cannot be written" in capsys.readouterr().err


def test_docs_show_what_was_run() -> None:
    text = (ROOT / "docs" / "memory.md").read_text(encoding="utf-8")
    section = text.split("## Asked backwards")[1].split("\n## ")[0]
    shown = re.findall(r"```console\n\$ gridplan (solve .*?)\n(.*?)```", section, re.S)
    assert len(shown) == 2
    for command, output in shown:
        arguments = [str(ROOT / part) if part.startswith("grids/") else part for part in command.split()]
        printed = CliRunner().invoke(cli, arguments, catch_exceptions=False).stdout
        assert [line.rstrip() for line in printed.splitlines()] == output.splitlines()
