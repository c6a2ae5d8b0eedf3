"""Pictures of the documentation say what those say that the commands on its pages draw today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from picture_words import said_by
from shown_commands import PAGES, ROOT, commands

IMAGES = sorted((ROOT / "docs" / "images").glob("*.svg"))
LARGEST = 80_000
"""Bytes of a picture (policy)."""


@pytest.mark.parametrize("image", IMAGES, ids=[image.name for image in IMAGES])
def test_a_picture_is_drawn_by_the_command_of_one_page(image: Path) -> None:
    """`test_doc_consoles.py` runs that command and holds what it draws against the picture."""
    shown = [command for page in sorted((ROOT / "docs").glob("*.md")) for command, _ in commands(page)]
    run = [command for page in PAGES for command, _ in commands(ROOT / "docs" / page)]
    for found in (shown, run):
        assert len([command for command in found if command.endswith(f" -o {image.name}")]) == 1, found


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
