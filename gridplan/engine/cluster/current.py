"""The cluster that is in use: what is planned or read inside a `with` block is so by its workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["client_in_use", "cluster", "scheduler_in_use"]

_in_use: ContextVar[tuple[str, Client] | None] = ContextVar("gridplan_cluster", default=None)


@contextmanager
def cluster(scheduler: str) -> Iterator[None]:
    """Have all that is planned or read inside the block done by the workers of a cluster.

    That is `evaluate`, `reduce`, `run`, `slice_cube` and all that plans cells to choose among them, to stress them or
    to say what drives them; what is one block of cells or less is done here, where it is sooner. The answers are those
    of this process alone. One connection serves the block.

    Parameters
    ----------
    scheduler
        The address of a scheduler of dask.distributed (`tcp://host:8786`), or `local` or `local:4` for processes of
        this machine, which end with the block; a program asks for these below `if __name__ == "__main__":`.

    Raises
    ------
    ContractError
        For a text that is none of these.
    StoreError
        When no scheduler answers; inside the block when it or all workers go away.
    MissingExtraError
        When dask.distributed is not installed.

    >>> import gridplan
    >>> with gridplan.cluster("local:2"):  # doctest: +SKIP
    ...     choice = gridplan.regret(gridplan.load_grid("wide.yaml"), by="model")
    """
    from gridplan.engine.cluster.connect import connected

    with connected(scheduler) as client:
        token = _in_use.set((scheduler, client))
        try:
            yield
        finally:
            _in_use.reset(token)


def scheduler_in_use() -> str | None:
    """The scheduler of the block that this is in."""
    found = _in_use.get()
    return None if found is None else found[0]


def client_in_use(scheduler: str) -> Client | None:
    """The connection to it, where that is the one of the block that this is in."""
    found = _in_use.get()
    return found[1] if found is not None and found[0] == scheduler else None
