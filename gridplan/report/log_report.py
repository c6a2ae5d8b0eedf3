"""A start-up log as a page for people and as JSON: what was read, from which line, and what the checks say."""

from __future__ import annotations

from typing import Any

from gridplan.measured.check_log import pool_tokens
from gridplan.measured.engine_log import EngineLog, Reading
from gridplan.measured.log_checks import Check
from gridplan.quantities import format_quantity
from gridplan.report.log_comparison import Comparison
from gridplan.report.log_terms import Term

__all__ = ["log_data", "log_page"]

GIB = 2**30

NAMES = {
    "memory_fraction": "memory fraction",
    "free_bytes": "free before loading",
    "free_after_load_bytes": "free after loading",
    "consumed_bytes": "weights and non-torch",
    "non_torch_bytes": "non-torch",
    "cuda_graphs_bytes": "CUDA graphs",
    "cuda_graphs_estimated_bytes": "CUDA graphs (estimated)",
    "kv_pool_bytes": "KV pool",
    "kv_tokens": "KV pool in tokens",
    "need_bytes": "needed for max_model_len",
    "engine_version": "version",
}
"""Names of fields that would not read well as they are."""


def log_page(log: EngineLog, checks: list[Check], comparison: Comparison | None) -> str:
    """The page of one start-up."""
    version = f" {log.engine_version.value}" if log.engine_version else ""
    generation = f" ({log.generation})" if log.generation else ""
    which = f", start-up {log.start} of {log.starts}" if log.starts > 1 else ""
    rows = [f"{log.file}: {log.engine}{version}{generation}, lines {log.first_line} to {log.last_line}{which}"]
    shown = [(_name(key), _value(key, reading), reading.line) for key, reading in log.readings().items()]
    rows += _columns([(f"  {name}", value, f"line {line}") for name, value, line in shown if name != "version"])
    rows += [f"  note: {note}" for note in log.notes]
    if checks:
        rows += ["", "checks"]
        rows += [f"  {check.severity:<8}{check.id}: {check.sentence}{_lines(check)}" for check in checks]
    if comparison is not None:
        rows += ["", *_compared(comparison)]
    return "\n".join(rows)


def log_data(log: EngineLog, checks: list[Check], comparison: Comparison | None) -> dict[str, Any]:
    """The same as plain data: bytes, tokens and ratios, each with its line."""
    effective = pool_tokens(log)
    return {
        "file": log.file,
        "engine": log.engine,
        "generation": log.generation,
        "first_line": log.first_line,
        "last_line": log.last_line,
        "start": log.start,
        "starts": log.starts,
        "complete": log.complete,
        "readings": {name: _reading(reading) for name, reading in log.readings().items()},
        "kv_tokens_effective": None if effective is None else effective.value,
        "ranks": {name: [_reading(reading) for reading in readings] for name, readings in log.ranks.items()},
        "notes": list(log.notes),
        "checks": [
            {
                "id": check.id,
                "severity": check.severity,
                "sentence": check.sentence,
                "numbers": dict(check.numbers),
                "lines": list(check.lines),
            }
            for check in checks
        ],
        "comparison": None if comparison is None else _comparison_data(comparison),
    }


def _comparison_data(comparison: Comparison) -> dict[str, Any]:
    return {
        "deployment": dict(comparison.labels),
        "terms": [
            {
                "name": term.name,
                "unit": term.unit,
                "printed": term.printed,
                "predicted": term.predicted,
                "difference": term.difference,
                "share": term.share,
            }
            for term in comparison.terms
        ],
        "conclusion": comparison.conclusion,
        "notes": list(comparison.notes),
    }


def _compared(comparison: Comparison) -> list[str]:
    """The table of the comparison, its notes and its conclusion."""
    labels = comparison.labels
    split = f", TP {labels.get('tensor_parallel', 1):.0f}"
    what = f"{labels['model']} in {labels['weight_dtype']} on {labels['gpu']}{split}, {labels['engine']}"
    rows = [f"printed and predicted: {what}"]
    table: list[tuple[str, ...]] = [("  term", "printed", "predicted", "difference", "")]
    for term in comparison.terms:
        share = "" if term.share is None else f"{term.share:+.1%}"
        table.append(
            (f"  {term.name}", _amount(term, term.printed), _amount(term, term.predicted), _signed(term), share)
        )
    rows += _columns(table, right=True)
    rows += [f"  note: {note}" for note in comparison.notes]
    return [*rows, comparison.conclusion]


def _amount(term: Term, value: float | None) -> str:
    if value is None:
        return "-"
    if term.unit == "bytes" and term.name != "KV bytes of a token":
        return f"{value / GIB:,.2f} GiB"
    return f"{value:,.2f}" if term.unit == "sequences" else f"{value:,.0f}"


def _signed(term: Term) -> str:
    shown = _amount(term, term.difference)
    return shown if term.difference is None or term.difference < 0 else f"+{shown}"


def _columns(rows: list[tuple[str, ...]], right: bool = False) -> list[str]:
    if not rows:
        return []
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            f"{cell:>{width}}" if right and index else f"{cell:<{width}}"
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _name(key: str) -> str:
    return NAMES.get(key, key.removesuffix("_bytes").replace("_", " "))


def _value(key: str, reading: Reading[Any]) -> str:
    value = reading.value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value if len(value) <= 100 else f"{value[:97]}..."
    if key.endswith("_bytes"):
        return f"{value / GIB:,.2f} GiB"
    return format_quantity(value, "1")


def _reading(reading: Reading[Any]) -> dict[str, Any]:
    return {"value": reading.value, "line": reading.line, "rank": reading.rank or None}


def _lines(check: Check) -> str:
    if not check.lines:
        return ""
    return f" (line{'s' if len(check.lines) > 1 else ''} {', '.join(str(line) for line in check.lines)})"
