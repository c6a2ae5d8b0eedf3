"""Which modules a list of names means: exact names, names of what holds them, globs and regular expressions.

Files put different heads before the same names (`model.`, `model.language_model.`, `backbone.`), so these are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate

from gridplan.catalog.hf.fields import Fields

__all__ = ["Modules", "bare"]

_HEAD = re.compile(r"^(?:(?:model|language_model|backbone|text_model|transformer)\.)+")
_NESTED = re.compile(r"[*+}]\)?[*+{]|\([^)]*[*+][^)]*\)[*+{]")
"""A repetition of a repetition, which can take for ever on a long name."""
LONGEST_PATTERN = 300
"""Published patterns have 60 characters at most (policy)."""


def bare(name: str) -> str:
    """A module's name without what stands before its layers.

    >>> bare("model.language_model.layers.3.mlp.gate")
    'layers.3.mlp.gate'
    """
    return _HEAD.sub("", name)


class Modules:
    """A set of modules, given by a list of names in one field of a file."""

    def __init__(self, names: Iterable[str], fields: Fields, field: str) -> None:
        self._plain: set[str] = set()
        self._patterns: list[re.Pattern[str]] = []
        globs = []
        for name in names:
            if name.startswith("re:"):
                self._add_regex(name[3:], fields, field)
            elif any(letter in name for letter in "*?["):
                globs.append(bare(name))
            elif name:
                self._plain.add(bare(name))
        if globs:
            both = [form for glob in dict.fromkeys(globs) for form in (glob, f"{glob}.*")]
            self._patterns.append(re.compile("|".join(map(translate, both))))

    def __bool__(self) -> bool:
        return bool(self._plain or self._patterns)

    def _add_regex(self, pattern: str, fields: Fields, field: str) -> None:
        if len(pattern) > LONGEST_PATTERN or _NESTED.search(pattern):
            fields.refuse(field, f"has a pattern that is too long or repeats a repetition: re:{pattern[:60]}")
            return
        try:
            self._patterns.append(re.compile(pattern))
        except (re.error, RecursionError, OverflowError) as error:
            fields.refuse(field, f"has a pattern that is no regular expression ({error}): re:{pattern[:60]}")

    def holds(self, name: str) -> bool:
        """Whether a module is named, or anything that holds it (`mlp.gate` means that of every layer)."""
        parts = name.split(".")
        runs = (".".join(parts[i:j]) for i in range(len(parts)) for j in range(i + 1, len(parts) + 1))
        if any(run in self._plain for run in runs):
            return True
        return any(pattern.match(form) for pattern in self._patterns for form in (name, f"model.{name}"))
