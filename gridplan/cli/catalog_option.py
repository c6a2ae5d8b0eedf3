"""`--catalog DIR`, the same on every command that reads the catalog, and the line that says which folder is in use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from gridplan.catalog import Catalog
    from gridplan.contract.catalog_folder import CatalogFolder

__all__ = ["catalog_in_use", "catalog_option", "folder_in_use", "say_folder"]

F = TypeVar("F", bound=Callable[..., Any])


def catalog_option(command: F) -> F:
    """Give a command `--catalog DIR`, as the argument `catalog`."""
    return click.option(
        "--catalog",
        "catalog",
        default=None,
        type=click.Path(),
        metavar="DIR",
        help="Folder of your own catalog entries (default: [tool.gridplan] catalog of the nearest pyproject.toml).",
    )(command)


def say_folder(folder: CatalogFolder | None) -> None:
    """Say on stderr which folder changes the catalog: no number comes from a file that nobody named."""
    if folder is not None:
        click.echo(f"catalog {folder}", err=True)


def catalog_in_use(asked: str | None) -> Catalog:
    """The catalog of a command without a contract: the shipped one, with the folder in use if there is one."""
    from gridplan.catalog import load_catalog

    folder = folder_in_use(asked)
    return load_catalog() if folder is None else folder.catalog


def folder_in_use(asked: str | None) -> CatalogFolder | None:
    """The catalog folder of a command without a contract: the one asked for, or that of the project around it."""
    from gridplan.contract.project import catalog_folder

    folder = catalog_folder(asked, ".")
    say_folder(folder)
    return folder
