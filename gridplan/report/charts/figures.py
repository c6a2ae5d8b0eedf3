"""Figures of a sentence as a person says them, and the room that the sentences above a chart take."""

from __future__ import annotations

from collections.abc import Sequence

from gridplan.dictionary import dictionary
from gridplan.quantities import format_label, format_quantity
from gridplan.report.charts.texts import lines

__all__ = ["at_text", "figure_text", "head_height"]

_BARE = ("", "1", "count")


def figure_text(value: float, measure: str) -> str:
    """A value of a measure with its unit; counts with the name of what is counted.

    >>> figure_text(2, "nodes"), figure_text(1, "nodes"), figure_text(59965.44, "usd_per_month")
    ('2 nodes', '1 node', '59,965 USD/month')
    """
    row = dictionary().get(measure)
    unit = row.unit if row is not None else ""
    if unit in ("count", "GPUs", "replicas", "sequences"):
        noun = measure.replace("_", " ").replace("gpus", "GPUs")
        number = f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"
        return f"{number} {noun.removesuffix('s') if value == 1 else noun}"
    if unit in _BARE:
        return f"{measure} {value:,.4g}"
    return f"{value:,.0f} {unit}" if unit == "USD/month" else format_quantity(value, unit)


def at_text(value: float, name: str) -> str:
    """A place on an axis, to four digits.

    >>> at_text(114.19568, "arrival_rate"), at_text(0.7, "rho_target")
    ('114.2 req/s', '0.7')
    """
    row = dictionary().get(name)
    text = format_label(float(f"{value:.4g}"))
    return text if row is None or row.unit in _BARE else f"{text} {row.unit}"


def head_height(finding: str, notes: Sequence[str], width: float) -> float:
    """Pixels that the title and the notes of a chart take at a width: what is drawn below is due its own height."""
    size = 14 if width < 500 else 16
    told = sum(len(lines(text, width - 12, size - 3)) for text in notes)
    return 24.0 + 19.0 * len(lines(finding, width - 12, size + 0.6)) + (size - 1.0) * told
