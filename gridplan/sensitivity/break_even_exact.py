"""Break-even that a formula gives: a fleet against an API, and a commitment against nodes that are paid by the hour."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridplan.contract.grid import Grid
from gridplan.engine.resolve import space_of
from gridplan.errors import ContractError, Problem
from gridplan.sensitivity.answers import either
from gridplan.sensitivity.fixed import figures_of, inputs_of

__all__ = ["api_columns", "hours_columns"]

Array = NDArray[Any]

_BY_THE_HOUR = ("on_demand", "spot")
_OWED = ("reserved", "owned")

_API_SHOWN = (
    *("api_break_even_rate", "api_break_even_utilization", "api_break_even_tokens_per_month"),
    *("usd_per_month", "usd_per_month_idle", "api_usd_per_month", "api_verdict"),
    *("api_break_even_utilization_released", "api_verdict_released"),
)


def api_columns(grid: Grid) -> dict[str, Array]:
    """Where one's own fleet costs what an API does, always on and released when idle; arrays as of `figures_of`.

    `answer` is of the fleet that is always on: `between`, from `api_break_even_rate` on it is cheaper; `never`, it
    cannot carry that load. `answer_released` likewise of replicas paid only while they serve.
    """
    figures = figures_of(grid, [*_API_SHOWN, "status", "infeasible_reason", "api_usd_per_request", "fleet_sufficient"])
    if np.isnan(figures["api_usd_per_request"]).all():
        raise ContractError([Problem("is needed for the bill of an API", key="api_usd_per_mtok_input")])
    if np.isnan(figures["usd_per_month"]).all() and np.any(figures["status"] == "ok"):
        raise ContractError([Problem("is needed for a bill of one's own (or an instance)", key="usd_per_node_hour")])
    ratio = inputs_of(grid).values["peak_to_average"].data
    answer = _answer(figures["api_verdict"])
    released = _answer(figures["api_verdict_released"])
    short = figures["fleet_sufficient"] == 0.0
    why = either(figures["status"] == "ok", either(short, "fleet_sufficient", None), figures["infeasible_reason"])
    at_end = either(answer == "never", "break_even_exceeds_fleet", why)
    shown = {name: figures[name] for name in _API_SHOWN}
    return {
        "api_break_even_rate": shown.pop("api_break_even_rate"),
        "break_even_arrival_rate": figures["api_break_even_rate"] * ratio,
        "answer": answer,
        "cheaper_below": either(answer == "unknown", None, "api"),
        "cheaper_above": either(answer == "between", "self_host", None),
        "fails_reason": at_end,
        **shown,
        "answer_released": released,
        "method": either(answer == "unknown", None, "exact"),
    }


def _answer(verdict: Array) -> Array:
    cases = [verdict == "never", (verdict == "self_host") | (verdict == "api")]
    return np.select([np.asarray(case, bool) for case in cases], ["never", "between"], "unknown").astype(object)


def hours_columns(grid: Grid, names: tuple[str, str]) -> dict[str, Array]:
    """The share of the hours of a month from which the second kind of purchase costs at most what the first does.

    The first is paid for the hours in which its nodes run, the second for all: second bill / first bill. Above 1 it
    never pays off. The axis `purchase` has these two labels.
    """
    first, second = names
    if first not in _BY_THE_HOUR or second not in _OWED:
        due = f"{' or '.join(_BY_THE_HOUR)} against {' or '.join(_OWED)}"
        problem = f"{first} and {second} break even at no share of the hours ({due} do): say which input is varied"
        raise ContractError([Problem(problem, key="vary")])
    place = space_of(grid).names.index("purchase")
    figures = figures_of(grid, ["usd_per_month", "status", "infeasible_reason"])

    def side(name: str, number: int) -> Array:
        item = figures[name]
        return np.asarray(item.take([number], axis=place) if item.shape[place] > 1 else item)

    bills = side("usd_per_month", 0), side("usd_per_month", 1)
    share = bills[1] / bills[0]
    known, pays = ~np.isnan(share), share <= 1.0
    hours = inputs_of(grid).values["hours_per_month"].data
    hours = hours.take([0], axis=place)
    reason = either(side("status", 0) == "ok", side("infeasible_reason", 1), side("infeasible_reason", 0))
    no_price = either((side("status", 0) == "ok") & (side("status", 1) == "ok") & ~known, "no_price", reason)
    return {
        "break_even_hours_share": share,
        "break_even_hours_per_month": share * hours,
        "answer": either(known, either(pays, "between", "never"), "unknown"),
        "cheaper_below": either(known, first, None),
        "cheaper_above": either(known & pays, second, None),
        "fails_reason": either(known, either(pays, None, "dearer_in_every_hour"), no_price),
        "first_usd_per_month": bills[0],
        "second_usd_per_month": bills[1],
        "method": either(known, "exact", None),
    }
