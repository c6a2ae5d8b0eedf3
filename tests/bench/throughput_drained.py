"""Sections of the page of measured throughput on drained runs, the bound of the hardware and rows that are wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from drained_model import known, tokens_per_s
from throughput_table import Compared, copies, error_row, groups
from throughput_text import BOUND, CAUSES, COPIED, DRAINED, REFUSED, WRONG, WRONG_FORMAT, bullet, paragraph

__all__ = ["bound_lines", "drained_lines", "figures", "wrong_lines"]

HEAD = (
    "| runs | n | median of absolute error | median error | between both ends | as a closed loop |",
    "|---|---|---|---|---|---|",
)
BATCHES = (0, 64, 256, 1024, 5000)
"""Edges of requests at once in the summary."""


def _absolute(rows: Sequence[Compared]) -> float:
    return float(np.median([abs(one.error) for one in rows]))


def _judged(rows: Sequence[Compared]) -> list[Compared]:
    """Rows whose weights can be loaded."""
    return [one for one in rows if one.fits]


def figures(drained: Sequence[Compared]) -> dict[str, float]:
    """Medians of the absolute error of all, dense and MoE runs [%]."""
    rows = _judged(drained)
    dense, moe = ([one for one in rows if one.run.is_moe == kind] for kind in (False, True))
    return {"all": _absolute(rows), "dense": _absolute(dense), "moe": _absolute(moe)}


def _summary(rows: Sequence[Compared]) -> Iterator[str]:
    kinds: list[tuple[str, Callable[[Compared], bool]]] = [
        ("all", lambda one: True),
        ("dense", lambda one: not one.run.is_moe),
        ("mixture of experts", lambda one: one.run.is_moe),
        ("pipeline parallel", lambda one: one.run.pipeline_parallel > 1),
        ("all others", lambda one: one.run.pipeline_parallel == 1),
        ("random tokens, equal lengths", lambda one: one.run.output_scv == 0),
        ("ShareGPT and other spread lengths", lambda one: one.run.output_scv > 0),
        ("Hopper and Blackwell of the data centre", lambda one: one.run.gpu[:4] in ("h100", "h200", "b200", "gb20")),
        ("other GPUs", lambda one: one.run.gpu[:4] not in ("h100", "h200", "b200", "gb20")),
    ]
    for low, high in pairwise(BATCHES):
        name = f"{low + 1:,} to {high:,} at once" if high < BATCHES[-1] else f"over {low:,} at once"
        kinds.append((name, lambda one, low=low, high=high: low < one.at_once <= high))  # type: ignore[misc]
    yield from HEAD
    yield from (error_row(name, [one for one in rows if chosen(one)]) for name, chosen in kinds)


def _equal_lengths(rows: Sequence[Compared]) -> str:
    spread = [one for one in rows if one.run.output_scv > 0 and not one.refused]
    runs = [replace(one.run, output_scv=0.0) for one in spread]
    off = [abs(tokens_per_s(run, known(run)) / run.tokens_per_s - 1.0) for run in runs]
    return (
        f"With equal instead of exponential answers the {len(spread)} runs of spread lengths would have a median "
        f"absolute error of {100 * float(np.median(off)):.0f}%, not {_absolute(spread):.0f}%."
    )


def drained_lines(drained: Sequence[Compared]) -> Iterator[str]:
    """The law, the summary, the chart, the table by family, GPU and engine, the causes of what is missed."""
    rows = _judged(drained)
    yield from (*DRAINED.splitlines(), "", *_summary(rows), "")
    yield from (
        *paragraph(_equal_lengths(rows)),
        "",
        "![predicted against measured throughput](throughput.svg)",
        "",
        *HEAD,
    )
    by_system = groups(rows, lambda run: f"{run.family}, {run.gpu}, {run.engine_name}")
    yield from (error_row(name, found) for name, found in by_system.items())
    reached = {
        stages: np.median([one.predicted / one.run.tokens_per_s for one in rows if one.run.pipeline_parallel == stages])
        for stages in (2, 4, 8)
    }
    causes = CAUSES.format(two=reached[2], four=reached[4], eight=reached[8])
    yield from ("", "Where it misses:", "", *causes.splitlines())


def bound_lines(drained: Sequence[Compared]) -> Iterator[str]:
    """The rows above the bound with the cause, and how close the others come."""
    yield from BOUND.splitlines()
    share = np.array([one.run.tokens_per_s / one.bound for one in drained if not one.breaks_bound])
    above = [one for one in drained if one.breaks_bound]
    low, middle, high = np.percentile(share, (5, 50, 95))
    over = sum(one.predicted > one.bound for one in drained)
    yield ""
    yield from paragraph(
        f"{len(above)} of {len(drained)} rows are above it. The others reach {low:.0%} to {high:.0%} of it (5th and "
        f"95th percentile; median {middle:.0%}, most {share.max():.0%}); {over} predictions lie above it."
    )
    yield from ("", "| row | measured | bound | cause |", "|---|---|---|---|")
    for one in above:
        cause = (
            "its weights do not fit its GPUs: the row is of another checkpoint (below)" if not one.fits else "unknown"
        )
        yield f"| {one.run.row} | {one.run.tokens_per_s:,.0f} | {one.bound:,.0f} | {cause} |"


def wrong_lines(drained: Sequence[Compared]) -> Iterator[str]:
    """Rows that cannot be what they say, and runs that gridplan refuses."""
    first = known(next(one.run for one in drained if not one.fits))
    refused = [one for one in drained if one.refused and one.fits]
    names = groups(refused, lambda run: f"{run.model} {run.weight_dtype} on {run.gpu} by {run.engine}")
    pairs = copies(drained)
    blocks = [one for one in drained if one.run in [b for _, b in pairs] and one.run.engine_name == "vllm"]
    yield from (*WRONG.splitlines(), "")
    yield from bullet(
        WRONG_FORMAT.format(weights=first["weights_bytes_per_gpu"] / 1e9, memory=first["gpu_memory_bytes"] / 1e9)
    )
    yield from bullet(
        COPIED.format(
            copies=", ".join(copy.row.removeprefix("gpustack-") for _, copy in pairs),
            predicted=" and ".join(f"{one.predicted:,.0f} ({one.run.prompt_tokens:,.0f})" for one in blocks),
        )
    )
    refusals = ", ".join(f"{len(found)} of {name}" for name, found in names.items())
    peaks = sorted({f"{known(one.run)['activation_bytes_per_gpu'] / 1e9:.1f}" for one in refused}, reverse=True)
    yield from bullet(REFUSED.format(refused=len(refused), refusals=refusals, activation=" or ".join(peaks)))
