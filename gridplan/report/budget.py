"""Where the memory of one GPU goes, as a column that adds up: usable memory less every term is the KV pool."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gridplan.catalog import Catalog

__all__ = ["BudgetLine", "budget_lines", "budget_text", "gib_texts"]

GIB = 2.0**30

TERMS: Mapping[str, str] = {
    "weights": "weights",
    "non_torch": "non-torch",
    "activation": "activation peak",
    "cuda_graphs": "CUDA graphs",
    "lora": "LoRA slots",
    "draft_weights": "draft model",
    "multimodal": "multimodal",
    "reserve": "reserve",
}
"""Terms in the order of the column, as a person calls them."""


@dataclass(frozen=True)
class BudgetLine:
    """One line: `sign` is + (what there is), - (what goes) or = (what is left).

    Bytes of one GPU. `low_bytes` and `high_bytes` bound a predicted term; None where nothing was measured of it, or the
    contract gives it.
    """

    name: str
    sign: str
    bytes: float
    low_bytes: float | None = None
    high_bytes: float | None = None
    remark: str = ""


def budget_lines(
    known: Mapping[str, float], engine: str | None, catalog: Catalog, given: frozenset[str]
) -> tuple[BudgetLine, ...]:
    """The column of one cell, empty where its memory is not known; `given` are the inputs that the contract states.

    A measured pool stands below the one that the terms leave, with what they do not explain.
    """
    total, fraction = known["gpu_memory_bytes"], known["gpu_memory_utilization"]
    of_free = known.get("fraction_of_free") == 1
    terms = _terms(known, engine, catalog, given)
    if any(math.isnan(value) for value in (total, fraction, *(line.bytes for line in terms))):
        return ()
    left = sum(line.bytes for line in terms)
    if of_free:
        free = total - left
        lines = [
            BudgetLine("memory of the GPU", "+", total),
            *terms,
            BudgetLine("free after loading", "=", free),
            BudgetLine("left free by the engine", "-", free * (1 - fraction), remark=f"a share of {1 - fraction:g}"),
        ]
        pool = free * fraction
    else:
        usable = total * fraction
        share = f"{total / GIB:.2f} x {fraction:g}"
        lines = [BudgetLine("usable memory", "+", usable, remark=share), *terms]
        pool = usable - left
    return (*lines, BudgetLine("KV pool", "=", pool), *_measured(known, pool))


def _terms(known: Mapping[str, float], engine: str | None, catalog: Catalog, given: frozenset[str]) -> list[BudgetLine]:
    """What goes: weights, then the engine's terms, or their sum where only that is stated."""
    names = list(TERMS)
    if math.isnan(known["non_torch_bytes_per_gpu"]):
        names = ["weights", "workspace"]
    lines = []
    for name in names:
        value = known[f"{name}_bytes_per_gpu"]
        if value == 0 and name not in ("weights", "workspace"):
            continue
        row = None
        if engine is not None and f"{name}_bytes" not in given:
            row = catalog.memory_term(catalog.engine(engine), name, known["tensor_parallel"])
        low, high = row.spread_bytes(value) if row is not None else (None, None)
        lines.append(BudgetLine(TERMS.get(name, name), "-", value, low, high))
    return lines


def _measured(known: Mapping[str, float], pool: float) -> tuple[BudgetLine, ...]:
    """A measured pool beside the one that the terms leave."""
    has = not math.isnan(known["kv_pool_bytes_given"]) or not math.isnan(known["kv_pool_tokens_given"])
    measured = known["kv_pool_bytes_per_gpu"]
    if not has or math.isnan(measured):
        return ()
    return (
        BudgetLine("not explained by the terms", "-" if measured < pool else "+", abs(measured - pool)),
        BudgetLine("KV pool as measured", "=", measured),
    )


def budget_text(lines: Sequence[BudgetLine]) -> list[str]:
    """The column in GiB with three decimals that add up as printed.

    >>> column = [("usable memory", "+", 71.26), ("weights", "-", 30.334), ("activation peak", "-", 5.334)]
    >>> lines = [BudgetLine(name, sign, gib * 2**30) for name, sign, gib in (*column, ("KV pool", "=", 35.592))]
    >>> print("\\n".join(budget_text(lines)))
        usable memory                   71.260
      - weights                         30.334
      - activation peak                  5.334
      = KV pool                         35.592
    """
    rows = []
    for line, shown in zip(lines, gib_texts(lines), strict=True):
        spread = ""
        if line.low_bytes is not None and line.high_bytes is not None:
            spread = f"  seen: {line.low_bytes / GIB:.2f} to {line.high_bytes / GIB:.2f}"
        remark = f"  {line.remark}" if line.remark else ""
        sign = " " if line is lines[0] else line.sign
        rows.append(f"  {sign} {line.name:<28} {shown:>9}{remark}{spread}")
    return rows


def gib_texts(lines: Sequence[BudgetLine]) -> list[str]:
    """GiB of every line with three decimals, which add up as printed."""
    return [f"{shown / 1000:,.3f}" for shown in _adding_up(lines)]


def _adding_up(lines: Sequence[BudgetLine]) -> list[int]:
    """Thousandths of GiB: each figure rounded, and the one nearest to its other neighbour moved where a sum misses."""
    exact = [line.bytes / GIB * 1000 for line in lines]
    shown = [round(value) for value in exact]
    first = 0
    for place, line in enumerate(lines):
        if line.sign != "=":
            continue
        sign = {i: -1 if lines[i].sign == "-" else 1 for i in range(first, place)}
        missing = shown[place] - sum(sign[i] * shown[i] for i in sign)
        step = 1 if missing > 0 else -1
        # Moving a term by one thousandth costs least where its rounding went the other way. What the column starts
        # from stays, for other lines print it too.
        terms = [i for i in sign if i > first]
        for at in sorted(terms, key=lambda i: (shown[i] - exact[i]) * step * sign[i])[: abs(missing)]:
            shown[at] += step * sign[at]
        first = place
    return shown
