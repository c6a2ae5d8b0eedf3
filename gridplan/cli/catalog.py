"""`gridplan catalog`: what gridplan knows of GPUs, models, rentable shapes, engines and number formats, and whence."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gridplan.catalog import Catalog, Dtype, Engine, Entry, Gpu, Instance, Model

__all__ = ["command"]

Cells = Sequence[object]
KINDS = ("gpus", "models", "instances", "engines", "dtypes")


def _gpu_cells(gpu: Gpu) -> Cells:
    memory = None if gpu.memory_bytes is None else gpu.memory_bytes / 2**30
    bandwidth = None if gpu.memory_bandwidth_bytes_per_s is None else gpu.memory_bandwidth_bytes_per_s / 1e9
    peaks = [gpu.flops[name] / 1e12 if name in gpu.flops else None for name in ("fp16", "bf16", "fp8", "int8", "fp4")]
    return (
        gpu.id,
        gpu.vendor,
        memory,
        gpu.memory_source,
        bandwidth,
        *peaks,
        gpu.max_scale_up_domain,
        gpu.as_of,
        gpu.cls,
    )


def _model_cells(model: Model) -> Cells:
    total, active = (None if count is None else count / 1e9 for count in (model.params_total, model.params_active))
    shape = (model.num_layers, model.attention, model.attention_heads, model.kv_heads, model.max_position_embeddings)
    return (model.id, total, active, *shape, model.native_weight_dtype, model.as_of, model.cls, _groups(model))


def _groups(model: Model) -> str:
    from gridplan.catalog import groups_text

    return groups_text(model.layer_groups)


def _instance_cells(instance: Instance) -> Cells:
    price = instance.usd_per_node_hour
    each = None if price is None else price / instance.gpus_per_node
    shape = (instance.id, instance.gpu, instance.gpus_per_node, instance.scale_up_gpus)
    return (*shape, price, each, instance.price_kind, instance.region, instance.as_of, instance.cls)


def _engine_cells(engine: Engine) -> Cells:
    from gridplan.catalog.versions import range_text

    versions = range_text(engine.version_from, engine.version_to)
    rule = (engine.fraction_meaning, engine.default_fraction, engine.block_tokens, engine.activation_rule)
    return (engine.id, versions, *rule, engine.mbu, engine.mfu, engine.as_of, engine.cls)


def _dtype_cells(dtype: Dtype) -> Cells:
    return (f"{dtype.role}/{dtype.name}", dtype.bits_per_element, dtype.compute_column, dtype.requires, dtype.cls)


COLUMNS: Mapping[str, tuple[Callable[[Any], Cells], str]] = {
    "gpus": (
        _gpu_cells,
        "id|vendor|memory GiB|memory from|GB/s|fp16 TFLOP/s|bf16|fp8|int8|fp4|domain|as of|class",
    ),
    "models": (
        _model_cells,
        "id|params 1e9|active 1e9|layers|attention|heads|KV heads|context|weights|as of|class|layer groups",
    ),
    "instances": (_instance_cells, "id|gpu|GPUs|scale-up|USD/h|USD/GPU-h|price|region|as of|class"),
    "engines": (_engine_cells, "id|versions|fraction|default|block|activations|MBU|MFU|as of|class"),
    "dtypes": (_dtype_cells, "name|bits|computes in|requires|class"),
}
"""By kind: what a row of the table holds, and the headings."""


def _entries(catalog: Catalog, kind: str) -> list[Entry]:
    table = catalog.engines if kind == "engines" else getattr(catalog, kind).values()
    return list(table)


def _dtype(catalog: Catalog, name: str) -> Dtype:
    """A format by `role/name`, or by its bare name where one role alone has it."""
    from gridplan.errors import CatalogError, suggestion

    role, slash, rest = name.partition("/")
    if slash and role in ("weight", "kv"):
        return catalog.dtype(role, rest)
    found = [row for row in catalog.dtypes.values() if row.name == name]
    if len(found) == 1:
        return found[0]
    known = [f"{row.role}/{row.name}" for row in catalog.dtypes.values()]
    if found:
        raise CatalogError(f"{name} is a format of weights and of KV: write weight/{name} or kv/{name}")
    raise CatalogError(f"unknown dtype {name}{suggestion(name, known)}; known: {', '.join(known)}")


def _entry(catalog: Catalog, kind: str, name: str) -> Entry:
    finders: dict[str, Callable[[str], Entry]] = {
        "gpus": catalog.gpu,
        "models": catalog.model,
        "instances": catalog.instance,
        "engines": catalog.engine,
        "dtypes": lambda label: _dtype(catalog, label),
    }
    return finders[kind](name)


def _details(kind: str, entry: Entry) -> dict[str, object]:
    """All fields; a model also says whether its layer groups are known, without which it cannot be planned."""
    from gridplan.catalog import as_dict

    values = as_dict(entry)
    if kind == "models":
        values["supported"] = bool(values["layer_groups"])
    return values


def _text(value: object, digits: int = 6) -> str:
    """A cell: a number to `digits` significant digits (counts in full), `-` for what is not known."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e16 else f"{value:.{digits}g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_text(item, digits)}" for key, item in value.items()) or "-"
    return str(value)


def _is_number(column: Sequence[object]) -> bool:
    known = [value for value in column if value is not None]
    return bool(known) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)


def _plain_table(head: Sequence[str], rows: Sequence[Cells]) -> str:
    """Aligned columns two spaces apart, numbers to the right; nothing is ever cut."""
    columns = list(zip(*rows, strict=True))
    cells = [[title, *map(_text, column)] for title, column in zip(head, columns, strict=True)]
    padded = [
        [cell.rjust(width) if right else cell.ljust(width) for cell in column]
        for column, width, right in zip(
            cells, (max(map(len, column)) for column in cells), map(_is_number, columns), strict=True
        )
    ]
    return "\n".join("  ".join(line).rstrip() for line in zip(*padded, strict=True))


def _print_table(head: Sequence[str], rows: Sequence[Cells]) -> None:
    """The table with a bold heading on a terminal that is wide enough; elsewhere plain lines, which are never cut."""
    plain = _plain_table(head, rows)
    if not sys.stdout.isatty():
        click.echo(plain)
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, highlight=False)
    if console.width < max(map(len, plain.splitlines())):
        click.echo(plain)
        return
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for title, column in zip(head, zip(*rows, strict=True), strict=True):
        table.add_column(title, justify="right" if _is_number(column) else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(_text, row))
    console.print(table)


def _show_entry(kind: str, entry: Entry) -> None:
    from gridplan.catalog import Model

    values = _details(kind, entry)
    if isinstance(entry, Model):
        values["layer_groups"] = _groups(entry)
    width = max(map(len, values))
    for name, value in values.items():
        click.echo(f"{name.ljust(width)}  {_text(value, digits=15)}")
    if kind == "models":
        click.echo("can be planned" if values["supported"] else "cannot be planned: its layer groups are not known")


@click.command("catalog", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a list, or one object when NAME is given.")
def command(kind: str, name: str | None, as_json: bool) -> None:
    """List the catalog, or show all fields of one entry with its source, date and class.

    \b
    gridplan catalog gpus                 a table
    gridplan catalog models qwen3-8b      one entry, and whether it can be planned
    gridplan catalog engines vllm@0.21    the entry whose versions hold 0.21
    gridplan catalog dtypes weight/fp8
    """
    from gridplan.catalog import load_catalog

    catalog = load_catalog()
    entries = _entries(catalog, kind) if name is None else [_entry(catalog, kind, name)]
    if as_json:
        details = [_details(kind, entry) for entry in entries]
        click.echo(json.dumps(details if name is None else details[0], indent=2, ensure_ascii=False, allow_nan=False))
    elif name is not None:
        _show_entry(kind, entries[0])
    else:
        to_cells, titles = COLUMNS[kind]
        head = titles.split("|")
        _print_table(head, [to_cells(entry) for entry in entries])
