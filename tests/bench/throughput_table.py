"""Every drained and closed-loop run beside what gridplan predicts of it, and the summary by group."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from drained_bound import bound_tokens_per_s
from drained_model import Known, closed_loop_tokens_per_s, known, slots, tokens_per_s
from throughput_rows import Run, Sorted, sort_rows

__all__ = ["Compared", "compare", "compare_all", "copies", "csv_text", "error_row", "groups"]


@dataclass(frozen=True)
class Compared:
    """One run and its prediction; all throughputs of prompt and output tokens [tokens/s].

    predicted is 0 where gridplan finds no room for the cache. least and most are the predictions with the high and the
    low end of every constant, loop the cube's figure of a closed loop with as many requests in flight, bound the most
    that peaks and memory allow and bound_by what sets it.
    """

    run: Run
    at_once: float
    predicted: float
    least: float
    most: float
    loop: float
    bound: float
    bound_by: str
    fits: bool
    tpot_s: float

    @property
    def error(self) -> float:
        """Predicted over measured, less 1 [%]."""
        return 100.0 * (self.predicted / self.run.tokens_per_s - 1.0)

    @property
    def refused(self) -> bool:
        return self.predicted == 0.0

    @property
    def breaks_bound(self) -> bool:
        return self.run.tokens_per_s > self.bound


def _refuses(run: Run, replica: Known) -> bool:
    return math.isnan(replica["closed_loop_output_tokens_per_s"])


def compare(run: Run) -> Compared:
    """Predict one run with the shipped constants and with both ends of them."""
    best, low, high = (known(run, end) for end in ("best", "low", "high"))
    refused = _refuses(run, best)
    figures = [0.0 if refused else tokens_per_s(run, replica) for replica in (best, high, low)]
    bound, by = bound_tokens_per_s(run, best)
    return Compared(
        run,
        0.0 if refused else slots(run, best),
        *figures,
        0.0 if refused else closed_loop_tokens_per_s(run, best),
        bound,
        by,
        best["weights_bytes_per_gpu"] < best["gpu_memory_bytes"],
        best["closed_loop_tpot_s"],
    )


@lru_cache(maxsize=1)
def compare_all() -> tuple[Sorted, tuple[Compared, ...], tuple[Compared, ...]]:
    """The sorted rows, and the drained and the closed-loop ones compared."""
    rows = sort_rows()
    return rows, tuple(map(compare, rows.drained)), tuple(map(compare, rows.closed))


def groups(rows: Sequence[Compared], key: Callable[[Run], str]) -> dict[str, list[Compared]]:
    """Rows by a key, in its order."""
    found: dict[str, list[Compared]] = {}
    for one in rows:
        found.setdefault(key(one.run), []).append(one)
    return dict(sorted(found.items()))


def error_row(name: str, rows: Sequence[Compared]) -> str:
    """A line: rows, median of the absolute and of the signed error, share between both ends, the closed loop's [%]."""
    off = np.array([one.error for one in rows])
    loop = np.array([100.0 * (one.loop / one.run.tokens_per_s - 1.0) for one in rows])
    inside = np.mean([one.least <= one.run.tokens_per_s <= one.most for one in rows])
    figures = (f"{np.median(np.abs(off)):.0f}", f"{np.median(off):+.0f}", f"{inside:.0%}", f"{np.median(loop):+.0f}")
    return f"| {name} | {len(rows)} | " + " | ".join(figures) + " |"


def copies(rows: Sequence[Compared]) -> list[tuple[Run, Run]]:
    """Pairs of rows that print the same throughput to all digits on different GPUs."""
    by_figure = groups(rows, lambda run: f"{run.tokens_per_s}")
    pairs = (sorted(found, key=lambda one: one.run.gpu) for found in by_figure.values() if len(found) == 2)
    return [(a.run, b.run) for a, b in pairs if a.run.gpu != b.run.gpu and a.run.model == b.run.model]


_COLUMNS = (
    *("row", "use", "model", "gpu", "engine", "weight_dtype", "kv_dtype", "tp", "pp", "dp", "ep", "prompt_tokens"),
    *("output_tokens", "output_law", "requests", "at_once", "measured_tokens_per_s", "predicted_tokens_per_s"),
    *("error_percent", "least_tokens_per_s", "most_tokens_per_s", "closed_loop_tokens_per_s", "bound_tokens_per_s"),
    *("bound_by", "note", "source"),
)


def _csv_row(one: Compared) -> tuple[object, ...]:
    run = one.run
    return (
        *(run.row, run.kind, run.model, run.gpu, run.engine, run.weight_dtype, run.kv_dtype),
        *(run.tensor_parallel, run.pipeline_parallel, run.data_parallel, run.expert_parallel),
        *(f"{run.prompt_tokens:g}", f"{run.output_tokens:g}", "exponential" if run.output_scv else "equal"),
        *(f"{run.requests:g}", f"{one.at_once:g}", f"{run.tokens_per_s:.1f}", f"{one.predicted:.1f}"),
        *(f"{one.error:.1f}", f"{one.least:.1f}", f"{one.most:.1f}", f"{one.loop:.1f}", f"{one.bound:.0f}"),
        *(one.bound_by, run.assumed),
    )


def csv_text() -> str:
    """Every row of the table once: compared, swept, or left out with the reason."""
    rows, drained, closed = compare_all()
    blank = [""] * (len(_COLUMNS) - 4)

    def lines() -> Iterator[tuple[object, ...]]:
        found = [*map(_csv_row, (*drained, *closed))]
        found += [(row["id"], "sweep", *blank, "") for row in rows.sweeps]
        found += [(row, "left out", *blank, reason) for row, reason in rows.left_out]
        yield from ((*row, rows.sources[str(row[0])]) for row in found)

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows(lines())
    return text.getvalue()
