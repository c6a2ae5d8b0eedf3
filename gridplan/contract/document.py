"""A file that was read: plain data, and the line and column of each part of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gridplan.errors import Problem

__all__ = ["Document", "KeyPath", "Position", "dotted"]

KeyPath = tuple[str | int, ...]
Position = tuple[int, int]


def dotted(path: KeyPath) -> str:
    """A path as people write it.

    >>> dotted(("workload", "classes", 1, "weight"))
    'workload.classes[1].weight'
    """
    texts = (part if isinstance(part, int) or part.isprintable() else repr(part) for part in path)
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in texts)
    return "".join(parts).removeprefix(".")


@dataclass(frozen=True)
class Document:
    """A parsed file: plain data, and where each part of it stands.

    `keys` and `values` map the path of an entry to the (line, column) of its key and of its value; `flaws` are the
    things refused on the way, and `unusable` the paths that have no value because of them.
    """

    file: str
    text: str
    sha256: str
    data: Mapping[str, object]
    keys: Mapping[KeyPath, Position]
    values: Mapping[KeyPath, Position]
    flaws: tuple[Problem, ...]
    unusable: frozenset[KeyPath]

    def position(self, path: KeyPath, at_key: bool = False) -> Position | None:
        """Where an entry stands: its value, or its key when asked or when the value starts on another line.

        The position of the nearest existing parent stands in for a missing entry; None when there is none.
        """
        for length in range(len(path), 0, -1):
            part = path[:length]
            key, value = self.keys.get(part), self.values.get(part)
            if key and (at_key or length < len(path) or value is None or value[0] != key[0]):
                return key
            if value:
                return value
        return None

    def problem(self, path: KeyPath, message: str, at_key: bool = False) -> Problem:
        """A problem at that entry."""
        line, column = self.position(path, at_key) or (1, 1)
        return Problem(message, self.file, line, column, dotted(path) or None)
