"""Whether files of a cube are there with their sizes, asked in as few requests as an object store needs for it."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from gridplan.store.files import FileRecord, Receipt, store_errors
from gridplan.store.place import is_remote, size_at, sizes_below

__all__ = ["check_sizes", "sizes_of"]

NAMES_LISTED = 1_000
"""Names in one answer of an object store that is asked what it holds (fact: Amazon S3 ListObjectsV2, Google Cloud
Storage): a listing of very many files is many requests, one after the other."""


def check_sizes(folder: Path, records: Sequence[FileRecord | Receipt], among: int = 0) -> list[str]:
    """Files that are missing or have another size than the manifest says, one sentence each.

    `among` is how many files lie where these do. In an object store a few of many are asked for one by one, and all
    others by a listing: what takes fewer requests.
    """
    problems: list[str] = []
    size_of = sizes_of(folder, [record.file for record in records], among)
    for record in records:
        size = size_of(record.file)
        if size is None:
            problems.append(f"{folder / record.file} is missing")
        elif size != record.bytes:
            said = f"{folder / record.file} has {size} bytes, the manifest says {record.bytes}: it was altered"
            problems.append(said)
    return problems


def sizes_of(folder: Path, files: Sequence[str], among: int = 0) -> Callable[[str], int | None]:
    """The size of each of these files when it is asked for, None where it is not there; `among` as of `check_sizes`."""
    if not is_remote(folder):
        return lambda file: _size_here(folder, file)
    among = max(among, len(files))
    # One answer has all of a cube of few parts; of many it would be half receipts.
    places = {file.partition("/")[0] for file in files} if among > NAMES_LISTED / 2 else {""}
    if len(files) <= len(places) - 1 + math.ceil(among / NAMES_LISTED):
        return {file: _size_there(folder, file) for file in files}.get
    with store_errors("list", folder):
        listed = ((place, sizes_below(folder / place if place else folder)) for place in places)
        return {f"{place}/{name}".lstrip("/"): size for place, found in listed for name, size in found.items()}.get


def _size_there(folder: Path, file: str) -> int | None:
    with store_errors("read", folder / file):
        return size_at(folder / file)


def _size_here(folder: Path, file: str) -> int | None:
    try:
        # A path is taken apart in ten times the time that the system needs to answer.
        found = os.stat(f"{folder}/{file}")
    except (OSError, ValueError):
        path = folder / file
        return path.stat().st_size if path.is_file() else None
    return found.st_size if stat.S_ISREG(found.st_mode) else None
