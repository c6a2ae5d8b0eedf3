"""Files of a place in an object store, asked so that "it is not there" and "the store does not say" stay two answers.

`is_file` of fsspec says no to both: a run that is resumed would begin anew because a store was busy for a moment.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gridplan.errors import RefusedError
from gridplan.store.files import store_errors
from gridplan.store.place import is_remote, sizes_below
from gridplan.store.refusals import no_bucket

__all__ = ["content_of", "is_there", "remove_file", "remove_files"]


def content_of(path: Path) -> bytes | None:
    """A small file as it stands; None where there is none. Raises StoreError."""
    with store_errors("read", path):
        if not is_remote(path):
            return path.read_bytes() if path.is_file() else None
        remote: Any = path
        try:
            # From its first byte on: a range is read in one request, and answered with a code where it is refused.
            content: bytes = remote.fs.cat_file(remote.path, start=0)
        except FileNotFoundError as error:
            if no_bucket(error):
                raise
            return None
        return content


def is_there(path: Path) -> bool:
    """Whether there is a file of that name. Raises StoreError where a store does not say."""
    if not is_remote(path):
        return path.is_file()
    remote: Any = path
    with store_errors("read", path), contextlib.suppress(FileNotFoundError):
        return bool(remote.fs.info(remote.path)["type"] == "file")
    return False


def remove_file(path: Path) -> None:
    """Remove one file; one that is not there is fine. Raises StoreError."""
    with store_errors("remove", path):
        if not is_remote(path):
            path.unlink(missing_ok=True)
            return
        remote: Any = path
        # A request of its own: what is refused within one for many is not told by the libraries.
        with contextlib.suppress(FileNotFoundError):
            remote.fs.rm_file(remote.path)
        remote.fs.invalidate_cache()


def remove_files(folder: Path, names: Sequence[str]) -> None:
    """Remove these files of a place in an object store, and look whether they have gone. Raises StoreError."""
    if not names:
        return
    remote: Any = folder
    with store_errors("write to", folder):
        remote.fs.rm([str((remote / name).path) for name in names])
        stayed = sorted(set(names) & set(sizes_below(folder)))
    if stayed:
        rest = f" and {len(stayed) - 1} more" if len(stayed) > 1 else ""
        raise RefusedError(f"cannot remove {folder / stayed[0]}{rest}: the store kept it; check what is allowed there")
