"""`-o FILE` of the commands that write one file: never over another one unasked, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["refuse_existing", "refuse_no_folder", "write_block"]


def refuse_existing(path: Path, force: bool) -> None:
    """Refuse a file that is there already, or that would lie in the folder of a cube. Raises StoreError."""
    from gridplan.errors import StoreError
    from gridplan.store.inside import refuse_inside_cube

    refuse_inside_cube(path)

    if path.exists() and not force:
        raise StoreError(f"{path} is already there; replace it with --force or give another file")
    if path.is_dir():
        raise StoreError(f"cannot write {path}: a folder is in the way of a file")


def refuse_no_folder(path: Path) -> None:
    """Refuse a folder in whose place there is a file, before anything is computed for it. Raises StoreError."""
    from gridplan.errors import StoreError

    if path.exists() and not path.is_dir():
        raise StoreError(f"cannot make the folder {path}: a file is in the way")


def write_block(path: Path, text: str) -> None:
    """Write a text and say so on stderr. Raises StoreError."""
    from gridplan.store.files import write_text

    write_text(path, text)
    click.echo(f"{path}: written", err=True)
