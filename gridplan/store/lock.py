"""One run at a time in a folder: an advisory lock that the operating system frees when its process dies."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from gridplan.errors import StoreError
from gridplan.store.files import store_errors

__all__ = ["LOCK", "folder_lock"]

LOCK = ".gridplan.lock"


@contextlib.contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Hold `folder` for one run; the lock file is gone afterwards.

    Raises StoreError when another process holds it. A lock left by a killed process does not count: the operating
    system has freed it.
    """
    path = folder / LOCK
    with store_errors("lock", path):
        handle = _acquire(path)
    try:
        yield
    finally:
        # Removed while held, so that nobody can take a lock file that is about to go.
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        os.close(handle)


def _acquire(path: Path) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        if not _try_lock(handle):
            os.close(handle)
            raise StoreError(f"another run is writing to {path.parent}; wait for it or give another folder")
        # A run that ended between our open and our lock has removed the file: then lock the new one.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
