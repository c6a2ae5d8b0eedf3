"""The charts of the page as Vega-Lite: a page fills in data, titles and kinds of scales."""

from __future__ import annotations

from typing import Any

from gridplan.report.charts.theme import DARK, INK, QUIET, SERIES, configuration

__all__ = ["charts"]

_SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right"]


def charts() -> dict[str, Any]:
    """The specifications of both charts, and what each colour becomes on a dark page."""
    return {"stairs": _stairs(), "pareto": _pareto(), "dark": dict(DARK), "series": len(SERIES)}


def _stairs() -> dict[str, Any]:
    """A measure over an axis, a series for each label of another: points that are planned, steps where they hold."""
    colour = {"field": "series", "type": "nominal", "legend": {"title": None}, "scale": {"range": list(SERIES)}}
    step: dict[str, Any] = {
        "transform": [{"filter": "datum.step"}],
        "mark": {"type": "line", "interpolate": "step-before", "strokeWidth": 2},
    }
    points = {"mark": {"type": "point", "filled": True, "size": 40, "opacity": 1}}
    return _spec(
        [step, points, _here()],
        {
            "x": {"field": "x", "type": "quantitative"},
            "y": {"field": "y", "type": "quantitative", "scale": {"zero": False}},
            "color": colour,
            "shape": {"field": "series", "type": "nominal", "legend": {"title": None}, "scale": {"range": _SHAPES}},
            "detail": {"field": "series", "type": "nominal"},
        },
    )


def _pareto() -> dict[str, Any]:
    """Options by two measures: dominated ones small and grey, those of the front large."""
    beaten = {
        "transform": [{"filter": "!datum.front"}],
        "mark": {"type": "point", "filled": True, "size": 16, "color": QUIET, "opacity": 0.5},
    }
    front = {
        "transform": [{"filter": "datum.front"}],
        "mark": {"type": "point", "filled": True, "size": 90, "color": SERIES[0], "opacity": 1},
    }
    encoding = {
        "x": {"field": "x", "type": "quantitative", "scale": {"zero": False}},
        "y": {"field": "y", "type": "quantitative", "scale": {"zero": False}},
    }
    return _spec([beaten, front, _here()], encoding)


def _here() -> dict[str, Any]:
    """A ring around the cell that is chosen."""
    return {
        "transform": [{"filter": "datum.here"}],
        "mark": {"type": "point", "filled": False, "shape": "circle", "size": 260, "stroke": INK, "strokeWidth": 2},
        "encoding": {"color": {"value": INK}, "shape": {"value": "circle"}},
    }


def _spec(layers: list[dict[str, Any]], encoding: dict[str, Any]) -> dict[str, Any]:
    config = configuration(340)
    config["background"] = None
    # A chart of a phone's width has one column of its legend; here they stand side by side where there is room.
    config["axis"] = {**config["axis"], "titlePadding": 10}
    config["legend"] = {**config["legend"], "columns": 0, "labelLimit": 160}
    return {
        "width": "container",
        "height": 300,
        "autosize": {"type": "fit", "contains": "padding", "resize": True},
        "data": {"name": "rows"},
        "layer": layers,
        "encoding": encoding,
        "config": config,
    }
