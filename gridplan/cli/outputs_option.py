"""`--outputs NAME,...`, the same on every command that computes measures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from gridplan.cli.study_options import names_of

__all__ = ["outputs_option"]

F = TypeVar("F", bound=Callable[..., Any])


def outputs_option(command: F) -> F:
    """Give a command `--outputs NAME,...`, as the argument `outputs`: names of measures, or None."""
    return click.option(
        "--outputs",
        default=None,
        metavar="NAME,...",
        callback=_names,
        help="Compute and write these measures; `default` stands for those of every cube.",
    )(command)


def _names(context: click.Context, option: click.Parameter, stated: str | None) -> list[str] | None:
    """Names of measures; an empty list would be a cube without any."""
    if stated is None:
        return None
    names = names_of((stated,))
    if not names:
        raise click.UsageError("--outputs names no measure")
    return names
