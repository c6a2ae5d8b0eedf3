"""An explanation of one cell: as data, and as a page of text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import groupby

from gridplan.quantities import format_label
from gridplan.report.budget import BudgetLine, budget_text
from gridplan.report.layer_lines import LayerLine, layer_text
from gridplan.report.sections import MEMORY
from gridplan.rounding import ceil_exact

__all__ = ["FACTS", "Explanation", "InputLine", "Line", "rounded_up"]

FACTS = (
    "capacity_source",
    "capacity_flag",
    "lambda_basis",
    "slo_basis",
    "latency_flag",
    "gpu_memory_source",
    "priced_by",
    "price_as_of",
    "price_kind",
    "api_verdict",
    "api_verdict_released",
    "price_flag",
    "fleet_constraint",
)
"""Labels of a cell that say what its numbers rest on, shown where the cell has them."""


@dataclass(frozen=True)
class Line:
    """One result: `formula` in names, `numbers` with values in place of names, `value` unrounded, `text` for people."""

    section: str
    name: str
    symbol: str
    long_name: str
    formula: str
    numbers: str
    value: float
    unit: str
    text: str


@dataclass(frozen=True)
class InputLine:
    """One input of the cell and where it came from."""

    name: str
    value: float | str
    text: str
    cls: str
    source: str
    as_of: str
    provider: str

    def to_dict(self) -> dict[str, object]:
        """Plain data under the names a person writes."""
        names = {"cls": "class", "provider": "from"}
        return {names.get(name, name): value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Explanation:
    """What `explain` found; `str()` is the page, `to_dict()` the same as data."""

    grid: str
    labels: Mapping[str, str | float]
    status: str
    reason: str | None
    facts: Mapping[str, str | float | None]
    inputs: tuple[InputLine, ...]
    lines: tuple[Line, ...]
    verdict: str
    warnings: tuple[str, ...] = field(default=())
    budget: tuple[BudgetLine, ...] = field(default=())
    layers: tuple[LayerLine, ...] = field(default=())
    longest_tokens: float = math.nan

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {
            "grid": self.grid,
            "labels": dict(self.labels),
            "status": self.status,
            "infeasible_reason": self.reason,
            "verdict": self.verdict,
            "labels_of_the_cell": dict(self.facts),
            "values": {line.name: line.value for line in self.lines},
            "chain": [asdict(line) for line in self.lines],
            "inputs": [item.to_dict() for item in self.inputs],
            "warnings": list(self.warnings),
            "memory_budget": [asdict(item) for item in self.budget],
            "kv_layer_groups": [asdict(item) for item in self.layers],
        }

    @property
    def title(self) -> str:
        """The grid, and the labels of the cell."""
        at = ", ".join(f"{name}={format_label(label)}" for name, label in self.labels.items())
        return f"{self.grid}{' at ' + at if at else ''}"

    def __str__(self) -> str:
        return _page(self)

    def __repr__(self) -> str:
        return f"<Explanation {self.title!r}: {self.status}>"

    def _repr_html_(self) -> str:
        from gridplan.report.explanation_html import explanation_html

        return explanation_html(self)


def _page(explanation: Explanation) -> str:
    """The chain top to bottom: labels, verdict, one block per section, then the inputs with their provenance."""
    rows = [explanation.title, f"status    {explanation.status}: {explanation.verdict}"]
    facts = explanation.facts
    for name in FACTS:
        if facts.get(name):
            rows.append(f"{name:<17} {facts[name]}")
    rows += [f"warning   {text}" for text in explanation.warnings]
    for section, lines in groupby(explanation.lines, key=lambda line: line.section):
        rows += ["", section]
        for line in lines:
            rows += _rows(line)
        if section == MEMORY:
            rows += _blocks(explanation)
    rows += ["", "inputs (class, source, date)"]
    for item in explanation.inputs:
        parts = (item.cls, item.provider, _short(item.source), item.as_of)
        origin = ", ".join(dict.fromkeys(part for part in parts if part))
        rows.append(f"  {item.name:<28} {item.text:<18} {origin}")
    return "\n".join(rows)


def _blocks(explanation: Explanation) -> list[str]:
    """The memory budget as a column, and what each layer group costs."""
    column = budget_text(explanation.budget)
    layers = layer_text(explanation.layers, explanation.longest_tokens)
    return [*(["", "memory budget of one GPU [GiB]", *column] if column else []), *(["", *layers] if layers else [])]


def _rows(line: Line) -> list[str]:
    """A result in one line, its formula and its numbers below."""
    symbol = f" ({line.symbol})" if line.symbol else ""
    shown = f"{line.text}{rounded_up(line)}"
    rows = [f"  {line.name}{symbol} = {shown}"]
    if line.formula:
        rows.append(f"      {line.formula}")
        if line.numbers != line.formula:
            rows.append(f"    = {line.numbers}")
    return rows


def _short(source: str) -> str:
    """The first reference of a long source; the JSON form has all of it."""
    first = source.split(";")[0].strip()
    return first if first == source else f"{first}; ..."


def rounded_up(line: Line) -> str:
    """Fractional replicas show what they round to."""
    return f" → {ceil_exact(line.value):,.0f}" if line.name == "replicas_fractional" else ""
