"""CSV exports of GuideLLM, read as the tree of its JSON: up to 0.3 one header row, from 0.4 on three.

Layouts: guidellm/benchmark/output.py (0.3) and guidellm/benchmark/outputs/csv.py (0.4 on). From 0.4 on the strategy is
named without its rate or its streams, so neither is known; the JSON export has them.
"""

from __future__ import annotations

import json
import re
from typing import Any

from gridplan.errors import ContractError, Problem
from gridplan.measured.sweep.fields import Fields
from gridplan.measured.sweep.guidellm import guidellm_point
from gridplan.measured.sweep.point import SweepPoint
from gridplan.measured.sweep.tables import Row, record

__all__ = ["guidellm_csv_points", "is_guidellm_csv"]

_METRICS = {
    "request_latency": ("Request Latency", "Sec"),
    "time_to_first_token_ms": ("Time to First Token", "ms"),
    "time_per_output_token_ms": ("Time per Output Token", "ms"),
    "inter_token_latency_ms": ("Inter Token Latency", "ms"),
    "request_concurrency": ("Server Throughput", "Concurrency"),
    "prompt_token_count": ("Token Metrics", "Input Tokens"),
    "output_token_count": ("Token Metrics", "Output Tokens"),
}
_ORDER = ("min", "p001", "p01", "p05", "p10", "p25", "p75", "p90", "p95", "p99", "max")
_STRATEGY = re.compile(r"([a-z_]+)(?:@([0-9.]+))?")


def is_guidellm_csv(header: list[str]) -> bool:
    """Whether a header is that of an export."""
    return header[:4] == ["Type", "Run Id", "Id", "Name"] or (header[:1] == ["Run Info"] and "Request Counts" in header)


def guidellm_csv_points(rows: list[Row], start: int, file: str) -> list[SweepPoint]:
    """The points of a file, whose header begins at a row."""
    old = rows[start][1][0] == "Type"
    names = rows[start][1] if old else ["|".join(parts) for parts in _columns(rows[start : start + 3], file)]
    points = []
    for row in rows[start + (1 if old else 3) :]:
        if any(row[1]):
            values = record(names, row, file)
            tree = _old_tree(values, file, row[0]) if old else _tree(values, file, row[0])
            form = "guidellm-0.2-csv" if old else "guidellm-0.4-csv"
            version = None if old else _version(values)
            points.append(guidellm_point(Fields(tree, file, line=row[0]), f"line {row[0]}", form, version))
    return points


def _columns(header: list[Row], file: str) -> list[tuple[str, ...]]:
    width = len(header[0][1])
    if len(header) < 3 or any(len(cells) != width for _, cells in header):
        raise ContractError([Problem("the three rows of the header have different lengths", file, header[0][0])])
    return list(zip(*(cells for _, cells in header), strict=True))


def _tree(values: dict[str, Any], file: str, line: int) -> dict[str, Any]:
    metrics: dict[str, Any] = {
        name: {"successful": _statistics(values, f"{group}|Successful {unit}|", file, line)}
        for name, (group, unit) in _METRICS.items()
    }
    counts = {name: values.get(f"Request Counts|{name.capitalize()}|") for name in _STATUSES}
    metrics["request_totals"] = counts
    return {
        "config": {"strategy": {"type_": values.get("Benchmark|Strategy|")}},
        "metrics": metrics,
        "duration": values.get("Timings|Duration|Sec"),
        "warmup_duration": values.get("Timings|Warmup|Sec"),
    }


_STATUSES = ("successful", "incomplete", "errored", "total")


def _old_tree(values: dict[str, Any], file: str, line: int) -> dict[str, Any]:
    match = _STRATEGY.fullmatch(str(values.get("Name")))
    kind, at = (match[1], match[2]) if match else ("", None)
    strategy: dict[str, Any] = {"type_": kind}
    if at is not None:
        strategy["streams" if kind == "concurrent" else "rate"] = float(at) if at.count(".") < 2 and at != "." else None
    metrics = {}
    for name in _METRICS:
        said = f"Successful {name.replace('_', ' ').capitalize()}"
        metrics[name] = {"successful": _statistics(values, f"{said} ", file, line)}
    return {
        "args": {"strategy": strategy},
        "metrics": metrics,
        "request_totals": {name: values.get(f"{name.capitalize()} Requests") for name in _STATUSES},
        "duration": values.get("Duration"),
    }


def _statistics(values: dict[str, Any], prefix: str, file: str, line: int) -> dict[str, Any]:
    """Mean, median and the listed percentiles of one metric."""
    found = {
        key: values.get(next((name for name in values if name.lower() == f"{prefix}{key}".lower()), ""))
        for key in ("mean", "median")
    }
    key = next((n for n in values if n.startswith(prefix) and n[len(prefix) :].startswith(("Percentiles", "[min"))), "")
    if values.get(key) is None:
        return found
    try:
        listed = json.loads(str(values[key]))
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, list) or len(listed) != len(_ORDER):
        shown = f"is no list of {len(_ORDER)} statistics, min to max"
        raise ContractError([Problem(shown, file, line, key=key)]) from None
    return {**found, "percentiles": dict(zip(_ORDER, listed, strict=True))}


def _version(values: dict[str, Any]) -> str | None:
    try:
        metadata = json.loads(str(values.get("Runtime Info|Metadata|")))
    except (ValueError, RecursionError):
        return None
    version = metadata.get("guidellm_version") if isinstance(metadata, dict) else None
    return version if isinstance(version, str) else None
