"""`gridplan catalog validate`: whether every entry of a catalog can be trusted."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from gridplan.catalog.check import ENTRY_OLD_DAYS, PRICE_OLD_DAYS, Finding, Limits
from gridplan.cli import clock
from gridplan.cli.catalog_option import catalog_option

__all__ = ["command"]

F = TypeVar("F", bound=Callable[..., Any])
Checked = tuple[str, int, list[Finding]]
"""What was checked, how many entries it holds, and what was found."""


def _age_option(name: str, days: int, what: str) -> Callable[[F], F]:
    return click.option(
        name,
        type=click.IntRange(min=0),
        default=days,
        show_default=True,
        metavar="DAYS",
        help=f"Age from which {what} is old.",
    )


@click.command("validate", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("target", required=False, metavar="[DIR|GRID]")
@catalog_option
@_age_option("--older-than", ENTRY_OLD_DAYS, "an entry")
@_age_option("--prices-older-than", PRICE_OLD_DAYS, "a price")
@click.option(
    "--on",
    "on",
    type=click.DateTime(["%Y-%m-%d"]),
    default=None,
    metavar="DATE",
    help="Judge ages on this day (default: today).",
)
@click.option("--json", "as_json", is_flag=True, help="Print {ok, checked, counts, findings} as JSON.")
def command(
    target: str | None,
    catalog: str | None,
    older_than: int,
    prices_older_than: int,
    on: datetime | None,
    as_json: bool,
) -> None:
    """Check every entry of a catalog folder, of a contract's own section, or of the shipped catalog (no argument).

    Errors are faults and contradictions; warnings are values that a plan would lack, entries without a source or a
    date, and old ones; infos are assumptions without notes and shapes without a price. The folder in use is checked
    with the contract, or with the shipped catalog. Exit code 1 where there is an error, 2 where a contract, or the
    folder, cannot be read.
    """
    limits = Limits(clock.today() if on is None else on.date(), older_than, prices_older_than)
    checked = _checked(target, catalog, limits)
    findings = [item for _, _, found in checked for item in found]
    counts = Counter(item.severity for item in findings)
    if as_json:
        data = {
            "ok": not counts["error"],
            "on": limits.on.isoformat(),
            "checked": [{"what": what, "entries": count} for what, count, _ in checked],
            "counts": {name: counts[name] for name in ("error", "warning", "info")},
            "findings": [asdict(item) for item in findings],
        }
        click.echo(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        for item in findings:
            click.echo(str(item))
        said = ", ".join(f"{what}: {_counted(count, 'entry')}" for what, count, _ in checked)
        click.echo(
            f"{said}; {', '.join(_counted(counts[name], name) for name in ('error', 'warning', 'info'))}", err=True
        )
    if counts["error"]:
        sys.exit(1)


def _checked(target: str | None, catalog: str | None, limits: Limits) -> list[Checked]:
    """The catalogs that were asked for, with the findings about each."""
    from gridplan.contract.catalog_check import check_contract_entries, check_folder, check_shipped
    from gridplan.contract.project import find_catalog_folder

    if target is not None and Path(target).is_dir():
        if catalog is not None:
            raise click.UsageError("a folder and --catalog are two folders: give one")
        catalog, start, grid = target, ".", None
    else:
        start, grid = "." if target is None else str(Path(target).parent), target
    checked: list[Checked] = []
    if target is None:
        checked.append(("shipped", *check_shipped(limits)))
    elif grid is not None:
        from gridplan.contract import load_grid

        checked.append((grid, *check_contract_entries(load_grid(grid, catalog), limits)))
    folder, problems = find_catalog_folder(catalog, start)
    if folder is not None:
        checked.append((folder.path, *check_folder(folder, problems, limits)))
    return checked


def _counted(count: int, name: str) -> str:
    several = {"entry": "entries"}.get(name, f"{name}s")
    return f"{count:,} {name if count == 1 else several}"
