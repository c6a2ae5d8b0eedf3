"""One replica at an arrival rate or at a concurrency: latencies, their percentiles, and where they can be trusted."""

from __future__ import annotations

from gridplan.formulas.replica.capacity import SustainedRate, sustained_rate
from gridplan.formulas.replica.closed_loop import ClosedLoop, tpot_at_concurrency
from gridplan.formulas.replica.length_nodes import LENGTH_KINDS, length_nodes, length_nodes_scv
from gridplan.formulas.replica.point import OperatingPoint, operating_point

__all__ = [
    "LENGTH_KINDS",
    "ClosedLoop",
    "OperatingPoint",
    "SustainedRate",
    "length_nodes",
    "length_nodes_scv",
    "operating_point",
    "sustained_rate",
    "tpot_at_concurrency",
]
