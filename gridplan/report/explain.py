"""The chain of one cell with its numbers: formula, substituted values, result, and where every input came from."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridplan.contract.grid import Grid
from gridplan.contract.margins import MARGINS
from gridplan.dictionary import all_measures, dictionary
from gridplan.engine.budget import BUDGET_TERMS
from gridplan.engine.bundle import Inputs
from gridplan.engine.cell import cell_index, cut_to
from gridplan.engine.columns import column_arrays, plan_columns
from gridplan.engine.headroom import OF_CELLS, cell_warnings
from gridplan.engine.inputs import build_inputs
from gridplan.engine.searched import evaluate_kept
from gridplan.engine.summary import ANCHOR_RANGE
from gridplan.report.budget import budget_lines
from gridplan.report.cost_formulas import is_idle
from gridplan.report.explanation import Explanation, InputLine, Line
from gridplan.report.layer_lines import LayerLine, groups_on_rank, layer_lines
from gridplan.report.price_formulas import silent
from gridplan.report.sections import SECTIONS
from gridplan.report.splits import split_problem
from gridplan.report.substitute import formula_used, names_in, quantity_text, substituted
from gridplan.report.verdict import verdict

__all__ = ["explain"]


def explain(grid: Grid, /, **labels: str | float) -> Explanation:
    """Explain one cell of a grid.

    Parameters
    ----------
    grid
        A contract, from `gridplan.load_grid`.
    labels
        One label per axis. An axis with a single label may be left out, and so may `scenario` (then `nominal`).

    Raises
    ------
    ContractError
        If an axis is unknown or not fixed, or a label is not on its axis, with the nearest labels.
    """
    inputs = build_inputs(grid)
    index = cell_index(inputs, labels)
    cell = cut_to(inputs, index)
    plan = plan_columns(cell, all_measures())
    values = evaluate_kept(plan.steps, {name: item.data for name, item in cell.values.items()})
    arrays = column_arrays(plan, values, {name: item.data for name, item in plan.constants.items()})
    numbers = {name: float(np.ravel(array)[0]) for name, array in values.items() if np.size(array) == 1}
    texts: dict[str, str | None] = {}
    for column in plan.layout.given:
        value = arrays[column.name].ravel()[0]
        if column.dtype == "string":
            texts[column.name] = column.categories[int(value)] if value >= 0 else None
        else:
            numbers[column.name] = float(value)
    for name, item in (*cell.labels.items(), ("draft_model", cell.stated["draft_model"])):
        texts.setdefault(name, item.data.ravel()[0])
    known = numbers
    lines = _lines(known, texts)
    model = None if texts["model"] is None else inputs.catalog.model(texts["model"])
    chosen = {name: inputs.space.labels[name][position] for name, position in index.items()}
    return Explanation(
        grid=grid.name,
        labels=chosen,
        status=texts["status"] or "",
        reason=texts["infeasible_reason"],
        facts=texts,
        inputs=_inputs(inputs, cell, index, lines),
        lines=lines,
        verdict=verdict(known, texts, split_problem(texts["infeasible_reason"], model, known)),
        warnings=(*_warnings(inputs, cell), *_anchor_warning(known["anchor_ratio"])),
        budget=budget_lines(known, texts["engine"], inputs.catalog, _stated_terms(inputs, index)),
        layers=_layers(inputs, cell, known, texts),
        longest_tokens=known["longest_tokens"],
    )


def _stated_terms(inputs: Inputs, index: Mapping[str, int]) -> frozenset[str]:
    """Terms of the budget that the contract gives, not an engine's rule."""
    return frozenset(
        name for name in (*BUDGET_TERMS, "weights_bytes") if inputs.origins[name](index).provider == "contract"
    )


def _layers(
    inputs: Inputs, cell: Inputs, known: Mapping[str, float], texts: Mapping[str, str | None]
) -> tuple[LayerLine, ...]:
    """What the layer groups charge; nothing where a figure per token is given in their place."""
    model, draft = (
        None if texts[name] is None else inputs.catalog.model(str(texts[name])) for name in ("model", "draft_model")
    )
    if model is None or not np.isnan(known["kv_bytes_per_token_given"]):
        return ()
    groups = groups_on_rank(model, draft, known["pipeline_parallel"], known["draft_layers"])
    rows = cell.values["kv_rows_rank"].data
    return layer_lines(groups, rows.reshape(rows.shape[-2:]), known["longest_tokens"])


def _warnings(inputs: Inputs, cell: Inputs) -> tuple[str, ...]:
    """Those of the grid; of the ones that depend on the cell, those of this cell."""
    of_grid = (text for text in inputs.warnings if not text.startswith(OF_CELLS))
    return (*of_grid, *cell_warnings(cell))


def _anchor_warning(ratio: float) -> list[str]:
    """A sentence where first principles and the measurement disagree too far to carry one by the other."""
    low, high = ANCHOR_RANGE
    if np.isnan(ratio) or low <= ratio <= high:
        return []
    return [f"anchor_ratio {ratio:.3g} lies outside {low:g} to {high:g}: the scaled rate rests on a poor model"]


def _lines(known: Mapping[str, float], texts: Mapping[str, str | None]) -> tuple[Line, ...]:
    lines = []
    for section, names in SECTIONS.items():
        for name in names:
            if np.isnan(known[name]) or (name == "memory_shortfall_bytes_per_gpu" and known[name] == 0):
                continue
            if silent(name, known):
                continue
            if name in _OF_ROUTING and known["routing_code"] == 0:
                continue  # a random split gains nothing over itself
            if is_idle(name, known):
                continue
            if texts.get(name.replace("_at_slo_percentile_s", "_slo_percentile")) == "mean":
                continue  # that is the mean above
            row = dictionary()[name]
            formula = formula_used(name, known, texts)
            lines.append(
                Line(
                    section=section,
                    name=name,
                    symbol=row.symbol,
                    long_name=row.long_name,
                    formula=formula,
                    numbers=substituted(formula, known),
                    value=known[name],
                    unit=row.unit,
                    text=quantity_text(name, known[name]),
                )
            )
    return tuple(lines)


_OF_ROUTING = ("routing_gain_low", "routing_gain_high")
_BOUGHT = ("purchase", "spot_share", "reserved_usd_per_node_hour", "reserved_discount", "load_floor")
_POLICY = (*MARGINS, "routing", "routing_credit", *_BOUGHT)
"""Inputs that say what the planned rate pays for and how nodes are bought, shown where the contract states them."""

_LABELS = ("instance", "gpu", "model", "draft_model", "engine", "weight_dtype", "kv_dtype", "capacity_model")
_BEHIND = (
    *("sliding_policy", "in_flight_steps", "state_blocks", "max_model_len", "max_num_batched_tokens", "max_num_seqs"),
    *(*BUDGET_TERMS, "max_loras", "max_lora_rank"),
)
"""Inputs behind the layer groups and the budget, which no formula names one by one."""


def _inputs(inputs: Inputs, cell: Inputs, index: Mapping[str, int], lines: tuple[Line, ...]) -> tuple[InputLine, ...]:
    """Inputs that the printed formulas use, with provenance; labels first."""
    used = dict.fromkeys((*_LABELS, *_BEHIND, *(name for line in lines for name in names_in(line.formula)), *_POLICY))
    found = []
    for name in used:
        item = cell.labels.get(name) or cell.values.get(name) or cell.stated.get(name)
        if item is None or item.data.size != 1 or name not in inputs.origins:
            continue
        value = item.data.ravel()[0]
        if value is None or (not isinstance(value, str) and np.isnan(value)):
            continue
        origin = inputs.origins[name](index)
        if origin.provider == "none" or (name in _POLICY and origin.provider == "default"):
            continue
        number = value if isinstance(value, str) else float(value)
        found.append(
            InputLine(
                name, number, quantity_text(name, number), origin.cls, origin.source, origin.as_of, origin.provider
            )
        )
    return tuple(found)
