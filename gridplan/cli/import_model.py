"""`gridplan catalog import-model`: a published config.json as an entry of the catalog."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click

from gridplan.cli import clock
from gridplan.cli.output import refuse_existing, write_block

__all__ = ["command"]

EXTRAS = ("mtp", "vision")


@click.command("import-model", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("config", type=click.Path(), metavar="CONFIG.JSON")
@click.option("--id", "model_id", default=None, metavar="NAME", help="Id of the entry (default: the name of the "
              "folder of a config.json; of X.json or X_config.json it is X).")  # fmt: skip
@click.option("--weights-index", default=None, type=click.Path(), help="The model.safetensors.index.json to take the "
              "bytes of the checkpoint from (default: one beside CONFIG.JSON).")  # fmt: skip
@click.option("--quant-config", default=None, type=click.Path(), help="The hf_quant_config.json of a checkpoint by "
              "modelopt (default: one beside CONFIG.JSON).")  # fmt: skip
@click.option("--with", "extras", default="", metavar="PARTS", help="Count in what serving text does without: "
              "mtp, vision, or both with a comma.")  # fmt: skip
@click.option("-o", "--output", default=None, type=click.Path(), help="Write to a file instead.")
@click.option("--entry", "alone", is_flag=True, help="Print the entry alone under its id, as models.yaml of a catalog "
              "folder holds it.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace the file of -o.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: id, entry, parameters by part.")
def command(
    config: str,
    model_id: str | None,
    weights_index: str | None,
    quant_config: str | None,
    extras: str,
    output: str | None,
    alone: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Read a Hugging Face config.json and print a complete entry for a contract's `catalog: {models: ...}`.

    Parameters are counted exactly, by part; layer groups say what each layer caches; bytes are those of the checkpoint
    in its own format. A file that is not understood is refused with the field that caused it (exit code 2).

    In a contract the path of a config.json may also stand in place of a model's id.
    """
    from gridplan.catalog import load_catalog
    from gridplan.catalog.hf import import_model
    from gridplan.catalog.hf.block import default_id, model_block, model_entry
    from gridplan.contract.model_files import is_path

    if alone and as_json:
        raise click.UsageError("--entry and --json are two forms: give one")
    parts = _parts(extras)
    path = Path(config)
    name = model_id if model_id is not None else default_id(path.resolve().parent.name, path.stem)
    if not name or len(name.split()) != 1 or name != name.strip() or not name.isprintable():
        raise click.BadParameter(f"{name!r}: an id is printable text without spaces", param_hint="--id")
    if is_path(name):
        raise click.BadParameter(f"{name!r} would be read as a path: leave out separators and .json", param_hint="--id")
    model = import_model(config, weights_index, quant_config, parts)
    model = replace(model, entry={**model.entry, "as_of": clock.today().isoformat()})
    load_catalog().with_entries({"models": {name: model.entry}})
    if name in load_catalog().models:
        click.echo(f"note: the shipped catalog has a model {name}: this entry is laid over it", err=True)
    if as_json:
        data = {"id": name, "entry": model.entry, "params_by_part": model.parts, "params_apart": model.apart}
        text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    else:
        text = model_entry(name, model) if alone else model_block(name, model)
    if output is None:
        click.echo(text, nl=False)
    else:
        refuse_existing(Path(output), force)
        write_block(Path(output), text)


def _parts(extras: str) -> tuple[str, ...]:
    """The parts of `--with`, each known."""
    from gridplan.errors import suggestion

    parts = tuple(part.strip() for part in extras.split(",")) if extras else ()
    for part in parts:
        if part not in EXTRAS:
            known = f"{suggestion(part, EXTRAS)}; known: {', '.join(EXTRAS)}"
            raise click.BadParameter(f"unknown part {part!r}{known}", param_hint="--with")
    return parts
