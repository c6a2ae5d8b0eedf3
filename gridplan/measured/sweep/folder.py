"""Which files of a folder are read, and which say again what others say."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from gridplan.errors import ContractError, Problem
from gridplan.measured.sweep.point import SweepPoint

__all__ = ["MAX_FILES", "files_of", "first_hand"]

MAX_FILES = 10_000
"""Most files of a folder (policy): a folder with more is hardly one of a sweep."""

_SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".yaml", ".yml")
_PASSED_OVER = re.compile(r"warmup\.json|.*\.failure\.json")
"""Files of vLLM's sweep that hold no load point."""


def files_of(folder: str) -> list[str]:
    """Result files below a folder in natural order, so that stage 2 comes before stage 10; links are not followed."""
    found: list[Path] = []
    problems: list[Problem] = []

    def failed(error: OSError) -> None:
        problems.append(Problem(f"cannot be read: {error.strerror or error}", str(error.filename or folder)))

    for base, folders, names in os.walk(folder, onerror=failed):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if name.startswith(".") or not name.lower().endswith(_SUFFIXES) or _PASSED_OVER.fullmatch(name):
                continue
            found.append(Path(base, name))
            if len(found) > MAX_FILES:
                raise ContractError([Problem(f"holds more than {MAX_FILES:,} files that may be results", folder)])
    if problems:
        raise ContractError(problems)
    return [str(path) for path in sorted(found, key=_natural)]


def _natural(path: Path) -> list[list[tuple[int, int, str]]]:
    """A key that sorts numbers in names by their value."""
    parts = ([*path.parts[:-1], path.stem], [path.suffix])
    return [
        [(0, int(piece), "") if piece.isdigit() and len(piece) < 19 else (1, 0, piece) for piece in _pieces(part)]
        for group in parts
        for part in group
    ]


def _pieces(part: str) -> list[str]:
    return [piece for piece in re.split(r"([0-9]+)", part) if piece]


def first_hand(read: Mapping[str, Sequence[SweepPoint]]) -> list[str]:
    """The files of a folder without those that repeat others.

    The table of a vLLM sweep holds every run of the folders below it, a list of runs those beside it; GuideLLM, AIPerf
    and genai-perf write one report in several forms under one name, of which the JSON says most.
    """
    forms = {file: points[0].format for file, points in read.items() if points}
    tables = {Path(file).parent for file, form in forms.items() if form == "vllm-sweep-csv"}
    lists = {Path(file).parent for file, form in forms.items() if form == "vllm-sweep-json"}
    reports = {(Path(file).with_suffix(""), read[file][0].tool) for file in forms if not _second(forms[file])}

    def again(file: str) -> bool:
        path, form = Path(file), forms[file]
        if form in ("vllm-bench-serve", "vllm-sweep-json") and any(folder in path.parents for folder in tables):
            return True
        if form == "vllm-bench-serve" and path.parent in lists:
            return True
        return _second(form) and (path.with_suffix(""), read[file][0].tool) in reports

    return [file for file in forms if not again(file)]


def _second(form: str) -> bool:
    return form != "vllm-sweep-csv" and form.endswith(("-csv", "-yaml"))
