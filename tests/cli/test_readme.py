"""README shows only what was run: its commands are run again and its output is compared, line by line."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from quick_process import Run
from shown_commands import ROOT, commands, in_order, run_elsewhere

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the grids, the contract that README prints, and the broken one it tells of."""
    place = tmp_path_factory.mktemp("readme")
    for name in ("grids", "docs"):
        (place / name).symlink_to(ROOT / name)
    (chat,) = re.findall(r"```yaml\n(.*?)```", README, re.S)
    (place / "chat.yaml").write_text(chat, encoding="utf-8")
    broken = chat.replace("runpod-secure-h100-sxm-per-gpu", "runpod-secure-h100").replace("weight: 0.2", "weight: 0.3")
    broken = broken.replace("rho_target: 0.65", "rho_target: 1.2").replace("peak_to_average", "peak_to_avg")
    (place / "broken.yaml").write_text(broken, encoding="utf-8")
    shown = subprocess.run(
        [sys.executable, "-m", "gridplan", "run", "grids/quickstart.yaml", "-o", "quickstart"],
        cwd=place,
        capture_output=True,
        text=True,
        check=True,
    )
    (place / "run.txt").write_text(shown.stdout, encoding="utf-8")
    return place


def texts() -> list[str]:
    """What README prints below a command or a program, in order."""
    return re.findall(r"```text\n(.*?)```", README, re.S)


def stripped(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def test_the_main_job_prints_what_readme_shows(folder: Path) -> None:
    assert stripped((folder / "run.txt").read_text(encoding="utf-8")) == stripped(texts()[0])


def test_the_query_gives_the_table(folder: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    (query,) = re.findall(r"```sql\n(.*?)```", README, re.S)
    rows = duckdb.sql(query.replace("quickstart/", f"{folder}/quickstart/")).fetchall()
    shown = [line.strip("│ ").split("│") for line in stripped(texts()[1]) if line.startswith("│")][2:]
    assert len(rows) == len(shown) == 9
    for row, cells in zip(rows, shown, strict=True):
        assert [str(value) for value in row] == [cell.strip() for cell in cells]


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_the_programs_print_what_readme_shows(folder: Path, process: Run, number: int) -> None:
    program = re.findall(r"```python\n(.*?)```", README, re.S)[number]
    said = process(program, folder=folder)
    assert said.returncode == 0, said.stderr
    assert stripped(said.stdout) == stripped(texts()[2 + number])


CONSOLES = commands(ROOT / "README.md")


def test_every_command_is_found() -> None:
    assert len(CONSOLES) == README.count("\n$ gridplan ")


@pytest.mark.parametrize(("command", "output"), CONSOLES, ids=[command for command, _ in CONSOLES])
def test_the_commands_print_what_readme_shows(
    folder: Path, cli: Any, command: str, output: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a page shows as well is run there once for both."""
    real = run_elsewhere(command)
    if real is None:
        monkeypatch.chdir(folder)
        arguments = shlex.split(command)
        said = cli(*arguments, *(["--force"] if "-o" in arguments else []))
        real = stripped(said.out + said.err)
    assert in_order(output, real), real


def test_readme_names_no_command_that_does_not_exist() -> None:
    from gridplan.cli import COMMANDS

    assert set(re.findall(r"`gridplan ([a-z]+)", README)) <= set(COMMANDS)
