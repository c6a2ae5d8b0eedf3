"""`gridplan schema`: the JSON Schema of a contract file, for editors."""

from __future__ import annotations

import json

import click

from gridplan.cli.catalog_option import catalog_in_use, catalog_option

__all__ = ["command"]


@click.command("schema")
@catalog_option
def command(catalog: str | None) -> None:
    """Print the JSON Schema of a contract file, with the ids of the catalog in use.

    Save it and name it in the first line of a contract, so that an editor completes and checks what you write:

    \b
        # yaml-language-server: $schema=contract.schema.json
    """
    from gridplan.contract import contract_schema

    click.echo(json.dumps(contract_schema(catalog_in_use(catalog)), indent=2, ensure_ascii=False))
