"""What commands that print a study share: where a table may be written, and warnings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gridplan.cli.output import refuse_existing
from gridplan.errors import StoreError

__all__ = ["check_output", "say_warnings"]


def check_output(output: str | None, force: bool, suffixes: tuple[str, ...] = (".csv", ".parquet")) -> None:
    """Refuse a file that cannot be written before anything is computed."""
    if output is None:
        return
    if Path(output).suffix not in suffixes:
        raise click.UsageError(f"-o {output}: a file that ends in {' or '.join(suffixes)} is due")
    refuse_existing(Path(output), force)
    if not Path(output).parent.is_dir():
        raise StoreError(f"{output}: cannot be written: there is no folder {Path(output).parent}")


def say_warnings(attrs: dict[Any, Any]) -> list[str]:
    """Warnings of a study, each said on stderr."""
    warnings = str(attrs.get("warnings", "")).splitlines()
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    return warnings
