"""`gridplan schema`: the JSON Schema of a contract file, for editors."""

from __future__ import annotations

import json

import click

__all__ = ["command"]


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of a contract file.

    Save it and name it in the first line of a contract, so that an editor completes and checks what you write:

    \b
        # yaml-language-server: $schema=contract.schema.json
    """
    from gridplan.contract import contract_schema

    click.echo(json.dumps(contract_schema(), indent=2, ensure_ascii=False))
