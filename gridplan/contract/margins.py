"""The named reasons for planning below what a replica sustains: factors whose product is `rho_target`."""

from __future__ import annotations

from gridplan.contract.context import Context
from gridplan.contract.grid import Workload

__all__ = ["MARGINS", "PROPOSALS", "has_margins"]

MARGINS = (
    *("margin_statistic", "margin_forecast", "margin_skew", "margin_model_error", "margin_failure"),
    "margin_cold_start",
)
"""Inputs that name what `rho_target` pays for."""

PROPOSALS = (
    "slots 0.9 (littles_law), mean 0.65 (mean_tpot of replica_seconds), percentile 0.85 (percentile_model of queueing, "
    "percentile_measured of measured)"
)
"""What to start from by lambda_basis (policy of this project, 2026-11-29); never applied in silence."""


def has_margins(context: Context, workload: Workload) -> bool:
    """Whether a margin is stated for that workload: as an axis, a value of a section, or one of its own."""
    grid = context.grid
    return any(
        name in context.axes or name in grid.given or name in workload.given or context.problems.broken_input(name)
        for name in MARGINS
    )
