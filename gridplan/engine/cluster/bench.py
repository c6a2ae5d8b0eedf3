"""What a thread of a worker keeps of a run between two of its tasks: inputs and evaluators, made once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from gridplan import __version__
from gridplan.errors import StoreError

__all__ = ["check_version", "kept"]

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
