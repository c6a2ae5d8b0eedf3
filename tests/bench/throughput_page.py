"""The page of how good predicted throughputs are: drained runs, the bound of hardware, closed loops, knees of sweeps.

    python tests/bench/throughput_page.py [FOLDER]

Writes throughput.md, throughput.csv and the two charts into a folder, `reports` by default. Needs the measurements
beside the project.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from compare_latency import errors, first_tokens, left_out, within
from latency_bins import decile_lines, one_constant, shipped_tpot
from latency_model import catalog_constants, closed_loop_times, steps_of
from latency_rows import Rows, closed_loop, load_rows
from scatter_svg import Series, scatter
from sweep_knee import Knee, knees
from throughput_drained import bound_lines, drained_lines, figures, wrong_lines
from throughput_table import Compared, compare_all, csv_text
from throughput_text import ASSUMED, CLOSED, INTRODUCTION, KNEE_CAUSES, KNEES, ONE_CONSTANT, V0_ENGINE, paragraph

__all__ = ["charts", "page"]

BLUE, VERMILION = "#0072b2", "#d55e00"
BAND = 0.3
"""Half width of the band in the charts, the target of drained runs (policy)."""

WITHIN = 0.25
"""The target of knees (policy)."""


def _closed_lines(rows: Rows, tpot: Mapping[str, np.ndarray]) -> Iterator[str]:
    moe, measured = rows.is_moe, rows.of("tpot_s")
    yield from paragraph(CLOSED.format(count=len(rows), dense=int((~moe).sum()), moe=int(moe.sum())))
    yield from ("", "| rows | n | constants | TPOT mean | median | bias | within |", "|---|---|---|---|---|---|---|")
    for name, mask in (("dense", ~moe), ("MoE", moe)):
        share = f"{within(rows.where(mask))[0]:.0%}"
        for what, found in tpot.items():
            off = errors(found[mask], measured[mask])
            cells = (name, int(mask.sum()), what, f"{off[0]:.1f}", f"{off[1]:.1f}", f"{off[2]:+.1f}")
            yield "| " + " | ".join(map(str, (*cells, share if what == "shipped" else "-"))) + " |"
    yield from ("", *ONE_CONSTANT.splitlines(), "")
    ttft = closed_loop_times(rows, steps_of(rows, catalog_constants(rows)))[1]
    off, (server_s, wave, then) = errors(ttft, rows.of("ttft_s")), first_tokens(rows)
    yield from paragraph(
        f"TTFT as predicted: mean error {off[0]:.0f}%, median {off[1]:.0f}%, bias {off[2]:+.0f}%. With "
        f"{server_s * 1e3:.0f} ms of the server's own time and {wave:.0%} of the requests in a wave, fitted to these "
        f"rows, {then[0]:.0f}%, median {then[1]:.0f}%, bias {then[2]:+.0f}%."
    )
    yield from ("", "By requests in flight, a tenth of the rows each as far as equal ones allow:", "")
    yield from decile_lines(rows)


def _loop_lines(closed: Sequence[Compared]) -> Iterator[str]:
    yield "Rows of the table of throughputs with a fixed number in flight; TPOT in ms, throughput in tokens/s:"
    yield ""
    yield "| model | GPU | engine | lengths | in flight | TPOT | predicted | error | throughput | predicted | error |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for one in closed:
        run = one.run
        tpot = ("-", "-", "-")
        if run.tpot_s > 0 and one.tpot_s > 0:
            tpot = (
                f"{run.tpot_s * 1e3:.2f}",
                f"{one.tpot_s * 1e3:.2f}",
                f"{100 * (one.tpot_s / run.tpot_s - 1):+.0f}%",
            )
        loop = (f"{run.tokens_per_s:,.0f}", f"{one.loop:,.0f}", f"{100 * (one.loop / run.tokens_per_s - 1):+.0f}%")
        name = f"{run.model} {run.weight_dtype} TP{run.tensor_parallel}"
        yield "| " + " | ".join((name, run.gpu, run.engine, run.lengths, f"{run.at_once:g}", *tpot, *loop)) + " |"


def _knee_lines(found: Sequence[Knee]) -> Iterator[str]:
    yield "| sweep | TTFT, TPOT limit | knee | predicted | error | both ends | top | predicted | error |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for one in found:
        limits = f"{one.ttft_limit_s * 1e3:.0f} ms, {one.tpot_limit_s * 1e3:.1f} ms"
        if one.excluded:
            yield f"| {one.name} | {limits} | not identifiable | - | - | - | {one.top:.0f} | - | - |"
            continue
        width = (one.high - one.low) / 2.0
        knee = (f"{one.middle:.0f} ± {width:.0f}", f"{one.predicted:.0f}", f"{100 * one.error:+.0f}%")
        tops = (f"{one.top:.0f}", f"{one.predicted_top:.0f}", f"{100 * (one.predicted_top / one.top - 1):+.0f}%")
        cells = (one.name, limits, *knee, f"{one.least:.0f} to {one.most:.0f}", *tops)
        yield "| " + " | ".join(cells) + " |"
    yield ""
    excluded = "; ".join(f"{one.name}: {one.excluded}" for one in found if one.excluded)
    yield from paragraph(f"Rates in requests/s; top is the most that any stage served. {excluded}.")
    older = next(one for one in found if one.name.startswith("V0"))
    figures_of_older = {"low": older.low, "high": older.high, "predicted": older.predicted, "alone": older.alone}
    yield from ("", *KNEE_CAUSES.splitlines(), "", *paragraph(V0_ENGINE.format(**figures_of_older)))


def _target_lines(
    rows: Rows, tpot: Mapping[str, np.ndarray], found: Sequence[Knee], drained: Sequence[Compared]
) -> Iterator[str]:
    """What was asked of the predictions before they were made, and what they reach."""
    moe, measured = rows.is_moe, rows.of("tpot_s")
    dense = {name: errors(values[~moe], measured[~moe]) for name, values in tpot.items()}
    mixed = {name: errors(values[moe], measured[moe]) for name, values in tpot.items()}
    off = [one.error for one in found if one.identifiable]
    missed = "missed: " if max(map(abs, off)) > WITHIN else ""
    knees_off = ", ".join(f"{100 * error:+.0f}%" for error in off)
    above = sum(one.breaks_bound for one in drained)
    yield from ("| figure | asked | reached |", "|---|---|---|")
    yield f"| drained runs, median of absolute error | <= 30% | {figures(drained)['all']:.0f}% |"
    yield f"| measured throughput above the bound | no row | {above} rows, which are not what they say |"
    yield f"| dense TPOT, mean, shipped (group left out) | <= 22% | {_both(dense, 0)} |"
    yield f"| dense TPOT, median, shipped (group left out) | <= 15% | {_both(dense, 1)} |"
    yield f"| dense TPOT, mean, one constant of the system | <= 18% | {dense['one constant'][0]:.1f}% |"
    yield f"| MoE TPOT, mean, shipped (group left out) | <= 40% | {_both(mixed, 0)} |"
    yield f"| measured TPOT between both ends | >= 80% | {within(rows)[0]:.0%} |"
    yield f"| knees of sweeps | within {WITHIN:.0%} | {missed}{knees_off} |"


def _both(off: Mapping[str, tuple[float, float, float]], which: int) -> str:
    return f"{off['shipped'][which]:.1f}% ({off['group left out'][which]:.1f}%)"


def page() -> Iterator[str]:
    """The page, line by line."""
    rows, drained, closed = compare_all()
    loops, found = load_rows(closed_loop()), knees(rows.sweeps)
    base = left_out(loops)
    tpot = {"shipped": shipped_tpot(loops), "group left out": base, "one constant": one_constant(loops, base)}
    yield from ("# Throughput: predicted against measured", "", *INTRODUCTION.splitlines(), "")
    yield from (*_target_lines(loops, tpot, found, drained), "")
    yield from ("## Drained runs", "", *drained_lines(drained), "")
    yield from ("## The bound of the hardware", "", *bound_lines(drained), "")
    yield from ("## Rows and limits that are wrong", "", *wrong_lines(drained), "")
    yield from ("## A fixed number of requests in flight", "", *_closed_lines(loops, tpot), "")
    yield from ("![predicted against measured TPOT](tpot.svg)", "", *_loop_lines(closed), "")
    yield from ("## Knees of sweeps", "", *KNEES.splitlines(), "", *_knee_lines(found), "")
    yield from ("## What was assumed", "", *ASSUMED.splitlines(), "")
    yield from ("## What is left out", "", "| reason | rows |", "|---|---|")
    yield from (f"| {reason} | {count} |" for reason, count in Counter(why for _, why in rows.left_out).most_common())


def _series(moe: np.ndarray, measured: np.ndarray, predicted: np.ndarray) -> list[Series]:
    kinds = (("dense", BLUE, "circle", ~moe), ("mixture of experts", VERMILION, "triangle", moe))
    return [
        Series(name, colour, shape, measured[k].tolist(), predicted[k].tolist()) for name, colour, shape, k in kinds
    ]


def charts() -> dict[str, str]:
    """Both charts by file name."""
    drained = [one for one in compare_all()[1] if not one.refused]
    found = figures(compare_all()[1])
    title = (
        f"Throughput of drained runs is predicted to {found['all']:.0f}% in the median",
        f"{len(drained)} runs that fit by plan, no constant fitted to them; dense {found['dense']:.0f}%, "
        f"MoE {found['moe']:.0f}%",
    )
    measured = np.array([one.run.tokens_per_s for one in drained])
    predicted = np.array([one.predicted for one in drained])
    moe = np.array([one.run.is_moe for one in drained])
    throughput = scatter(title, "throughput, prompt and output tokens/s", _series(moe, measured, predicted), BAND)
    rows = load_rows(closed_loop())
    tpot, truth = shipped_tpot(rows), rows.of("tpot_s")
    off = [errors(tpot[kind], truth[kind])[0] for kind in (~rows.is_moe, rows.is_moe)]
    title = (
        f"TPOT at fixed concurrency: errors of {off[0]:.0f}% (dense) and {off[1]:.0f}% (MoE)",
        f"means over {len(rows)} public benchmark points, with constants that were fitted to them",
    )
    return {
        "throughput.svg": throughput,
        "tpot.svg": scatter(title, "TPOT, ms", _series(rows.is_moe, truth * 1e3, tpot * 1e3), BAND),
    }


def main(arguments: list[str]) -> None:
    folder = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[2] / "reports"
    texts = {"throughput.md": "\n".join(page()) + "\n", "throughput.csv": csv_text(), **charts()}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
