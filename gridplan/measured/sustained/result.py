"""The rate that a sweep shows one replica to sustain, with all that a reviewer asks of it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gridplan.measured.sustained.check import Least, Load, SweepCheck
from gridplan.measured.sustained.checks import check_points
from gridplan.measured.sustained.coverage import check_coverage
from gridplan.measured.sustained.interval import Interval, bracket, climb, crossing, noise_interval, rates_of_repeats
from gridplan.measured.sustained.slo import Slo, parse_slos
from gridplan.measured.sustained.verdict import PointVerdict, RateVerdict, judge_points, judge_rates
from gridplan.measured.sweep import SweepPoint

__all__ = ["SweepResult", "copies_of", "sweep_result"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult:
    """What a sweep says; rates in requests a second, of the replica (or service) that was tested."""

    slos: tuple[Slo, ...]
    points: tuple[PointVerdict, ...]
    """Every point in the order given, with its verdict."""
    rates: tuple[RateVerdict, ...]
    """Offered rates that are used, from the lowest up; runs of one rate are put together by their median."""
    checks: tuple[SweepCheck, ...]
    """Findings, errors first."""
    lambda_instance_per_s: float | None
    """The last measured rate at which every limit holds, going up from the lowest; None where there is none."""
    bracket_per_s: Interval
    """From it to the first rate that fails, as measured; None where none fails."""
    interval_per_s: Interval
    """The same beyond chance, by the numbers of requests, and widened by the repeats."""
    repeats_per_s: tuple[float, ...] = ()
    """The rate of each repeat of the whole sweep; empty without repeats."""
    binding: str | None = None
    """The limit with the least margin at `lambda_instance_per_s`."""
    breaks_first: tuple[str, ...] = ()
    """Limits that are broken at the first rate that fails, the worst first; a check where the load was not served."""
    interpolated_per_s: float | None = None
    """Where a straight line between the neighbours reaches a limit; only on request, and never beyond the data."""
    goodput: float | None = None
    """Share of requests within the load generator's own limits at that rate, where stated."""

    @property
    def repeats_median_per_s(self) -> float | None:
        """Median of the repeats."""
        return statistics.median(self.repeats_per_s) if self.repeats_per_s else None

    @property
    def repeats_mad_per_s(self) -> float | None:
        """Median absolute deviation of the repeats from their median."""
        middle = self.repeats_median_per_s
        return None if middle is None else statistics.median(abs(rate - middle) for rate in self.repeats_per_s)

    def __repr__(self) -> str:
        rate = self.lambda_instance_per_s
        said = "no rate holds every limit" if rate is None else f"{rate:.4g} requests/s hold every limit"
        return f"<SweepResult of {len(self.points):,} load points: {said}>"

    def _repr_html_(self) -> str:
        from gridplan.measured.sustained.result_html import sweep_html

        return sweep_html(self)


def sweep_result(
    points: Sequence[SweepPoint],
    slos: Sequence[Slo] | str,
    *,
    least: Least | None = None,
    output_lengths: Sequence[tuple[float, float]] = (),
    prompt_lengths: Sequence[tuple[float, float]] = (),
    error_budget: float = 0.01,
    interpolate: bool = False,
) -> SweepResult:
    """Judge a sweep: its checks, its verdicts and the last measured rate at which every limit holds.

    Parameters
    ----------
    points
        Load points, as `read_sweep` gives them, in any order.
    slos
        Limits, or their text: "ttft_p95=1s,tpot_p95=25ms".
    least
        The least possible latencies of the machine, where they are known.
    output_lengths, prompt_lengths
        Weight and tokens of each class of requests, where they are known.
    error_budget
        Share of requests that may fail [1].
    interpolate
        Also say where a straight line between the neighbours reaches a limit.

    Raises
    ------
    ContractError
        For a text of limits that is wrong.
    ValueError
        Without points or limits, and for an error budget outside 0 to 1.

    >>> from gridplan.measured.sweep import sweep_of_text
    >>> table = "rate_rps,ttft_p95_ms,tpot_p95_ms\\n8,280,17.8\\n10,620,21.5\\n12,1450,28.2\\n"
    >>> found = sweep_result(sweep_of_text(table), "ttft_p95=1s,tpot_p95=25ms")
    >>> found.lambda_instance_per_s, found.bracket_per_s, found.binding, found.breaks_first
    (10.0, (10.0, 12.0), 'tpot_p95', ('ttft_p95', 'tpot_p95'))
    """
    limits = parse_slos(slos, "slos") if isinstance(slos, str) else tuple(slos)
    if not points or not limits:
        raise ValueError("points and slos: at least one of each expected")
    if not 0 <= error_budget <= 1:
        raise ValueError(f"error_budget: 0 to 1 expected, found {error_budget}")
    load = Load(
        points=points,
        slos=limits,
        least=least or Least(),
        output_lengths=output_lengths,
        prompt_lengths=prompt_lengths,
        error_budget=error_budget,
    )
    copies = copies_of(points)
    checks = check_points(load)
    verdicts = judge_points(points, limits, checks, copies)
    rates = judge_rates(verdicts)
    last, first = climb(rates)
    repeats = rates_of_repeats(verdicts)
    checks += check_coverage(verdicts, rates, copies)
    return SweepResult(
        slos=limits,
        points=verdicts,
        rates=rates,
        checks=tuple(sorted(checks, key=lambda check: ("error", "warning", "info").index(check.severity))),
        lambda_instance_per_s=None if last is None else last.rate_per_s,
        bracket_per_s=bracket(rates),
        interval_per_s=_with_repeats(noise_interval(rates, points), repeats),
        repeats_per_s=repeats,
        binding=None if last is None or last.binding is None else last.binding.slo.name,
        breaks_first=() if first is None else first.broken,
        interpolated_per_s=crossing(last, first) if interpolate else None,
        goodput=_goodput(last, points),
    )


def copies_of(points: Sequence[SweepPoint]) -> dict[int, int]:
    """Points whose every figure is that of an earlier one: a row given twice is one run, not two."""
    found: dict[int, int] = {}
    kept: dict[SweepPoint, int] = {}
    for row, point in enumerate(points):
        first = kept.setdefault(replace(point, file="", place=""), row)
        if first != row:
            found[row] = first
    return found


def _with_repeats(interval: Interval, repeats: Sequence[float]) -> Interval:
    if not repeats:
        return interval
    low, high = interval
    return min(low, *repeats), None if high is None else max(high, *repeats)


def _goodput(rate: RateVerdict | None, points: Sequence[SweepPoint]) -> float | None:
    shares = []
    for row in rate.rows if rate is not None else ():
        good, achieved = points[row].goodput_rate_per_s, points[row].achieved_rate_per_s
        if good is None or not achieved:
            return None
        shares.append(good / achieved)
    return statistics.median(shares) if shares else None
