"""What each layer group of a model is charged for one sequence on one GPU, as lines that add up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from gridplan import formulas
from gridplan.catalog import LayerGroup, Model, groups_text
from gridplan.catalog.layers import WHOLE_CONTEXT, with_cache
from gridplan.quantities import format_quantity

__all__ = ["LayerLine", "groups_on_rank", "kept_text", "layer_lines", "layer_text"]


@dataclass(frozen=True)
class LayerLine:
    """One group: its layers in words, the block, what a sequence of `tokens` keeps, and its bytes on one GPU."""

    layers: str
    block_tokens: float
    block_bytes: float
    kept_tokens: float
    blocks: float
    extra_blocks: float
    bytes: float


def groups_on_rank(model: Model, draft: Model | None, stages: float, draft_layers: float) -> tuple[LayerGroup, ...]:
    """Layer groups as the fullest of `stages` pipeline stages holds them, a draft head's layers and a draft model's."""
    groups = [replace(group, layers=ceil(group.layers / stages)) for group in model.layer_groups]
    at = next((place for place, group in enumerate(groups) if group.kind in WHOLE_CONTEXT), None)
    if draft_layers and at is not None:
        groups[at] = replace(groups[at], layers=groups[at].layers + int(draft_layers))
    return (*groups, *(draft.layer_groups if draft is not None else ()))


def layer_lines(groups: Sequence[LayerGroup], rows: NDArray[np.float64], tokens: float) -> tuple[LayerLine, ...]:
    """The groups of a model whose sequences are charged by `rows` (groups, 4), for a sequence of `tokens`.

    One row for a model whose tokens all cost the same; nothing where the model or the length is not known.
    """
    own = with_cache(groups)
    rows = rows[rows[:, 0] > 0]
    if not own or math.isnan(tokens) or np.isnan(rows[:, 0]).any():
        return ()
    named = [groups_text([group]) for group in own] if len(rows) == len(own) else [groups_text(own)]
    if len(named) != len(rows):
        return ()
    return tuple(_line(name, row, tokens) for name, row in zip(named, rows, strict=True))


def _line(name: str, row: NDArray[np.float64], tokens: float) -> LayerLine:
    block_bytes, block_tokens, limit, extra = map(float, row)
    charged = float(formulas.kv_charge_bytes(tokens, *([number] for number in row)))
    return LayerLine(
        layers=name,
        block_tokens=block_tokens,
        block_bytes=block_bytes,
        kept_tokens=min(tokens, limit) if limit else 0.0,
        blocks=charged / block_bytes - extra,
        extra_blocks=extra,
        bytes=charged,
    )


def layer_text(lines: Sequence[LayerLine], tokens: float) -> list[str]:
    """The groups as rows of a page, and their sum."""
    if not lines:
        return []
    title = f"KV layer groups, a sequence of {format_quantity(tokens, 'tokens')} on one GPU"
    rows = [title]
    for line in lines:
        amount = format_quantity(line.bytes, "bytes")
        rows.append(f"  {amount:>12}  {line.layers}: {kept_text(line)}")
    if len(lines) > 1:
        rows.append(f"  {format_quantity(sum(line.bytes for line in lines), 'bytes'):>12}  together")
    return rows


def kept_text(line: LayerLine) -> str:
    """What a group keeps of a sequence, in blocks."""
    size = format_quantity(line.block_bytes, "bytes")
    if not line.kept_tokens:
        return f"{line.extra_blocks:,.0f} of {size}, whatever the length"
    beside = f" + {line.extra_blocks:,.0f}" if line.extra_blocks else ""
    kept = format_quantity(line.kept_tokens, "tokens")
    return f"{kept} in {line.blocks:,.0f}{beside} blocks of {line.block_tokens:,.0f} tokens and {size}"
