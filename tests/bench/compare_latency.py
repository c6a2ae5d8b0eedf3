"""Predicted against measured: TPOT and TTFT of replicas at fixed concurrency, by group, and on what was left out.

    python tests/bench/compare_latency.py [--truth FOLDER] [-o FILE]

Prints Markdown tables: the shipped constants on all measured points, then constants fitted again without each group of
model, GPU and engine, applied to that group. See latency_model.py for the law of the closed loop.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from fit_latency import fit, groups_of
from latency_model import catalog_constants, closed_loop_times, steps_of
from latency_rows import SHARED, Rows, closed_loop, fixed_concurrency, load_rows
from scipy.optimize import least_squares

__all__ = ["errors", "first_tokens", "left_out", "summary", "within"]


def errors(predicted: np.ndarray, measured: np.ndarray) -> tuple[float, float, float]:
    """Mean and median of the absolute error, and the mean of the signed one [%]."""
    off = 100.0 * (predicted / measured - 1.0)
    return float(np.abs(off).mean()), float(np.median(np.abs(off))), float(off.mean())


def left_out(rows: Rows) -> np.ndarray:
    """TPOT of every row by constants that were fitted without its group [s]."""
    groups, found = groups_of(rows), np.empty(len(rows))
    for group in sorted(set(groups)):
        mine = groups == group
        found[mine] = fit(rows.where(~mine)).predict(rows.where(mine))[0]
    return found


def summary(rows: Rows) -> list[tuple[str, int, tuple[float, float, float], tuple[float, float, float], float]]:
    """By group and in sum: rows, errors of TPOT with shipped constants, the same left out, error of TTFT."""
    tpot, ttft = closed_loop_times(rows, steps_of(rows, catalog_constants(rows)))
    unseen, measured, first = left_out(rows), rows.of("tpot_s"), rows.of("ttft_s")
    groups, moe = groups_of(rows), rows.is_moe
    masks = [("all", np.ones(len(rows), dtype=bool)), ("dense", ~moe), ("mixture of experts", moe)]
    masks += [(group, groups == group) for group in sorted(set(groups))]
    return [
        (
            *(name, int(mask.sum()), errors(tpot[mask], measured[mask]), errors(unseen[mask], measured[mask])),
            errors(ttft[mask], first[mask])[2],
        )
        for name, mask in masks
    ]


def within(rows: Rows) -> tuple[float, float]:
    """Share of measured TPOT between predictions with both ends of the constants, and the median ratio of these [1]."""
    low, high = (closed_loop_times(rows, steps_of(rows, catalog_constants(rows, end)))[0] for end in ("low", "high"))
    measured = rows.of("tpot_s")
    return float(((low <= measured) & (measured <= high)).mean()), float(np.median(high / low))


def first_tokens(rows: Rows) -> tuple[float, float, tuple[float, float, float]]:
    """Server time [s] and share of a wave [1] that measured TTFT asks for beside the steps, and the errors then.

    TTFT = steps + r + w (N - 1) / 2 s: r is the server's own time before a prompt reaches a step, w the share of
    requests that wait in a wave of N equal ones, as the first N of every run do.
    """
    steps, measured, waiting = steps_of(rows, catalog_constants(rows)), rows.of("ttft_s"), rows.of("concurrency") - 1.0
    own, alone = steps.multiplied + steps.chunks * steps.chunk_overhead, closed_loop_times(rows, steps)[1]

    def predicted(x: np.ndarray) -> np.ndarray:
        return np.asarray(alone + np.exp(x[0]) + np.exp(x[1]) * waiting / 2.0 * own)

    found = least_squares(lambda x: np.log(predicted(x) / measured), np.log([0.05, 0.1]), loss="soft_l1", f_scale=0.3)
    return float(np.exp(found.x[0])), float(np.exp(found.x[1])), errors(predicted(found.x), measured)


def lines(rows: Rows) -> Iterable[str]:
    yield "| rows | n | TPOT mean | median | bias | TPOT left out: mean | median | bias | TTFT bias |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name, count, seen, unseen, first in summary(rows):
        figures = " | ".join(f"{value:.1f}" for value in (*seen[:2],))
        others = " | ".join(f"{value:.1f}" for value in unseen[:2])
        yield f"| {name} | {count} | {figures} | {seen[2]:+.1f} | {others} | {unseen[2]:+.1f} | {first:+.0f} |"
    server_s, wave, off = first_tokens(rows)
    share, ratio = within(rows)
    yield ""
    yield (
        f"Of all measured TPOT, {share:.0%} lie between the predictions with the low and the high end of every "
        f"constant, which are a factor of {ratio:.2f} apart in the median."
    )
    yield ""
    yield (
        f"TTFT as measured asks for {server_s * 1e3:.0f} ms of the server's own time and {wave:.0%} of the requests "
        f"in waves of N prompts; with these two numbers, fitted to the same rows, its error is {off[0]:.0f}% (median "
        f"{off[1]:.0f}%, bias {off[2]:+.0f}%)."
    )


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--truth", type=Path, default=SHARED, help="folder of the measured points")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args(arguments)
    text = "\n".join(lines(load_rows([*closed_loop(options.truth), *fixed_concurrency(options.truth)])))
    if options.output:
        options.output.write_text(text + "\n", encoding="utf-8")
    else:
        sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
