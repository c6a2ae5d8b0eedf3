"""Checks that a reviewer of a load test makes before its rate is believed, one idea a file."""

from __future__ import annotations

from gridplan.measured.sustained.check import Load, SweepCheck
from gridplan.measured.sustained.checks.least import below_least_possible, other_workload, warm_cache
from gridplan.measured.sustained.checks.length import repeats_differ, run_too_short, too_few_requests
from gridplan.measured.sustained.checks.little import concurrency, parts, per_event, with_first
from gridplan.measured.sustained.checks.loop import closed_as_open, not_open
from gridplan.measured.sustained.checks.served import errors_over_budget, few_tokens, not_steady, over_saturated
from gridplan.measured.sustained.checks.settings import mixed_settings, served_more
from gridplan.measured.sustained.checks.units import percentiles_fall, swapped_units

__all__ = ["check_points"]

_CHECKS = (
    *(percentiles_fall, swapped_units, parts, concurrency, per_event, with_first, below_least_possible, warm_cache),
    *(over_saturated, few_tokens, errors_over_budget, closed_as_open, not_open, run_too_short, too_few_requests),
    *(repeats_differ, other_workload, mixed_settings, served_more),
)


def check_points(load: Load) -> list[SweepCheck]:
    """Every finding on the points themselves; what follows from their verdicts is added by `sweep_result`."""
    found = [check for make in _CHECKS for check in make(load)]
    swapped = {row for check in found if check.id == "swapped_units" for row in check.rows}
    # A slip of a thousand breaks the sums as well: it is said once.
    found = [check for check in found if check.id not in _SUMS or not swapped.intersection(check.rows)]
    return [*found, *not_steady(load, found)]


_SUMS = ("littles_law", "below_least_possible", "warm_cache", "run_too_short")
