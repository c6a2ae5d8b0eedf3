"""Pictures of the documentation are those that the commands on its pages draw today.

Not byte by byte: where a letter stands and how wide a bar is depends on the fonts of a machine and on the version of
the library that draws. What a picture says does not: its text for who cannot see it, every word and number in it, and
how many marks it has of each colour and hatch.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from quick_process import Run

ROOT = Path(__file__).parents[2]
IMAGES = sorted((ROOT / "docs" / "images").glob("*.svg"))
LARGEST = 80_000
"""Bytes of a picture (policy)."""


def said_by(picture: Path) -> tuple[str | None, Counter[str], Counter[str]]:
    """The text of a picture for who cannot see it, its words, and its fills."""
    root = ElementTree.parse(picture).getroot()
    words: Counter[str] = Counter()
    fills: Counter[str] = Counter()
    for item in root.iter():
        kind = item.tag.rpartition("}")[2]
        if kind in ("text", "tspan"):
            words.update((item.text or "").split())
        elif kind in ("path", "rect"):
            fills[item.get("fill", "")] += 1
    return root.get("aria-label"), words, fills


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
    assert said_by(image) == said_by(drawn)


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
    assert said_by(changed) != said_by(image)
