"""What commands that answer with a table or a chart share: options, what they read, where they write, and warnings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gridplan.cli.catalog_option import catalog_option, say_folder
from gridplan.cli.output import refuse_existing
from gridplan.errors import StoreError
from gridplan.store.place import is_cube_place

if TYPE_CHECKING:
    from gridplan.contract.grid import Grid

__all__ = [
    *(
        "at_option",
        "check_output",
        "json_text",
        "loaded_grid",
        "names_of",
        "output_options",
        "refuse_catalog_of_folder",
    ),
    *("say_warnings", "source_of"),
]

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


def check_output(output: str | None, force: bool, suffixes: tuple[str, ...] = TABLES, option: str = "-o") -> None:
    """Refuse a file that cannot be written before anything is computed. Raises StoreError, click.UsageError."""
    if output is None:
        return
    if Path(output).suffix not in suffixes:
        raise click.UsageError(f"{option} {output}: a file that ends in {_either(suffixes)} is due")
    refuse_existing(Path(output), force)
    if not Path(output).parent.is_dir():
        raise StoreError(f"{output}: cannot be written: there is no folder {Path(output).parent}")


def loaded_grid(path: str, catalog: str | None) -> Grid:
    """The contract of a file; a catalog folder in use is named on stderr."""
    from gridplan.contract import load_grid

    grid = load_grid(path, catalog)
    say_folder(grid.folder)
    return grid


def refuse_catalog_of_folder(source: str, catalog: str | None) -> None:
    """A catalog is read to plan a contract: a cube in a folder has its own."""
    if catalog is not None and is_cube_place(source):
        raise click.UsageError("--catalog is of a grid: the cube in a folder was planned already")


def source_of(source: str, catalog: str | None) -> Any:
    """The folder of a cube as it is, else the contract of the file. Raises ContractError, click.UsageError."""
    refuse_catalog_of_folder(source, catalog)
    return source if is_cube_place(source) else loaded_grid(source, catalog)


def names_of(texts: Iterable[str]) -> list[str]:
    """The names in texts of the form `NAME,...`.

    >>> names_of(("nodes, replicas", "gpus,"))
    ['nodes', 'replicas', 'gpus']
    """
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


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
