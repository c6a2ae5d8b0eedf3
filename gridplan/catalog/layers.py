"""Layer groups: the layers of a model that keep the same kind of cache, and what each kind keeps of a sequence.

The size of a cache follows from the groups of a model, never from one figure a token: a sliding layer stops growing at
its window, a state has one size whatever the length, and a layer that reuses another's cache keeps nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields

__all__ = [
    "KINDS",
    "OPTIONAL",
    "REQUIRED",
    "WHOLE_CONTEXT",
    "WINDOWED",
    "LayerGroup",
    "group_as_dict",
    "groups_text",
    "layers_of",
    "with_cache",
]

_HEADS = ("kv_heads", "k_head_dim", "v_head_dim")
_LATENT = ("kv_lora_rank", "qk_rope_head_dim")

REQUIRED: Mapping[str, tuple[str, ...]] = {
    "full": _HEADS,
    "sliding": (*_HEADS, "window_tokens"),
    "chunked": (*_HEADS, "window_tokens"),
    "mla": _LATENT,
    "sparse_mla": (*_LATENT, "index_head_dim"),
    "state": ("recurrent_elements", "conv_elements", "recurrent_bits"),
    "shared": (),
}
"""What each kind must state beside `kind` and `layers`."""

OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "full": ("compression", "kv_bits"),
    "sliding": ("kv_bits", "fp8_entry_bytes"),
    "chunked": ("kv_bits",),
    "mla": ("compression", "kv_bits", "fp8_entry_bytes"),
    "sparse_mla": ("compression", "kv_bits", "fp8_entry_bytes"),
    "state": (),
    "shared": (),
}
"""What each kind may state besides; no kind may state a field of another."""

KINDS = tuple(REQUIRED)
WHOLE_CONTEXT = ("full", "mla", "sparse_mla")
"""Kinds that keep something of every token of the context."""
WINDOWED = ("sliding", "chunked")
"""Kinds that keep the last tokens, or those of the current chunk."""


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """Layers of one model that keep the same kind of cache (counts are per layer, of the whole model before sharding).

    `kind` is full (keys and values of the whole context), sliding (of the last `window_tokens` tokens), chunked (of the
    current chunk of `window_tokens` tokens), mla (one latent vector a token), sparse_mla (the same and a key of the
    indexer), state (one state a sequence, whatever its length) or shared (no cache of its own: the layer reuses that of
    another one, as in Gemma 3n and the E models of Gemma 4, or has no attention, as the MLP blocks of Nemotron).

    A field that the kind does not use is None. `v_head_dim` is 0 where one vector serves as key and value and engines
    store it once. `compression` is tokens per cache entry. `recurrent_elements` are kept in `recurrent_bits`,
    `conv_elements` in 16 bits. `kv_bits` is the format of a cache that the architecture fixes; None where `kv_dtype`
    decides. `fp8_entry_bytes` is what one entry takes in an 8-bit cache where that is not a byte an element. `beside`
    marks a further cache of layers that another group of the model counts.
    """

    kind: str
    layers: int
    kv_heads: int | None = None
    k_head_dim: int | None = None
    v_head_dim: int | None = None
    kv_lora_rank: int | None = None
    qk_rope_head_dim: int | None = None
    index_head_dim: int | None = None
    window_tokens: int | None = None
    compression: float = 1.0
    recurrent_elements: int | None = None
    conv_elements: int | None = None
    recurrent_bits: int | None = None
    kv_bits: int | None = None
    fp8_entry_bytes: int | None = None
    beside: bool = False
    source: str = ""
    cls: str = "fact"
    as_of: str | None = None
    notes: str = ""


def layers_of(groups: Iterable[LayerGroup], *kinds: str) -> int:
    """Layers of those kinds [count], each layer once.

    >>> layers_of([LayerGroup("full", 12), LayerGroup("state", 36), LayerGroup("sliding", 12, beside=True)], "full")
    12
    """
    return sum(group.layers for group in groups if group.kind in kinds and not group.beside)


def groups_text(groups: Iterable[LayerGroup]) -> str:
    """The groups as a person reads them: layers, kind, KV heads x head size, and what else the kind has.

    >>> heads = {"kv_heads": 8, "k_head_dim": 64, "v_head_dim": 64}
    >>> groups_text([LayerGroup("full", 12, **heads), LayerGroup("sliding", 12, **heads, window_tokens=128)])
    '12 full 8x64, 12 sliding 8x64 window 128'
    """
    return ", ".join(" ".join(_words(group)) for group in groups)


def _words(group: LayerGroup) -> Iterator[str]:
    yield f"{group.layers} {group.kind}"
    if group.kv_heads is not None:
        values = "" if group.v_head_dim == group.k_head_dim else f"+{group.v_head_dim}"
        yield f"{group.kv_heads}x{group.k_head_dim}{values}"
    if group.kv_lora_rank is not None:
        yield f"{group.kv_lora_rank}+{group.qk_rope_head_dim}"
    if group.index_head_dim is not None:
        yield f"index {group.index_head_dim}"
    if group.window_tokens is not None:
        yield f"{'chunk' if group.kind == 'chunked' else 'window'} {group.window_tokens}"
    if group.recurrent_elements is not None:
        yield f"{group.recurrent_elements} at {group.recurrent_bits} bits + {group.conv_elements} at 16"
    if group.compression != 1:
        yield f"1 of {group.compression:g} tokens"
    if group.kv_bits is not None:
        yield f"at {group.kv_bits} bits"
    if group.fp8_entry_bytes is not None:
        yield f"{group.fp8_entry_bytes} B in FP8"
    if group.beside:
        yield "beside"


def with_cache(groups: Iterable[LayerGroup]) -> tuple[LayerGroup, ...]:
    """Groups that keep a cache of their own: all but shared ones."""
    return tuple(group for group in groups if group.kind != "shared")


def group_as_dict(group: LayerGroup) -> dict[str, object]:
    """The fields that a group has, in order, under the names a person writes (`class`, not `cls`).

    >>> group_as_dict(LayerGroup("shared", 20, source="config.json"))
    {'kind': 'shared', 'layers': 20, 'source': 'config.json', 'class': 'fact', 'as_of': None, 'notes': ''}
    """
    always = ("kind", "layers", "source", "cls", "as_of", "notes")
    values = {item.name: getattr(group, item.name) for item in fields(group)}
    left_out = {"compression": 1.0, "beside": False}
    return {
        "class" if name == "cls" else name: value
        for name, value in values.items()
        if name in always or (value is not None and left_out.get(name) != value)
    }
