"""Options of commands that choose among plans, each by the argument of its name."""

from __future__ import annotations

import click

from gridplan.cli.study_options import names_of
from gridplan.errors import ContractError, Problem

__all__ = ["accept_option", "levers_option", "mixed_option", "parse_accepted", "survives_option", "where_option"]

levers_option = click.option(
    "--levers", default=None, metavar="AXIS,...", help="Axes chosen along (default: those of class policy)."
)
where_option = click.option(
    "--where", multiple=True, metavar="CONDITION", help='Such as "usd_per_month <= 150000"; repeatable.'
)
accept_option = click.option(
    "--accept", multiple=True, metavar="AXIS=LABEL,...", help="Precisions accepted, as kv_dtype=bf16,fp8."
)
survives_option = click.option(
    "--survives", default=None, metavar="UNIT", help="gpu, node or zone (limits hold), node-headroom, ..."
)
mixed_option = click.option(
    "--mixed", is_flag=True, help="Rank measured, scaled and analytical rates against each other."
)


def parse_accepted(texts: tuple[str, ...]) -> dict[str, list[str]]:
    """`kv_dtype=bf16,fp8` as labels by name."""
    found: dict[str, list[str]] = {}
    for text in texts:
        name, sign, labels = (part.strip() for part in text.partition("="))
        if not sign or not name or not labels:
            raise ContractError([Problem(f"--accept takes AXIS=LABEL,..., not {text!r}")])
        found.setdefault(name, []).extend(names_of((labels,)))
    return found
