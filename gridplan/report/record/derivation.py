"""How the plan follows from its inputs: every figure with its formula, the numbers in it and the result."""

from __future__ import annotations

from collections.abc import Iterable

from gridplan.dictionary import dictionary
from gridplan.quantities import format_quantity
from gridplan.report.budget import BudgetLine, gib_texts
from gridplan.report.charts.chart import Chart
from gridplan.report.charts.texts import sentence
from gridplan.report.layer_lines import kept_text
from gridplan.report.record.case import Case
from gridplan.report.record.document import Block, Cell, Figure, Note, Section, Table, table
from gridplan.report.sections import SECTIONS
from gridplan.report.substitute import quantity_text

__all__ = ["appendix", "bounds", "chain_table", "words"]

_BOUNDS = (
    *("memory_shortfall_bytes_per_gpu", "kv_bytes_per_token", "kv_pool_tokens", "concurrency_memory"),
    *("concurrency_memory_worst", "concurrency_scheduler", "concurrency_compute", "concurrency_slo"),
    *("decode_step_s", "prefill_longest_s", "prefill_longest_flop"),
)
"""The physical bounds of a replica, in the order in which a review reads them."""


_AFTER_LOSS = ("arrival_rate_safe_after_loss", "headroom_kept_after_loss", "slo_held_after_loss")
"""What is left after the loss that a contract states: nothing is said of it where nothing is lost."""


def words(name: str, full: bool = False) -> str:
    """What a quantity is called: its meaning and symbol, or its name where it has no symbol; `full` all of them.

    >>> words("lambda_safe"), words("lambda_safe", full=True)
    ('planned rate of one replica, λ_safe', 'planned rate of one replica, λ_safe (lambda_safe)')
    """
    row = dictionary()[name]
    said = f"{row.long_name}, {row.symbol}" if row.symbol else row.long_name
    return f"{said} ({name})" if full else said


def chain_table(case: Case, caption: str, names: Iterable[str], full: bool = False) -> Table | None:
    """Rows of these figures that the plan has: what it is, how it is computed, its value; None where it has none.

    Short, a formula has numbers in place of names; `full` it has both, and every figure its name.
    """
    lines = {line.name: line for line in case.explanation.lines} if case.explanation is not None else {}
    rows = []
    for name in names:
        value = case.number(name)
        if value is None or (name in _AFTER_LOSS and not case.input("lost_units")):
            continue
        line = lines.get(name)
        if case.explanation is not None and line is None:
            continue  # what an explanation leaves out says nothing in this cell
        formula = line.formula if line is not None else dictionary()[name].formula
        how = line.numbers if line is not None else formula
        if full and how != formula:
            how = f"{formula} = {how}"
        rows.append((words(name, full), Cell(quantity_text(name, value), value), how))
    if not rows:
        return None
    return table(caption, ("figure", "value", "from"), rows, words=("from",))


def bounds(case: Case, memory: Chart | None) -> Section:
    """What the hardware and the model allow before any load is put on them."""
    blocks: list[Block] = []
    if (budget := _budget(case)) is not None:
        blocks.append(budget)
    shown = chain_table(case, "Physical bounds of one replica", _BOUNDS)
    if shown is not None:
        blocks.append(shown)
    if memory is not None:
        blocks.append(Figure("memory", memory))
    if case.explanation is not None and case.explanation.layers:
        longest = quantity_text("context_tokens_max", case.explanation.longest_tokens)
        rows = [
            (item.layers, kept_text(item), Cell(format_quantity(item.bytes, "bytes"), item.bytes))
            for item in case.explanation.layers
        ]
        heads = ("layer group", "kept", "bytes")
        blocks.append(table(f"KV cache of one sequence of {longest}, on one GPU", heads, rows, words=("kept",)))
    if not blocks:
        blocks.append(Note("None of these bounds is known in this cell.", "warning"))
    return Section("bounds", "Physical bounds", tuple(blocks))


def _budget(case: Case) -> Table | None:
    """Where the memory of one GPU goes, as a column that adds up."""
    lines = case.explanation.budget if case.explanation is not None else ()
    if not lines:
        known = {name: value for name in _MEMORY if (value := case.number(name)) is not None}
        rows = [(words(name), Cell(quantity_text(name, value), value)) for name, value in known.items()]
        return table("Where the memory of one GPU goes", ("term", "bytes"), rows) if rows else None
    shown = [
        (
            f"{'' if item is lines[0] else item.sign + ' '}{item.name}",
            Cell(figure, item.bytes),
            item.remark or _seen(item) or "-",
        )
        for item, figure in zip(lines, gib_texts(lines), strict=True)
    ]
    return table("Where the memory of one GPU goes", ("term", "GiB", "remark"), shown, words=("term", "remark"))


_MEMORY = ("usable_memory_bytes_per_gpu", "weights_bytes_per_gpu", "kv_pool_bytes_per_gpu")


def _seen(item: BudgetLine) -> str:
    if item.low_bytes is None or item.high_bytes is None:
        return ""
    low, high = (format_quantity(value, "bytes") for value in (item.low_bytes, item.high_bytes))
    return f"seen in engine logs: {low} to {high}"


def appendix(case: Case) -> Section:
    """The whole chain, section by section."""
    found = [chain_table(case, sentence(title), names, full=True) for title, names in SECTIONS.items()]
    return Section("chain", "The whole derivation", tuple(item for item in found if item is not None), appendix=True)
