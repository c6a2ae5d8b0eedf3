"""Catalog entries as they stand in a file: what in them points to another file, and where their faults stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gridplan.contract.problems import Problems
from gridplan.contract.yaml import KeyPath, dotted
from gridplan.errors import Problem

__all__ = ["INDEX", "place_faults", "with_indexes"]

INDEX = "safetensors_index"
"""Key of an entry for a model: the index of its checkpoint, a file beside the one that holds the entry."""


def with_indexes(models: Mapping[str, Any], problems: Problems, prefix: KeyPath) -> dict[str, Any]:
    """Entries of models whose `safetensors_index` is read; they stand below `prefix` in the file of `problems`."""
    return {name: _with_index(entry, problems, (*prefix, name, INDEX)) for name, entry in models.items()}


def _with_index(entry: Any, problems: Problems, path: KeyPath) -> Any:
    """An entry in which the path of an index has become the bytes of the checkpoint."""
    from gridplan.catalog.safetensors import index_bytes

    if not isinstance(entry, Mapping) or INDEX not in entry:
        return entry
    index = entry[INDEX]
    rest = {"checkpoint_bytes": None, **{key: value for key, value in entry.items() if key != INDEX}}
    if "checkpoint_bytes" in entry:
        problems.add(path, f"checkpoint_bytes and {INDEX} are two counts of the same bytes: give one", at_key=True)
    elif not isinstance(index, str):
        problems.add(path, f"a path to a model.safetensors.index.json is due, not {index!r}")
    else:
        try:
            # An index counts the vision tower too.
            rest.setdefault("params_vision", 0)
            rest["checkpoint_bytes"] = index_bytes(Path(problems.document.file).parent / index)
            rest.setdefault("source", f"{index}, metadata.total_size")
        except ValueError as error:
            problems.add(path, str(error))
    return rest


def place_faults(found: Iterable[Problem], problems: Problems, prefix: KeyPath, dropped: KeyPath = ()) -> None:
    """Note faults that carry keys alone; the file holds what the keys begin with, less the parts of `dropped`.

    A fault of a key that is not in the file stands at the nearest entry that would hold it.
    """
    paths = {dotted((*dropped, *path)): path for path in problems.document.values if path[: len(prefix)] == prefix}
    for problem in found:
        key = problem.key or ""
        path = paths.get(key)
        if path is not None:
            problems.add(path, problem.message, at_key=True)
            continue
        holders = [text for text in paths if key.startswith((f"{text}.", f"{text}["))]
        place = problems.place(paths[max(holders, key=len)], at_key=True) if holders else None
        said = key.removeprefix(f"{dotted(dropped)}.") if dropped else key
        line, column = (place.line, place.column) if place else (1, 1)
        problems.extend([Problem(problem.message, problems.document.file, line, column, said)])
