"""Where errors of predicted TPOT lie: by concurrency, and with one constant of a system's own.

The second asks what a handful of measurements buys. The base are constants that were fitted without the row's group of
model, GPU and engine (`compare_latency.left_out`). On them comes one factor for each GPU, engine, weight format, dense
or MoE: the median of measured over predicted TPOT among rows with other lengths than the predicted one has, so no row
is in its own factor. Lengths, not models, are left out there, because most of these systems ran a single model.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from compare_latency import errors
from latency_model import catalog_constants, closed_loop_times, steps_of
from latency_rows import Rows

__all__ = ["decile_lines", "deciles", "one_constant", "shipped_tpot"]

PARTS = 10


def shipped_tpot(rows: Rows, end: str = "best") -> np.ndarray:
    """TPOT of every row with the shipped constants [s]."""
    return closed_loop_times(rows, steps_of(rows, catalog_constants(rows, end)))[0]


def deciles(concurrency: np.ndarray) -> list[np.ndarray]:
    """Masks of about a tenth of the rows each, in order of concurrency; rows that are equal stay together."""
    values, counts = np.unique(concurrency, return_counts=True)
    before = np.cumsum(counts) - counts
    part = np.minimum((before + counts / 2.0) * PARTS / len(concurrency), PARTS - 1).astype(int)
    masks = [np.isin(concurrency, values[part == number]) for number in range(PARTS)]
    return [mask for mask in masks if mask.any()]


def decile_lines(rows: Rows) -> Iterator[str]:
    """One line for each tenth of the rows by requests in flight: errors of TPOT with shipped constants [%]."""
    predicted, measured, moe = shipped_tpot(rows), rows.of("tpot_s"), rows.is_moe
    at_once = rows.of("concurrency")
    yield "| in flight | dense n | mean | median | bias | MoE n | mean | median | bias |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for mask in deciles(at_once):
        cells = [f"{at_once[mask].min():g} to {at_once[mask].max():g}"]
        for kind in (mask & ~moe, mask & moe):
            off = errors(predicted[kind], measured[kind]) if kind.any() else None
            figures = (f"{off[0]:.1f}", f"{off[1]:.1f}", f"{off[2]:+.1f}") if off else ("-", "-", "-")
            cells += [str(int(kind.sum())), *figures]
        yield "| " + " | ".join(cells) + " |"


def one_constant(rows: Rows, base: np.ndarray) -> np.ndarray:
    """TPOT of every row by `base` times one factor of its GPU, engine and weight format [s]."""
    measured = rows.of("tpot_s")
    named = zip(rows.points, rows.is_moe, strict=True)
    system = np.array([f"{p.gpu} {p.engine} {p.weight_dtype} {moe}" for p, moe in named], dtype=object)
    lengths = np.array([f"{p.prompt_tokens}/{p.output_tokens}" for p in rows.points], dtype=object)
    found = base.copy()
    for name in set(system):
        mine = system == name
        for pair in set(lengths[mine]):
            others = mine & (lengths != pair)
            if others.any():
                found[mine & (lengths == pair)] *= float(np.median(measured[others] / base[others]))
    return found
