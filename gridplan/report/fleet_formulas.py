"""How many replicas a plan has, as the failure policy of the cell has it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from gridplan.dictionary import dictionary

__all__ = ["fleet_formulas"]


def fleet_formulas(known: Mapping[str, float]) -> dict[str, str]:
    """The branch of each formula that the failure policy of the cell uses."""
    found = {"replicas": _replicas(known)}
    if _by_slo(known):
        of_fleets = {"arrival_rate_next_step": "replicas_deployed", "arrival_rate_within_caps": "replicas_within_caps"}
        for name, held in of_fleets.items():
            left = f"lambda_instance * (what the losses of the plan leave of {held})"
            found[name] = f"min(lambda_safe * {held}, {left})"
    return found


def _by_slo(known: Mapping[str, float]) -> bool:
    return known.get("redundancy_basis_code") == dictionary()["redundancy_basis"].labels.index("slo")


def _replicas(known: Mapping[str, float]) -> str:
    """The formula of `replicas` in a cell: spares of the failure domain, beside maintenance, for headroom or limits."""
    by_slo = _by_slo(known)
    least = "replicas_slo" if by_slo else "replicas_active"
    out = (
        " + maintenance_units * (what one maintenance_domain takes)" if known.get("maintenance_units", 0.0) > 0 else ""
    )
    if not math.isnan(known.get("availability_target", math.nan)):
        found = (
            f"(units of failure_domain that hold {least}{out}, enough of them up in availability_target of the time)"
        )
    else:
        found = f"{least} + redundancy * (what one failure_domain takes){out}"
    return f"max(replicas_active, {found})" if by_slo else found
