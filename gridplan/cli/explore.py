"""`gridplan explore`: a cube as a page, served on this machine or written as one file."""

from __future__ import annotations

import math
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gridplan.cli.catalog_option import catalog_option, folder_in_use
from gridplan.cli.explain import parse_labels
from gridplan.cli.named_options import named_as_options
from gridplan.cli.output import write_block
from gridplan.cli.outputs_option import outputs_option
from gridplan.cli.study_options import at_option, check_output, loaded_grid
from gridplan.store.place import is_cube_place

if TYPE_CHECKING:
    from gridplan.explore.explorer import Explorer

__all__ = ["command"]

_OPTIONS = {name: f"--{name}" for name in ("host", "outputs", "at")}


@click.command()
@click.argument("source", metavar="GRID|DIR", type=click.Path())
@click.option(
    "--static", "output", default=None, type=click.Path(), metavar="FILE", help="Write a .html file and stop."
)
@at_option
@outputs_option
@click.option("--port", default=None, type=click.IntRange(0, 65535), help="Port (default: 8417; 0 takes a free one).")
@click.option("--host", default=None, metavar="ADDRESS", help="Address to listen at (default: 127.0.0.1).")
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
@click.option("--force", is_flag=True, help="Replace the file of --static.")
@catalog_option
def command(
    source: str,
    output: str | None,
    at: tuple[str, ...],
    outputs: list[str] | None,
    port: int | None,
    host: str | None,
    no_open: bool,
    force: bool,
    catalog: str | None,
) -> None:
    """Turn the cube of GRID, or the one in DIR, in a page: a control for every axis, any two of them on the plane.

    GRID is planned cell by cell as it is looked at, so its size does not matter; DIR is read where it is looked at.
    """
    labels = parse_labels(at)
    _check(source, output, bool(labels), outputs is not None, port, host, no_open, force)
    check_output(output, force, (".html",), "--static")
    _check_extras(output is None)
    with named_as_options(_OPTIONS):
        explorer = _explorer(source, outputs, catalog)
        if output is not None:
            _write(explorer, output, outputs, labels)
            return
        _serve(explorer, host or "127.0.0.1", port, not no_open)


def _check(
    source: str,
    output: str | None,
    labels: bool,
    measures: bool,
    port: int | None,
    host: str | None,
    no_open: bool,
    force: bool,
) -> None:
    """Refuse options that nothing would read."""
    if output is None:
        if force or labels:
            raise click.UsageError(f"{'--force' if force else '--at'} is of --static")
        if measures and is_cube_place(source):
            raise click.UsageError("--outputs is of a grid or of --static: the cube in a folder has its measures")
    elif port is not None or host is not None or no_open:
        raise click.UsageError("--port, --host and --no-open are of the server: --static writes a file and stops")


def _check_extras(served: bool) -> None:
    """Refuse before anything is planned where a library is missing. Raises MissingExtraError."""
    from gridplan.explore.page import needs_drawing
    from gridplan.explore.server import needs_explore

    needs_explore() if served else needs_drawing()


def _explorer(source: str, outputs: list[str] | None, catalog: str | None) -> Explorer:
    from gridplan.explore.explorer import explorer_of

    if is_cube_place(source):
        return explorer_of(source, catalog=folder_in_use(catalog))
    return explorer_of(loaded_grid(source, catalog), outputs)


def _write(explorer: Explorer, output: str, outputs: list[str] | None, labels: dict[str, str]) -> None:
    from gridplan.engine.columns import named_outputs
    from gridplan.explore.static import static_page

    text = static_page(explorer, named_outputs(outputs), dict(labels))
    write_block(Path(output), text)
    cells = math.prod(size for name, size in explorer.sizes.items() if name not in labels)
    click.echo(f"{cells:,} cells, {len(text.encode()) / 1e6:.0f} MB", err=True)


def _serve(explorer: Explorer, host: str, port: int | None, opens: bool) -> None:
    from gridplan.explore.server import PORT, listening, reached, serve

    with listening(host, PORT if port is None else port) as sock:
        address = reached(sock, host)
        click.echo(address)
        if not address.startswith(("http://127.", "http://localhost:", "http://[::1]")):
            click.echo(f"warning: whoever reaches {address} sees this cube: there is no password", err=True)
        click.echo("Ctrl-C ends it", err=True)
        if opens:
            webbrowser.open(address)
        serve(explorer, sock, host)
