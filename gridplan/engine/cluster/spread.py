"""Tasks spread over a cluster: bounded in flight, tried again, ended in words."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from gridplan.engine.cluster.connect import connected
from gridplan.errors import GridplanError, RefusedError, StoreError

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["NO_WORKERS_S", "RETRIES", "in_order", "spread_on"]

T = TypeVar("T")

RETRIES = 3
"""How often a task is tried again after an error that is not ours to judge (policy): a worker's disk, its memory."""

IN_FLIGHT = 2
"""Tasks handed out for each thread of the cluster (policy): one under way, one waiting."""

NO_WORKERS_S = 60.0
"""Seconds without any worker after which a run ends (policy): long enough for a machine to come back."""

AHEAD = 8
"""Results for each thread of the cluster that may wait for an earlier one (policy), where their order counts."""

AT_ONCE = 256
"""Results fetched in one request at most (policy)."""

POLL_S = 0.5
"""How often the waiting side looks up, so that Ctrl-C and lost machines are noticed."""


def spread_on(
    scheduler: str,
    function: Callable[..., Any],
    shared: object,
    tasks: Iterable[T],
    arguments: Callable[[T], tuple[Any, ...]],
    name: str,
    goes_on: str = "",
    early: Sized = (),
) -> Iterator[tuple[T, Any]]:
    """Run `function(shared, *arguments(task))` on a cluster and yield (task, result) as they finish, in any order.

    What is `shared` goes to each worker once, `arguments` with each task; `name` is what a dashboard calls the tasks,
    and of one run alone; `goes_on` is said where the run ends before its time; while `early` holds more than `AHEAD`
    allows nothing more is handed out.

    Raises
    ------
    StoreError
        When no scheduler answers, it or all workers go away, or a task fails however often it is tried.
    ContractError, MissingExtraError
        As of `connected`.
    """
    with connected(scheduler) as client:
        work = _Work(client, _Cluster(client, scheduler, goes_on), function, shared, arguments, name)
        yield from _results(work, tasks, early)


def in_order(
    scheduler: str,
    function: Callable[..., Any],
    shared: object,
    tasks: Iterable[T],
    arguments: Callable[[T], tuple[Any, ...]],
    name: str,
) -> Iterator[tuple[T, Any]]:
    """The same in the order of the tasks: results that come too early wait, as many as `AHEAD` allows."""
    early: dict[int, tuple[T, Any]] = {}
    due, numbered = 0, enumerate(tasks)
    results = spread_on(scheduler, function, shared, numbered, lambda own: arguments(own[1]), name, early=early)
    for (number, task), result in results:
        early[number] = (task, result)
        while due in early:
            yield early.pop(due)
            due += 1


class _Cluster:
    """What is known of the machines, and what is said when they are lost."""

    def __init__(self, client: Client, scheduler: str, goes_on: str) -> None:
        self.client, self.scheduler = client, scheduler
        self.ending = f"; {goes_on}" if goes_on else ""
        self._alone_since = time.monotonic()
        self._counted, self._threads = -POLL_S, 0

    def threads(self) -> int:
        """Threads of all workers that are there. Raises StoreError once the scheduler, or all of them, have gone."""
        if self.client.status not in ("running", "connecting"):
            raise self.gone()
        if time.monotonic() < self._counted + POLL_S:
            return self._threads
        self._counted = time.monotonic()
        self._threads = threads = int(sum(self.client.nthreads().values()))
        if threads:
            self._alone_since = time.monotonic()
        elif time.monotonic() - self._alone_since > NO_WORKERS_S:
            raise StoreError(f"no worker of {self.scheduler} has been there for {NO_WORKERS_S:.0f} s{self.ending}")
        return threads

    def gone(self) -> StoreError:
        """The scheduler does not answer any more."""
        return StoreError(f"the scheduler at {self.scheduler} went away{self.ending}")

    @contextmanager
    def losses(self) -> Iterator[None]:
        """Say in one line that the scheduler has gone, however the client says it."""
        from asyncio import CancelledError as Cancelled
        from concurrent.futures import CancelledError

        from distributed.comm import CommClosedError

        try:
            yield
        except (Cancelled, CancelledError, CommClosedError):
            raise self.gone() from None

    def results(self, futures: Sequence[Future]) -> list[Any]:
        """What tasks that are done gave, or why one gave nothing. Raises what it raised, or StoreError."""
        from distributed.scheduler import KilledWorker

        try:
            with self.losses():
                failed = [future for future in futures if future.status != "finished"]
                found: list[Any] = self.client.gather(failed or list(futures))
                return found
        except RefusedError as error:
            # A worker has credentials and a network of its own.
            raise RefusedError(f"on a worker of {self.scheduler}: {error}") from error
        except GridplanError:
            raise
        except KilledWorker as error:
            said = f"workers of {self.scheduler} died again and again at one task ({error.last_worker})"
            raise StoreError(f"{said}: give them more memory, or fewer threads{self.ending}") from None
        except Exception as error:
            raise StoreError(f"a worker of {self.scheduler} failed: {error!r}{self.ending}") from error


@dataclass(frozen=True)
class _Work:
    """What is done with each task, and where."""

    client: Client
    cluster: _Cluster
    function: Callable[..., Any]
    shared: object
    arguments: Callable[[Any], tuple[Any, ...]]
    name: str


def _same(shared: T) -> T:
    """What all tasks are given: a result of its own, so that a cluster makes it anew when it is lost."""
    return shared


def _results(work: _Work, tasks: Iterable[T], early: Sized) -> Iterator[tuple[T, Any]]:
    """Tasks as they are done, with as many handed out as the cluster has use for."""
    client, cluster = work.client, work.cluster
    waiting, number = iter(tasks), 0
    running: dict[Future, T] = {}
    done: SimpleQueue[Future] = SimpleQueue()
    try:
        with cluster.losses():
            shared = client.submit(_same, work.shared, pure=False, retries=RETRIES, key=f"{work.name}-shared")
        while True:
            with cluster.losses():
                threads = max(cluster.threads(), 1)
                room = min(IN_FLIGHT * threads - len(running), AHEAD * threads - len(early))
                for task in islice(waiting, max(0, room)):
                    key, number = f"{work.name}-{number}", number + 1
                    words = work.arguments(task)
                    future = client.submit(work.function, shared, *words, pure=False, retries=RETRIES, key=key)
                    running[future] = task
                    future.add_done_callback(done.put)
            if not running:
                return
            finished = _drained(done)
            for future, result in zip(finished, cluster.results(finished), strict=True) if finished else ():
                yield running.pop(future), result
    finally:
        with suppress(Exception):  # a scheduler that is gone has nothing to cancel
            client.cancel(list(running), force=True)


def _drained(done: SimpleQueue[Future]) -> list[Future]:
    """All that is done by now, waiting for the first; nothing where that takes long."""
    found: list[Future] = []
    try:
        found.append(done.get(timeout=POLL_S))
        while len(found) < AT_ONCE:
            found.append(done.get_nowait())
    except Empty:
        pass
    return found
