"""`gridplan verify`: check a written cube against its receipts."""

from __future__ import annotations

import json

import click

__all__ = ["command"]


@click.command()
@click.argument("folder", type=click.Path())
@click.option("--deep", is_flag=True, help="Also check the labels of every row and what must repeat.")
@click.option("--sizes", is_flag=True, help="Only check that every file is there with its size; none is read.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(folder: str, deep: bool, sizes: bool, as_json: bool) -> None:
    """Check every part of the cube in FOLDER against its receipt; exit code 1 where one was altered."""
    if deep and sizes:
        raise click.UsageError("--sizes reads no file and --deep reads every row: give one of them")
    from gridplan.errors import VerifyError
    from gridplan.store.verify import verify_cube

    try:
        manifest = verify_cube(folder, deep=deep, sizes_only=sizes)
    except VerifyError as error:
        if not as_json:
            raise
        click.echo(json.dumps({"ok": False, "problems": str(error).splitlines()}, indent=2, ensure_ascii=False))
        raise click.exceptions.Exit(1) from error
    rows = sum(receipt.rows for receipt in manifest.receipts)
    if as_json:
        click.echo(json.dumps({"ok": True, "parts": len(manifest.parts), "rows": rows, "problems": []}, indent=2))
    else:
        click.echo(f"{folder}: ok, {len(manifest.parts):,} part(s), {rows:,} rows")
