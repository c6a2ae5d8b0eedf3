"""`gridplan explain`: the chain of one cell with its numbers."""

from __future__ import annotations

import json
import re

import click

from gridplan.cli.catalog_option import catalog_option, say_folder
from gridplan.errors import ContractError, Problem

__all__ = ["command"]


def parse_labels(texts: tuple[str, ...]) -> dict[str, str]:
    """`gpu=h100-sxm,model=llama-3.1-8b` (also given several times) as labels by axis; a comma of a label is `\\,`."""
    labels: dict[str, str] = {}
    parts = (part.replace("\\,", ",") for text in texts for part in re.split(r"(?<!\\),", text))
    for item in (part for part in parts if part.strip()):
        name, sign, label = item.partition("=")
        if not sign or not name.strip() or not label.strip():
            raise ContractError([Problem(f"--at takes AXIS=LABEL pairs, not {item!r}")])
        if name.strip() in labels:
            raise ContractError([Problem(f"--at fixes {name.strip()} twice")])
        labels[name.strip()] = label.strip()
    return labels


@click.command()
@click.argument("grid", type=click.Path())
@click.option("--at", "at", multiple=True, metavar="AXIS=LABEL,...", help="The cell: one label per axis.")
@catalog_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(grid: str, at: tuple[str, ...], catalog: str | None, as_json: bool) -> None:
    """Show the chain of one cell of GRID: formulas, numbers, what binds, and where every input came from."""
    labels = parse_labels(at)
    from gridplan.contract import load_grid
    from gridplan.report.explain import explain

    loaded = load_grid(grid, catalog)
    say_folder(loaded.folder)
    found = explain(loaded, **labels)
    click.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) if as_json else str(found))
