"""Step-level simulation of continuous batching: what the closed forms of latency are checked against.

Arrays in, arrays out: it knows no catalog and no contract.
"""

from __future__ import annotations

from gridplan.simulation.result import Metric, Simulation
from gridplan.simulation.run import simulate, simulate_closed, simulate_figures, simulate_requests
from gridplan.simulation.run_length import requests_after, requests_for

__all__ = [
    "Metric",
    "Simulation",
    "requests_after",
    "requests_for",
    "simulate",
    "simulate_closed",
    "simulate_figures",
    "simulate_requests",
]
