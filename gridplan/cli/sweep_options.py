"""What options of `gridplan measure sweep` choose: points of one server, and files that may be written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gridplan.measured import SweepPoint

__all__ = ["check_picture", "check_targets", "points_of"]


def points_of(points: list[SweepPoint], wanted: tuple[str, ...]) -> list[SweepPoint]:
    """Points of one model or setting."""
    for text in wanted:
        name, equals, value = text.partition("=")
        stated = {row: point.model if name == "model" else point.settings.get(name) for row, point in enumerate(points)}
        known = sorted({str(item) for item in stated.values() if item is not None})
        kept = [point for row, point in enumerate(points) if str(stated[row]) == value]
        if not equals or not kept:
            said = f"is {', '.join(known)[:200]}" if known else "is stated by no point"
            raise click.UsageError(f"--only {text}: no point has it; {name} {said}")
        points = kept
    return points


def check_picture(chart: str | None) -> None:
    """Refuse a chart of another kind, or one that nothing can draw. Raises click.UsageError, MissingExtraError."""
    if chart is None:
        return
    from gridplan.report.charts.chart import SUFFIXES, needs_extra

    if Path(chart).suffix not in SUFFIXES:
        raise click.UsageError(f"--chart {chart}: a file that ends in {', '.join(SUFFIXES)} is due")
    needs_extra()


def check_targets(files: Sequence[str], outputs: Mapping[str, str | None]) -> None:
    """Outputs, by the option of each, are new files or plain ones, apart from each other and from what is read."""
    read = {Path(file).resolve() for file in files}
    seen: set[Path] = set()
    for option, name in outputs.items():
        if name is None:
            continue
        path = Path(name).resolve()
        if path in read or path in seen:
            raise click.UsageError(f"{option} {name} is a file that is read or written otherwise: name another")
        if path.exists() and not path.is_file():
            raise click.UsageError(f"{option} {name} is no plain file")
        seen.add(path)
