"""Layer groups that follow from the counts of a model's entry, and what contradicts the groups of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gridplan.catalog.entries import Model
from gridplan.catalog.layers import WHOLE_CONTEXT, LayerGroup, groups_text, layers_of

__all__ = ["derived_groups", "is_derived", "layer_contradictions", "layer_counts", "outdated_groups"]

DERIVED = "from the counts of the model's entry"
COUNTS: Mapping[str, tuple[str, ...]] = {
    "kv_layers": WHOLE_CONTEXT,
    "num_sliding_layers": ("sliding",),
    "num_chunked_layers": ("chunked",),
    "num_linear_layers": ("state",),
}
"""Counts of a model's entry, and the kinds of group whose layers they count."""
GEOMETRY = (
    "num_layers",
    "kv_heads",
    "head_dim",
    "kv_lora_rank",
    "qk_rope_head_dim",
    "sliding_window",
    "index_head_dim",
    *COUNTS,
)
"""Fields that the layer groups of a model repeat in another form."""


def is_derived(groups: tuple[LayerGroup, ...]) -> bool:
    """Whether the groups only repeat the counts of the entry, and so follow when those change."""
    return all(group.notes == DERIVED for group in groups)


def layer_counts(values: Mapping[str, Any], groups: tuple[LayerGroup, ...]) -> dict[str, int]:
    """Layers that keep the whole context, a window, a chunk or a state: as stated, else as the groups say.

    >>> layer_counts({"num_layers": 32, "num_sliding_layers": 24}, ())["kv_layers"]
    8
    """
    if groups:
        found = {name: layers_of(groups, *kinds) for name, kinds in COUNTS.items()}
    else:
        found = {name: int(values.get(name) or 0) for name in COUNTS if name != "kv_layers"}
        found["kv_layers"] = int(values["num_layers"]) - sum(found.values())
    return {name: found[name] if values.get(name) is None else int(values[name]) for name in COUNTS}


def derived_groups(
    values: Mapping[str, Any], counts: Mapping[str, int], provenance: Mapping[str, Any]
) -> tuple[LayerGroup, ...]:
    """Groups of a model whose entry gives counts alone; empty where the counts do not say what a layer keeps.

    >>> llama = {"kv_heads": 8, "head_dim": 128}
    >>> groups_text(derived_groups(llama, {"kv_layers": 32, "num_sliding_layers": 0}, {}))
    '32 full 8x128'
    """
    kept: dict[str, Any] = {name: provenance[name] for name in ("source", "cls", "as_of") if name in provenance}
    kept["notes"] = DERIVED
    full, rank, index = counts["kv_layers"], values.get("kv_lora_rank"), values.get("index_head_dim")
    windowed = {"sliding": counts.get("num_sliding_layers", 0), "chunked": counts.get("num_chunked_layers", 0)}
    window, head = values.get("sliding_window"), values.get("head_dim")
    any_window = any(windowed.values())
    if counts.get("num_linear_layers") or (any_window and (rank is not None or window is None)):
        return ()
    if rank is not None:
        if values.get("qk_rope_head_dim") is None:
            return ()
        kind = "sparse_mla" if index else "mla"
        latent = {"kv_lora_rank": rank, "qk_rope_head_dim": values["qk_rope_head_dim"], "index_head_dim": index}
        return (LayerGroup(kind, full, **latent, **kept),)
    if head is None or index:
        return ()
    heads = {"kv_heads": values["kv_heads"], "k_head_dim": head, "v_head_dim": head}
    groups = [LayerGroup("full", full, **heads, **kept)] if full or not any_window else []
    groups += [
        LayerGroup(kind, layers, **heads, window_tokens=window, **kept) for kind, layers in windowed.items() if layers
    ]
    return tuple(groups)


def layer_contradictions(model: Model) -> Iterator[str]:
    """Why the layer groups of a model are not known, or what contradicts them."""
    groups = model.layer_groups
    if not groups:
        yield from _missing(model)
    if not groups or is_derived(groups):
        return
    if all(group.kind == "shared" for group in groups):
        yield "layer_groups keep no cache: a layer of kind shared reuses that of a group of another kind"
    total = sum(group.layers for group in groups if not group.beside)
    if total != model.num_layers:
        rest = "; layers without a cache of their own are a group of kind shared" if total < model.num_layers else ""
        yield f"layer_groups add up to {total} layers, not to num_layers {model.num_layers}{rest}"
    for name, kinds in COUNTS.items():
        counted = layers_of(groups, *kinds)
        if getattr(model, name) != counted:
            yield f"{name} {getattr(model, name)} contradicts layer_groups, where it is {counted}"


def _missing(model: Model) -> Iterator[str]:
    windowed = model.num_sliding_layers + model.num_chunked_layers
    if model.num_linear_layers:
        yield f"what the {model.num_linear_layers} layers of num_linear_layers keep is not known: give layer_groups"
    elif windowed and model.kv_lora_rank is not None:
        yield "latent attention with a window is not described by counts: give layer_groups"
    elif windowed and model.sliding_window is None:
        yield "sliding_window is missing: it is the window, or the chunk, of the layers counted"
    elif model.index_head_dim and model.kv_lora_rank is None:
        yield "index_head_dim belongs to latent attention, with kv_lora_rank and qk_rope_head_dim"


def outdated_groups(base: Model, model: Model) -> str | None:
    """Why the groups of an overridden entry no longer hold: it keeps groups of its own and the geometry changed."""
    if is_derived(base.layer_groups) or model.layer_groups != base.layer_groups:
        return None
    changed = [name for name in GEOMETRY if getattr(base, name) != getattr(model, name)]
    if not changed:
        return None
    return f"{', '.join(changed)} changed: give layer_groups too, for it has its own ({groups_text(base.layer_groups)})"
