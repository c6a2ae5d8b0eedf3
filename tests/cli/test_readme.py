"""README shows only what was run: its commands are run again and its output is compared, line by line."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from quick_process import Run

ROOT = Path(__file__).parents[2]
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


def consoles() -> list[tuple[str, str]]:
    """Every command of README's console blocks with the output below it."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", README, re.S):
        found += re.findall(r"\$ gridplan ([^\n]*)\n((?:(?!\$ ).*\n?)*)", block)
    return found


@pytest.mark.parametrize(("command", "output"), consoles(), ids=[command for command, _ in consoles()])
def test_the_commands_print_what_readme_shows(folder: Path, process: Run, command: str, output: str) -> None:
    arguments = shlex.split(command)
    if "-o" in arguments:
        arguments.append("--force")
    said = process(arguments=arguments, folder=folder)
    real = iter(stripped(said.stdout + said.stderr))
    # "..." stands for lines left out; every line shown is there, in this order.
    for line in stripped(output):
        assert line == "..." or line in real, line


def test_readme_names_no_command_that_does_not_exist() -> None:
    from gridplan.cli import COMMANDS

    assert set(re.findall(r"`gridplan ([a-z]+)", README)) <= set(COMMANDS)
