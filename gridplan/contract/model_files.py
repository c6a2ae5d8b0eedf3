"""Models that a contract names by the path of their config.json instead of an id of the catalog."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridplan.errors import CatalogError, Problem, suggestion

if TYPE_CHECKING:
    from gridplan.catalog import Catalog

__all__ = ["ModelFiles", "is_path"]

Entries = dict[str, Mapping[str, Mapping[str, object]]]


def is_path(label: str) -> bool:
    """Whether a label of a model is a path: it ends in .json or has a separator.

    >>> is_path("config.json"), is_path("models/mine"), is_path("qwen3-8b")
    (True, True, False)
    """
    return label.endswith(".json") or "/" in label or "\\" in label


class ModelFiles:
    """Reads each such file once and adds its entry, under the path as it was written, to the contract's own ones."""

    def __init__(self, folder: Path, shipped: Catalog, own: Entries) -> None:
        self._folder, self._shipped, self._own = folder, shipped, own
        self._wrong: dict[str, str] = {}

    def problem(self, label: str) -> str | None:
        """Why the file at that path, beside the contract, is no model; None when it is, and its entry is known."""
        if label in self._own.get("models", {}):
            return None
        if label not in self._wrong:
            try:
                entry = self._entry(label)
            except CatalogError as error:
                said = "; ".join(_said(problem, label) for problem in error.problems)
                self._wrong[label] = (
                    said if label.endswith(".json") else f"{said}, and no model of that id{self._near(label)}"
                )
            else:
                self._own["models"] = {**self._own.get("models", {}), label: entry}
                return None
        return self._wrong[label]

    def _near(self, label: str) -> str:
        """The model of the catalog that a published name means, or the nearest ids."""
        from gridplan.catalog import find_model

        found = find_model(self._shipped, label)
        return f" (did you mean {found}?)" if found is not None else suggestion(label, self._shipped.models)

    def _entry(self, label: str) -> Mapping[str, Any]:
        from gridplan.catalog.hf import import_model

        entry = import_model(self._folder / label, shown=label).entry
        self._shipped.with_entries({"models": {label: entry}})
        return entry


def _said(problem: Problem, label: str) -> str:
    """A problem of the file in one line: the file, the line where it is known, the key and what is wrong."""
    file = label if problem.file is None or problem.file.endswith(label) else problem.file
    at = "" if problem.line is None else f":{problem.line}"
    key = (problem.key or "").removeprefix(f"catalog.models.{label}").strip(".")
    return f"{file}{at}: {f'{key}: ' if key else ''}{problem.message}"
