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
    assert "--concurrency: must be from 1" in shown
    assert "--for: max_contxt is not one of" in shown
    assert "--by: tensor_par is not an axis" in shown
    assert "did you mean tensor_parallel" in shown
    assert "-o x.txt: a file that ends in .csv or .parquet" in refused(
        capsys, grid, "--for", "max_context", "-o", "x.txt"
    )


def test_a_file_that_cannot_be_written_is_said(grid: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["solve", grid, "--for", "max_context", "-o", "/nowhere/at/all.csv"])
    assert stop.value.code == 3
    assert "/nowhere/at/all.csv: cannot be written: there is no folder /nowhere/at" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("max_context", "--tokens", "5"), "--tokens: leave it out"),
        (("max_context", "--max-tp", "5"), "--max-tp: bounds the candidates"),
        (("max_concurrency", "--tokens", "100", "--measure", "concurrency_memory"), "--tokens: 100 leaves no prompt"),
        (("max_concurrency", "--context", "max_model_len"), "--tokens: needed with"),
    ],
)
def test_what_is_wrong_is_named_as_it_was_typed(
    grid: str, capsys: pytest.CaptureFixture[str], asked: tuple[str, ...], message: str
) -> None:
    shown = refused(capsys, grid, "--for", *asked)
    assert message in shown
    assert "max_tensor_parallel" not in shown


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize(("model", "answer"), [("llama-3.1-8b", 131_072), ("deepseek-v3", None)])
def test_a_single_answer_is_written(tmp_path: Path, suffix: str, model: str, answer: int | None) -> None:
    contract, path = tmp_path / "one.yaml", tmp_path / f"one.{suffix}"
    text = GRID.split("axes:")[0].replace("{engine", f"{{model: {model}, engine")
    contract.write_text(text, encoding="utf-8")
    assert solved(str(contract), "--for", "max_context", "-o", str(path)) == ""
    table = pq.read_table(path) if suffix == "parquet" else pacsv.read_csv(path)
    row = table.to_pylist()[0]
    assert (table.num_rows, row["max_context_tokens"], row["model"]) == (1, answer, model)
    assert row["no_answer_reason"] == (None if answer else "weights_exceed_memory") or suffix == "csv"


def test_a_file_is_replaced_only_when_that_is_asked(
    grid: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        main(["solve", grid, "--for", "max_context", "-o", str(path)])
    assert stop.value.code == 3
    assert "already there; replace it with --force" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == "mine"
    solved(grid, "--for", "max_context", "-o", str(path), "--force")
    assert pacsv.read_csv(path).num_rows == 4


def test_the_answer_column_stays_where_nothing_holds(grid: str) -> None:
    lines = solved(grid, "--for", "max_context", "--concurrency", "1000000").splitlines()
    assert "max context" in lines[2]
    assert all(line.split()[2] == "-" for line in lines[3:])


def test_named_axes_stay_in_the_table_and_in_json(grid: str, tmp_path: Path) -> None:
    path = tmp_path / "rho.yaml"
    path.write_text(
        GRID.replace("policy: {rho_target: 1}\n", "").replace("[1, 2]", "[1, 2], rho_target: [0.5, 0.7]"),
        encoding="utf-8",
    )
    asked = (str(path), "--for", "max_context", "--by", "model,rho_target")
    assert solved(*asked).splitlines()[2].startswith("model         rho target")
    assert [row["rho_target"] for row in json.loads(solved(*asked, "--json"))["rows"]] == [0.5, 0.7] * 2


def test_the_first_line_says_cap_and_context(grid: str) -> None:
    first = solved(grid, "--for", "max_concurrency", "--scheduler", "--measure", "concurrency_memory").splitlines()[0]
    assert first.startswith(
        "max_concurrency at the contract's own 1,000 tokens by concurrency_memory with max_num_seqs;"
    )


def test_docs_show_what_was_run() -> None:
    text = (ROOT / "docs" / "memory.md").read_text(encoding="utf-8")
    section = text.split("## Asked backwards")[1].split("\n## ")[0]
    shown = re.findall(r"```console\n\$ gridplan (solve .*?)\n(.*?)```", section, re.S)
    assert len(shown) == 2
    for command, output in shown:
        arguments = [str(ROOT / part) if part.startswith("grids/") else part for part in command.split()]
        printed = CliRunner().invoke(cli, arguments, catch_exceptions=False).stdout
        assert [line.rstrip() for line in printed.splitlines()] == output.splitlines()
