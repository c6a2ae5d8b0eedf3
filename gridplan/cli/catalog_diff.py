"""`gridplan catalog diff`: what a catalog folder or a contract changes against the shipped catalog."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from gridplan.cli.catalog_option import catalog_option, folder_in_use, say_folder
from gridplan.cli.catalog_text import cell_text

if TYPE_CHECKING:
    from gridplan.catalog import Catalog
    from gridplan.catalog.diff import EntryChange

__all__ = ["command"]

SIGNS = {"added": "+", "changed": "~", "removed": "-"}


@click.command("diff", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("of", nargs=-1, metavar="[GRID] [KIND]...")
@catalog_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a list of entries.")
def command(of: tuple[str, ...], catalog: str | None, as_json: bool) -> None:
    """Show what the catalog folder in use changes against the shipped catalog: every field, old -> new, both sources.

    With a contract, also what its own `catalog:` section changes. KIND (gpus, models, instances, engines) shows only
    entries of that kind. Exit code 0 whether or not something differs.

    \b
    gridplan catalog diff --catalog ours
    gridplan catalog diff grid.yaml instances
    """
    from gridplan.catalog import load_catalog
    from gridplan.catalog.diff import KINDS, catalog_diff

    kinds = tuple(kind for kind in KINDS if kind in of) or KINDS
    grids = [item for item in of if item not in KINDS]
    if len(grids) > 1:
        raise click.UsageError(f"give one contract, not {', '.join(grids)}")
    changes = catalog_diff(load_catalog(), _changed(grids[0] if grids else None, catalog), kinds)
    if as_json:
        click.echo(json.dumps([asdict(change) for change in changes], indent=2, ensure_ascii=False, allow_nan=False))
    elif changes:
        click.echo("\n".join(line for change in changes for line in _lines(change)))
    else:
        click.echo("nothing differs from the shipped catalog", err=True)


def _changed(grid: str | None, catalog: str | None) -> Catalog:
    """The catalog of a contract, or of the folder in use."""
    from gridplan.catalog import load_catalog

    if grid is None:
        folder = folder_in_use(catalog)
        if folder is None:
            raise click.UsageError("no catalog folder is in use: give --catalog DIR or a contract")
        return folder.catalog
    from gridplan.contract import load_grid

    loaded = load_grid(grid, catalog)
    say_folder(loaded.folder)
    known = load_catalog() if loaded.folder is None else loaded.folder.catalog
    return known.with_entries(loaded.catalog)


def _lines(change: EntryChange) -> Iterator[str]:
    """An entry: its name, one line a field, then where both sides come from."""
    yield f"{SIGNS[change.what]} {change.kind} {change.id} ({change.what})"
    fields = [item for item in change.fields if change.what == "changed" or (item.old, item.new) != (None, None)]
    width = max((len(item.name) for item in fields), default=0)
    for item in fields:
        sides = {"added": (item.new,), "removed": (item.old,), "changed": (item.old, item.new)}[change.what]
        yield f"    {item.name.ljust(width)}  {' -> '.join(cell_text(side, digits=15) for side in sides)}"
    if change.old_provenance:
        yield f"    was: {_provenance(change.old_provenance)}"
    if change.new_provenance:
        # Fields that were not written anew keep their source, which stands in the line above.
        kept = f"; fields it does not give: {change.old_provenance.get('source')}"
        source = str(change.new_provenance["source"]).removesuffix(kept)
        yield f"    now: {_provenance({**change.new_provenance, 'source': source})}"


def _provenance(said: Mapping[str, object]) -> str:
    return ", ".join(cell_text(said[name]) for name in ("class", "as_of", "source") if said.get(name))
