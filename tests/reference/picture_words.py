"""What a picture says, for two drawings of one chart to be compared.

Not byte by byte: where a letter stands and how wide a bar is depends on the fonts of a machine and on the version of
the library that draws. What a picture says does not: its text for who cannot see it, every word and number in it, and
how many marks it has of each colour and hatch.
"""

from __future__ import annotations

from collections import Counter
from xml.etree import ElementTree

__all__ = ["said_by"]


def said_by(picture: bytes | str) -> tuple[str | None, Counter[str], Counter[str]]:
    """The text of a picture for who cannot see it, its words, and its fills."""
    root = ElementTree.fromstring(picture)
    words: Counter[str] = Counter()
    fills: Counter[str] = Counter()
    for item in root.iter():
        kind = item.tag.rpartition("}")[2]
        if kind in ("text", "tspan"):
            words.update((item.text or "").split())
        elif kind in ("path", "rect"):
            fills[item.get("fill", "")] += 1
    return root.get("aria-label"), words, fills
