"""Conditions in SQL, `gpu in ('h100-sxm', 'b200') and rho_target = 0.7`, held against the columns and labels there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from gridplan.errors import ContractError, Problem
from gridplan.query.grammar import EQUAL, ORDERED, parsed, refused
from gridplan.query.literals import Value, meant
from gridplan.query.table import Table
from gridplan.query.text import name_sql, number_sql

__all__ = ["Where", "read_where"]


@dataclass(frozen=True)
class Where:
    """A condition as DuckDB reads it, the columns it speaks of, and for each axis what it says of that axis alone."""

    parts: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    of_axis: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def sql(self) -> str:
        """All parts, each in parentheses."""
        return " AND ".join(self.parts)

    @property
    def clause(self) -> str:
        """`WHERE ...`, or nothing."""
        return f"WHERE {self.sql}" if self.sql else ""


def read_where(texts: Sequence[str], table: Table) -> Where:
    """The condition that all `texts` hold.

    Raises
    ------
    ContractError
        With every problem: SQL that cannot be read, columns and labels that are not there, with the nearest ones.
    """
    problems: list[Problem] = []
    found = [tree for text in texts if (tree := _tree(text, problems)) is not None]
    for tree in found:
        _check(tree, table, problems)
    if problems:
        raise ContractError(list(dict.fromkeys(problems)))
    both = [part for tree in found for part in _conjuncts(tree)]
    of_axis: dict[str, list[str]] = {}
    for part in both:
        names = {column.name for column in part.find_all(exp.Column)}
        if len(names) == 1 and table.axis(name := names.pop()) is not None:
            of_axis.setdefault(name, []).append(_sql(part))
    columns = dict.fromkeys(column.name for tree in found for column in tree.find_all(exp.Column))
    return Where(tuple(map(_sql, found)), tuple(columns), of_axis)


def _tree(text: str, problems: list[Problem]) -> exp.Expression | None:
    try:
        tree = parsed(text)
        why = refused(tree)
    except ValueError as error:
        why = str(error)
    if why is None:
        return tree
    problems.append(Problem(why, key="where"))
    return None


def _check(tree: exp.Expression, table: Table, problems: list[Problem]) -> None:
    """Name columns as the files do, turn what stands beside a column into values it can have; say what cannot be."""
    unknown = False
    for node in list(tree.find_all(exp.Column)):
        column = table.column(node.name)
        if column is None or node.table:
            hint = _quotes(node, table) or table.near(node.name)
            problems.append(Problem(f"{node.sql()} is no column of {table.folder}{hint}", key="where"))
            unknown = True
        else:
            node.set("this", exp.to_identifier(column.name, quoted=name_sql(column.name) != column.name))
    if unknown:
        return
    for judged in list(tree.find_all(*EQUAL, *ORDERED, exp.In, exp.Between)):
        _fit(judged, table, problems)


def _quotes(node: exp.Column, table: Table) -> str:
    """A label written like a column: `gpu = b200`."""
    parent = node.parent
    while isinstance(parent, (exp.Sub, exp.Div, exp.Neg)):
        parent = parent.parent
    if not isinstance(parent, (*EQUAL, exp.In)) or parent.this is node:
        return ""
    return " (a label is written in single quotes: gpu = 'b200')" if table.column(parent.this.name) else ""


def _fit(node: exp.Expr, table: Table, problems: list[Problem]) -> None:
    sides = [value for key in ("this", "expression", "low", "high") if (value := node.args.get(key)) is not None]
    sides += node.expressions
    columns = [side for side in sides if isinstance(side, exp.Column)]
    if len(columns) != 1:
        return
    column = table.column(columns[0].name)
    assert column is not None
    ordered = isinstance(node, (*ORDERED, exp.Between))
    if ordered and column.dtype == "string":
        problems.append(Problem(f"{column.name} is a label: it may be =, <>, in or like", key="where"))
        return
    for side in sides:
        said = _said(side)
        if said is None:
            continue
        try:
            side.replace(_literal(meant(table, column, said, exact=not ordered)))
        except ValueError as error:
            problems.append(Problem(str(error), key="where"))


def _said(node: exp.Expression) -> Value | None:
    """The text, number or truth that a node is; None for anything else."""
    if isinstance(node, exp.Neg) and isinstance(inner := _said(node.this), float):
        return -inner
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Literal):
        return str(node.this) if node.is_string else float(node.this)
    return None


def _literal(value: Value) -> exp.Expression:
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return exp.Literal.string(value)
    written = exp.Literal.number(number_sql(abs(value)))
    return exp.Neg(this=written) if value < 0 else written


def _conjuncts(tree: exp.Expression) -> list[exp.Expression]:
    """What must hold each on its own."""
    if isinstance(tree, exp.Paren):
        return _conjuncts(tree.this)
    if isinstance(tree, exp.And):
        return [*_conjuncts(tree.this), *_conjuncts(tree.expression)]
    return [tree]


def _sql(tree: exp.Expression) -> str:
    return tree.sql(comments=False)
