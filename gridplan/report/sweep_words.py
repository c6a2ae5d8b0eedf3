"""Words about a judged sweep that the page, the chart and the block share."""

from __future__ import annotations

from gridplan.measured.sustained import RateVerdict, Slo, SweepResult
from gridplan.quantities import format_quantity

__all__ = ["finding", "interval_text", "rate_text", "shown", "source_of", "spread"]


def rate_text(rate_per_s: float) -> str:
    """A rate with its unit.

    >>> rate_text(10.0), rate_text(4.0512)
    ('10 requests/s', '4.051 requests/s')
    """
    return f"{rate_per_s:.4g} requests/s"


def shown(slo: Slo, value: float | None) -> str:
    """A figure of a limit as people read it.

    >>> shown(Slo("tpot", 95.0, 0.025), 0.0215), shown(Slo("goodput", None, 0.95), 0.934)
    ('21.50 ms', '93.4%')
    """
    if value is None:
        return "-"
    return f"{value:.1%}" if slo.figure == "goodput" else format_quantity(value, "s")


def finding(result: SweepResult) -> str:
    """The finding in one sentence: the rate, and what breaks beyond it."""
    rate, first = result.lambda_instance_per_s, first_failing(result)
    if rate is None:
        return "no measured rate is known to hold every limit"
    if first is None:
        return f"{rate_text(rate)} hold every limit, and no tested rate breaks one"
    return (
        f"{rate_text(rate)} hold every limit; "
        f"at {rate_text(first.rate_per_s)} {_and(result.breaks_first)} {_breaks(result)}"
    )


def _breaks(result: SweepResult) -> str:
    names = {slo.name for slo in result.slos}
    if not names.intersection(result.breaks_first):
        return "says that the load is not served"
    return "break" if len(result.breaks_first) > 1 else "breaks"


def _and(names: tuple[str, ...]) -> str:
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1] if names else "a limit"


def first_failing(result: SweepResult) -> RateVerdict | None:
    """The first rate that fails, going up."""
    return next((rate for rate in result.rates if rate.holds is False), None)


def interval_text(interval: tuple[float, float | None]) -> str:
    """An interval of rates.

    >>> interval_text((10.0, 12.0)), interval_text((10.0, None)), interval_text((0.0, 2.0))
    ('10 to 12 requests/s', '10 requests/s or more', 'below 2 requests/s')
    """
    low, high = interval
    if high is None:
        return f"{rate_text(low)} or more" if low else "anything"
    return f"{low:.4g} to {rate_text(high)}" if low else f"below {rate_text(high)}"


def spread(result: SweepResult) -> str:
    """Median and median absolute deviation of the repeats, empty without."""
    middle, mad = result.repeats_median_per_s, result.repeats_mad_per_s
    if middle is None or mad is None:
        return ""
    each = ", ".join(f"{rate:.4g}" for rate in result.repeats_per_s)
    return f"{rate_text(middle)} +- {mad:.2g} (median and median absolute deviation of {each})"


def source_of(result: SweepResult) -> str:
    """Files and tools of the points that are used: `results/a.json, results/b.json (vllm)`."""
    used = [verdict.point for verdict in result.points if not verdict.unused]
    files = list(dict.fromkeys(point.file for point in used))
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    tools = ", ".join(
        dict.fromkeys(point.tool + (f" {point.tool_version}" if point.tool_version else "") for point in used)
    )
    return f"{', '.join(files[:3])}{more} ({tools})"
