"""Collecting everything that is wrong with one contract before saying any of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gridplan.contract.grid import Place
from gridplan.contract.yaml import Document, KeyPath, dotted
from gridplan.errors import ContractError, Problem

__all__ = ["Problems"]


class Problems:
    """The problems of one document, and which of its parts they make unusable.

    A part that is already known to be wrong is `broken`: rules that would only repeat the fault in other words ask for
    it and stay silent.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self._found: dict[Problem, None] = dict.fromkeys(document.flaws)
        self._broken: set[KeyPath] = set(document.unusable)

    def add(self, path: KeyPath, message: str, at_key: bool = False) -> None:
        """Note a problem at an entry, unless the entry is broken already."""
        if not self.broken(path):
            self._found[self.document.problem(path, message, at_key)] = None
        self._broken.add(path)

    def at(self, place: Place | None, message: str) -> None:
        """Note a problem at a place that was kept."""
        if place is None:
            self._found[Problem(message, self.document.file)] = None
        else:
            self._found[Problem(message, place.file, place.line, place.column, place.key)] = None

    def extend(self, problems: Iterable[Problem]) -> None:
        """Take over problems that carry their own place."""
        self._found.update(dict.fromkeys(problems))

    def broken(self, path: KeyPath) -> bool:
        """Whether this entry or one that holds it is wrong."""
        return any(path[:length] in self._broken for length in range(len(path) + 1))

    def broken_inside(self, path: KeyPath) -> bool:
        """Whether this entry, one that holds it or one that it holds is wrong."""
        return self.broken(path) or any(broken[: len(path)] == path for broken in self._broken)

    def broken_input(self, name: str) -> bool:
        """Whether a value of that name is wrong anywhere, so that its absence means nothing."""
        return any(name in path for path in self._broken)

    @property
    def broken_paths(self) -> frozenset[KeyPath]:
        """The paths of all entries that are wrong."""
        return frozenset(self._broken)

    def place(self, path: KeyPath, at_key: bool = False) -> Place:
        """The place of an entry, to keep beside its value."""
        line, column = self.document.position(path, at_key) or (1, 1)
        return Place(self.document.file, line, column, dotted(path))

    @property
    def found(self) -> list[Problem]:
        """All problems, those of other files first, in the order of each file."""
        found = dict.fromkeys(replace(item, message=_on_one_line(item.message)) for item in self._found)
        return sorted(found, key=self._order)

    def raise_if_any(self) -> None:
        """Raise one ContractError with all problems."""
        if self._found:
            raise ContractError(self.found)

    def _order(self, item: Problem) -> tuple[bool, str, int, int, str]:
        other = item.file not in (None, self.document.file)
        return (not other, item.file or "" if other else "", item.line or 0, item.column or 0, item.message)


def _on_one_line(message: str) -> str:
    """The message with its control characters and line separators, which come from the file, written as escapes."""
    if message.isprintable():
        return message
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in message)
