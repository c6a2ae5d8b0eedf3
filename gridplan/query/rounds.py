"""An answer made of what is found in some files at a time: the queries of each round, and what puts them together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Round", "Rounds", "whole_sum"]


@dataclass(frozen=True)
class Round:
    """Something that is asked of some files at a time.

    `of_files` makes the query from an argument of `read_parquet`; it may read the tables of earlier rounds. Its rows,
    of all files, are a table of that `name`; where `merged` is a query, the table is what that makes of them.
    """

    name: str
    of_files: Callable[[str], str]
    merged: str = ""


@dataclass(frozen=True)
class Rounds:
    """What is asked, one round after another, and the query over their tables that is the answer.

    Without one (`answer`) there is one round, and its rows, file after file, are the answer.
    """

    rounds: tuple[Round, ...]
    answer: str = ""


def whole_sum(name: str) -> str:
    """A sum of whole numbers that is one itself, in SQL.

    >>> whole_sum("cells")
    'CAST(sum(cells) AS BIGINT)'
    """
    return f"CAST(sum({name}) AS BIGINT)"
