"""`gridplan measure sweep`: the rate that a load test shows one replica to sustain, and whether to believe it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from gridplan.cli.catalog_option import catalog_option, folder_in_use
from gridplan.cli.output import refuse_existing
from gridplan.cli.sweep_inputs import check_question, judged, question_options
from gridplan.cli.sweep_options import check_picture, check_targets

__all__ = ["sweep_command"]


@click.command("sweep")
@question_options
@click.option("--interpolate", is_flag=True, help="Also say where a line between the neighbours reaches a limit.")
@click.option("--as-of", default=None, metavar="DATE", help="Day of the test, YYYY-MM-DD (default: as the files say).")
@catalog_option
@click.option("-o", "--output", default=None, type=click.Path(), help="Write the rate as a contract block.")
@click.option(
    "--chart",
    default=None,
    type=click.Path(),
    help="Draw the sweep as .svg, .png, .csv (its numbers) or .json (Vega-Lite).",
)
@click.option("--force", is_flag=True, help="Replace the files of -o and --chart.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def sweep_command(
    files: tuple[str, ...],
    interpolate: bool,
    as_of: str | None,
    catalog: str | None,
    output: str | None,
    chart: str | None,
    force: bool,
    as_json: bool,
    **stated: Any,
) -> None:
    """Read load tests (files and folders) and print the last measured rate at which every limit holds, with the
    findings of a reviewer on each point.

    Exit code 1 when no rate is known to hold (no block is written then), 2 when a file, a limit or an option is wrong,
    3 when an output cannot be written.
    """
    check_question(stated)
    check_targets(files, {"-o": output, "--chart": chart})
    check_picture(chart)
    result, facts = judged(files, stated, catalog, as_of, interpolate)
    from gridplan.report.sweep_block import capacity_block
    from gridplan.report.sweep_data import sweep_data
    from gridplan.report.sweep_page import sweep_page
    from gridplan.store.files import write_bytes

    known = result.lambda_instance_per_s is not None
    written: list[tuple[Path, bytes]] = []
    if output is not None and known:
        folder = folder_in_use(catalog)
        block = capacity_block(result, as_of, None if folder is None else folder.catalog)
        written.append((Path(output), block.encode()))
    for name in (output, chart):
        if name is not None and (known or name == chart):
            refuse_existing(Path(name), force)
    if chart is not None:
        from gridplan.report.charts.sweep import sweep

        written.append((Path(chart), sweep(result).to_bytes(Path(chart).suffix)))
    if as_json:
        click.echo(json.dumps(sweep_data(result, facts.notes), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        click.echo(sweep_page(result, facts.notes))
    for path, content in written:
        write_bytes(path, content)
        click.echo(f"{path}: written", err=True)
    if not known:
        if output is not None:
            click.echo(f"{output}: not written, since no measured rate is known to hold every limit", err=True)
        sys.exit(1)
