"""Which layers see a window or a chunk of the context only, and which all of it."""

from __future__ import annotations

from gridplan.catalog.hf.fields import Fields

__all__ = ["WHOLE", "Reach", "reaches"]

Reach = tuple[str, int | None]
"""The kind of cache of a layer (full, sliding or chunked) and its window [tokens]."""
WHOLE: Reach = ("full", None)
_KINDS = {"full_attention": "full", "sliding_attention": "sliding", "chunked_attention": "chunked"}


def reaches(fields: Fields, layers: int, rule: str) -> list[Reach]:
    """The reach of every layer, by the rule of its architecture.

    `none`: all layers see everything. `all`: a `sliding_window` that is not null holds for every layer (Phi-3). `said`:
    the same, and a file without the field is refused, for its default is a window (Mistral). `flag`: the window holds
    where `use_sliding_window`, from layer `max_window_layers` on (Qwen 2 and 3). `every N`: all but every N-th layer
    slide (`layer_types` or `sliding_window_pattern` say which, where the file has them). `chunked`: layers with RoPE
    see a chunk of `attention_chunk_size` (Llama 4).
    """
    if rule == "none":
        return [WHOLE] * layers
    if rule in ("all", "said"):
        if rule == "said":
            fields.must_say("sliding_window")
        window = fields.optional("sliding_window")
        return [WHOLE if window is None else ("sliding", window)] * layers
    if rule == "flag":
        return _flagged(fields, layers)
    if rule == "chunked":
        return _chunked(fields, layers)
    return _typed(fields, layers, int(rule.partition(" ")[2]))


def _flagged(fields: Fields, layers: int) -> list[Reach]:
    types = fields.of_layers("layer_types", ("full_attention", "sliding_attention"), layers)
    first = fields.count("max_window_layers", layers, least=0)
    window = fields.optional("sliding_window")
    if not fields.flag("use_sliding_window", False):
        if "sliding_attention" in types:
            fields.clash("layer_types", "has sliding layers, but use_sliding_window is not true")
        return [WHOLE] * layers
    if window is None:
        fields.clash("sliding_window", "is missing, but use_sliding_window is true")
        return [WHOLE] * layers
    by_place = [i >= first for i in range(layers)]
    slides = [kind == "sliding_attention" for kind in types] or by_place
    if slides != by_place and fields.has("max_window_layers"):
        fields.clash("layer_types", f"and max_window_layers {first} slide in other layers")
    return [("sliding", window) if slide else WHOLE for slide in slides]


def _typed(fields: Fields, layers: int, every: int) -> list[Reach]:
    """Layers named by `layer_types`, else all but every N-th."""
    types = fields.of_layers("layer_types", ("full_attention", "sliding_attention"), layers)
    fields.choice("order_of_interleaved_layers", ("local_attn_first",), "local_attn_first")
    period = fields.count(fields.first("sliding_window_pattern", "_sliding_window_pattern", "layer_switch"), every)
    if not types:
        types = ["full_attention" if (i + 1) % period == 0 else "sliding_attention" for i in range(layers)]
    repeated = fields.optional("sliding_window_size")
    if repeated is not None and fields.has("sliding_window") and repeated != fields.optional("sliding_window"):
        fields.clash("sliding_window_size", f"{repeated} and sliding_window are two windows")
    if "sliding_attention" not in types:
        fields.optional("sliding_window")
        return [WHOLE] * layers
    window = fields.count("sliding_window")
    return [WHOLE if kind == "full_attention" else ("sliding", window) for kind in types]


def _chunked(fields: Fields, layers: int) -> list[Reach]:
    """Llama 4: `no_rope_layers` has 0 for the layers that see everything; without it every fourth one does."""
    chunk = fields.count("attention_chunk_size")
    every = fields.count("no_rope_layer_interval", 4)
    types = fields.of_layers("layer_types", ("full_attention", "chunked_attention"), layers)
    rope = fields.counts("no_rope_layers")
    fields.one_each("no_rope_layers", rope, layers)
    local = [kind == "chunked_attention" for kind in types] or [flag == 1 for flag in rope]
    local = local or [(i + 1) % every != 0 for i in range(layers)]
    return [("chunked", chunk) if flag else WHOLE for flag in local]
