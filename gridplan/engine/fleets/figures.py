"""What a question about fleets reads: a few quantities of the plan over the whole grid, and nothing else of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from gridplan import chain
from gridplan.chain.codes import code
from gridplan.chain.graph import Array
from gridplan.contract.grid import Grid
from gridplan.engine.bundle import Inputs
from gridplan.engine.cell import cut_to, label_index
from gridplan.engine.evaluate import attributes
from gridplan.engine.field import Field
from gridplan.engine.inputs import build_inputs
from gridplan.engine.resolve import Resolver
from gridplan.errors import ContractError, GridTooLargeError

__all__ = ["about", "asked_of", "figures_of", "stop"]

MAX_CELLS = 2_000_000
"""Cells that are planned at once (policy): some hundred MB. Axes that change no figure do not count."""

MAX_NUMBERS = 16_000_000
"""The same for answers with several numbers a cell: nodes of a pool are told apart by every label (policy)."""


def asked_of(grid: Grid, at: Mapping[str, str | float] | None) -> tuple[Inputs, dict[str, str | float]]:
    """The inputs of a grid, cut to the labels of `at`, and those labels as the axes write them."""
    inputs = _uncapped(build_inputs(grid))
    index = label_index(inputs, at or {})
    return cut_to(inputs, index), {name: inputs.space.labels[name][place] for name, place in index.items()}


def _uncapped(inputs: Inputs) -> Inputs:
    """The same without budget and power caps: these are limits of one service by itself."""
    none = inputs.space.constant(np.nan, np.float64)
    return replace(inputs, values={**inputs.values, "budget_usd_per_month": none, "power_budget_kw": none})


def figures_of(inputs: Inputs, names: Iterable[str], fixed: Iterable[str], width: int = 1) -> dict[str, Field]:
    """Quantities of the plan and inputs by name; dimensions that are fixed at one label are not theirs any more.

    Raises GridTooLargeError above 2 million cells, or fewer where the answer has `width` numbers for each.
    """
    wanted = tuple(names)
    steps = chain.needed(inputs.steps, wanted)
    dims = {name: found - set(fixed) for name, found in chain.propagate(steps, inputs.dims).items()}
    _check_size(inputs, frozenset[str]().union(*(dims[name] for name in wanted)), width)
    values: dict[str, Array] = {name: item.data for name, item in inputs.values.items()}
    last = {name: place for place, item in enumerate(steps) for name in item.inputs}
    for place, item in enumerate(steps):
        chain.evaluate((item,), values)
        for name in (*item.inputs, *item.outputs):
            if name not in wanted and last.get(name, -1) <= place:
                values.pop(name, None)  # what no later step reads makes room
    return {name: Field(values[name], dims[name]) for name in wanted}


def about(
    inputs: Inputs, fixed: Mapping[str, str | float], instead: Mapping[str, str], used: str = ""
) -> dict[str, str]:
    """Attributes of an answer: those of its grid with their warnings, and the labels that were fixed.

    To these comes a sentence for each input that the contract gives and the question does not read, from `instead`; an
    input `used` here is not said to be unused.
    """
    resolver = Resolver(inputs.grid)
    plan = (text for text in inputs.warnings if not used or not text.startswith(f"{used} is not used"))
    said = [f"{name} is not used here: {why}" for name, why in instead.items() if resolver.is_given(name)]
    if (inputs.values["purchase_code"].data == code("purchase", "spot")).any():
        said.append("these nodes are on spot, and all of them may be taken back at once: the losses here are of nodes")
    shown = (f"{name}={label if isinstance(label, str) else f'{label:.12g}'}" for name, label in fixed.items())
    texts = {**attributes(inputs), "at": ", ".join(shown), "warnings": "\n".join((*plan, *said))}
    return {name: text for name, text in texts.items() if text}


def stop(resolver: Resolver) -> None:
    """Raise the problems that were noted, in the order of the contract."""
    if resolver.problems:
        raise ContractError(sorted(resolver.problems, key=lambda p: (p.line or 0, p.column or 0, p.key or "")))


def _check_size(inputs: Inputs, dims: frozenset[str], width: int) -> None:
    sizes = [(name, len(inputs.space.labels[name])) for name in dims]
    cells, most = math.prod(size for _, size in sizes), min(MAX_CELLS, MAX_NUMBERS // width)
    if cells > most:
        largest = sorted(sizes, key=lambda item: (-item[1], item[0]))[:3]
        raise GridTooLargeError(
            f"{inputs.grid.path}: {cells:,} cells are more than the {most:,} that are planned at once; "
            f"largest axes: {', '.join(f'{name} ({size:,})' for name, size in largest)}; fix one with at, or shorten it"
        )
