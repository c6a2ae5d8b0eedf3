"""Pages whose console blocks are run again: each command prints what stands below it, line by line."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

import gridplan
from gridplan.cli import main

ROOT = Path(__file__).parents[2]
PAGES = ("charts.md", "explore.md", "report.md", "slice.md")
GUIDE = tuple(f"bi/{page.name}" for page in sorted((ROOT / "docs" / "bi").glob("*.md")))


def commands(page: str) -> list[tuple[str, str]]:
    """Every command of a page with the output below it, in order."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.S):
        found += re.findall(r"\$ gridplan ([^\n]*)\n((?:(?!\$ ).*\n?)*)", block)
    return found


def run(command: str) -> list[str]:
    """What a command prints on both streams, in the order in which a terminal shows them, but for what is old today."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), pytest.raises(SystemExit):
        main(shlex.split(command))
    lines = (line.rstrip() for line in said.getvalue().strip().splitlines())
    return [line for line in lines if not line.startswith("warning: prices older")]


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cube that pages of the guide hand over."""
    folder = tmp_path_factory.mktemp("cube") / "quickstart"
    gridplan.run(gridplan.load_grid(ROOT / "grids" / "quickstart.yaml"), folder)
    return folder


def compare(page: str, folder: Path) -> None:
    """Run the commands of a page in a folder and hold them against what it shows."""
    for name in ("grids", "docs"):
        (folder / name).symlink_to(ROOT / name)
    shown = commands(page)
    assert shown
    for command, output in shown:
        real = run(command)
        wanted = [line.rstrip() for line in output.strip().splitlines()]
        if "..." not in wanted:
            assert real == wanted, command
            continue
        # "..." stands for lines left out; every line shown is there, in this order.
        rest = iter(real)
        for line in wanted:
            assert line == "..." or line in rest, f"{command}: {line}"


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_print_what_it_shows(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    compare(page, tmp_path)


@pytest.mark.parametrize("page", GUIDE)
def test_the_commands_of_the_guide_print_what_it_shows(
    page: str, quickstart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "$ gridplan run" not in (ROOT / "docs" / page).read_text(encoding="utf-8"):
        (tmp_path / "quickstart").symlink_to(quickstart)
    compare(page, tmp_path)
