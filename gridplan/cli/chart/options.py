"""What all kinds of charts share: what is drawn of, where it is written, and what is said about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gridplan.cli.catalog_option import catalog_option
from gridplan.cli.named_options import named_as_options
from gridplan.cli.study_options import at_option, check_output

if TYPE_CHECKING:
    from gridplan.report.charts.chart import Chart

__all__ = ["PHONE_WIDTH", "PICTURES", "Target", "drawn", "file_options", "picture_options"]

PICTURES = (".svg", ".png", ".csv", ".json")
PHONE_WIDTH, WIDEST = 320, 4000


@dataclass(frozen=True)
class Target:
    """Files to write, how many pixels wide, and whether those that are there are replaced."""

    outputs: tuple[str, ...]
    width: int
    force: bool

    def check(self) -> None:
        """Refuse files that cannot be written. Raises StoreError, click.UsageError."""
        if len(set(self.outputs)) < len(self.outputs):
            raise click.UsageError("-o names a file twice")
        for path in self.outputs:
            check_output(path, self.force, PICTURES)


def picture_options(command: Callable[..., None]) -> Any:
    """Give a command the `target` of `-o FILE` (repeatable), `--width` and `--force`, and `--at` and `--catalog`."""
    return at_option(file_options(command))


def file_options(command: Callable[..., None]) -> Any:
    """Give a command `-o FILE` (repeatable), `--width`, `--force` as the argument `target`, and `--catalog`."""

    @wraps(command)
    def gathered(*, outputs: tuple[str, ...], width: int, force: bool, **others: Any) -> None:
        command(target=Target(outputs, width, force), **others)

    options = (
        click.option(
            "-o",
            "--output",
            "outputs",
            multiple=True,
            required=True,
            type=click.Path(),
            help="Write a .svg, .png, .csv (its numbers) or .json (Vega-Lite) file; repeatable.",
        ),
        click.option(
            "--width", type=click.IntRange(PHONE_WIDTH, WIDEST), default=760, show_default=True, help="Pixels across."
        ),
        click.option("--force", is_flag=True, help="Replace the files of -o."),
        catalog_option,
    )
    found: Any = gathered
    for option in reversed(options):
        found = option(found)
    return found


def drawn(draw: Callable[[], Chart], target: Target, options: Mapping[str, str]) -> None:
    """Draw a chart and write its files: all of them are checked first, and rendered before the first is written.

    `options` are the options by the name of the argument behind each, for messages.
    """
    from gridplan.report.charts.chart import needs_extra

    target.check()
    needs_extra()
    with named_as_options(options):
        chart = draw()
    rendered = chart.to_files([Path(path).suffix for path in target.outputs], target.width)
    files = {path: rendered[Path(path).suffix] for path in target.outputs}
    from gridplan.store.files import write_bytes

    for path, content in files.items():
        write_bytes(Path(path), content)
        click.echo(f"{path}: written", err=True)
    click.echo(chart.finding)
