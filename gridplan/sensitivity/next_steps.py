"""The arrival rate up to which the replicas, or the nodes, of each plan suffice: the edge of its stair."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridplan.contract.grid import Grid
from gridplan.engine.resolve import space_of
from gridplan.sensitivity.answers import answer_labels, either
from gridplan.sensitivity.exact import checked
from gridplan.sensitivity.fixed import figures_of
from gridplan.sensitivity.search import ANSWERS, threshold
from gridplan.sensitivity.varied import REACH, Varied

__all__ = ["NEXT_STEPS", "next_step"]

Array = NDArray[Any]

NEXT_STEPS = ("next_replica", "next_node")
"""Questions about the next step of a fleet: one more active replica, one more node."""

_COUNTS = {"next_replica": "replicas_active", "next_node": "nodes"}
_READ = ("status", "infeasible_reason", "binding_constraint", "replicas_active", "nodes", "fleet_sufficient")
_BETWEEN, _NEVER, _UNKNOWN = (ANSWERS.index(name) for name in ("between", "never", "unknown"))


def next_step(grid: Grid, question: str) -> tuple[str, dict[str, Array]]:
    """The name of the answer, and its columns with one array axis per dimension of the grid.

    The rate is that which arrives in the cell, whatever a scenario made of the contract's. `never` where there is no
    plan; `unknown` for nodes without a size. With nodes already bought, the next node is the first that lacks.
    """
    count = _COUNTS[question]
    of_nodes = question == "next_node"
    now = figures_of(grid, [*_READ, "lambda_safe", "arrival_rate_next_step"])
    candidate = now["arrival_rate_next_step"] if of_nodes else now["replicas_active"] * now["lambda_safe"]
    planned = np.asarray(now["status"] == "ok", bool)
    known = planned & ~np.isnan(now[count])
    candidate = np.where(known, candidate, np.nan)
    one = np.ones((1,) * len(space_of(grid).names))
    moved = Varied(grid, "arrival_rate", False, one, np.zeros_like(one))

    def statement(values: Array) -> Array:
        figures = moved.figures(values, ["status", count, "fleet_sufficient"])
        enough = figures[count] <= now[count]
        if of_nodes:
            enough = enough & (figures["fleet_sufficient"] == 1.0)
        return np.asarray(enough & (figures["status"] == "ok"), np.float64)

    found, right = checked(statement, candidate)
    value, beyond, method = found.holds_at, found.fails_at, either(known, "exact", None)
    if np.any(known & ~right):
        middle = np.where(known & (candidate > 0.0), candidate, 1.0)
        looked = threshold(statement, middle / REACH, middle * REACH)
        value, beyond = np.where(right, value, looked.holds_at), np.where(right, beyond, looked.fails_at)
        method = either(known & ~right, "search", method)
    value, beyond = np.where(known, value, np.nan), np.where(known, beyond, np.nan)
    code = np.where(known & ~np.isnan(value), _BETWEEN, np.where(planned & ~known, _UNKNOWN, _NEVER))
    columns = {
        f"arrival_rate_{question}": value,
        "fails_at_arrival_rate": beyond,
        "answer": answer_labels(code),
        **_sides(moved, now, count, value, beyond, of_nodes),
        "method": method,
    }
    return f"arrival_rate_{question}", columns


def _sides(
    moved: Varied, now: dict[str, Array], count: str, value: Array, beyond: Array, of_nodes: bool
) -> dict[str, Array]:
    """Why the rate beyond is too much, what binds a replica, and the count on both sides."""
    known = ~np.isnan(beyond)
    after = moved.figures(np.where(known, beyond, 1.0)[np.newaxis], _READ)
    short = after["fleet_sufficient"][0, ...] == 0.0
    step = either(short & of_nodes, "fleet_sufficient", "one_more_node" if of_nodes else "one_more_replica")
    why = either(after["status"][0, ...] == "ok", step, after["infeasible_reason"][0, ...])
    size = either(np.asarray(now["status"] == "ok", bool), "no_node_size", now["infeasible_reason"])
    return {
        "fails_reason": either(known, why, size),
        "binding_constraint_at_answer": now["binding_constraint"],
        f"{count}_at_answer": np.where(known, now[count], np.nan),
        f"{count}_at_failure": np.where(known, after[count][0, ...], np.nan),
    }
