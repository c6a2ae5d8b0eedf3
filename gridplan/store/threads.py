"""Many small pieces of work side by side, in order: bounded in flight, let go of at the first failure or interrupt."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event
from typing import TypeVar

from gridplan.store.place import is_remote

__all__ = ["default_workers", "readers_of", "side_by_side"]

T = TypeVar("T")
R = TypeVar("R")

REQUESTS = 16
"""Files of an object store that are read at once (policy): a thread waits for the network, not for a core."""

_MOST_TOGETHER, _TURNS = 64, 8
"""Pieces that are handed to a thread at once, which costs as much as a small one takes, and how often each thread gets
some at the least, so that all end together (policy)."""

_POLL_S = 0.2
"""How often the waiting thread looks up, so that Ctrl-C is heard while others are inside long calls."""


def default_workers() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def readers_of(folder: Path) -> int:
    """Threads that read files of a folder or of a place in an object store at once."""
    return REQUESTS if is_remote(folder) else default_workers()


def side_by_side(function: Callable[[T], R], items: Sequence[T], threads: int) -> Iterator[R]:
    """What `function` gives for each of `items`, in their order.

    >>> list(side_by_side(abs, [-1, 2, -3], threads=2))
    [1, 2, 3]
    """
    together = max(1, min(_MOST_TOGETHER, len(items) // (threads * _TURNS)))
    stop = Event()

    def some(first: int) -> list[R]:
        return [function(item) for item in items[first : first + together] if not stop.is_set()]

    with ThreadPoolExecutor(threads, thread_name_prefix="gridplan-read") as pool:
        running: deque[Future[list[R]]] = deque()
        try:
            for first in range(0, len(items), together):
                running.append(pool.submit(some, first))
                if len(running) > 2 * threads:
                    yield from _result(running.popleft())
            while running:
                yield from _result(running.popleft())
        finally:
            stop.set()
            for future in running:
                future.cancel()


def _result(future: Future[list[R]]) -> list[R]:
    while not future.done():
        wait([future], timeout=_POLL_S)
    return future.result()
