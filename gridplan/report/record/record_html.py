"""A record as notebooks show it: the decision, key figures and findings; its sections folded, charts by what they find.

The whole page, with charts, derivation and lines to sign, is what `write_record` writes.
"""

from __future__ import annotations

from markupsafe import Markup

from gridplan.markup import columns, element, number, page, section, table, warnings
from gridplan.report.record.document import STATES, Block, Cell, Figure, Note, Record

__all__ = ["record_html"]


def record_html(record: Record) -> str:
    """The page; numbers of tables have all their digits as the values of their elements."""
    state = STATES[record.state]
    findings = element("ul", *(element("li", text) for text in record.findings)) if record.findings else ""
    appendix = ", ".join(part.title for part in record.sections if part.appendix)
    return page(
        f"{record.title}: capacity and cost decision record",
        element("p", record.description, cls="gp-small") if record.description else "",
        element("p", f"at {record.place}", cls="gp-small") if record.place else "",
        element("p", element("b", state), Markup(" "), record.decision.removeprefix(f"{state}: ")),
        element("p", record.setting) if record.setting else "",
        columns(record.tiles) if record.tiles else "",
        findings,
        *(section(part.title, *map(_block, part.blocks)) for part in record.sections if not part.appendix),
        section("Versions", columns(record.identity.items())) if record.identity else "",
        element("p", f"In the written record alone: charts, {appendix}", cls="gp-small") if appendix else "",
    )


def _block(block: Block) -> Markup:
    if isinstance(block, Figure):
        return element("p", f"Chart: {block.chart.finding}")
    if isinstance(block, Note):
        said = f"To do: {block.text}" if block.kind == "ask" else block.text
        return warnings([said]) if block.kind == "warning" else element("p", said)
    numeric = [head for head, is_number in zip(block.heads, block.numeric, strict=True) if is_number]
    made = table(block.heads, (tuple(map(_cell, row)) for row in block.rows), numeric, block.caption)
    return made + element("p", block.note, cls="gp-small") if block.note else made


def _cell(cell: Cell) -> Markup:
    shown = number(cell.text, cell.value)
    return element("b", shown) if cell.strong else shown
