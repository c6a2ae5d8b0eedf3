"""Typed access to the fields of a config.json: every fault is kept with its dotted key, and reading goes on."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from gridplan.errors import CatalogError, Problem, suggestion

__all__ = ["MOST", "MOST_LAYERS", "Fields", "Report"]

MOST = 2**31 - 1
"""No size of a published model is near it (policy)."""
MOST_LAYERS = 2000
"""No published model has a quarter of it (policy)."""
MOST_NUMBER = 1e300
"""Beyond it a number is no longer finite in some product (policy)."""
_MISSING: Any = object()


class Report:
    """What is wrong with one file, and which of its fields were read."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: dict[Problem, None] = {}
        self.seen: set[str] = set()
        self.notes: dict[str, None] = {}

    def add(self, key: str, message: str) -> None:
        """Note a fault of the field at that dotted key."""
        self.problems[Problem(message, self.file, key=key or None)] = None

    def note(self, text: str) -> None:
        """Keep a remark for the notes of the entry."""
        self.notes[text] = None

    def raise_if_any(self) -> None:
        """Raise one CatalogError with every fault found so far."""
        if self.problems:
            raise CatalogError(list(self.problems))


class Fields:
    """One object of the file; a null counts as absent, and what cannot be read gives a value that stops nothing."""

    def __init__(self, data: Mapping[str, Any], report: Report, prefix: str = "") -> None:
        self.data, self.report, self._prefix = data, report, prefix

    def key(self, name: str) -> str:
        """The dotted key of a field."""
        return f"{self._prefix}{name}"

    def has(self, name: str) -> bool:
        """Whether a field is there and not null."""
        return self.data.get(name) is not None

    def must_say(self, *names: str) -> None:
        """Ask for fields that may be null, but whose absence means a default that differs by architecture."""
        for name in names:
            if name not in self.data:
                self.refuse(name, "is missing (null says that there is none)")

    def with_defaults(self, defaults: Mapping[str, Any], owner: str) -> Fields:
        """The same fields with those that are absent filled in; each one is noted with the class it comes from."""
        absent = {name: value for name, value in defaults.items() if not self.has(name)}
        for name, value in absent.items():
            self.report.note(f"{name} is not in the file: {value}, the default of {owner}")
        return Fields({**self.data, **absent}, self.report, self._prefix) if absent else self

    def first(self, *names: str) -> str:
        """The first of these fields that is there, else the first name."""
        for name in names:
            self.report.seen.add(self.key(name))
        return next((name for name in names if self.has(name)), names[0])

    def sub(self, name: str) -> Fields:
        """An object inside this one; empty where it is absent or none."""
        value = self._get(name, {})
        if not isinstance(value, dict):
            self.refuse(name, f"must be an object, not {_shown(value)}")
            value = {}
        return Fields(value, self.report, f"{self.key(name)}.")

    def refuse(self, name: str, message: str) -> None:
        """Note that a field is wrong or not understood."""
        self.report.add(self.key(name), message)

    def clash(self, name: str, message: str) -> None:
        """Note that a field contradicts others; silent while one is wrong, for it would only repeat that fault."""
        if not self.report.problems:
            self.refuse(name, message)

    def count(self, name: str, default: int = _MISSING, least: int = 1, most: int = MOST) -> int:
        """A whole number of at least `least`; required where no default is given."""
        value = self._get(name, default)
        if value is _MISSING:
            self.refuse(name, "is missing")
            return least
        if self.data.get(name) is None:
            return default
        found = self.whole(value)
        if found is None or not least <= found <= most:
            self.refuse(name, f"must be a whole number from {least} to {most:,}; {_shown(value)} is not")
            return least
        return found

    def optional(self, name: str, least: int = 1) -> int | None:
        """A whole number, or None where the field is absent."""
        return self.count(name, least=least) if self._get(name, None) is not None else None

    def flag(self, name: str, default: bool) -> bool:
        """true or false."""
        value = self._get(name, default)
        if not isinstance(value, bool):
            self.refuse(name, f"must be true or false; {_shown(value)} is not")
            return default
        return value

    def number(self, name: str, default: float = _MISSING) -> float:
        """A finite number above zero."""
        value = self._get(name, default)
        if value is _MISSING:
            self.refuse(name, "is missing")
            return 1.0
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MOST_NUMBER:
            self.refuse(name, f"must be a number above 0; {_shown(value)} is not")
            return 1.0
        return float(value)

    def text(self, name: str, default: str = "") -> str:
        """A text."""
        value = self._get(name, default)
        if not isinstance(value, str):
            self.refuse(name, f"must be a text; {_shown(value)} is not")
            return default
        return value

    def choice(self, name: str, known: Collection[str], default: str) -> str:
        """One of a few texts."""
        value = self.text(name, default)
        if value not in known:
            hint = f"; known: {', '.join(known)}"
            self.refuse(name, f"{_shown(value)} is not understood{suggestion(value, known)}{hint}")
            return default
        return value

    def texts(self, name: str) -> list[str]:
        """A list of texts; empty where the field is absent."""
        value = self._get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.refuse(name, f"must be a list of texts; {_shown(value)} is not")
            return []
        return value

    def counts(self, name: str) -> list[int]:
        """A list of whole numbers from 0; empty where the field is absent."""
        value = self._get(name, [])
        found = [self.whole(item) for item in value] if isinstance(value, list) else [None]
        if any(item is None or not 0 <= item <= MOST for item in found):
            self.refuse(name, f"must be a list of whole numbers from 0; {_shown(value)} is not")
            return []
        return [item for item in found if item is not None]

    def of_layers(self, name: str, known: Collection[str], layers: int) -> list[str]:
        """One of a few texts for each layer; empty where the field is absent."""
        found = self.texts(name)
        odd = next((item for item in found if item not in known), None)
        if odd is not None:
            self.refuse(name, f"{_shown(odd)} is not understood{suggestion(odd, known)}; known: {', '.join(known)}")
            return []
        return found if self.one_each(name, found, layers) else []

    def one_each(self, name: str, items: list[Any], layers: int) -> bool:
        """Whether a list is empty or has an item for each layer."""
        if items and len(items) != layers:
            self.clash(name, f"has {len(items)} items; the model has {layers} layers")
            return False
        return True

    @staticmethod
    def whole(value: object) -> int | None:
        """A whole number, also where it is written as 8.0; None for anything else."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if isinstance(value, int):  # however long: no float can hold some
            return value
        return int(value) if math.isfinite(value) and value == int(value) else None

    def _get(self, name: str, default: Any) -> Any:
        self.report.seen.add(self.key(name))
        value = self.data.get(name)
        return default if value is None else value


def _shown(value: object) -> str:
    """A value as a person reads it, cut where it is long."""
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
