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
from gridplan.engine.hoist import hoist
from gridplan.engine.summary import READ, Summary
from gridplan.engine.workers import Stopped, spread
from gridplan.store.blocks import Block, Part, cut
from gridplan.store.files import Receipt
from gridplan.store.parquet import PartWriter, WriteOptions

__all__ = ["Job", "Progress"]

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
        evaluator, summary = BlockEvaluator(self.inputs, self.plan, self._shared), Summary(self.plan.layout)
        writer = PartWriter(self.plan.layout, self.options)
        self._summaries.append(summary)
        last: list[Future[Receipt]] = []

        def columns(block: Block) -> Iterator[tuple[str, Array]]:
            if stop.is_set():
                raise Stopped
            counted = {}
            for name, values in evaluator.columns(block):
                if name in READ:
                    counted[name] = values
                yield name, values
            summary.add(block, counted)
            self.progress(block.rows)

        def write(task: tuple[Part, Receipt | None]) -> Callable[[], Receipt]:
            part, receipt = task
            if receipt is not None:
                # A part that stands is only counted again, so that the run says the same at its end.
                for block in cut(part.block, BLOCK_CELLS):
                    deque(columns(block), maxlen=0)
                return lambda: receipt
            begun = writer.begin(self.target, part, columns)
            if last:
                try:
                    last.pop().result()  # a slow disk holds the thread up here, with one part of its own in flight
                except BaseException:
                    begun.discard()
                    raise
            last.append(disk.submit(begun.land))
            return last[0].result

        return write
