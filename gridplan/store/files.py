"""Files that are either whole or not there: temporary name, fsync, rename; and what a failing disk says."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridplan.errors import RefusedError, StoreError
from gridplan.store.place import is_remote
from gridplan.store.refusals import is_of_a_store, refusal

__all__ = [
    "FileRecord",
    "Receipt",
    "bytes_of",
    "check_name",
    "discard",
    "hashed",
    "in_hand",
    "land",
    "landing",
    "make_folder",
    "sha256_of",
    "store_errors",
    "sync_folder",
    "whole_name",
    "write_bytes",
    "write_text",
]

MEANING = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EEXIST: "a file is in the way",
    errno.ENOTDIR: "a file is in the way of a folder",
    errno.EISDIR: "a folder is in the way of a file",
    errno.EFBIG: "the file is too large for this file system",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EMFILE: "too many open files",
}
"""Plain words for what an operating system answers (fact, POSIX errno)."""

_OF_THIS_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE)
"""What no library makes of the answer of a store."""

READ_BYTES = 2**20
"""Bytes that are read and hashed at once (policy)."""

_TEMPORARY = re.compile(r"\.(.+?)(?:\.[0-9a-f]{8})?\.tmp")

_MOST_OF_PUT = 5 * 2**30
"""Bytes of one PUT request to S3 at most (fact: Amazon S3 API reference, PutObject)."""


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A finished file: its path inside the folder, rows, size and hash."""

    file: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """A finished part: its number, path inside the folder, rows, size and SHA-256."""

    number: int
    file: str
    rows: int
    bytes: int
    sha256: str

    @property
    def record(self) -> FileRecord:
        """The receipt without its number."""
        return FileRecord(self.file, self.rows, self.bytes, self.sha256)


def check_name(path: Path) -> None:
    """Refuse a path that is no text, which libraries in other languages do not take. Raises StoreError."""
    if any("\ud800" <= sign <= "\udfff" for sign in str(path)):
        raise StoreError(f"{str(path)!a}: a name in UTF-8 is due")


@contextlib.contextmanager
def store_errors(action: str, path: Path) -> Iterator[None]:
    """Turn what the operating system or a store answers inside the block into one StoreError, of `action` and `path`.

    Raises RefusedError where an object store refuses.
    """
    try:
        yield
    except OSError as error:
        if is_remote(path):
            raise _not_sent(action, path, error) from error
        # Arrow raises plain OSError without errno for damaged files; its text then says what is wrong.
        told = MEANING.get(error.errno or 0) or error.strerror
        raise StoreError(f"cannot {action} {path}: {told or error}") from error
    except Exception as error:
        # Libraries of object stores have errors of their own for what no file system knows: no credentials, no network.
        if not is_remote(path) or not is_of_a_store(error):
            raise
        raise refusal(action, path, error) from error


def _not_sent(action: str, path: Path, error: OSError) -> StoreError:
    """Why a file did not come to a store: the disk of this machine, on which it is written first, or the store."""
    if error.errno in _OF_THIS_DISK and error.__cause__ is None:
        where = tempfile.gettempdir()
        return RefusedError(f"cannot {action} {path}: {MEANING[error.errno]}: files are written to {where} first")
    return refusal(action, path, error)


def discard(path: Path) -> None:
    """Remove a file that is of no use any more; what hinders that is no error of its own."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def in_hand(path: Path) -> Iterator[Path]:
    """Give a temporary name for `path` to write to, which is removed on any failure, an interrupt included.

    The name is hidden and does not end in `.parquet`, so no reader of the folder picks up half a file. No two writers
    have the same: of a folder that machines share, a worker that is taken for lost may write beside its successor.
    What goes to an object store is written on this machine first.
    """
    temporary = _here(path) if is_remote(path) else path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    with _gone_on_failure(temporary):
        yield temporary


@contextlib.contextmanager
def _gone_on_failure(temporary: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        discard(temporary)
        raise


def whole_name(name: str) -> str:
    """The name that a file in hand will have once it is whole; any other name as it is.

    >>> whole_name(".part-00001.parquet.0a1b2c3d.tmp"), whole_name("part-00001.parquet")
    ('part-00001.parquet', 'part-00001.parquet')
    """
    found = _TEMPORARY.fullmatch(name)
    return found[1] if found else name


def land(temporary: Path, path: Path) -> None:
    """Force a whole file to disk and rename it to `path`; on any failure it is removed and `path` is as it was.

    To an object store it is sent in one piece, after which it is there.
    """
    if is_remote(path):
        try:
            _send(path, temporary)
        finally:
            discard(temporary)
        return
    with _gone_on_failure(temporary):
        with temporary.open("r+b") as written:
            os.fsync(written.fileno())
        temporary.replace(path)


@contextlib.contextmanager
def landing(path: Path) -> Iterator[Path]:
    """Give a temporary name to write to; on success the file is forced to disk and renamed to `path`."""
    with in_hand(path) as temporary:
        yield temporary
    land(temporary, path)


def _here(path: Path) -> Path:
    """A file of this machine that stands for one of an object store until it is whole."""
    handle, name = tempfile.mkstemp(prefix="gridplan-", suffix=f"-{path.name}.tmp")
    os.close(handle)
    return Path(name)


def _send(path: Path, temporary: Path) -> None:
    """Put a file where `path` says, in one request, or in pieces that appear together: no reader sees a part of it."""
    remote: Any = path
    # Left to itself s3fs sends from 100 MiB on in pieces, several at once, each a copy in memory.
    whole = {"chunksize": _MOST_OF_PUT} if "s3" in _protocols(remote.fs) else {}
    remote.fs.pipe_file(remote.path, temporary.read_bytes(), **whole)
    remote.fs.invalidate_cache()


def _protocols(files: Any) -> tuple[str, ...]:
    return (files.protocol,) if isinstance(files.protocol, str) else tuple(files.protocol)


def write_text(path: Path, text: str) -> None:
    """Write a small UTF-8 file, whole or not at all. Raises StoreError."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a small file, whole or not at all. Raises StoreError."""
    with store_errors("write", path), landing(path) as temporary:
        temporary.write_bytes(content)


def make_folder(path: Path) -> None:
    """Make a folder and its parents; one that exists is fine. Raises StoreError."""
    if is_remote(path):
        return  # there are none
    with store_errors("make the folder", path):
        path.mkdir(parents=True, exist_ok=True)


def sync_folder(path: Path) -> None:
    """Force the names in a folder to disk, so that a renamed file survives a power loss."""
    # Windows opens no folders; its file systems journal renames themselves. An object store has no folders.
    if os.name == "nt" or is_remote(path):
        return
    with store_errors("sync", path):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def bytes_of(folder: Path, file: str) -> bytes:
    """The content of a file of a folder, or of a place in an object store, by its path from there."""
    if is_remote(folder):
        return (folder / file).read_bytes()
    with open(f"{folder}/{file}", "rb", buffering=0) as content:
        return content.read()


def hashed(folder: Path, file: str) -> tuple[str, bytes]:
    """The SHA-256 of a file, as `bytes_of` finds it, and its last bytes: a megabyte, or all of a smaller one."""
    digest, before, last = hashlib.sha256(), b"", b""
    # Paths and buffers cost more than the hash of a small file, and a cube may have very many of these.
    with (folder / file).open("rb") if is_remote(folder) else open(f"{folder}/{file}", "rb", buffering=0) as content:
        while piece := content.read(READ_BYTES):
            digest.update(piece)
            before, last = last, piece
    return digest.hexdigest(), before + last
