"""`gridplan chart sweep`: a load test against its limits."""

from __future__ import annotations

from typing import Any

import click

from gridplan.cli.chart.options import Target, drawn, file_options
from gridplan.cli.sweep_inputs import check_question, judged, question_options
from gridplan.cli.sweep_options import check_targets

__all__ = ["command"]


@click.command("sweep")
@question_options
@file_options
def command(files: tuple[str, ...], target: Target, catalog: str | None, **stated: Any) -> None:
    """Load tests (files and folders) against their limits: each figure over the offered rate, and the rate λ* that
    holds all of them."""
    check_question(stated)
    for path in target.outputs:
        check_targets(files, {"-o": path})
    from gridplan.report.charts.sweep import sweep

    drawn(lambda: sweep(judged(files, stated, catalog)[0]), target, {})
