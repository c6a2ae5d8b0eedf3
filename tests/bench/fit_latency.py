"""Fits the constants of the step time to measured points, and writes the table that the catalog ships.

    python tests/bench/fit_latency.py [-o gridplan/catalog/data/step_constants.csv]

Least squares on the logarithm of TPOT, with a soft loss, since a few rows are of other engine versions or of other
settings than they state. Rows of a group (model, GPU, engine) weigh less the more there are of them, as the inverse
fourth root of their number, so that large groups do not decide alone. Every constant is drawn towards a value set
before any comparison, and an engine's share of bandwidth in reads of experts towards the common one. `low` and `high`
are what single groups ask for: the lowest and the highest best value when one constant alone is fitted to one group,
the others at their best.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from latency_model import closed_loop_times, steps_of
from latency_rows import SHARED, Rows, closed_loop, fixed_concurrency, load_rows
from scipy.optimize import least_squares

__all__ = ["Fit", "fit", "groups_of"]

NOISE, SOFT = 0.3, 0.15
"""Relative error of a row as the fit sees it (rows of a group err together), and where the loss turns linear."""

STARTS: Mapping[str, tuple[float, float]] = {
    "mbu": (0.80, 0.1),
    "mbu_experts moe": (0.60, 0.3),
    "mfu dense": (0.50, 0.2),
    "mfu moe": (0.40, 0.3),
    "link_share": (0.70, 0.1),
    "step_overhead_s": (0.5e-3, 0.4),
    "layer_overhead_s dense": (32e-6, 0.4),
    "layer_overhead_s moe": (80e-6, 0.4),
    "all_reduce_s": (10e-6, 0.3),
    "sequence_overhead_s dense": (10e-6, 0.7),
    "sequence_overhead_s moe": (20e-6, 0.7),
    "chunk_layer_overhead_s dense": (30e-6, 0.5),
    "chunk_layer_overhead_s moe": (60e-6, 0.5),
}
"""Value before any comparison, and how far it may go (one sigma of its logarithm).

0.80 of bandwidth, 32 us a layer and 10 us an all-reduce are those of public planners (design/peers.md, section 4b); the
others are orders of magnitude.
"""

SHARES = ("mbu", "mbu_experts", "mfu", "link_share")
MOST = 0.95
"""Largest share of a peak that is taken for real (policy)."""

PAIRED = ("mbu_experts",)
PAIR_SIGMA, PAIR_ROWS = 0.4, 20
"""Constants of MoE steps that engines have of their own on a family, how far apart, and from how many rows on.

Kernels of experts differ more between engines than anything else; more constants of this kind fitted the rows no better
and rows left out worse."""


def groups_of(rows: Rows) -> np.ndarray:
    return np.array([point.group for point in rows.points], dtype=object)


@dataclass(frozen=True)
class Fit:
    """Fitted constants: common ones, and factors on them by pair of family and engine."""

    common: Mapping[str, float]
    factors: Mapping[tuple[str, str], float]

    def constants(self, rows: Rows, scaled: tuple[str, float] = ("", 1.0)) -> dict[str, np.ndarray]:
        """The constants of each row; one of them may be scaled."""
        kind, pairs = np.where(rows.is_moe, "moe", "dense"), rows.pairs
        found: dict[str, np.ndarray] = {}
        for label, value in self.common.items():
            name, _, only = label.partition(" ")
            here = np.full(len(rows), value)
            found[name] = np.where(kind == only, here, found.get(name, here)) if only else here
        for (name, pair), factor in self.factors.items():
            found[name] = found[name] * np.where(pairs == pair, factor, 1.0)
        found[scaled[0]] = found.get(scaled[0], np.ones(len(rows))) * scaled[1]
        return {name: np.minimum(array, MOST) if name in SHARES else array for name, array in found.items() if name}

    def predict(self, rows: Rows, scaled: tuple[str, float] = ("", 1.0)) -> tuple[np.ndarray, np.ndarray]:
        return closed_loop_times(rows, steps_of(rows, self.constants(rows, scaled)))


def fit(rows: Rows, paired: bool = True) -> Fit:
    """Constants that the rows ask for; without `paired`, common ones alone."""
    names, pairs = list(STARTS), rows.pairs
    found = sorted(pair for pair in set(pairs) if pair and (pairs == pair).sum() >= PAIR_ROWS and paired)
    extra = [(name, pair) for name in PAIRED for pair in found]
    centre = np.log([STARTS[name][0] for name in names] + [1.0] * len(extra))
    sigma = np.array([STARTS[name][1] for name in names] + [PAIR_SIGMA] * len(extra))
    measured, groups = rows.of("tpot_s"), groups_of(rows)
    size = np.array([(groups == group).sum() for group in groups])
    weight = (size / size.mean()) ** -0.25

    def at(x: np.ndarray) -> Fit:
        values = np.exp(x)
        return Fit(
            dict(zip(names, values[: len(names)], strict=True)), dict(zip(extra, values[len(names) :], strict=True))
        )

    def residuals(x: np.ndarray) -> np.ndarray:
        error = weight * np.log(at(x).predict(rows)[0] / measured)
        soft = np.sign(error) * SOFT * np.sqrt(2.0 * (np.sqrt(1.0 + (error / SOFT) ** 2) - 1.0))
        return np.concatenate([soft / NOISE, (x - centre) / sigma])

    return at(least_squares(residuals, centre, ftol=1e-5, xtol=1e-5, max_nfev=40).x)


def bounds(best: Fit, rows: Rows, name: str, least: int = 10) -> tuple[float, float, int]:
    """Lowest and highest factor on a constant that one group asks for, and the number of groups."""
    factors, groups = [1.0], groups_of(rows)
    for group in sorted(set(groups)):
        mine = rows.where(groups == group)
        if len(mine) < least:
            continue
        measured = mine.of("tpot_s")

        def residuals(x: np.ndarray, mine: Rows = mine, measured: np.ndarray = measured) -> np.ndarray:
            error = np.log(best.predict(mine, (name, float(np.exp(x[0]))))[0] / measured)
            return np.concatenate([error / NOISE, x / 0.5])

        factors.append(float(np.exp(least_squares(residuals, [0.0], ftol=1e-3, xtol=1e-3).x[0])))
    return min(factors), max(factors), len(factors) - 1


COLUMNS = (
    *("gpu_families", "engine", "version_from", "version_to", "kind", "constant", "low", "best", "high", "rows"),
    *("groups", "valid_where", "class", "as_of", "source", "notes"),
)
SOURCE = (
    "fitted to {rows} closed-loop points of public serving benchmarks (of the kind that ai-dynamo/aiconfigurator-core "
    "bundles as systems/silicon_sample.csv, and of https://docs.gpustack.ai/2.0/performance-lab/overview/)"
)
MEASURED, ELSEWHERE = "hopper;blackwell", "any"
WIDER = 1.5
"""Factor by which an interval is wider where nothing was measured (policy)."""


def _line(
    families: str, engine: str, kind: str, name: str, best: float, low: float, high: float, used: tuple[int, int]
) -> dict[str, object]:
    elsewhere = families == ELSEWHERE
    low, high = (low / WIDER, high * WIDER) if elsewhere else (low, high)
    if name in SHARES:
        best, low, high = min(best, MOST), min(low, MOST), min(high, 1.0)
    where = "GPUs or engines without measurements: as on Hopper and Blackwell, intervals half as wide again"
    mine = f"{families.replace(';', ' and ')} GPUs of one node"
    return {
        **{"gpu_families": families, "engine": engine, "version_from": "0", "version_to": "", "kind": kind},
        **{"constant": name, "low": f"{low:.3g}", "best": f"{best:.3g}", "high": f"{high:.3g}"},
        **{"rows": used[0], "groups": used[1], "valid_where": where if elsewhere else mine},
        **{"class": "assumption" if elsewhere else "measurement", "as_of": "2026-11-30"},
        **{"source": SOURCE.format(rows=used[0]), "notes": "tests/bench/fit_latency.py"},
    }


def table(best: Fit, rows: Rows) -> list[dict[str, object]]:
    """Rows of the catalog's table: pairs of family and engine first, then what is common, then all else."""
    lines, common, kind = [], [], {"dense": ~rows.is_moe, "moe": rows.is_moe}
    names = list(dict.fromkeys(label.partition(" ")[0] for label in STARTS))
    for (name, pair), factor in best.factors.items():
        mine = rows.where(rows.pairs == pair)
        low, high, groups = bounds(best, mine, name)
        value = best.common.get(f"{name} moe", best.common.get(name, np.nan)) * factor
        value = min(value, MOST) if name in SHARES else value
        family, engine = pair.split()
        # One group says nothing of the next: the interval is that of all pairs together, at least.
        spread = max(best.factors[key] for key in best.factors if key[0] == name)
        least = min(best.factors[key] for key in best.factors if key[0] == name)
        reach = (spread / least) ** 0.5
        used = (len(mine), groups)
        lines.append(
            _line(family, engine, "moe", name, value, value * min(low, 1 / reach), value * max(high, reach), used)
        )
    for of_kind, mask in kind.items():
        mine = rows.where(mask)
        for name in names:
            value = best.common.get(f"{name} {of_kind}", best.common.get(name))
            if value is None:
                continue  # a dense model has no experts
            low, high, groups = bounds(best, mine, name)
            common.append((of_kind, name, value, value * low, value * high, (len(mine), groups)))
    for families in (MEASURED, ELSEWHERE):
        lines += [_line(families, "any", of_kind, *rest) for of_kind, *rest in common]
    return lines


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--truth", type=Path, default=SHARED, help="folder of the measured points")
    options = parser.parse_args(arguments)
    rows = load_rows([*closed_loop(options.truth), *fixed_concurrency(options.truth)])
    lines = table(fit(rows), rows)
    file = options.output.open("w", encoding="utf-8", newline="") if options.output else sys.stdout
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)


if __name__ == "__main__":
    main(sys.argv[1:])
