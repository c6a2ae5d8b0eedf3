"""Words of charts: axis titles with units, names of constraints, labels short enough to read, text in lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from unicodedata import combining, east_asian_width

from gridplan.dictionary import dictionary
from gridplan.quantities import format_label
from gridplan.report.plain_text import printable

__all__ = [
    "CONSTRAINTS",
    "axis_lines",
    "axis_title",
    "lines",
    "place_text",
    "sentence",
    "share_text",
    "short_labels",
]

CONSTRAINTS: Mapping[str, str] = {
    "memory": "KV memory",
    "compute": "compute",
    "scheduler": "scheduler slots",
    "prefill": "prefill tokens",
    "ttft": "TTFT",
    "tpot": "decode TPOT",
    "e2e": "end-to-end latency",
    "itl": "inter-token latency",
    "measured": "the measured rate",
    "balanced": "memory and compute alike",
}
"""What a person calls each constraint."""

LETTERS: Mapping[str, str] = dict(zip(CONSTRAINTS, "MCSPTDEIXB", strict=True))
"""A letter for each constraint, for cells too small for a word: what a colour says, a sign says too."""

_BARE = ("1", "count", "label", "bool", "")


def axis_title(name: str) -> str:
    """What an axis of a chart says: the meaning of a quantity, its name, its unit.

    >>> axis_title("arrival_rate"), axis_title("gpu")
    ('peak arrival rate λ [req/s]', 'accelerator')
    """
    row = dictionary().get(name)
    if row is None:
        return name
    words = f"{row.long_name} {row.symbol}".strip()
    return words if row.unit in _BARE else f"{words} [{row.unit}]"


def axis_lines(name: str, room: float) -> list[str]:
    """The title of an axis in lines of so many pixels."""
    return lines(axis_title(name), room, 13)


def sentence(text: str) -> str:
    """A text with a capital at its beginning, unless it starts with a name that is written as it is.

    >>> sentence("decode TPOT binds"), sentence("usd_per_hour is least")
    ('Decode TPOT binds', 'usd_per_hour is least')
    """
    return text if "_" in text.split(" ")[0] else text[:1].upper() + text[1:]


def short_labels(labels: Iterable[str], most: int = 28) -> dict[str, str]:
    """A text for each label that fits on an axis: the middle of long ones left out, no two alike.

    >>> short_labels(["b200", "x" * 40 + "1"], 11)
    {'b200': 'b200', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx1': 'xxxxx…xxxx1'}
    """
    found: dict[str, str] = {}
    used: set[str] = set()
    for label in dict.fromkeys(labels):
        text = printable(label)
        short = text if len(text) <= most else f"{text[: most // 2]}…{text[len(text) - (most - 1) // 2 :]}"
        number = 2
        while short in used:
            tail = f"…{number}"
            short, number = f"{text[: most - len(tail)]}{tail}", number + 1
        used.add(short)
        found[label] = short
    return found


def place_text(labels: Mapping[str, str | float], most: int = 40) -> str:
    """Labels as `--at` takes them, long ones shortened.

    >>> place_text({"gpu": "b200", "arrival_rate": 5.0})
    'gpu=b200, arrival_rate=5'
    """
    texts = ((name, short_labels([format_label(label)], most).popitem()[1]) for name, label in labels.items())
    return ", ".join(f"{name}={text}" for name, text in texts)


def share_text(count: int, of: int) -> str:
    """A count of a total.

    >>> share_text(491, 749)
    '491 of 749'
    """
    return f"{count:,} of {of:,}"


def lines(text: str, width: float, size: float) -> list[str]:
    """A text cut into lines of so many pixels, in a font of that size: a letter is about 0.52 of it, a wide sign two.

    >>> lines("one two three", 60, 10), lines("\u6f22\u5b57" * 6, 104, 10)[0]
    (['one two', 'three'], '\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57')
    """
    room = max(8, int(width / (0.52 * size)))
    found = [""]
    for word in printable(text).split(" "):
        for piece in _pieces(word, room):
            joined = f"{found[-1]} {piece}".strip()
            if _cells(joined) <= room:
                found[-1] = joined
            else:
                found.append(piece)
    return found if len(found) == 1 or found[0] else found[1:]


def _pieces(word: str, room: int) -> Iterator[str]:
    """A word, cut where it is wider than a line."""
    piece = ""
    for sign in word:
        if _cells(piece + sign) > room:
            yield piece
            piece = ""
        piece += sign
    yield piece


def _cells(text: str) -> int:
    """Width of a text in letters; signs of wide scripts take two, marks upon others none (Unicode, UAX 11)."""
    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in text)
