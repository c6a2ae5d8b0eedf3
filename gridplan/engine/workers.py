"""Work spread over threads: bounded in flight, stopped at the first failure or interrupt."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

from gridplan.store.threads import default_workers

__all__ = ["Stopped", "default_workers", "spread"]

T = TypeVar("T")
R = TypeVar("R")

IN_FLIGHT = 2
"""Tasks handed out per worker beyond those running (policy): enough to keep all busy, few enough to stop quickly."""

POLL_S = 0.2
"""How often the waiting thread looks up, so that Ctrl-C is heard while workers are inside long library calls."""


class Stopped(Exception):
    """Raised inside a task when the work as a whole has been stopped."""


def spread(
    tasks: Iterable[T], make: Callable[[threading.Event], Callable[[T], R]], workers: int
) -> Iterator[tuple[T, R]]:
    """Run a function over `tasks` on `workers` threads and yield (task, result) as they finish, in any order.

    `make(stop)` is called once per thread and returns that thread's own function, which may hold buffers; the function
    should raise `Stopped` when `stop` is set. The first exception of a task stops the others and is raised here; so
    does an interrupt, after every thread has let go of what it was writing.
    """
    stop = threading.Event()
    local = threading.local()

    def run(task: T) -> R:
        if stop.is_set():
            raise Stopped
        if not hasattr(local, "function"):
            local.function = make(stop)
        result: R = local.function(task)
        return result

    remaining = iter(tasks)
    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="gridplan") as pool:
        running: dict[Future[R], T] = {}
        try:
            while True:
                for task in islice(remaining, workers + IN_FLIGHT - len(running)):
                    running[pool.submit(run, task)] = task
                if not running:
                    return
                done, _ = wait(running, timeout=POLL_S, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
        finally:
            # Reached at the end, on the first failure, on an interrupt, and when the caller stops listening.
            stop.set()
            for future in running:
                future.cancel()
