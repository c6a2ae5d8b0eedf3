"""What a thread of a worker keeps of a run between two of its tasks: inputs and evaluators, made once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from gridplan import __version__
from gridplan.errors import StoreError
from gridplan.store.objects import content_of

__all__ = ["check_seen", "check_version", "kept"]

T = TypeVar("T")

_MOST_KEPT = 2
"""Runs of which a thread keeps something (policy): a cluster may serve two people."""

_threads = threading.local()


def kept(key: str, make: Callable[[], T]) -> T:
    """What this thread has of the run of that key, made where it has nothing yet."""
    known: dict[str, Any] = _threads.__dict__.setdefault("known", {})
    if key not in known:
        while len(known) >= _MOST_KEPT:
            known.pop(next(iter(known)))
        known[key] = make()
    found: T = known[key]
    return found


def check_version(version: str) -> None:
    """Refuse to work for another version: its numbers may be others. Raises StoreError."""
    if version != __version__:
        said = f"a worker has gridplan {__version__}, and this run is of {version}: install the same everywhere"
        raise StoreError(said)


def check_seen(folder: Path, file: str) -> None:
    """Refuse to work in a folder that is not the one of the run: `file` is known to be in it. Raises StoreError."""
    if content_of(folder / file) is None:
        said = f"a worker does not see {folder}: the folder must be one that all workers share, under one path"
        raise StoreError(said)
