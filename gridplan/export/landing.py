"""Where an export lands: new files and folders, whole or not at all, never over anything that is not an export."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from gridplan.errors import StoreError
from gridplan.store.files import check_name, discard, land, make_folder, store_errors
from gridplan.store.inside import refuse_inside_cube

__all__ = ["check_free", "new_file", "new_folder"]


def check_free(
    path: Path, force: bool, ours: Callable[[Path], bool] = lambda path: path.is_file(), folder: bool = False
) -> None:
    """Refuse a path where something is, but for an export of the same kind (`ours`) with `force`, and for an empty
    folder where one is due.

    Raises StoreError, also for a path in the folder of a cube, and for a name that is no text.
    """
    check_name(path)
    if not path.parent.is_dir():
        raise StoreError(f"{path}: cannot be written: there is no folder {path.parent}")
    refuse_inside_cube(path)
    with store_errors("read", path):
        if not path.exists() and not path.is_symlink():
            return
        if folder and path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
            return
        if path.is_symlink() or not ours(path):
            raise StoreError(f"{path} is not an export of this kind; give another name")
    if not force:
        raise StoreError(f"{path} is already there; replace it with --force or give another name")


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A temporary name to write to, which becomes `path`. Raises StoreError for a disk that refuses."""
    temporary = _own_name(path, "tmp")
    with store_errors("write", path):
        try:
            yield temporary
        except BaseException:
            discard(temporary)
            discard(temporary.with_name(f"{temporary.name}.wal"))
            raise
        land(temporary, path)


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder to write to, which becomes `path` and takes the place of what was there.

    Raises StoreError for a disk that refuses; then, and on an interrupt, `path` is as it was.
    """
    temporary, old = _own_name(path, "tmp"), _own_name(path, "old")
    with store_errors("write", path):
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


def _own_name(path: Path, ending: str) -> Path:
    """A hidden name beside `path` that no other process writes to; what killed ones left under theirs is removed."""
    path = path.absolute()
    for left in path.parent.glob(f".{_plain(path.name)}.*.{ending}"):
        number = left.name[len(path.name) + 2 : -len(ending) - 1]
        if number.isdecimal() and not _lives(int(number)):
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() and not left.is_symlink() else discard(left)
    return path.with_name(f".{path.name}.{os.getpid()}.{ending}")


def _plain(name: str) -> str:
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)


def _lives(process: int) -> bool:
    """Whether a process is there, or may be. Nobody is asked on Windows, where the question would end it."""
    if os.name == "nt":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
