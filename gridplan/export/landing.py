"""Where an export lands: new files and folders, whole or not at all, never over anything that is not an export."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from gridplan.errors import StoreError
from gridplan.store.files import discard, landing, make_folder, store_errors

__all__ = ["check_free", "new_file", "new_folder"]


def check_free(path: Path, force: bool, ours: Callable[[Path], bool] = lambda path: path.is_file()) -> None:
    """Refuse a path where something is, but for an export of the same kind (`ours`) with `force`. Raises StoreError."""
    if not path.parent.is_dir():
        raise StoreError(f"{path}: cannot be written: there is no folder {path.parent}")
    with store_errors("read", path):
        if not path.exists() and not path.is_symlink():
            return
        if path.is_symlink() or not ours(path):
            raise StoreError(f"{path} is not an export of this kind; give another name")
    if not force:
        raise StoreError(f"{path} is already there; replace it with --force or give another name")


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A temporary name to write to, which becomes `path`. Raises StoreError for a disk that refuses."""
    with store_errors("write", path), landing(path) as temporary:
        # A killed export may have left one, and a database would be opened and gone on with.
        discard(temporary)
        discard(temporary.with_name(f"{temporary.name}.wal"))
        yield temporary


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder to write to, which becomes `path` and takes the place of what was there.

    Raises StoreError for a disk that refuses; then, and on an interrupt, `path` is as it was.
    """
    temporary, old = path.with_name(f".{path.name}.tmp"), path.with_name(f".{path.name}.old")
    with store_errors("write", path):
        shutil.rmtree(temporary, ignore_errors=True)
        make_folder(temporary)
        try:
            yield temporary
            if path.exists():
                path.rename(old)
            temporary.rename(path)
        except BaseException:
            if old.exists() and not path.exists():
                old.rename(path)
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        shutil.rmtree(old, ignore_errors=True)
