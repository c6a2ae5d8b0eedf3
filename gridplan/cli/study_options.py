"""What commands that answer with a table share: options, the contract they read, where they write, and warnings."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gridplan.cli.catalog_option import catalog_option, say_folder
from gridplan.cli.output import refuse_existing
from gridplan.errors import ContractError, Problem, StoreError

if TYPE_CHECKING:
    from gridplan.contract.grid import Grid

__all__ = ["at_option", "check_output", "json_text", "loaded_grid", "output_options", "parse_accepted", "say_warnings"]

F = TypeVar("F", bound=Callable[..., Any])

TABLES = (".csv", ".parquet")


def at_option(command: F) -> F:
    """Give a command `--at AXIS=LABEL,...`, as the argument `at`."""
    return click.option("--at", multiple=True, metavar="AXIS=LABEL,...", help="Labels at which axes are fixed.")(
        command
    )


def output_options(suffixes: tuple[str, ...] = TABLES) -> Callable[[F], F]:
    """Give a command `-o`, `--force`, `--catalog` and `--json` (output, force, catalog, as_json)."""

    def give(command: F) -> F:
        options = (
            click.option(
                "-o",
                "--output",
                default=None,
                type=click.Path(),
                help=f"Write a {_either(suffixes)} file.",
            ),
            click.option("--force", is_flag=True, help="Replace the file of -o."),
            catalog_option,
            click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        )
        for option in reversed(options):
            command = option(command)
        return command

    return give


def check_output(output: str | None, force: bool, suffixes: tuple[str, ...] = TABLES) -> None:
    """Refuse a file that cannot be written before anything is computed. Raises StoreError, click.UsageError."""
    if output is None:
        return
    if Path(output).suffix not in suffixes:
        raise click.UsageError(f"-o {output}: a file that ends in {_either(suffixes)} is due")
    refuse_existing(Path(output), force)
    if not Path(output).parent.is_dir():
        raise StoreError(f"{output}: cannot be written: there is no folder {Path(output).parent}")


def loaded_grid(path: str, catalog: str | None) -> Grid:
    """The contract of a file; a catalog folder in use is named on stderr."""
    from gridplan.contract import load_grid

    grid = load_grid(path, catalog)
    say_folder(grid.folder)
    return grid


def parse_accepted(texts: tuple[str, ...]) -> dict[str, list[str]]:
    """`kv_dtype=bf16,fp8` as labels by name."""
    found: dict[str, list[str]] = {}
    for text in texts:
        name, sign, labels = (part.strip() for part in text.partition("="))
        if not sign or not name or not labels:
            raise ContractError([Problem(f"--accept takes AXIS=LABEL,..., not {text!r}")])
        found.setdefault(name, []).extend(label.strip() for label in labels.split(",") if label.strip())
    return found


def say_warnings(attrs: Mapping[Any, Any]) -> list[str]:
    """Warnings of a study, each said on stderr."""
    warnings = str(attrs.get("warnings", "")).splitlines()
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    return warnings


def json_text(data: Any) -> str:
    """What `--json` prints: no NaN, letters as they are."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def _either(suffixes: tuple[str, ...]) -> str:
    return " or ".join([", ".join(suffixes[:-1]), suffixes[-1]] if len(suffixes) > 1 else suffixes)
