"""Records that several tests of this folder open: each is made once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import gridplan
from gridplan.report.record import Record, html_page, record_of

__all__ = ["NAMES", "Made", "grid_of", "made"]

ROOT = Path(__file__).parents[2]


class Made(NamedTuple):
    """A record and its page."""

    record: Record
    html: str


_ASKED: dict[str, tuple[str, dict[str, str | float] | None, list[str]]] = {
    "lesson": ("lesson", {"instance": "aws-p4de"}, [str(ROOT / "docs" / "lesson-sweep.csv")]),
    "opening": ("lesson-opening", {"rho_target": 0.7}, []),
    "overview": ("quickstart", None, []),
    "break-even": ("break-even", {"arrival_rate": 20.0}, []),
}
NAMES = tuple(_ASKED)


@cache
def grid_of(name: str) -> Any:
    """The contract of a record."""
    return gridplan.load_grid(ROOT / "grids" / f"{_ASKED[name][0]}.yaml")


@cache
def made(name: str) -> Made:
    """A plan with its load test, a plan that cannot be, a whole cube, and a plan against the price of an API."""
    _, at, sweep = _ASKED[name]
    record = record_of(grid_of(name), at=at, sweep=sweep)
    return Made(record, html_page(record))
