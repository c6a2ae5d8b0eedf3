"""The small table of winners that dashboards want: for each label of some columns the best plan, as a whole row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gridplan.engine.summary import ANCHOR_RANGE
from gridplan.query.answer import Query
from gridplan.query.source import Source
from gridplan.query.table import Table
from gridplan.query.winners import Contest, winners_query
from gridplan.store.columns import Column

__all__ = ["CANDIDATES", "best_query"]

CANDIDATES = "candidates"
"""The column of a table of winners that counts the cells that were compared; 0 where nothing may be chosen."""


def best_query(source: Source, by: Sequence[Column], measure: Column) -> Query:
    """One row for each combination of labels of `by`: the least `measure` of a plan, and its place in the cube.

    A plan is a candidate by the rules of `gridplan.cheapest`: the cell has one, its fleet holds it
    (`fleet_sufficient`), limits are held (`slo_held`), the measure has a value, and its rate is comparable: not scaled
    by an anchor out of range, and measured wherever another one of the same row is.
    """
    conditions = dict(_conditions(source.table))
    first_rank = "capacity_source = 'measured'" if source.table.column("capacity_source") is not None else ""
    reads = [*conditions, *(["capacity_source"] if first_rank else [])]
    candidate = " AND ".join(conditions.values())
    contest = Contest(by, [measure], "argmin", CANDIDATES, candidate, first_rank, reads, places=True)
    return winners_query(source, contest)


def _conditions(table: Table) -> Iterator[tuple[str, str]]:
    """What must hold of a plan that may be chosen, by the measure that says so, where the cube has it."""
    low, high = ANCHOR_RANGE
    stated = {
        "status": "status = 'ok'",
        "infeasible_reason": "infeasible_reason IS NULL",
        "fleet_sufficient": "fleet_sufficient IS DISTINCT FROM false",
        "slo_held": "slo_held IS DISTINCT FROM false",
        "anchor_ratio": f"(anchor_ratio IS NULL OR anchor_ratio BETWEEN {low} AND {high})",
    }
    return ((name, condition) for name, condition in stated.items() if table.column(name) is not None)
