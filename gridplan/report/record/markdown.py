"""A record as Markdown: the same sentences and tables, charts as links to files where they were written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from gridplan.report.plain_text import escaped
from gridplan.report.record.document import ROLES, STATES, Figure, Note, Record, Section, Table

__all__ = ["markdown_page"]


def markdown_page(record: Record, pictures: Mapping[str, str] | None = None) -> str:
    """The text; `pictures` are the files of charts by their names, for links. The same record gives the same bytes."""
    lines = [f"# {escaped(record.title)}: capacity and cost decision record", ""]
    lines += [escaped(record.description), ""] if record.description else []
    lines += [f"At {escaped(record.place)}", ""] if record.place else []
    lines += [f"**{STATES[record.state]}.** {escaped(record.decision.removeprefix(f'{STATES[record.state]}: '))}", ""]
    lines += [escaped(record.setting), ""] if record.setting else []
    if record.findings:
        lines += ["## Findings", "", *(f"* {escaped(text)}" for text in record.findings), ""]
    parts = _rows(("part", "version"), record.identity.items(), (False, False))
    lines += ["## Versions and signatures", "", *parts, ""]
    lines += [f"{role}: ______________________  Date: ____________\n" for role in ROLES]
    for part in sorted(record.sections, key=lambda item: item.appendix):
        lines += _section(part, pictures or {})
    return "\n".join(lines).rstrip() + "\n"


def _section(part: Section, pictures: Mapping[str, str]) -> Iterator[str]:
    yield from (f"## {escaped(part.title)}", "")
    for block in part.blocks:
        if isinstance(block, Note):
            head = {"warning": "**Warning:** ", "ask": "**To do:** "}.get(block.kind, "")
            yield from (f"{head}{escaped(block.text)}", "")
        elif isinstance(block, Table):
            yield from _table(block)
        else:
            yield from _figure(block, pictures)


def _figure(block: Figure, pictures: Mapping[str, str]) -> Iterator[str]:
    yield from (f"**{escaped(block.chart.finding)}**", "")
    if block.name in pictures:
        yield from (f"![{escaped(block.chart.alt)}]({quote(pictures[block.name])})", "")


def _table(block: Table) -> Iterator[str]:
    yield from (f"**{escaped(block.caption)}**", "")
    yield from _rows(block.heads, ((one.text for one in row) for row in block.rows), block.numeric)
    yield ""
    if block.note:
        yield from (escaped(block.note), "")


def _rows(heads: Sequence[str], rows: object, numeric: Sequence[bool]) -> Iterator[str]:
    yield f"| {' | '.join(map(escaped, heads))} |"
    yield "|" + "|".join("---:" if of_numbers else "---" for of_numbers in numeric) + "|"
    for row in rows:  # type: ignore[attr-defined]
        yield f"| {' | '.join(map(escaped, row))} |"
