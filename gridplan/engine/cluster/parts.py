"""The parts of one run, planned by the workers of a cluster: bounded in flight, tried again, ended in words."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from gridplan.engine.cluster.connect import connected
from gridplan.engine.cluster.recipe import Recipe, plan_part
from gridplan.engine.job import Progress
from gridplan.engine.summary import Summary
from gridplan.errors import GridplanError, StoreError
from gridplan.store.blocks import Part
from gridplan.store.files import Receipt
from gridplan.store.layout import Layout

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["NO_WORKERS_S", "RETRIES", "write_parts"]

RETRIES = 3
"""How often a part is tried again after an error that is not ours to judge (policy): a worker's disk, its memory."""

IN_FLIGHT = 2
"""Parts handed out for each thread of the cluster (policy): one planned, one waiting."""

NO_WORKERS_S = 60.0
"""Seconds without any worker after which a run ends (policy): long enough for a machine to come back."""

POLL_S = 0.5
"""How often the waiting side looks up, so that Ctrl-C and lost machines are noticed."""

_GOES_ON = "the same command with --resume finishes this run"


def write_parts(
    scheduler: str,
    recipe: Recipe,
    layout: Layout,
    parts: Sequence[Part],
    kept: Mapping[int, Receipt],
    progress: Progress | None,
) -> tuple[tuple[Receipt, ...], Summary]:
    """Have every part that is not `kept` planned and written; receipts in the order of the parts, and all counts.

    Raises
    ------
    StoreError
        When no scheduler answers, it or all workers go away, or a part fails however often it is tried; what is
        written stands, and can be resumed.
    ContractError, MissingExtraError
        As of `connected`.
    """
    told, total, done = progress or (lambda _: None), Summary(layout), dict[int, Receipt]()
    with connected(scheduler) as client:
        for part, (receipt, counted) in _planned(client, scheduler, recipe, parts, kept):
            counted.layout = layout
            total.merge(counted)
            done[part.number] = receipt
            told(part.rows)
    return tuple(done[part.number] for part in parts), total


def _planned(
    client: Client, scheduler: str, recipe: Recipe, parts: Sequence[Part], kept: Mapping[int, Receipt]
) -> Iterator[tuple[Part, tuple[Receipt, Summary]]]:
    """Parts as they are done, with as many handed out as the cluster has use for."""
    from distributed import wait

    waiting, alone_since = iter(parts), time.monotonic()
    running: dict[Future, Part] = {}
    try:
        while True:
            threads = _threads(client, scheduler)
            if threads:
                alone_since = time.monotonic()
            elif time.monotonic() - alone_since > NO_WORKERS_S:
                raise StoreError(f"no worker of {scheduler} has been there for {NO_WORKERS_S:.0f} s; {_GOES_ON}")
            for part in islice(waiting, max(0, IN_FLIGHT * max(threads, 1) - len(running))):
                arguments = (recipe, part.number, kept.get(part.number))
                future = client.submit(plan_part, *arguments, pure=False, retries=RETRIES, key=_name(recipe, part))
                running[future] = part
            if not running:
                return
            finished: set[Future] = set()
            with _losses(scheduler), suppress(TimeoutError):
                finished = wait(list(running), timeout=POLL_S, return_when="FIRST_COMPLETED").done
            for future in finished:
                yield running.pop(future), _result(future, scheduler)
    finally:
        with suppress(Exception):  # a scheduler that is gone has nothing to cancel
            client.cancel(list(running), force=True)


def _name(recipe: Recipe, part: Part) -> str:
    """What a dashboard calls the task."""
    return f"gridplan-part-{recipe.key[:12]}-{part.number}"


def _threads(client: Client, scheduler: str) -> int:
    """Threads of all workers that are there. Raises StoreError once the scheduler has gone."""
    if client.status not in ("running", "connecting"):
        raise StoreError(f"the scheduler at {scheduler} went away; {_GOES_ON}")
    return int(sum(client.nthreads().values()))


@contextmanager
def _losses(scheduler: str) -> Iterator[None]:
    """Say in one line that the scheduler has gone, however the client says it."""
    from asyncio import CancelledError as Cancelled
    from concurrent.futures import CancelledError

    from distributed.comm import CommClosedError

    try:
        yield
    except (Cancelled, CancelledError, CommClosedError):
        raise StoreError(f"the scheduler at {scheduler} went away; {_GOES_ON}") from None


def _result(future: Any, scheduler: str) -> tuple[Receipt, Summary]:
    from distributed.scheduler import KilledWorker

    try:
        with _losses(scheduler):
            found: tuple[Receipt, Summary] = future.result()
    except GridplanError:
        raise
    except KilledWorker as error:
        said = f"workers of {scheduler} died again and again while they planned one part ({error.last_worker})"
        raise StoreError(f"{said}: give them more memory, or fewer threads; {_GOES_ON}") from None
    except Exception as error:
        raise StoreError(f"a worker of {scheduler} failed: {error!r}; {_GOES_ON}") from error
    return found
