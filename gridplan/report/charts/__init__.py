"""Charts of cubes and plans: each kind a function that gives a `Chart`.

>>> import gridplan
>>> grid = gridplan.load_grid("grids/latency.yaml")
>>> gridplan.charts.heatmap(grid, "rho_target", "gpu", "replicas").finding.split(";")[0]
'Decode TPOT binds in 9 of 9 feasible cells'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gridplan.errors import MissingExtraError
from gridplan.report.charts.break_even import break_even
from gridplan.report.charts.chart import NARROW, SUFFIXES, WIDE, Chart
from gridplan.report.charts.heatmap import heatmap
from gridplan.report.charts.measured import measured
from gridplan.report.charts.memory import memory
from gridplan.report.charts.pareto import pareto_chart as pareto
from gridplan.report.charts.stairs import stairs
from gridplan.report.charts.sweep import sweep
from gridplan.report.charts.tornado import tornado, tornado_of

__all__ = [
    "KINDS",
    "NARROW",
    "PLAN_ANEW",
    "SUFFIXES",
    "WIDE",
    "Chart",
    "MissingExtraError",
    "break_even",
    "heatmap",
    "measured",
    "memory",
    "pareto",
    "stairs",
    "sweep",
    "tornado",
    "tornado_of",
]

KINDS: Mapping[str, Callable[..., Chart]] = {
    "heatmap": heatmap,
    "stairs": stairs,
    "pareto": pareto,
    "tornado": tornado,
    "memory": memory,
    "break_even": break_even,
    "measured": measured,
}
"""Functions that draw a cube or a contract, by the name of the kind."""

PLAN_ANEW = frozenset({"tornado", "break_even", "measured"})
"""Kinds that take a contract only: they plan what no cube holds."""
