"""A progress bar on stderr: cells, rate and time left, when a person is watching and the run is long."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

__all__ = ["cells_bar"]

LONG_RUN_CELLS = 2_000_000
"""Cells from which a run takes long enough for a bar (policy)."""


@contextlib.contextmanager
def cells_bar(cells: int) -> Iterator[Callable[[int], None] | None]:
    """A function to be told of finished cells, or None where no bar is shown."""
    if cells < LONG_RUN_CELLS or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(),
        TaskProgressColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("cells", total=cells, rate="")

        def advance(done: int) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, advance=done, rate=f"{speed / 1e6:.2f} M cells/s" if speed else "")

        yield advance
