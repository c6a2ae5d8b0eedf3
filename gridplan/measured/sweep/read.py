"""Points of a sweep from files and folders, whatever tools wrote them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from os import PathLike

from gridplan.errors import ContractError, Problem
from gridplan.measured.sweep.folder import files_of, first_hand
from gridplan.measured.sweep.point import SweepPoint
from gridplan.measured.sweep.recognise import points_of_text
from gridplan.measured.sweep.source import KNOWN, ForeignError, read_text

__all__ = ["read_sweep", "sweep_of_text"]


def read_sweep(paths: str | PathLike[str] | Iterable[str | PathLike[str]]) -> list[SweepPoint]:
    """Every load point of files and folders, in the order given, and in a file in its own order.

    The format is known by its content. In a folder, files of no known format are passed over, and so are those that say
    again what others say (`first_hand`); a file that is given twice is read once.

    Raises
    ------
    ContractError
        With every problem of every file.
    """
    given = [paths] if isinstance(paths, str | PathLike) else list(paths)
    points: list[SweepPoint] = []
    problems: list[Problem] = []
    seen: set[str] = set()
    for path in given:
        name = os.fsdecode(path)
        try:
            points += _of_folder(name, seen) if os.path.isdir(name) else _of_file(name, seen)
        except ContractError as error:
            problems += error.problems
    if problems:
        raise ContractError(problems)
    return points


def sweep_of_text(text: str, file: str = "<text>") -> list[SweepPoint]:
    """The load points of a text. Raises ContractError as `read_sweep` does.

    >>> point = sweep_of_text("rate_per_s,ttft_p95_ms,e2e_p99_s\\n10,620,4.65\\n")[0]
    >>> point.offered_rate_per_s, point.ttft.percentiles_s, point.e2e.percentiles_s, point.loop
    (10.0, {95.0: 0.62}, {99.0: 4.65}, 'open')
    """
    return points_of_text(text, file)


def _of_file(name: str, seen: set[str]) -> list[SweepPoint]:
    try:
        key = os.path.realpath(name)
    except (OSError, ValueError):  # reading it says what is wrong
        key = name
    if key in seen:
        return []
    seen.add(key)
    return points_of_text(read_text(name), name)


def _of_folder(folder: str, seen: set[str]) -> list[SweepPoint]:
    files = files_of(folder)
    read: dict[str, list[SweepPoint]] = {}
    problems: list[Problem] = []
    foreign: list[Problem] = []
    for file in files:
        try:
            read[file] = _of_file(file, seen)
        except ForeignError as error:
            foreign += error.problems
        except ContractError as error:
            problems += error.problems
    if problems:
        raise ContractError(problems)
    if not read:
        if len(foreign) == 1:
            raise ContractError(foreign)
        looked = f"{len(files)} files were looked at" if files else "it has no JSON, CSV or YAML files"
        raise ContractError(
            [Problem(f"holds no result of a load test that is known: {looked}; known are {KNOWN}", folder)]
        )
    return [point for file in first_hand(read) for point in read[file]]
