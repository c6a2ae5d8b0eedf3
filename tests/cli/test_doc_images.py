"""Pictures of the documentation say what those say that the commands on its pages draw today."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from picture_words import said_by
from quick_process import Run

ROOT = Path(__file__).parents[2]
IMAGES = sorted((ROOT / "docs" / "images").glob("*.svg"))
LARGEST = 80_000
"""Bytes of a picture (policy)."""


def command_of(name: str) -> list[str]:
    """The command of a page that writes this file."""
    pages = [page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("*.md"))]
    found = [line for page in pages for line in re.findall(rf"^\$ gridplan (.* -o {re.escape(name)})$", page, re.M)]
    assert len(found) == 1, f"one page shows how {name} is made, and shows it once: {found}"
    return shlex.split(found[0])


@pytest.mark.parametrize("image", IMAGES, ids=[image.name for image in IMAGES])
def test_a_picture_is_what_its_command_draws(image: Path, process: Run, tmp_path: Path) -> None:
    *command, name = command_of(image.name)
    drawn = tmp_path / name
    said = process(arguments=[*command, str(drawn)], folder=ROOT)
    assert said.returncode == 0, said.stderr
    assert said_by(image.read_bytes()) == said_by(drawn.read_bytes())


def test_every_picture_is_shown_and_small() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    for image in sorted((ROOT / "docs" / "images").iterdir()):
        assert f"images/{image.name})" in pages, image.name
        assert image.stat().st_size <= LARGEST, image.name


def test_a_changed_number_is_noticed(tmp_path: Path) -> None:
    image = IMAGES[0]
    text = image.read_text(encoding="utf-8")
    number = re.findall(r">(\d+\.\d+)<", text)[0]
    changed = tmp_path / image.name
    changed.write_text(text.replace(f">{number}<", ">0.0042<", 1), encoding="utf-8")
    assert said_by(changed.read_bytes()) != said_by(image.read_bytes())
