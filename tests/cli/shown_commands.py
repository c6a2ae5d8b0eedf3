"""Commands that documents show with their output, and where each of them is run."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path

__all__ = ["PAGES", "ROOT", "commands", "in_order", "run_elsewhere"]

ROOT = Path(__file__).parents[2]
PAGES = ("charts.md", "explore.md", "invert.md", "report.md", "slice.md")
"""Pages of `docs/` all of whose commands are run by `test_doc_consoles.py`."""


def commands(page: Path) -> list[tuple[str, list[str]]]:
    """Every command of a page with the lines below it, in order."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
        for command, output in re.findall(r"\$ gridplan ([^\n]*)\n((?:(?!\$ ).*\n?)*)", block):
            found.append((command, [line.rstrip() for line in output.strip().splitlines()]))
    return found


def in_order(wanted: list[str], real: list[str]) -> bool:
    """Whether the lines shown are there, in this order; "..." stands for lines left out."""
    rest = iter(real)
    return all(line == "..." or line in rest for line in wanted)


def run_elsewhere(command: str) -> list[str] | None:
    """The lines that one of `PAGES` shows below this command; the file that it writes may have another name there."""
    return _of_pages().get(_unnamed(command))


@cache
def _of_pages() -> dict[tuple[str, ...], list[str]]:
    pages = (ROOT / "docs" / page for page in PAGES)
    return {_unnamed(command): output for page in pages for command, output in commands(page)}


def _unnamed(command: str) -> tuple[str, ...]:
    words = shlex.split(command)
    return tuple(word for before, word in zip(["", *words], words, strict=False) if before != "-o")
