"""The parts of one run, planned and written by several threads at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event

from gridplan.chain.graph import Array
from gridplan.engine.blocks import BLOCK_CELLS, BlockEvaluator
from gridplan.engine.bundle import Inputs
from gridplan.engine.columns import Plan
from gridplan.engine.hoist import Shared, hoist
from gridplan.engine.summary import READ, Summary, counted_columns
from gridplan.engine.workers import Stopped, spread
from gridplan.store.blocks import Block, Part, cut
from gridplan.store.files import Receipt
from gridplan.store.parquet import PartWriter, Unlanded, WriteOptions
from gridplan.store.stream import groups_within, read_blocks

__all__ = ["Job", "PartPlanner", "Progress"]

Progress = Callable[[int], None]
"""Told of cells as they are planned, from any thread."""


class Job:
    """The parts of one run, spread over threads; each thread has its own evaluator and its own counts."""

    def __init__(
        self, inputs: Inputs, plan: Plan, target: Path, options: WriteOptions, progress: Progress | None
    ) -> None:
        self.inputs, self.plan, self.target, self.options = inputs, plan, target, options
        self.progress = progress or (lambda _: None)
        self._shared = hoist(inputs, plan)
        self._summaries: list[Summary] = []
        self._failed: Exception | None = None

    def write(self, parts: tuple[Part, ...], kept: Mapping[int, Receipt], workers: int) -> tuple[Receipt, ...]:
        """Write every part that is not `kept`; receipts in the order of the parts."""
        tasks = [(part, kept.get(part.number)) for part in parts]
        # Waiting for the disk is work for a thread of its own: workers go on with their next part meanwhile.
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="gridplan-disk") as disk:
            done = {task[0].number: landed for task, landed in spread(tasks, partial(self._worker, disk), workers)}
            return tuple(done[part.number]() for part in parts)

    def summary(self) -> Summary:
        """Counts of all threads together."""
        total = Summary(self.plan.layout)
        for one in self._summaries:
            total.merge(one)
        return total

    def _worker(
        self, disk: ThreadPoolExecutor, stop: Event
    ) -> Callable[[tuple[Part, Receipt | None]], Callable[[], Receipt]]:
        """The work of one thread: it gives back what waits for the receipt of a part."""
        planner = PartPlanner(self.inputs, self.plan, self.options, self._shared, self.progress, stop)
        self._summaries.append(planner.summary)
        last: list[Future[Receipt]] = []

        def write(task: tuple[Part, Receipt | None]) -> Callable[[], Receipt]:
            part, receipt = task
            if receipt is not None:
                planner.count(self.target, part)
                return lambda: receipt
            begun = planner.begin(self.target, part)
            if last:
                try:
                    last.pop().result()  # a slow disk holds the thread up here, with one part of its own in flight
                except BaseException:
                    begun.discard()
                    raise
            last.append(disk.submit(self._land, begun))
            return last[0].result

        return write

    def _land(self, begun: Unlanded) -> Receipt:
        """Land a part, unless one before it failed: a store that is busy is asked in vain for long, and once is enough.

        Parts land one after the other, on one thread.
        """
        if self._failed is not None:
            begun.discard()
            raise self._failed
        try:
            return begun.land()
        except Exception as error:
            self._failed = error
            raise


class PartPlanner:
    """Plans parts of one cube, writes them and counts what is in them; one for each thread."""

    def __init__(
        self,
        inputs: Inputs,
        plan: Plan,
        options: WriteOptions,
        shared: Shared | None = None,
        progress: Progress | None = None,
        stop: Event | None = None,
    ) -> None:
        self.summary = Summary(plan.layout)
        self._evaluator = BlockEvaluator(inputs, plan, shared)
        self._writer, self._drops = PartWriter(plan.layout, options), options.drop_infeasible
        self._progress, self._stop = progress or (lambda _: None), stop or Event()

    def begin_anew(self) -> None:
        """Count from nothing: what is counted so far belongs to another part."""
        self.summary = Summary(self.summary.layout)

    def begin(self, target: Path, part: Part) -> Unlanded:
        """Plan a part and write it under a temporary name. Raises StoreError, and Stopped once that is asked for."""
        return self._writer.begin(target, part, self._columns)

    def count(self, target: Path, part: Part) -> None:
        """Count a part that stands already, so that a run says the same at its end.

        Its file has what is counted, unless rows were left out of it: then the part is planned once more.
        """
        if self._drops:
            for block in cut(part.block, BLOCK_CELLS):
                deque(self._columns(block), maxlen=0)
            return
        layout = self.summary.layout
        groups = groups_within(layout, part, part.block)
        for block, arrays in read_blocks(target, layout, part, groups, counted_columns(layout)):
            self._go_on()
            self.summary.add(block, arrays)
            self._progress(block.rows)

    def _go_on(self) -> None:
        if self._stop.is_set():
            raise Stopped

    def _columns(self, block: Block) -> Iterator[tuple[str, Array]]:
        self._go_on()
        counted = {}
        for name, values in self._evaluator.columns(block):
            if name in READ:
                counted[name] = values
            yield name, values
        self.summary.add(block, counted)
        self._progress(block.rows)
