"""The files of an object store as DuckDB is given them: of an error it passes on the text, so that has to say all.

What it asks of a file system is little: patterns, sizes, times, and files that are read in pieces.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from fsspec import AbstractFileSystem

from gridplan.store.refusals import is_of_a_store, refusal

__all__ = ["ToldFiles"]


class ToldFiles(AbstractFileSystem):  # type: ignore[misc]
    """A file system of fsspec whose errors are RefusedError or StoreError, with the file and what may be done."""

    def __init__(self, files: Any, **more: Any) -> None:
        super().__init__(**more)
        self._files = files
        self.protocol = files.protocol

    def unstrip_protocol(self, name: str) -> str:
        """The address of a file."""
        return str(self._files.unstrip_protocol(name))

    def info(self, path: str, **more: Any) -> Any:
        """What is known of a file without reading it."""
        with self._told(path):
            return self._files.info(path, **more)

    def ls(self, path: str, detail: bool = True, **more: Any) -> Any:
        """The files of a folder."""
        with self._told(path):
            return self._files.ls(path, detail=detail, **more)

    def glob(self, path: str, maxdepth: int | None = None, **more: Any) -> Any:
        """The files that a pattern means."""
        with self._told(path):
            return self._files.glob(path, maxdepth=maxdepth, **more)

    def modified(self, path: str) -> Any:
        """When a file was written."""
        with self._told(path):
            return self._files.modified(path)

    def open(self, path: str, mode: str = "rb", **more: Any) -> Any:
        """A file to read pieces of."""
        with self._told(path):
            return _ToldFile(self._files.open(path, mode, **more), self, path)

    @contextlib.contextmanager
    def _told(self, path: str) -> Iterator[None]:
        """Say why the store refuses. Raises StoreError."""
        try:
            yield
        except Exception as error:
            if not (isinstance(error, OSError) or is_of_a_store(error)):
                raise
            raise refusal("read", self.unstrip_protocol(path), error) from None


class _ToldFile:
    """An open file, with the same errors."""

    def __init__(self, file: Any, files: ToldFiles, path: str) -> None:
        self._file, self._files, self._path = file, files, path

    def read(self, size: int = -1) -> bytes:
        with self._files._told(self._path):
            content: bytes = self._file.read(size)
            return content

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
