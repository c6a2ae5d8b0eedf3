"""What `gridplan catalog models NAME` adds to the fields: layer groups, parts of the parameters, what a plan lacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gridplan.catalog import Model

__all__ = ["model_data", "model_lines", "parts_of"]


def parts_of(model: Model) -> dict[str, float | None]:
    """Parameters by part [count]: what each rank holds whole, splits by heads or spreads as experts; None if unknown.

    `other` is the rest of the total: queries, outputs, MLPs and norms. `vision_tower` is beside the total.
    """
    from gridplan.catalog import kv_projection_params, router_params

    parts: dict[str, float | None] = {
        "embedding": model.params_embedding,
        "lm_head": 0.0 if model.tie_word_embeddings else model.params_embedding,
        "routed_experts": model.params_routed_experts,
        "routers": router_params(model),
        "replicated": model.params_replicated,
        "kv_projections": kv_projection_params(model),
    }
    known = [count for count in parts.values() if count is not None]
    rest = None if model.params_total is None or len(known) < len(parts) else model.params_total - sum(known)
    # Counts that a checkpoint shares otherwise than the entry says leave no rest; none is shown then.
    other = None if rest is None or rest < 0 else rest
    return {**parts, "other": other, "vision_tower": model.params_vision}


def model_data(model: Model) -> dict[str, object]:
    """What JSON has beside the fields."""
    from gridplan.catalog.missing import missing_for_plan

    return {
        "supported": bool(model.layer_groups),
        "missing_for_plan": list(missing_for_plan(model)),
        "params_by_part": parts_of(model),
    }


def model_lines(model: Model) -> Iterator[str]:
    """The blocks below the fields; the last line says whether the model can be planned."""
    from gridplan.catalog import groups_text
    from gridplan.catalog.missing import missing_for_plan

    yield from ("", "layer groups (layers, kind, KV heads x head size)")
    for group in model.layer_groups:
        origin = ", ".join(part for part in (group.cls, group.as_of, group.notes or group.source) if part)
        yield f"  {groups_text([group])}  ({origin})"
    yield from ("", "parameters by part")
    parts = {"total": model.params_total, "active": model.params_active, **parts_of(model)}
    counts = {name: "-" if count is None else f"{count:,.0f}" for name, count in parts.items()}
    widths = max(map(len, counts)), max(map(len, counts.values()))
    for name, count in counts.items():
        yield f"  {name.ljust(widths[0])}  {count.rjust(widths[1])}"
    yield ""
    missing = missing_for_plan(model)
    if not model.layer_groups:
        yield "cannot be planned: its layer groups are not known"
    elif missing:
        yield f"can be planned where {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} stated: not known here"
    else:
        yield "can be planned"
