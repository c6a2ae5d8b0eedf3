"""`gridplan solve`: a grid asked backwards."""

from __future__ import annotations

import click

from gridplan.cli.named_options import named_as_options
from gridplan.cli.study_options import check_output, json_text, loaded_grid, output_options, say_warnings

__all__ = ["command"]

TARGETS = ("max_context", "min_tensor_parallel", "min_gpus", "max_concurrency")

_OPTIONS = {
    **{name: f"--{name}" for name in ("concurrency", "tokens", "context", "measure", "by")},
    "target": "--for",
    "max_tensor_parallel": "--max-tp",
}
"""What arguments of `gridplan.solve` are called here."""


@click.command()
@click.argument("grid", type=click.Path())
@click.option("--for", "target", required=True, metavar="TARGET", help=f"What is asked: {', '.join(TARGETS)}.")
@click.option("--concurrency", type=int, default=1, help="Sequences that a replica is to hold (default 1).")
@click.option("--tokens", type=int, default=None, help="The context asked about (default: the contract's own).")
@click.option(
    "--context",
    default="length",
    metavar="length|max_model_len",
    show_default=True,
    help="What a context is: the length of the sequences, or the length the engine is started with.",
)
@click.option(
    "--measure",
    default="concurrency_memory_worst",
    metavar="NAME",
    show_default=True,
    help="The ceiling that must reach it; also concurrency_memory_expected, concurrency_memory.",
)
@click.option("--scheduler", is_flag=True, help="Count the scheduler's cap max_num_seqs as well.")
@click.option(
    "--by",
    default=None,
    metavar="AXIS,...",
    help="Axes that stay; of the others the best cell, the worst of what nobody chooses.",
)
@click.option("--max-tp", type=int, default=None, help="Largest tensor parallelism tried (default: a node, or 8).")
@output_options()
def command(
    grid: str,
    target: str,
    concurrency: int,
    tokens: int | None,
    context: str,
    measure: str,
    scheduler: bool,
    by: str | None,
    max_tp: int | None,
    output: str | None,
    force: bool,
    catalog: str | None,
    as_json: bool,
) -> None:
    """Find the most or the least that holds a wanted concurrency by memory, in every cell of GRID."""
    check_output(output, force)
    loaded = loaded_grid(grid, catalog)
    from gridplan.engine.inverse.solve import solve
    from gridplan.report.solution import SHOWN_ROWS, rows_of, table_of, write_table

    with named_as_options(_OPTIONS):
        found = solve(
            loaded,
            target,  # type: ignore[arg-type]
            concurrency=concurrency,
            tokens=tokens,
            context=context,  # type: ignore[arg-type]
            measure=measure,
            scheduler=scheduler,
            by=by,
            max_tensor_parallel=max_tp,
        )
    say_warnings(found.attrs)
    if output is not None:
        click.echo(f"{output}: {write_table(found, output):,} rows", err=True)
    if as_json:
        about = {name: value for name, value in found.attrs.items() if name != "warnings"}
        answers = {**about, "warnings": str(found.attrs.get("warnings", "")).splitlines(), "rows": rows_of(found)}
        click.echo(json_text(answers))
    elif output is None:
        click.echo(table_of(found, SHOWN_ROWS))
