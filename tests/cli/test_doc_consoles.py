"""Pages whose console blocks are run again: each command prints what stands below it, line by line."""

from __future__ import annotations

import contextlib
import io
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from picture_words import said_by
from shown_commands import PAGES, ROOT, commands, in_order

from gridplan.cli import main

GUIDE = tuple(f"bi/{page.name}" for page in sorted((ROOT / "docs" / "bi").glob("*.md")))


def run(command: str, code: int) -> list[str]:
    """What a command prints on both streams, in the order in which a terminal shows them, but for what is old today."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), pytest.raises(SystemExit) as stop:
        main(shlex.split(command))
    assert stop.value.code == code, said.getvalue()
    lines = (line.rstrip() for line in said.getvalue().strip().splitlines())
    return [line for line in lines if not line.startswith("warning: prices older")]


def compare(page: str, folder: Path) -> None:
    """Run the commands of a page in a folder and hold them against what it shows."""
    for name in ("grids", "docs"):
        (folder / name).symlink_to(ROOT / name)
    path = ROOT / "docs" / page
    shown = commands(path)
    assert shown
    assert len(shown) == path.read_text(encoding="utf-8").count("\n$ gridplan ")
    for command, wanted in shown:
        real = run(command, code=2 if wanted and wanted[0].startswith("error: ") else 0)
        if "..." in wanted:
            assert in_order(wanted, real), f"{command}: {real}"
        else:
            assert real == wanted, command


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_print_what_it_shows(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    compare(page, tmp_path)
    # Pictures of the documentation say what those say that the commands draw today; `test_doc_images.py` sees to it
    # that each of them has its command on one of these pages.
    for image in (ROOT / "docs" / "images").glob("*.svg"):
        if (tmp_path / image.name).exists():
            assert said_by(image.read_bytes()) == said_by((tmp_path / image.name).read_bytes()), image.name


@pytest.mark.parametrize("page", GUIDE)
def test_the_commands_of_the_guide_print_what_it_shows(
    page: str, folder: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages of the guide hand over the cube of the quickstart."""
    monkeypatch.chdir(tmp_path)
    if "$ gridplan run" not in (ROOT / "docs" / page).read_text(encoding="utf-8"):
        (tmp_path / "quickstart").symlink_to(folder("quickstart"))
    compare(page, tmp_path)
