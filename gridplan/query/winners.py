"""The cell with the least or the largest of a measure among many, with its labels: argmin, argmax and the best plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gridplan.query.answer import AnswerColumn, Query, counted, like
from gridplan.query.doubts import Doubts
from gridplan.query.order import PLACE, grouped_order, rank_of
from gridplan.query.rounds import Round, Rounds, whole_sum
from gridplan.query.source import Source
from gridplan.query.text import listed, name_sql, read_sql
from gridplan.store.columns import Column

__all__ = ["TIE", "WINNERS", "Contest", "winners_query", "winners_rounds"]

WINNERS = {"argmin": "min", "argmax": "max"}

TIE = "1e-9"
"""Relative difference up to which two values are equal (policy), as where plans are chosen."""


@dataclass(frozen=True)
class Contest:
    """What is compared: the first of `carried`, which the winner brings along, in one row for each label of `by`.

    `candidate` is a condition on the cells that may win beside having a value, and `first_rank` one on those that are
    compared alone wherever there is one. `known` is the name of the column that counts candidates.
    """

    by: Sequence[Column]
    carried: Sequence[Column]
    aggregate: str
    known: str
    candidate: str = ""
    first_rank: str = ""
    reads: Sequence[str] = ()
    doubts: Doubts = field(default_factory=Doubts)
    """What is counted in columns that come last and are none of the answer."""
    places: bool = False
    """Whether the answer says where each winner stands in the cube (`place`), so that more of it can be read there."""

    @property
    def keys(self) -> list[str]:
        """The columns of `by` as SQL writes them."""
        return [name_sql(column.name) for column in self.by]

    @property
    def names(self) -> list[str]:
        """The columns of `carried` as SQL writes them."""
        return [name_sql(column.name) for column in self.carried]

    @property
    def may_win(self) -> str:
        """The condition of a candidate, in names of columns of the cube."""
        return " AND ".join(filter(None, [f"{self.names[0]} IS NOT NULL", self.candidate]))


def winners_query(source: Source, contest: Contest) -> Query:
    """One row for each combination of labels of `by` that has cells: the cell with the least (largest) value.

    The row holds what the winner carries, null where no cell is a candidate. Of cells that tie, within 1e-9, the first
    in the order of the cube wins, and `ties` counts the others.
    """
    ranks = _ranks(source, contest)
    parts = [_cells(source, contest, ranks), f"e AS (\n  {_extremes(contest, ranks)}\n)"]
    sql = f"WITH {', '.join(parts)}, w AS (\n  {_first_of_ties(contest)}\n)\n{_joined(source, contest)}"
    columns = (
        *map(like, (*contest.by, *contest.carried)),
        *([AnswerColumn("place", "int64")] if contest.places else []),
        counted("ties", "other cells of this row with the same value"),
        counted("cells", "cells of this row"),
        counted(contest.known, "cells of this row that were compared"),
    )
    return Query(sql, columns)


def winners_rounds(source: Source, contest: Contest) -> Rounds:
    """The same, found of some files at a time: the extremes first, then the first cell of each that reaches them.

    Raises ValueError for a contest of ranks, whose first rank is known once all files are.
    """
    if contest.first_rank:
        raise ValueError("a contest of ranks is asked of all files at once")
    ranks, placed = _ranks(source, contest), replace(contest, places=True)

    def cells(files: str) -> str:
        return f"WITH {_cells(replace(source, files=files), contest, ranks)}"

    grouped = _group(contest.keys)
    counts = ["cells", "known", *contest.doubts.columns]
    extremes = [
        f"{WINNERS[contest.aggregate]}(extreme) AS extreme",
        *(f"{whole_sum(name)} AS {name}" for name in counts),
        *(f"min({rank}) AS {rank}" for rank in ranks),
    ]
    firsts = ["arg_min(winner, first_place) AS winner", "min(first_place) AS first_place"]
    firsts.append(f"{whole_sum('tied')} AS tied")
    return Rounds(
        (
            Round(
                "e",
                lambda files: f"{cells(files)} {_extremes(contest, ranks)}",
                f"SELECT {', '.join([*contest.keys, *extremes])} FROM found{grouped}",
            ),
            Round(
                "w",
                lambda files: f"{cells(files)} {_first_of_ties(placed)}",
                f"SELECT {', '.join([*contest.keys, *firsts])} FROM found{grouped or ' HAVING count(*) > 0'}",
            ),
        ),
        _joined(source, contest),
    )


def _ranks(source: Source, contest: Contest) -> list[str]:
    """Columns that put the labels of `by` in order."""
    return [name_sql(rank) for column in contest.by if (rank := rank_of(source.table, column)) is not None]


def _joined(source: Source, contest: Contest) -> str:
    """The answer from `e`, the extremes, and `w`, the winners."""
    given = [
        *(f"e.{key}" for key in contest.keys),
        *(f"winner.{name} AS {name}" for name in contest.names),
        *(["first_place AS place"] if contest.places else []),
        *("tied - 1 AS ties", "cells", f"known AS {name_sql(contest.known)}", *contest.doubts.columns),
    ]
    order = grouped_order(source.table, contest.by, "e.{}", "e.{}")
    lines = [
        f"SELECT {', '.join(given)}",
        f"FROM e LEFT JOIN w ON {_same(contest.keys, 'w')}",
        *([f"ORDER BY {', '.join(order)}"] if order else []),
    ]
    return "\n".join(lines)


def _cells(source: Source, contest: Contest, ranks: Sequence[str]) -> str:
    """`c`: all cells, each with its place in the cube and whether it may win."""
    own = (column.name for column in (*contest.by, *contest.carried))
    names = dict.fromkeys([*own, *contest.reads, *contest.doubts.measures])
    flags = f"{contest.may_win} AS candidate"
    if contest.first_rank:
        flags += f", {contest.may_win} AND {contest.first_rank} AS of_first_rank"
    read = ", ".join([listed(names), *(rank for rank in ranks if rank not in names)])
    files = read_sql(source.files, ", filename = true, file_row_number = true")
    # Read twice rather than held: all cells of a cube would be kept in memory otherwise.
    return (
        f"c AS NOT MATERIALIZED (\n  SELECT {read}, {flags}, {PLACE} AS place\n  FROM {files} {source.where.clause}\n)"
    )


def _extremes(contest: Contest, ranks: Sequence[str]) -> str:
    """For each row of the answer the extreme, how many cells there are, and how many are compared."""
    extreme = f"{WINNERS[contest.aggregate]}({contest.names[0]})"
    figures = [
        f"{extreme} FILTER (WHERE candidate) AS extreme",
        "count(*) AS cells",
        "count(*) FILTER (WHERE candidate) AS known",
    ]
    if contest.first_rank:
        of_first = "FILTER (WHERE of_first_rank)"
        figures = [
            f"coalesce({extreme} {of_first}, {extreme} FILTER (WHERE candidate)) AS extreme",
            "count(*) AS cells",
            f"coalesce(nullif(count(*) {of_first}, 0), count(*) FILTER (WHERE candidate)) AS known",
            f"count(*) {of_first} > 0 AS first_rank_alone",
        ]
    figures += [*contest.doubts.counts("candidate"), *(f"min({rank}) AS {rank}" for rank in ranks)]
    selected = ", ".join([*contest.keys, *figures])
    return f"SELECT {selected}\n  FROM c{_group(contest.keys)}"


def _first_of_ties(contest: Contest) -> str:
    """The first of the cells that reach the extreme, and how many do; no row where there is no candidate."""
    sign = ("<=", "+") if contest.aggregate == "argmin" else (">=", "-")
    holds = f"c.candidate AND c.{contest.names[0]} {sign[0]} extreme {sign[1]} {TIE} * abs(extreme)"
    if contest.first_rank:
        holds += " AND (c.of_first_rank OR NOT first_rank_alone)"
    kept = ", ".join(f"{name} := c.{name}" for name in contest.names)
    own = [f"c.{key}" for key in contest.keys]
    first = [f"arg_min(struct_pack({kept}), c.place) AS winner", *(["min(c.place) AS first_place"] * contest.places)]
    selected = ", ".join([*own, *first, "count(*) AS tied"])
    ending = _group(own) or " HAVING count(*) > 0"
    return f"SELECT {selected}\n  FROM c JOIN e ON {_same(contest.keys, 'c')}\n  WHERE {holds}{ending}"


def _group(keys: Sequence[str]) -> str:
    return f" GROUP BY {', '.join(keys)}" if keys else ""


def _same(keys: Sequence[str], side: str) -> str:
    """Rows of `e` and of another side with the same labels; null is a label here."""
    return " AND ".join(f"{side}.{key} IS NOT DISTINCT FROM e.{key}" for key in keys) or "true"
