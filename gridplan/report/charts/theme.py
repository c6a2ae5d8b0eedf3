"""How charts look: colours that the colour-blind tell apart, hatches for what has no plan, fonts, and the dark twin.

Colours are those of Okabe and Ito (Color Universal Design, 2008). A colour never stands alone: cells are hatched,
points have shapes, lines have dashes or labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    *("AMBER", "BLUE", "GREEN", "GRID", "HATCHES", "INK", "MUTED", "PAPER", "PINK", "SKY", "VERMILION"),
    *("COLOUR_OF", "DARK", "QUIET", "SERIES", "binding_colours", "configuration", "hatch_names", "hatches_svg"),
]

INK, MUTED, GRID, PAPER = "#1f2328", "#57606a", "#d8dee4", "#ffffff"
BLUE, VERMILION, GREEN, AMBER, PINK, SKY = "#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7", "#56b4e9"
QUIET = "#8c959f"
"""What is shown beside the point: dominated options, a base."""

SERIES = (BLUE, VERMILION, GREEN, PINK, AMBER, SKY, QUIET)
"""Colours of series, in the order in which they are given out."""

DARK: Mapping[str, str] = {
    **{INK: "#e6edf3", MUTED: "#9da7b3", GRID: "#30363d", PAPER: "#0d1117"},
    **{BLUE: "#58a6ff", VERMILION: "#f0883e", GREEN: "#3fb98f", PINK: "#d987b4"},
}
"""What a colour becomes on a dark page."""

COLOUR_OF: Mapping[str, str] = {
    **{"memory": BLUE, "scheduler": GREEN, "compute": SKY, "prefill": "#b8860b", "ttft": PINK, "tpot": VERMILION},
    **{"e2e": "#7b3294", "itl": AMBER, "measured": "#6e7781", "balanced": "#a9746e"},
}
"""The colour of each constraint, the same in every chart."""

HATCHES = ("hatch-up", "hatch-down", "hatch-level", "hatch-dots")
"""Patterns for reasons without a plan; the last one stands for all further reasons."""

FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"

_STROKES = {
    "hatch-up": "<path d='M-1 1L1 -1M0 8L8 0M7 9L9 7' fill='none' stroke='{ink}' stroke-width='1.2'/>",
    "hatch-down": "<path d='M-1 7L1 9M0 0L8 8M7 -1L9 1' fill='none' stroke='{ink}' stroke-width='1.2'/>",
    "hatch-level": "<path d='M0 4H8' fill='none' stroke='{ink}' stroke-width='1.2'/>",
    "hatch-dots": "<circle cx='4' cy='4' r='1.2' fill='{ink}'/>",
}


def binding_colours(labels: Sequence[str]) -> list[str]:
    """The colour of each constraint named; one that is not known gets a quiet one."""
    return [COLOUR_OF.get(label, QUIET) for label in labels]


def hatch_names(count: int) -> list[str]:
    """A fill for each of `count` reasons, the last hatch for all beyond the fourth.

    >>> hatch_names(2)
    ['url(#hatch-up)', 'url(#hatch-down)']
    """
    return [f"url(#{HATCHES[min(place, len(HATCHES) - 1)]})" for place in range(count)]


def hatches_svg(used: Sequence[str]) -> str:
    """Definitions of these hatches, to stand in an SVG document."""
    box = "width='8' height='8' patternUnits='userSpaceOnUse'"
    drawn = (f"<pattern id='{name}' {box}>{_STROKES[name].format(ink=QUIET)}</pattern>" for name in HATCHES)
    return "<defs>" + "".join(text for name, text in zip(HATCHES, drawn, strict=True) if name in used) + "</defs>"


def configuration(width: float) -> dict[str, Any]:
    """The Vega-Lite configuration for a chart that is so many pixels wide."""
    small = width < 500
    size = 12 if small else 13
    return {
        "font": FONT,
        "background": PAPER,
        "aria": False,  # a chart is one picture with a text of its own; its numbers stand in a table beside it
        "view": {"stroke": None},
        "padding": 6,
        "title": {
            **{"anchor": "start", "frame": "bounds", "offset": 12, "color": INK, "subtitleColor": MUTED},
            **{"fontSize": 14 if small else 16, "subtitleFontSize": size - 1, "subtitlePadding": 5, "lineHeight": 19},
        },
        "axis": {
            **{"labelFontSize": size - 1, "titleFontSize": size, "labelColor": INK, "titleColor": INK},
            **{"titleFontWeight": "normal", "gridColor": GRID, "domainColor": MUTED, "tickColor": MUTED},
            **{"labelLimit": 120 if small else 220, "titleLimit": 0, "labelOverlap": "greedy"},
        },
        "legend": {
            **{"orient": "top", "labelFontSize": size - 1, "titleFontSize": size - 1, "labelColor": INK},
            **{"titleColor": MUTED, "titleFontWeight": "normal", "labelLimit": width - 80, "columnPadding": 14},
            **{"columns": 1 if small else 3, "symbolSize": 130},
        },
        "text": {"color": INK, "fontSize": size - 1},
        "header": {"labelColor": INK, "labelFontSize": size},
    }
