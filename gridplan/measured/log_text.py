"""A log as text: colours removed, lines counted, and the rank that printed a line.

Lines keep whatever stands before the message: times, levels, `(EngineCore pid=9)`, the prefixes of Docker and journald.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

__all__ = ["LogText", "clean"]

_COLOURS = re.compile(r"(?:\x1b|\\u001b|\\x1b|\\033)\[[0-9;?]{0,20}[A-Za-z]")
_RANKS = (
    re.compile(r"\(([A-Za-z]\w{0,60}(?: rank=\d{1,6})? pid=\d{1,10})[^)\n]{0,80}\)"),
    re.compile(r"\[(?:\d{4}-\d\d-\d\d[ T])?\d\d:\d\d:\d\d(?:[.,]\d{1,6})? ((?:[A-Z]{1,8}\d{1,5} ?){1,6})\]"),
    re.compile(r"\[(gpu=\d{1,5})\]"),
)
"""How processes name themselves: vLLM's workers and Ray's, SGLang's ranks, and SGLang before 0.4."""

_PREFIX = re.compile(r"\b(?:INFO|WARNING|ERROR|DEBUG|CRITICAL)\b|\d\d:\d\d:\d\d")
_PREFIX_CHARS = 240
_WRAPPED_LINES = 8
"""Lines that a sentence may be broken over; a sentence has about 700 characters, terminals 80 and more."""


def clean(content: str) -> str:
    r"""The text without colours; a carriage return inside a line is a space, so that lines count as in an editor.

    >>> clean("\x1b[32mINFO\x1b[0m took 2 GiB\r\nend")
    'INFO took 2 GiB\nend'
    """
    return _COLOURS.sub("", content.replace("\r\n", "\n")).replace("\r", " ")


@dataclass(frozen=True)
class LogText:
    """A part of a cleaned log; `first_line` is the number of its first line in the file."""

    text: str
    first_line: int
    offsets: tuple[int, ...]

    @classmethod
    def of(cls, text: str, first_line: int = 1) -> LogText:
        """The text with the offset of every line."""
        return cls(text, first_line, (0, *(found.end() for found in re.finditer("\n", text))))

    @property
    def last_line(self) -> int:
        """Number of the last line; an end of line at the end of the text starts no new one."""
        return self.first_line + len(self.offsets) - (2 if self.text.endswith("\n") and len(self.offsets) > 1 else 1)

    def line_at(self, offset: int) -> int:
        """Number of the line at an offset."""
        return self.first_line + bisect_right(self.offsets, offset) - 1

    def rank_at(self, offset: int) -> str:
        """The rank that printed what stands at an offset; empty where the log names none.

        A line without time, level and rank carries on the one above, as the second half of a wrapped sentence does.
        """
        index = bisect_right(self.offsets, offset) - 1
        for position in range(index, max(-1, index - _WRAPPED_LINES), -1):
            start = self.offsets[position]
            line = self.text[start : min(start + _PREFIX_CHARS, self._end(position))]
            for pattern in _RANKS:
                if found := pattern.search(line):
                    return found[1].strip()
            if _PREFIX.search(line):
                return ""
        return ""

    def part(self, first: int, last: int | None) -> LogText:
        """The lines from the one at offset `first` to the one before offset `last`."""
        start = self.offsets[bisect_right(self.offsets, first) - 1]
        stop = len(self.text) if last is None else self.offsets[bisect_right(self.offsets, last) - 1]
        return LogText.of(self.text[start:stop], self.line_at(start))

    def _end(self, position: int) -> int:
        return self.offsets[position + 1] if position + 1 < len(self.offsets) else len(self.text)
