"""`gridplan measure log`: read an engine's start-up log, check it and compare it with the prediction."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gridplan.cli.catalog_option import catalog_option, folder_in_use
from gridplan.cli.measure_sweep import sweep_command
from gridplan.cli.output import refuse_existing, write_block

if TYPE_CHECKING:
    from gridplan.contract.catalog_folder import CatalogFolder
    from gridplan.measured import EngineLog
    from gridplan.report.log_comparison import Comparison
    from gridplan.report.log_labels import Options

__all__ = ["command"]


@click.group("measure")
def command() -> None:
    """Read what was measured: start-up logs of engines, load tests."""


command.add_command(sweep_command)


@command.command("log")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--model", default=None, metavar="ID", help="Catalog id of the model (default: as the log names it).")
@click.option("--gpu", default=None, metavar="ID", help="Catalog id of the GPU (default: by its name and memory).")
@click.option("--weight-dtype", default=None, metavar="NAME", help="Format of the weights (default: as the log says).")
@click.option("--kv-dtype", default=None, metavar="NAME", help="Format of the KV cache (default: as the log says).")
@click.option("--engine", default=None, metavar="NAME@VERSION", help="Engine and version (default: as the log says).")
@click.option("--all", "every", is_flag=True, help="Every start-up of a file, not the last complete one.")
@catalog_option
@click.option("-o", "--output", default=None, type=click.Path(), help="Write what was measured as a contract block.")
@click.option("--force", is_flag=True, help="Replace the file of -o.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def log_command(
    files: tuple[str, ...],
    model: str | None,
    gpu: str | None,
    weight_dtype: str | None,
    kv_dtype: str | None,
    engine: str | None,
    every: bool,
    catalog: str | None,
    output: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Read start-up logs of vLLM and SGLang: every memory term with its line, whether the terms agree, and how far the
    prediction is from them.

    Exit code 1 when terms of a log contradict each other (nothing is written then), 2 when a file is no start-up log
    or the prediction that was asked for lacks a label, 3 when the output cannot be written.
    """
    if output is not None and (len(files) > 1 or every):
        raise click.UsageError("-o writes one start-up: give one FILE, without --all")
    logs = _logs(files, every)
    from gridplan.measured.check_log import check_log
    from gridplan.report.log_labels import Options
    from gridplan.report.log_report import log_data, log_page

    folder = folder_in_use(catalog)
    options = Options(model, gpu, weight_dtype, engine, kv_dtype)
    found: list[tuple[EngineLog, list[Any], Comparison | None]] = [
        (log, check_log(log), _compared(log, options, folder)) for log in logs
    ]
    wrong = any(check.severity == "error" for _, checks, _ in found for check in checks)
    if as_json:
        data = {"logs": [log_data(*item) for item in found]}
        click.echo(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        click.echo("\n\n".join(log_page(*item) for item in found))
    if output is not None and not wrong:
        _write(found[0][0], options, Path(output), force, folder)
    if wrong:
        if output is not None:
            click.echo(f"{output}: not written, since terms of the log contradict each other", err=True)
        sys.exit(1)


def _logs(files: tuple[str, ...], every: bool) -> list[EngineLog]:
    """The start-ups asked for, or one error with the problems of all files."""
    from gridplan.errors import LogError, Problem
    from gridplan.measured import last_complete, read_logs

    logs: list[EngineLog] = []
    problems: list[Problem] = []
    for file in files:
        try:
            found = read_logs(file)
        except LogError as error:
            problems += error.problems
            continue
        chosen = found if every else [last_complete(found)]
        logs += chosen
        if len(found) > len(chosen):
            said = f"start-up {chosen[0].start} of {len(found)}, the last complete one, is read; --all reads every one"
            click.echo(f"{file}: {said}", err=True)
    if problems:
        raise LogError(problems)
    return logs


def _compared(log: EngineLog, options: Options, folder: CatalogFolder | None) -> Comparison | None:
    """The comparison; where nobody asked for it and a label is missing, what is missing is said and it is left out."""
    from gridplan.errors import CatalogError, ContractError, LogError
    from gridplan.report.log_comparison import compare_log

    try:
        return compare_log(log, options, folder)
    except (LogError, ContractError, CatalogError) as error:
        if options.any:
            raise
        for problem in error.problems:
            key = f"{problem.key}: " if problem.key else ""
            click.echo(f"{log.file}: not compared with a prediction: {key}{problem.message}", err=True)
        return None


def _write(log: EngineLog, options: Options, path: Path, force: bool, folder: CatalogFolder | None) -> None:
    """Write the block, whole or not at all."""
    from datetime import UTC, datetime

    from gridplan.report.log_override import override_text

    refuse_existing(path, force)
    changed = datetime.fromtimestamp(Path(log.file).stat().st_mtime, UTC).date().isoformat()
    write_block(path, override_text(log, changed, options, None if folder is None else folder.catalog))
