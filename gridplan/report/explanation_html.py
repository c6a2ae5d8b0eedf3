"""An explanation as notebooks show it: verdict, key figures, the chain by section, inputs with their provenance."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from markupsafe import Markup

from gridplan.markup import columns, element, number, page, section, table, warnings
from gridplan.quantities import format_quantity
from gridplan.report.budget import gib_texts
from gridplan.report.explanation import FACTS, Explanation, InputLine, Line, rounded_up
from gridplan.report.layer_lines import kept_text
from gridplan.report.sections import MEMORY

__all__ = ["explanation_html"]

_KEY = (
    *("lambda_instance", "lambda_safe", "replicas_active", "replicas", "gpus_deployed", "nodes"),
    *("ttft_s", "tpot_s", "e2e_s", "usd_per_month", "usd_per_mtok_output"),
)
"""Figures that everybody asks for, shown unfolded."""


def explanation_html(found: Explanation) -> str:
    """The page; every number of the chain has all its digits as the value of its element."""
    by_name = {line.name: line for line in found.lines}
    key = [(element("code", name), by_name[name].long_name, _result(by_name[name])) for name in _KEY if name in by_name]
    facts = [(name, found.facts[name]) for name in FACTS if found.facts.get(name)]
    parts: list[object] = [
        element("p", element("b", found.status), Markup(" "), found.verdict),
        warnings(found.warnings),
        table(("key figure", "meaning", "value"), key, numeric=("value",)) if key else "",
        section("What the numbers rest on", columns(facts)) if facts else "",
    ]
    for title, lines in groupby(found.lines, key=lambda line: line.section):
        parts.append(section(title, _chain(lines), *(_memory(found) if title == MEMORY else ())))
    heads = ("input", "value", "class", "from", "source", "date")
    parts.append(section(f"Inputs ({len(found.inputs)})", table(heads, map(_input, found.inputs))))
    return page(found.title, *parts)


def _chain(lines: Iterator[Line]) -> Markup:
    """Results with their formula in names and, below it, in numbers."""
    return table(("result", "meaning", "value", "formula"), map(_row, lines), numeric=("value",))


def _row(line: Line) -> tuple[object, ...]:
    symbol = f" ({line.symbol})" if line.symbol else ""
    formula = Markup("")
    if line.formula:
        formula = element("code", line.formula)
        if line.numbers != line.formula:
            formula += Markup("<br>") + element("code", f"= {line.numbers}")
    return element("code", f"{line.name}{symbol}"), line.long_name, _result(line), formula


def _result(line: Line) -> Markup:
    return number(f"{line.text}{rounded_up(line)}", line.value)


def _memory(found: Explanation) -> Iterator[Markup]:
    """The memory budget as a column that adds up, and what each layer group costs."""
    if found.budget:
        shown = zip(found.budget, gib_texts(found.budget), strict=True)
        rows = [(f"{line.sign} {line.name}", number(text, line.bytes), line.remark) for line, text in shown]
        yield table(("memory budget of one GPU", "GiB", "remark"), rows, numeric=("GiB",))
    if found.layers:
        rows = [
            (line.layers, number(format_quantity(line.bytes, "bytes"), line.bytes), kept_text(line))
            for line in found.layers
        ]
        title = f"KV layer group, a sequence of {format_quantity(found.longest_tokens, 'tokens')}"
        yield table((title, "on one GPU", "keeps"), rows, numeric=("on one GPU",))


def _input(item: InputLine) -> tuple[object, ...]:
    value = number(item.text, None if isinstance(item.value, str) else item.value)
    return element("code", item.name), value, item.cls, item.provider, item.source, item.as_of
