"""The way to a scheduler of dask.distributed: one that runs already, or one for this command on this machine."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from gridplan.engine.cluster.current import client_in_use
from gridplan.engine.workers import default_workers
from gridplan.errors import ContractError, MissingExtraError, Problem, StoreError

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["check_answers", "check_scheduler", "connected", "needs_distributed"]

CONNECT_S = 10
"""Seconds after which a scheduler that does not answer is said not to (policy)."""

SILENT_S = 60.0
"""Seconds of silence after which a process of this machine is started anew (policy): frozen, or without the processor.

It is looked for once in that time, so it takes at most twice as long. Distributed's own five minutes are for networks.
"""

_NOTHING = logging.CRITICAL + 1
"""A level that no message of a library has."""

_LOCAL = re.compile(r"local(?::([1-9][0-9]{0,3}))?")
_ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://\S+")


def needs_distributed() -> None:
    """Refuse where dask.distributed is not installed. Raises MissingExtraError."""
    if find_spec("distributed") is None:
        raise MissingExtraError("a run on a cluster needs dask and distributed", "distributed")


def check_scheduler(text: str) -> None:
    """Refuse what is neither `local`, `local:N` nor an address. Raises ContractError.

    >>> check_scheduler("local:4")
    """
    if not (_LOCAL.fullmatch(text) or _ADDRESS.fullmatch(text)):
        said = f"{text}: tcp://HOST:8786 is due, or local, or local:N for N processes on this machine"
        raise ContractError([Problem(said, key="scheduler")])


def check_answers(text: str) -> None:
    """Refuse a scheduler that does not answer, before anything is written. Raises as `connected` does."""
    if client_in_use(text) is None and not _LOCAL.fullmatch(text):
        with _quiet():
            _ask_who(text)


@contextmanager
def connected(text: str) -> Iterator[Client]:
    """A client of the scheduler at an address, or of one with N processes of this machine that ends with the block.

    Inside of `cluster` with the same text it is that one, which stays.

    Raises
    ------
    ContractError
        For a text that is none of these.
    StoreError
        When no scheduler answers.
    MissingExtraError
        When dask.distributed is not installed.
    """
    check_scheduler(text)
    needs_distributed()
    if (held := client_in_use(text)) is not None:
        yield held
        return
    local = _LOCAL.fullmatch(text)
    with ExitStack() as ends:
        ends.enter_context(_quiet())
        if local is None:
            _ask_who(text)
        where = text if local is None else ends.enter_context(_local_cluster(int(local[1] or default_workers())))
        yield ends.enter_context(_client(where, text))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what libraries log about lost machines off the terminal: the run says it in one line."""
    import distributed  # noqa: F401 # which gives its loggers levels of their own when it is imported

    known = ("distributed", "asyncio", "tornado")
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in known]
    loggers = [logging.getLogger(name) for name in {*known, *names}]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(_NOTHING)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _ask_who(address: str) -> None:
    """Refuse an address at which something else listens: a client would wait for its answer without end.

    Raises StoreError.
    """
    with ThreadPoolExecutor(1) as aside:  # a notebook has a loop of its own in this thread
        try:
            found = aside.submit(lambda: asyncio.run(asyncio.wait_for(_identity(address), CONNECT_S))).result()
        except Exception as error:
            said = str(error) or f"no answer within {CONNECT_S} s"
            raise StoreError(f"no scheduler answers at {address} ({said})") from None
    if found.get("type") != "Scheduler":
        raise StoreError(f"no scheduler answers at {address}: it is that of a {str(found.get('type')).lower()}")


async def _identity(address: str) -> Any:
    from distributed.core import rpc
    from distributed.security import Security

    async with rpc(address, timeout=CONNECT_S, connection_args=Security().get_connection_args("client")) as there:
        return await there.identity()


@contextmanager
def _client(where: Any, said: str) -> Iterator[Client]:
    from distributed import Client

    try:
        client = Client(where, timeout=CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError, ImportError, RuntimeError) as error:
        raise StoreError(f"no scheduler answers at {said} ({error})") from None
    try:
        with client.as_current():
            yield client
    finally:
        client.close(timeout=CONNECT_S)


@contextmanager
def _local_cluster(processes: int) -> Iterator[Any]:
    """A scheduler and processes of this machine, with a folder for temporary files that goes with them.

    A process that has not let go of its part when the run ends is killed, and removes no file itself.
    """
    from distributed import LocalCluster

    with TemporaryDirectory(prefix="gridplan-", ignore_cleanup_errors=True) as scratch:
        make = partial(
            LocalCluster,
            n_workers=processes,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit=None,
            local_directory=scratch,
            env={"TMPDIR": scratch},
            # Without a dashboard it would still take a port that others want, and warn where they have it.
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0", "worker_ttl": f"{SILENT_S}s"},
            silence_logs=_NOTHING,  # of these processes too, which write where this one does
        )
        try:
            cluster = _whole(make)
        except RuntimeError as error:
            said = 'a program that asks for them is a file, and asks below `if __name__ == "__main__":`'
            raise StoreError(f"{processes} local processes could not be started ({error}): {said}") from None
        with cluster:
            yield cluster


def _whole(make: Callable[[], Any]) -> Any:
    """A cluster that is made even where Ctrl-C comes meanwhile, and ended then: one half made complains at the end."""
    with ThreadPoolExecutor(1) as aside:
        made = aside.submit(make)
        try:
            return made.result()
        except (KeyboardInterrupt, SystemExit):
            with suppress(Exception):
                made.result().close()
            raise
