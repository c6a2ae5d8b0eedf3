"""`gridplan catalog`: what gridplan knows of GPUs, models, rentable shapes, engines and number formats, and whence."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from gridplan.cli.catalog_option import catalog_in_use, catalog_option
from gridplan.cli.catalog_text import Cells, cell_text, print_table
from gridplan.errors import suggestion

if TYPE_CHECKING:
    from gridplan.catalog import Catalog, Dtype, Engine, Entry, Gpu, Instance, Model

__all__ = ["command"]

KINDS: Mapping[str, str] = {
    "gpus": "accelerators",
    "models": "models",
    "instances": "rentable shapes with their price",
    "engines": "serving engines by version",
    "dtypes": "number formats",
}
"""Kinds of entries; each is a command of its own."""

COMMANDS: Mapping[str, tuple[str, str]] = {
    "diff": ("gridplan.cli.catalog_diff", "Show what your own entries change."),
    "validate": ("gridplan.cli.catalog_validate", "Check every entry: faults, gaps, age."),
    "step-constants": ("gridplan.cli.catalog_step", "List achieved shares and overheads of a step."),
    "import-model": ("gridplan.cli.import_model", "Read a published config.json into an entry."),
}
"""Commands on entries: the module, imported only when called, and the line of `--help`."""


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
    from gridplan.catalog.missing import missing_for_plan

    total, active = (None if count is None else count / 1e9 for count in (model.params_total, model.params_active))
    shape = (model.num_layers, model.attention, model.attention_heads, model.kv_heads)
    experts = f"{model.experts_per_token} of {model.num_experts}" if model.num_experts else None
    origin = (model.max_position_embeddings, model.native_weight_dtype, model.as_of, model.cls)
    return (model.id, total, active, *shape, experts, *origin, ", ".join(missing_for_plan(model)), _groups(model))


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
    return (engine.id, versions, *rule, engine.as_of, engine.cls)


def _dtype_cells(dtype: Dtype) -> Cells:
    return (f"{dtype.role}/{dtype.name}", dtype.bits_per_element, dtype.compute_column, dtype.requires, dtype.cls)


COLUMNS: Mapping[str, tuple[Callable[[Any], Cells], str]] = {
    "gpus": (
        _gpu_cells,
        "id|vendor|memory GiB|memory from|GB/s|fp16 TFLOP/s|bf16|fp8|int8|fp4|domain|as of|class",
    ),
    "models": (
        _model_cells,
        "id|params 1e9|active 1e9|layers|attention|heads|KV heads|experts|context|weights|as of|class|lacks|"
        "layer groups",
    ),
    "instances": (_instance_cells, "id|gpu|GPUs|scale-up|USD/h|USD/GPU-h|price|region|as of|class"),
    "engines": (_engine_cells, "id|versions|fraction|default|block|activations|as of|class"),
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
    """All fields; a model also says what it lacks for a plan, and its parameters by part."""
    from gridplan.catalog import Model, as_dict
    from gridplan.cli.catalog_model import model_data

    values = as_dict(entry)
    if isinstance(entry, Model):
        values |= model_data(entry)
    return values


def _show_entry(entry: Entry) -> None:
    from gridplan.catalog import Model, as_dict
    from gridplan.cli.catalog_model import model_lines

    values = as_dict(entry)
    if isinstance(entry, Model):
        values["layer_groups"] = _groups(entry)
    width = max(map(len, values))
    for name, value in values.items():
        click.echo(f"{name.ljust(width)}  {cell_text(value, digits=15)}")
    if isinstance(entry, Model):
        click.echo("\n".join(model_lines(entry)))


class _CatalogGroup(click.Group):
    """Kinds of entries and commands on them, side by side; options may stand before the kind, as they always could."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*KINDS, *COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in KINDS:
            return _kind_command(cmd_name)
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = self.list_commands(ctx)
        first = next((i for i, text in enumerate(args) if text in known and args[max(i - 1, 0)] != "--catalog"), 0)
        return super().parse_args(ctx, [*args[first : first + 1], *args[:first], *args[first + 1 :]])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            hint = f"{suggestion(args[0], known)}; known: {', '.join(known)}"
            raise click.UsageError(f"no kind or command {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Kinds"):
            formatter.write_dl([(kind, f"List {text}, or show one.") for kind, text in KINDS.items()])
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    "catalog",
    cls=_CatalogGroup,
    subcommand_metavar="KIND|COMMAND ...",
    context_settings={"help_option_names": ["-h", "--help"]},
)
def command() -> None:
    """List the catalog, show all fields of one entry with its source, date and class, or check and compare entries.

    \b
    gridplan catalog gpus                 a table
    gridplan catalog models qwen3-8b      one entry, and what it lacks for a plan
    gridplan catalog engines vllm@0.21    the entry whose versions hold 0.21
    gridplan catalog dtypes weight/fp8
    gridplan catalog diff --catalog ours  what your own entries change
    gridplan catalog validate             what is old, incomplete or contradictory
    """


def _kind_command(kind: str) -> click.Command:
    """The command that lists the entries of one kind, or shows one of them."""

    @click.command(kind, help=f"List {KINDS[kind]}, or show all fields of NAME.")
    @click.argument("name", required=False)
    @catalog_option
    @click.option("--json", "as_json", is_flag=True, help="Print JSON: a list, or one object when NAME is given.")
    def of_kind(name: str | None, catalog: str | None, as_json: bool) -> None:
        _show(catalog_in_use(catalog), kind, name, as_json)

    return of_kind


def _show(catalog: Catalog, kind: str, name: str | None, as_json: bool) -> None:
    """A list of entries or one of them, as text or JSON."""
    entries = _entries(catalog, kind) if name is None else [_entry(catalog, kind, name)]
    if as_json:
        details = [_details(kind, entry) for entry in entries]
        click.echo(json.dumps(details if name is None else details[0], indent=2, ensure_ascii=False, allow_nan=False))
    elif name is not None:
        _show_entry(entries[0])
    else:
        to_cells, titles = COLUMNS[kind]
        head = titles.split("|")
        print_table(head, [to_cells(entry) for entry in entries])
