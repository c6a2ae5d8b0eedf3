"""What a condition in SQL may consist of, and how it may be put together, so that nobody reads it in two ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

__all__ = ["EQUAL", "ORDERED", "parsed", "refused"]

ORDERED = (exp.LT, exp.LTE, exp.GT, exp.GTE)
EQUAL = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)
_JUDGING = (*EQUAL, *ORDERED, exp.Between, exp.In, exp.Is, exp.Like, exp.ILike)
"""What is true or false of a value."""

_ALLOWED: tuple[type[Any], ...] = (
    *(exp.And, exp.Or, exp.Not, exp.Paren, exp.Null, exp.Boolean, *_JUDGING),
    *(exp.Column, exp.Identifier, exp.Literal, exp.Neg, exp.Case, exp.If),
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Abs, exp.Round, exp.Coalesce, exp.Greatest),
    *(exp.Least, exp.Lower, exp.Upper),
)
"""What a condition may consist of: nothing that reads a file, asks another query or calls a function by name."""

_BEFORE = "SELECT 1 WHERE ("


def parsed(text: str) -> exp.Expression:
    """The tree of a condition in parentheses, so that conditions can stand beside each other.

    Raises ValueError with a sentence for what is no condition.
    """
    try:
        # What a condition may hold is the same in every dialect; that of DuckDB takes longest to load.
        trees = sqlglot.parse(f"{_BEFORE}{text}\n)")
        if len(trees) == 1 and trees[0] is not None and set(_given(trees[0])) == {"expressions", "where"}:
            inner = cast("exp.Expression", trees[0].args["where"].this)
            if isinstance(inner, exp.Paren):
                return inner
        place = ""
    except ParseError as error:
        place = _near(error)
    except SqlglotError:
        place = ", perhaps for a quote or a comment that is never closed"
    except RecursionError:
        place = ": too much stands inside each other"
    raise ValueError(f"{text!r} cannot be read as one condition in SQL{place}")


def _near(error: ParseError) -> str:
    """Where a text could not be read on; the parenthesis that closes it here is its end."""
    said = error.errors[0] if error.errors else {}
    near = str(said.get("highlight") or "").strip()
    ended = near == ")" and said.get("line") == 2
    return " near its end" if ended else f" near {near!r}" if near else ""


def _given(tree: exp.Expr) -> Iterator[str]:
    return (name for name, value in tree.args.items() if value)


def refused(tree: exp.Expression) -> str | None:
    """Why a tree is no condition here, as a sentence; None where it is one."""
    for node in tree.walk():
        if not isinstance(node, _ALLOWED) or node.args.get("query") or node.args.get("symmetric"):
            hint = ": a number with its unit is a text, as '5 s'" if isinstance(node, exp.Alias) else ""
            return f"{node.sql()} cannot stand in a condition{hint}"
        if isinstance(node, exp.In) and not node.expressions:
            return f"{node.sql()}: in needs at least one value"
        if isinstance(node, _JUDGING):
            # Databases do not agree on what binds first here: a > b is null, a = b = c.
            if any(isinstance(part, _JUDGING) or isinstance(_bare(part), exp.Is) for part in _operands(node)):
                return f"{node.sql()}: put parentheses around what is judged first"
            if isinstance(node, EQUAL) and any(isinstance(part, exp.Null) for part in _operands(node)):
                return f"{node.sql()} never holds: write is null, or is not null"
    return None


def _bare(part: Any) -> Any:
    """What stands in parentheses, some of which the parser sets itself: `a > b is null` as `a > (b is null)`."""
    while isinstance(part, (exp.Paren, exp.Not)):
        part = part.this
    return part


def _operands(node: exp.Expr) -> Iterator[Any]:
    yield from (node.args.get(key) for key in ("this", "expression", "low", "high"))
    yield from node.args.get("expressions") or ()
