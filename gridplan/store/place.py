"""Where a cube lies: a folder of this machine, or a place in an object store that fsspec knows.

An object store has no folders, no rename and no lock. A file is there once it is sent, whole or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import Any, cast

from gridplan.errors import MissingExtraError, StoreError, suggestion
from gridplan.store.refusals import is_of_a_store, no_bucket

__all__ = [
    "content_tag",
    "file_system",
    "is_address",
    "is_cube_place",
    "is_remote",
    "place_of",
    "size_at",
    "sizes_below",
]

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://")

_WITH_BUCKETS = ("s3", "s3a", "gs", "gcs")
"""Stores whose addresses begin with the name of a bucket."""

_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
"""Extras of the package by the protocols that they bring."""


def is_address(text: object) -> bool:
    """Whether a text is an address such as `s3://bucket/cube`, and no path of this machine.

    >>> is_address("s3://bucket/cube"), is_address("cubes/s3"), is_address("C:/cube")
    (True, False, False)
    """
    return isinstance(text, str) and _ADDRESS.match(text) is not None


def place_of(target: str | Path) -> Path:
    """A path of this machine as it is, `file://` as one; any other address as something with the methods of a path.

    Raises
    ------
    MissingExtraError
        When fsspec or the library of the store is not installed.
    StoreError
        For an address that nobody knows.
    """
    if not isinstance(target, str):
        return target
    if not is_address(target):
        return Path(target)
    protocol = cast(re.Match[str], _ADDRESS.match(target))[1]
    if protocol == "file":
        return Path(target.removeprefix("file://"))
    if find_spec("upath") is None:
        extra = _EXTRAS.get(protocol, "cloud")
        raise MissingExtraError("object stores are reached through fsspec and universal-pathlib", extra)
    if protocol in _WITH_BUCKETS and not target[len(protocol) + len("://") :].strip().partition("/")[0]:
        raise StoreError(f"{target} names no bucket: {protocol}://bucket/cube is due")
    from fsspec import available_protocols
    from upath import UPath

    if protocol not in (known := available_protocols()):
        raise StoreError(f"{target} is no address of a store that fsspec knows{suggestion(protocol, known)}")
    try:
        # Other processes write there as well: a listing of a while ago says nothing.
        place = UPath(target, use_listings_cache=False)
        _ = place.fs  # the library of the store is loaded here, and not in the middle of a run
    except ImportError as error:
        if protocol in _EXTRAS:
            raise MissingExtraError(f"{target} is reached by a library of its own", _EXTRAS[protocol]) from None
        raise StoreError(f"{target} cannot be reached: {error}") from None
    return cast(Path, place)


def is_remote(path: object) -> bool:
    """Whether a place lies in an object store."""
    return not isinstance(path, (str, PurePath)) and hasattr(path, "fs")


def file_system(path: Path) -> tuple[Any, Any]:
    """What Arrow reads a file by: its path, and the file system where it is not that of this machine."""
    return (path.path, path.fs) if is_remote(path) else (path, None)  # type: ignore[attr-defined]


def sizes_below(folder: Path) -> dict[str, int]:
    """Every file below a place in an object store, by its path from there, with its size; no listing is kept.

    Raises what the library of the store raises, also where there is no such bucket; nothing below is an empty answer.
    """
    remote: Any = folder
    remote.fs.invalidate_cache()
    root = str(remote.path).rstrip("/")
    try:
        found = remote.fs.find(root, detail=True)
    except FileNotFoundError as error:
        if no_bucket(error):
            raise
        return {}
    return {str(name)[len(root) :].lstrip("/"): int(about["size"]) for name, about in found.items()}


def size_at(path: Path) -> int | None:
    """The size of one file in an object store; None where there is none. Raises as `sizes_below` does."""
    about = _about(path)
    return int(about["size"]) if about is not None and about["type"] == "file" else None


def content_tag(path: Path) -> str | None:
    """What an object store says that changes with the content of a file; None where it says nothing of the kind.

    A time is none of it: two writes may fall into one second. A store that refuses says nothing here either: it gives
    its reasons to those who read.
    """
    try:
        about = _about(path) or {}
    except Exception as error:
        if not isinstance(error, OSError) and not is_of_a_store(error):
            raise
        return None
    return next((str(about[name]) for name in ("ETag", "etag", "generation") if about.get(name)), None)


def _about(path: Path) -> Mapping[str, Any] | None:
    """What an object store says of one file, asked anew; None where there is none."""
    remote: Any = path
    remote.fs.invalidate_cache()
    try:
        about: Mapping[str, Any] = remote.fs.info(remote.path)
    except FileNotFoundError as error:
        if no_bucket(error):
            raise
        return None
    return about


def is_cube_place(source: str | Path) -> bool:
    """Whether a source is where a cube lies, in words of a command line: a folder, or any address."""
    return is_address(source) or is_remote(source) or Path(source).is_dir()
