"""`gridplan catalog`: tables, entries, JSON, and names that are not there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import gridplan.cli.catalog
from gridplan.cli.catalog import command
from gridplan.errors import CatalogError


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


@pytest.mark.parametrize(
    ("kind", "rows"), [("gpus", 46), ("models", 99), ("instances", 139), ("engines", 14), ("dtypes", 16)]
)
def test_a_table_has_a_heading_and_a_row_an_entry(kind: str, rows: int) -> None:
    result = run(kind)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) == rows + 1
    assert all(line == line.rstrip() for line in lines)


def test_columns_are_aligned_and_nothing_is_cut() -> None:
    lines = run("gpus").stdout.splitlines()
    start = lines[0].index("vendor")
    assert all(line[start - 1] == " " and line[start] != " " for line in lines)
    assert any(line.startswith("rtx-pro-6000-blackwell-workstation  NVIDIA") for line in lines)
    h100 = next(line.split() for line in lines if line.startswith("h100-sxm "))
    assert h100[:6] == ["h100-sxm", "NVIDIA", "79.19", "engine_visible", "3350", "989"]


def test_an_entry_shows_where_it_came_from() -> None:
    result = run("gpus", "h100-sxm")
    fields = dict(line.split(None, 1) for line in result.stdout.splitlines())
    assert fields["memory_bandwidth_bytes_per_s"] == "3350000000000"
    assert fields["class"] == "fact"
    assert fields["as_of"] == "2026-04-03"
    assert fields["source"].startswith("https://github.com/ai-dynamo/aiconfigurator/blob/095f58a")


def test_a_model_says_whether_it_can_be_planned() -> None:
    assert run("models", "llama-3-8b").stdout.splitlines()[-1] == "can be planned"
    last = run("models", "gpt-oss-120b").stdout.splitlines()[-1]
    assert last == "can be planned"
    assert json.loads(run("models", "gpt-oss-120b", "--json").stdout)["supported"] is True


def test_a_model_shows_its_layer_groups() -> None:
    groups = "18 full 8x64, 18 sliding 8x64 window 128"
    assert run("models").stdout.count(groups) == 1
    assert f"  {groups}\n" in run("models", "gpt-oss-120b").stdout
    found = json.loads(run("models", "gpt-oss-120b", "--json").stdout)["layer_groups"]
    assert [group["kind"] for group in found] == ["full", "sliding"]
    assert found[1]["window_tokens"] == 128
    assert "@" in found[1]["source"]


def test_an_engine_is_found_by_a_version() -> None:
    assert json.loads(run("engines", "vllm@0.21.3", "--json").stdout)["version_from"] == "0.21"


def test_json_is_a_list_or_one_object_without_nan() -> None:
    gpus = json.loads(run("gpus", "--json").stdout)
    assert len(gpus) == 46
    unknown = next(gpu for gpu in gpus if gpu["id"] == "mi325x")
    assert unknown["memory_bytes"] is None
    assert {"class", "source", "as_of"} <= unknown.keys()
    one = json.loads(run("dtypes", "weight/mxfp4", "--json").stdout)
    assert one["bits_per_element"] == 4.25


def test_a_format_of_one_role_needs_no_role() -> None:
    assert json.loads(run("dtypes", "mxfp4", "--json").stdout)["role"] == "weight"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (
            ("gpus", "h100"),
            "?); `gridplan catalog gpus` lists all 46",
        ),
        (("models", "lama-3-8b"), "did you mean llama-3-8b"),
        (("engines", "vllm@0.1"), "versions known: 0.4 to 0.7"),
        (("dtypes", "fp8"), "write weight/fp8 or kv/fp8"),
        (("dtypes", "kv/int4"), "unknown kv dtype int4"),
        (("dtypes", "fp9"), "unknown dtype fp9"),
    ],
)
def test_an_unknown_name_is_an_error_with_near_ones(arguments: tuple[str, ...], part: str) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, CatalogError)
    assert result.exception.exit_code == 2
    assert part in str(result.exception)
    assert result.stdout == ""


def test_an_unknown_kind_is_refused() -> None:
    result = run("gpu")
    assert result.exit_code == 2
    assert "gpus" in result.output


@pytest.mark.parametrize("columns", [40, 95, 200])
def test_a_terminal_of_any_width_gets_every_cell(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    command.main(["engines"], standalone_mode=False)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert [line.split() for line in lines] == [line.split() for line in run("engines").stdout.splitlines()]


def test_help_and_listing_load_no_array_library() -> None:
    code = (
        "import sys; from gridplan.cli.catalog import command; command.main(['gpus'], standalone_mode=False);"
        "print([name for name in ('numpy', 'pandas', 'xarray', 'pyarrow', 'rich') if name in sys.modules])"
    )
    home = Path(gridplan.cli.catalog.__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=home, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
