"""A judged sweep as an SVG chart: one panel a limit over the offered rate, the limit as a line, the rate marked."""

from __future__ import annotations

from collections.abc import Iterator

from gridplan.measured.sustained import PointVerdict, Slo, SweepResult
from gridplan.report.svg import GREY, INK, Scale, document, line, mark, path, text
from gridplan.report.sweep_words import finding, interval_text, rate_text, shown

__all__ = ["sweep_chart"]

WIDTH, PANEL, GAP, LEFT, RIGHT, TOP, BOTTOM = 760.0, 170.0, 34.0, 84.0, 150.0, 92.0, 62.0
_LONG_TITLE = 80
"""Signs of a title that fit at full size (policy)."""
_FAR = 4.0
"""Times a limit beyond which a panel is cut off, so that the limit stays in sight (policy)."""


def sweep_chart(result: SweepResult) -> str:
    """The chart as the text of an SVG file; the same result gives the same bytes."""
    drawn = [item for item in result.points if item.point.loop == "open" and item.point.offered_rate_per_s]
    height = TOP + BOTTOM + len(result.slos) * (PANEL + GAP)
    top = max((item.point.offered_rate_per_s or 0.0 for item in drawn), default=1.0)
    x = Scale(0.0, 1.08 * top, LEFT, WIDTH - RIGHT)
    title = finding(result)
    size = 16 if len(title) <= _LONG_TITLE else 12
    parts = [text(14, 30, title[0].upper() + title[1:], size, "start", "font-weight='bold'"), *_legend()]
    parts.append(text(14, 52, f"Interval {interval_text(result.interval_per_s)}", 13, "start"))
    for number, slo in enumerate(result.slos):
        parts += _panel(result, drawn, slo, number, x)
    bottom = TOP + len(result.slos) * (PANEL + GAP) - GAP
    for tick in x.ticks(8):
        parts.append(text(x.at(tick), bottom + 18, f"{tick:g}", 12))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, bottom + 42, "offered rate [requests/s]", 14))
    return document(WIDTH, height, title, parts)


def _legend() -> Iterator[str]:
    for at, (kind, said) in enumerate(
        (("dot", "holds every limit"), ("cross", "does not"), ("ring", "not known, not used"))
    ):
        yield mark(kind, 24 + 170 * at, 72)
        yield text(36 + 170 * at, 76, said, 12, "start")


def _panel(result: SweepResult, drawn: list[PointVerdict], slo: Slo, number: int, x: Scale) -> Iterator[str]:
    """One figure: grid, limit, rate, the measured points and the line through those that are used."""
    top = TOP + number * (PANEL + GAP)
    bottom = top + PANEL
    unit, factor = _unit(slo)
    found = [(item, value * factor) for item in drawn if (value := item.limits[number].value) is not None]
    most = max([slo.limit * factor * 1.15, *(value for _, value in found)])
    y = Scale(0.0, min(most * 1.05, _FAR * slo.limit * factor) if slo.figure != "goodput" else 105.0, bottom, top)
    for tick in y.ticks(5):
        yield line(LEFT, y.at(tick), WIDTH - RIGHT, y.at(tick), GREY, "stroke-width='0.6'")
        yield text(LEFT - 8, y.at(tick) + 4, f"{tick:g}", 12, "end")
    yield line(LEFT, bottom, WIDTH - RIGHT, bottom, INK)
    yield line(LEFT, top, LEFT, bottom, INK)
    middle = (top + bottom) / 2
    yield text(24, middle, f"{slo.name} [{unit}]", 13, "middle", f"transform='rotate(-90 24 {middle:.1f})'")
    limit = y.at(slo.limit * factor)
    yield line(LEFT, limit, WIDTH - RIGHT, limit, INK, "stroke-width='1.4' stroke-dasharray='7 4'")
    yield text(WIDTH - RIGHT + 8, limit + 4, f"limit {shown(slo, slo.limit)}", 12, "start")
    rate = result.lambda_instance_per_s
    if rate is not None:
        yield line(x.at(rate), top, x.at(rate), bottom, INK, "stroke-width='1.2' stroke-dasharray='2 3'")
        if not number:
            yield text(x.at(rate), top - 5, f"lambda* {rate_text(rate)}", 12)
    used = sorted((item.point.offered_rate_per_s or 0.0, value) for item, value in found if not item.unused)
    if len(used) > 1:
        yield path([(x.at(offered), y.at(value)) for offered, value in used], "#777777")
    for item, value in found:
        yield mark(_kind(item), x.at(item.point.offered_rate_per_s or 0.0), y.at(value))
        if value > y.high:
            yield text(x.at(item.point.offered_rate_per_s or 0.0), top + 18, f"{value:.3g}", 11)


def _kind(item: PointVerdict) -> str:
    if item.unused or item.holds is None:
        return "ring"
    return "dot" if item.holds else "cross"


def _unit(slo: Slo) -> tuple[str, float]:
    """Unit of a panel and what a second, or a share of 1, is in it."""
    if slo.figure == "goodput":
        return "%", 100.0
    return ("ms", 1000.0) if slo.limit < 1.0 else ("s", 1.0)
