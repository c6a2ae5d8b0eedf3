"""Each figure of a load test beside what a contract predicts of one replica at that load, or why there is no pair."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gridplan.contract.grid import Grid
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.measured.sustained import Slo, SweepCheck
from gridplan.measured.sustained.check import LATENCIES, Load
from gridplan.measured.sustained.checks import check_points
from gridplan.measured.sustained.result import copies_of
from gridplan.measured.sweep import Latency, SweepPoint
from gridplan.report.predicted import ReplicaAt, Statistic
from gridplan.report.sweep_facts import facts_of_grid

__all__ = ["COUNTED", "NOT_COUNTED", "NOT_MEASURED", "NOT_PREDICTED", "Figure", "Pair", "figures_of", "pairs_of"]

COUNTED, NOT_COUNTED, NOT_PREDICTED, NOT_MEASURED = "counted", "not counted", "not predicted", "not measured"

_USUAL = (95.0, 99.0, 90.0, 50.0)
"""Percentiles that are compared where no limit and no mean is stated, the first that most points state (policy)."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A latency (`ttft`, `tpot`, `itl`, `e2e`) and the statistic of it: a percentile, or the mean."""

    latency: str
    statistic: Statistic

    @property
    def name(self) -> str:
        """`ttft_p95`, `e2e_mean`."""
        return f"{self.latency}_mean" if self.statistic == "mean" else f"{self.latency}_p{self.statistic:g}"

    @property
    def words(self) -> str:
        """`TTFT p95`, `E2E mean`."""
        latency, _, statistic = self.name.partition("_")
        return f"{latency.upper()} {statistic}"

    def of(self, point: SweepPoint) -> float | None:
        """What a point states of it [s]; None where it states nothing."""
        latency: Latency | None = getattr(point, self.latency)
        if latency is None:
            return None
        return latency.mean_s if self.statistic == "mean" else latency.percentiles_s.get(self.statistic)


@dataclass(frozen=True, slots=True)
class Pair:
    """One figure of one point: measured and predicted [s], whether the pair counts, and if not why."""

    row: int
    point: SweepPoint
    figure: Figure
    measured_s: float | None
    predicted_s: float | None
    state: str
    reason: str | None

    @property
    def error(self) -> float | None:
        """Predicted over measured, less 1; None without either, or where 0 was measured."""
        if self.predicted_s is None or not self.measured_s:
            return None
        return self.predicted_s / self.measured_s - 1.0


def figures_of(points: Sequence[SweepPoint], slos: Sequence[Slo], asked: Sequence[str] | None) -> tuple[Figure, ...]:
    """Figures that are compared: those asked for, else those of the limits and the means that some point states.

    Of a latency of which neither is stated, the percentile that most points state.

    Raises ContractError for a name that is no figure, or a figure that no point states.
    """
    if asked is not None:
        return _asked(points, asked)
    limits = [Figure(slo.figure, slo.statistic) for slo in slos if slo.statistic is not None]
    means = [mean for latency in LATENCIES if _states(points, mean := Figure(latency, "mean"))]
    met = {figure.latency for figure in (*limits, *means) if _states(points, figure)}
    usual = [found for latency in LATENCIES if latency not in met and (found := _usual(points, latency))]
    return tuple(dict.fromkeys([*limits, *usual, *means]))


def _states(points: Sequence[SweepPoint], figure: Figure) -> int:
    return sum(figure.of(point) is not None for point in points)


def _usual(points: Sequence[SweepPoint], latency: str) -> Figure | None:
    found = max((Figure(latency, percentile) for percentile in _USUAL), key=lambda figure: _states(points, figure))
    return found if _states(points, found) else None


def _asked(points: Sequence[SweepPoint], asked: Sequence[str]) -> tuple[Figure, ...]:
    stated = {
        figure.name: figure
        for point in points
        for latency in LATENCIES
        if getattr(point, latency) is not None
        for figure in (Figure(latency, "mean"), *(Figure(latency, p) for p in getattr(point, latency).percentiles_s))
        if figure.of(point) is not None and figure.statistic not in (0.0, 100.0)
    }
    problems = [
        Problem(f"{name[:60]} is stated by no point{suggestion(name[:60], stated)}", key="figures")
        for name in asked
        if name not in stated
    ]
    if problems or not asked:
        raise ContractError(problems or [Problem("no figure is named", key="figures")])
    return tuple(stated[name] for name in dict.fromkeys(asked))


def pairs_of(
    grid: Grid, replica: ReplicaAt, points: Sequence[SweepPoint], figures: Sequence[Figure]
) -> tuple[Pair, ...]:
    """Every figure of every point, in this order, with what is predicted of it.

    Figures that cannot be right, loads that were not served and rows given twice have a pair that does not count.
    """
    facts = facts_of_grid(grid, limits_wanted=False)
    load = Load(
        points=points, least=facts.least, output_lengths=facts.output_lengths, prompt_lengths=facts.prompt_lengths
    )
    checks, copies = check_points(load), copies_of(points)
    found: dict[tuple[int, Figure], Pair] = {}
    for figure in figures:
        for row, (predicted_s, why) in enumerate(_predicted(replica, points, figure)):
            measured_s = figure.of(points[row])
            state, reason = COUNTED, None
            if measured_s is None:
                state, reason = NOT_MEASURED, "not stated"
            elif predicted_s is None:
                state, reason = NOT_PREDICTED, why
            elif doubt := _doubt(row, figure, measured_s, checks, copies):
                state, reason = NOT_COUNTED, doubt
            found[row, figure] = Pair(row, points[row], figure, measured_s, predicted_s, state, reason)
    return tuple(found[row, figure] for row in range(len(points)) for figure in figures)


def _doubt(
    row: int, figure: Figure, measured_s: float, checks: Sequence[SweepCheck], copies: dict[int, int]
) -> str | None:
    """Why a measured figure is not held against the model: a copy, a load that was not served, a wrong figure."""
    mine = [check for check in checks if row in check.rows]
    wrong = [check.id for check in mine if check.severity == "error" and figure.latency in (check.figures or LATENCIES)]
    other = [check.id for check in mine if check.id == "tpot_includes_ttft" and figure.latency == "tpot"]
    over = [check.id for check in mine if check.overloaded]
    said = ["copy of another row"] if row in copies else wrong or other or over
    return ", ".join(dict.fromkeys(said)) or ("0 is measured" if measured_s <= 0 else None)


def _predicted(
    replica: ReplicaAt, points: Sequence[SweepPoint], figure: Figure
) -> Iterator[tuple[float | None, str | None]]:
    """What is predicted at every point [s], or None and why."""
    rates = [_rate(point) for point in points]
    clients = [_clients(point) for point in points]
    known = [rate for rate in rates if rate is not None]
    by_rate = iter(zip(replica.at_rates(known, figure.latency, figure.statistic), replica.flags(known), strict=True))
    by_clients = iter(replica.at_clients([number for number in clients if number is not None], figure.latency))
    for point, rate, number in zip(points, rates, clients, strict=True):
        value, why = math.nan, None
        if rate is not None:
            value, why = next(by_rate)
        elif number is not None:
            value = next(by_clients)
            if figure.statistic != "mean" or figure.latency == "itl":
                value, why = math.nan, "closed loop: means of requests alone"
        else:
            why = {"drain": "everything sent at once", "closed": "number of clients not stated"}.get(point.loop)
            why = why or "no offered rate"
        yield (None, replica.reason or why or "unknown") if math.isnan(value) else (value, None)


def _rate(point: SweepPoint) -> float | None:
    """The offered rate of an open loop [req/s]."""
    rate = point.offered_rate_per_s
    return rate if point.loop == "open" and rate and math.isfinite(rate) else None


def _clients(point: SweepPoint) -> float | None:
    """The clients of a closed loop, one or more [requests in flight]."""
    number = point.concurrency_limit
    return number if point.loop == "closed" and number and 1.0 <= number < math.inf else None
