"""CSV exports of AIPerf and genai-perf: a table of statistics, an empty line, a table of values; each name carries its
unit, as in `Time to First Token (ms)`. Numbers have two decimals, and thousands separators in genai-perf."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gridplan.errors import ContractError, Problem
from gridplan.measured.sweep.aiperf import aiperf_point
from gridplan.measured.sweep.fields import Fields
from gridplan.measured.sweep.genai_perf import genai_perf_point
from gridplan.measured.sweep.point import SweepPoint
from gridplan.measured.sweep.tables import Row, cell

__all__ = ["is_nvidia_csv", "nvidia_csv_points"]

_NAME = re.compile(r"(.+?)\s*\(([^()]+)\)")
_STEP = 0.005


def is_nvidia_csv(header: list[str]) -> bool:
    """Whether a header is that of the table of statistics."""
    return header[:2] == ["Metric", "avg"]


def nvidia_csv_points(rows: list[Row], file: str) -> list[SweepPoint]:
    """The one point of a file."""
    metrics: dict[str, Any] = {}
    header: list[str] = []
    wide: list[str] = []
    for line, cells in rows:
        if not any(cells):
            header = []
        elif cells[0] == "Metric":
            header = ["Metric", "avg"] if cells[1:2] == ["Value"] else cells
            wide = wide or header
        elif header:
            name, metric = _metric(header, cells, line, file)
            if name in metrics:
                raise ContractError([Problem(f"{cells[0]} stands twice", file, line)])
            metrics[name] = metric
    fields = Fields(metrics, file)
    if "std" in wide or "benchmark_duration" in metrics:
        return [aiperf_point(fields, "", "aiperf-csv", _STEP)]
    return [genai_perf_point(fields, "", "genai-perf-csv", _STEP)]


def _metric(header: list[str], cells: list[str], line: int, file: str) -> tuple[str, Mapping[str, Any]]:
    match = _NAME.fullmatch(cells[0])
    if match is None:
        raise ContractError([Problem(f"{cells[0][:60]!r} has no unit in parentheses", file, line)])
    if len(cells) > len(header):
        raise ContractError([Problem(f"the row has {len(cells)} cells, the header {len(header)}", file, line)])
    name = re.sub(r"[^a-z0-9]+", "_", match[1].lower())
    values = {key: cell(text.replace(",", "")) for key, text in zip(header[1:], cells[1:], strict=False)}
    return name, {"unit": match[2], **values}
