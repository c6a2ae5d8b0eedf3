"""Everything that the plan rests on, by class: fact, policy, measurement, assumption; with source and date."""

from __future__ import annotations

from gridplan.report.explanation import InputLine
from gridplan.report.record.case import Case
from gridplan.report.record.document import Block, Cell, Note, Section, table
from gridplan.report.substitute import quantity_text

__all__ = ["CLASSES", "assumptions"]

CLASSES = {
    "fact": "Facts: printed in a source that anyone can open",
    "policy": "Policies: chosen by the operator",
    "measurement": "Measurements: read from a run; they hold for that model, engine, hardware, workload and limits",
    "assumption": "Assumptions: everything else; these are what to check first",
}

LONG = 60
"""Signs of a source from which it stands in a list of its own (policy)."""


def assumptions(case: Case) -> Section:
    """The inputs of the plan, a table for each class, and the sources that are too long for a cell."""
    blocks: list[Block] = []
    known = _known(case)
    long = dict.fromkeys(item.source for item in known if len(item.source) > LONG)
    number = {source: f"[{place}]" for place, source in enumerate(long, 1)}
    for cls, title in CLASSES.items():
        rows = [
            (
                Cell(item.name),
                Cell(item.text, item.value if isinstance(item.value, float) else None),
                *(Cell(text or "-") for text in (item.provider, number.get(item.source, item.source), item.as_of)),
            )
            for item in known
            if item.cls == cls
        ]
        if rows:
            heads = ("input", "value", "from", "source", "date")
            blocks.append(table(title, heads, rows, words=("from", "source", "date")))
    if number:
        blocks.append(table("Sources", ("number", "source"), [(shown, source) for source, shown in number.items()]))
    if not blocks:
        blocks.append(Note(f"Inputs are not traced: {case.no_grid}.", "warning"))
    return Section("inputs", "What the plan rests on", tuple(blocks), appendix=True)


def _known(case: Case) -> list[InputLine]:
    """Inputs that the printed formulas use, then all others that the contract states: limits, lengths, policies."""
    if case.explanation is None:
        return []
    used = {item.name for item in case.explanation.inputs}
    stated = [
        InputLine(name, value, quantity_text(name, value), own.cls, own.source, own.as_of, own.provider)
        for name, value in case.inputs.items()
        if name not in used and (own := case.origins[name]).provider == "contract"
    ]
    return [*case.explanation.inputs, *stated]
