"""`--scheduler`, the same on every command whose cells may be planned or read by a cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

__all__ = ["on_scheduler", "scheduler_option"]

F = TypeVar("F", bound=Callable[..., Any])


def scheduler_option(command: F) -> F:
    """Give a command `--scheduler`, as the argument `scheduler`."""
    return click.option(
        "--scheduler",
        default=None,
        metavar="tcp://HOST:PORT|local[:N]",
        help="Work on a dask cluster, or on N processes (gridplan[distributed]).",
    )(command)


def on_scheduler(command: F) -> F:
    """Give a command `--scheduler`, and do all of its work there where it is given."""

    @wraps(command)
    def within(*args: Any, scheduler: str | None, **options: Any) -> Any:
        if scheduler is None:
            return command(*args, **options)
        from gridplan.engine.cluster.current import cluster

        with cluster(scheduler):
            return command(*args, **options)

    return scheduler_option(within)  # type: ignore[return-value]
