"""What a person gets for a wrong command or a wrong file: one clear message, its exit code, no traceback, no folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gridplan

BASE = """
schema: 1
workload: {prompt_tokens: 1000, output_tokens: 200, arrival_rate: 5}
slo: {tpot: {limit: 50 ms, percentile: mean}}
deployment: {gpu: h100-sxm, model: llama-3.1-8b, workspace_bytes: 4 GiB}
policy: {rho_target: 0.7}
"""


def changed(*pairs: tuple[str, str], add: str = "") -> str:
    """BASE with texts replaced, each of which must be there, and lines added."""
    text = BASE
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return f"{text}{add}\n"


RATE = (", arrival_rate: 5", "")
CLASSES = "classes: [{name: a, weight: 0.5, prompt_tokens: 9, output_tokens: 9}, %s]"
SECOND = "{name: b, weight: 0.4, prompt_tokens: 9, output_tokens: 9}"
BAD: dict[str, tuple[str | bytes, list[str]]] = {
    "unknown key": (
        changed(("workspace_bytes", "workspace_byte")),
        [":5:", "deployment.workspace_byte", "did you mean workspace_bytes"],
    ),
    "unknown gpu": (changed(("h100-sxm", "h100")), [":5:", "unknown gpu h100", "h100-pcie, h100-sxm, h100-nvl"]),
    "duplicate label": (changed(RATE, add="axes: {arrival_rate: [1, 2, 1.0]}"), ["label 1 is given twice", ":7:"]),
    "weights of 0.9": (
        changed(("prompt_tokens: 1000, output_tokens: 200", CLASSES % SECOND)),
        ["class weights sum to 0.9"],
    ),
    "context below output": (
        changed(("prompt_tokens: 1000, ", ""), add="axes: {context_tokens: [200, 4096]}"),
        ["context_tokens 200", "output_tokens 200"],
    ),
    "negative rate": (changed(("arrival_rate: 5", "arrival_rate: -5")), ["arrival_rate must be > 0", "-5"]),
    "rho above 1": (changed(("0.7", "1.2")), ["rho_target must be > 0 and <= 1; 1.2 is not"]),
    "quoted number": (changed(("arrival_rate: 5", 'arrival_rate: "5"')), ["'5'", "remove the quotes"]),
    "NaN": (changed(("arrival_rate: 5", "arrival_rate: .nan")), ["arrival_rate", "not a finite number"]),
    "infinity": (changed(("arrival_rate: 5", "arrival_rate: .inf")), ["arrival_rate", "not a finite number"]),
    "empty axis": (changed(RATE, add="axes: {arrival_rate: []}"), ["axes.arrival_rate", "has no labels"]),
    "base value beside its axis": (changed(add="axes: {arrival_rate: [1, 2]}"), ["is an axis", "base value"]),
    "scenario sets an axis": (
        changed(RATE, add="axes: {arrival_rate: [1, 2]}\nscenarios: {s: {arrival_rate: 4}}"),
        ["scenario s sets arrival_rate", "axis", "multiply"],
    ),
    "one weights_bytes for two models": (
        changed(("model: llama-3.1-8b", "weights_bytes: 16 GB"), add="axes: {model: [llama-3.1-8b, qwen3-8b]}"),
        ["weights_bytes", "2 models", "{by: model"],
    ),
    "a list": ("- a\n- b\n", ["is a list"]),
    "an empty file": ("", ["empty"]),
    "a binary file": (b"\x00\xff\xfe\x80PAR1", ["not a text file"]),
    "instances against gpu": (
        changed(add="axes: {instance: [aws-p5-48xlarge, aws-p4de-24xlarge]}"),
        ["gpu h100-sxm contradicts", "aws-p4de-24xlarge", "a100-sxm-80gb"],
    ),
    "an unknown kind of layer": (
        changed(add="catalog: {models: {gpt-oss-20b: {layer_groups: [{kind: slding, layers: 24}]}}}"),
        ["catalog.models.gpt-oss-20b.layer_groups[0].kind", "did you mean sliding", "full, sliding, chunked, mla"],
    ),
    "a missing rate": (changed(RATE), ["arrival_rate is required", "fleet"]),
    "a broken file": ("schema: 1\nworkload: {prompt_tokens: 1000\n", [":3:"]),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_grid_is_one_clear_message_and_writes_nothing(cli: Any, tmp_path: Path, name: str) -> None:
    text, expected = BAD[name]
    path = tmp_path / "bad.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    outcome = cli("run", path, "-o", tmp_path / "out")
    assert outcome.code == 2
    assert outcome.out == ""
    assert not (tmp_path / "out").exists()
    lines = outcome.err.splitlines()
    assert len(lines) == 1, outcome.err
    assert lines[0].startswith(f"error: {path}")
    assert all(part in lines[0] for part in expected), outcome.err
    # The other commands say the same.
    for command in ("estimate", "explain", "validate"):
        again = cli(command, path)
        assert (again.code, again.err) == (2, outcome.err), command


def test_all_problems_are_named_at_once(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(changed(("h100-sxm", "h100"), ("0.7", "1.2"), ("50 ms", "50 parsecs")), encoding="utf-8")
    lines = cli("run", path, "-o", tmp_path / "out").err.splitlines()
    assert [line.split(": ")[1].rpartition("bad.yaml:")[2].split(":")[0] for line in lines] == ["4", "5", "6"]
    assert "unknown unit" in lines[0]


def test_a_missing_file_names_its_neighbours(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "quickstart.yaml").write_text(BASE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    outcome = cli("run", "quickstrat.yaml", "-o", "out")
    assert outcome.code == 2
    assert outcome.err == "error: quickstrat.yaml: no such file (did you mean quickstart.yaml?)\n"
    assert cli("run", ".", "-o", "out").code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["quickstart.yaml"]


def test_help_and_version(cli: Any) -> None:
    for option in ("-h", "--help"):
        outcome = cli(option)
        assert outcome.code == 0
        assert all(f"  {command} " in outcome.out for command in ("run", "estimate", "explain", "validate", "catalog"))
    outcome = cli("--version")
    assert (outcome.code, outcome.out.split()[-1]) == (0, gridplan.__version__)


@pytest.mark.parametrize("command", ["run", "estimate", "explain", "validate", "schema", "catalog"])
def test_every_command_has_help(cli: Any, command: str) -> None:
    for option in ("-h", "--help"):
        outcome = cli(command, option)
        assert outcome.code == 0
        assert outcome.out.startswith(f"Usage: gridplan {command}")


def test_an_unknown_command_names_the_nearest(cli: Any) -> None:
    outcome = cli("exlpain", "grid.yaml")
    assert outcome.code == 2
    assert "exlpain" in outcome.err
    assert "explain" in outcome.err.replace("exlpain", "")


def test_an_unknown_option_names_the_nearest(cli: Any, tmp_path: Path) -> None:
    outcome = cli("run", "grid.yaml", "-o", tmp_path / "out", "--max-cell", "7")
    assert outcome.code == 2
    assert "--max-cells" in outcome.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "{grid}", "-o", "{out}"],
        ["estimate", "{grid}"],
        ["explain", "{grid}"],
        ["validate", "{grid}"],
        ["catalog", "gpus"],
        ["catalog", "models", "qwen3-8b"],
    ],
)
def test_every_command_speaks_json(cli: Any, tmp_path: Path, arguments: list[str]) -> None:
    grid = tmp_path / "grid.yaml"
    grid.write_text(BASE, encoding="utf-8")
    filled = [argument.format(grid=grid, out=tmp_path / "out") for argument in arguments]
    outcome = cli(*filled, "--json")
    assert outcome.code == 0

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    assert json.loads(outcome.out, parse_constant=refuse)


def test_a_file_in_the_way_is_an_error_of_the_disk(cli: Any, tmp_path: Path) -> None:
    grid, blocker = tmp_path / "grid.yaml", tmp_path / "blocker"
    grid.write_text(BASE, encoding="utf-8")
    blocker.write_text("a file", encoding="utf-8")
    for target in (blocker, blocker / "below"):
        outcome = cli("run", grid, "-o", target)
        assert outcome.code == 3
        assert str(target) in outcome.err
        assert "file" in outcome.err
    assert blocker.read_text(encoding="utf-8") == "a file"


def environment() -> dict[str, str]:
    """The environment of a child that must find the gridplan under test, wherever it stands."""
    home = str(Path(gridplan.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": home, "PYTHONIOENCODING": "utf-8"}


def child(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "gridplan", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", cwd=folder, env=environment(), check=False
    )


def test_exit_codes_of_a_real_process(tmp_path: Path) -> None:
    (tmp_path / "grid.yaml").write_text(BASE, encoding="utf-8")
    (tmp_path / "bad.yaml").write_text(changed(("h100-sxm", "h100")), encoding="utf-8")
    done = child("run", "grid.yaml", "-o", "out", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1 cell")
    wrong = child("run", "bad.yaml", "-o", "other", folder=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("error: bad.yaml:5:")
    blocked = child("run", "grid.yaml", "-o", "grid.yaml", folder=tmp_path)
    assert (blocked.returncode, blocked.stdout) == (3, "")
    assert "Traceback" not in wrong.stderr + blocked.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.yaml", "grid.yaml", "out"]


@pytest.mark.parametrize("arguments", [["explain", "grid.yaml"], ["catalog", "instances", "--json"]])
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, arguments: list[str]) -> None:
    """What `| head -1` does to a program that still writes."""
    (tmp_path / "grid.yaml").write_text(BASE, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "gridplan", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(),
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    said = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(60) in (0, 141)
    assert said == ""
