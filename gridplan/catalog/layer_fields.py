"""What a person may write for a layer group, and the reading of a list of them with every problem at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gridplan.catalog.fields import CLASSES, FieldSpec, choice, count, date, flag, quantity, text
from gridplan.catalog.layers import KINDS, OPTIONAL, REQUIRED, LayerGroup
from gridplan.errors import suggestion

__all__ = ["GROUP_FIELDS", "read_group", "read_groups"]

Fault = tuple[str, str]
"""Where inside the group (a field, or empty) and what is wrong."""


def bits(value: object) -> int:
    """A whole number of bits an element: 8, 16 or 32."""
    number = count()(value)
    if number not in (8, 16, 32):
        raise ValueError(f"8, 16 or 32 bits are due, not {value!r}")
    return int(str(number))


GROUP_FIELDS: Mapping[str, FieldSpec] = {
    "kind": FieldSpec(choice(*KINDS), required=True),
    "layers": FieldSpec(count(), required=True),
    "head_dim": FieldSpec(count()),
    "kv_heads": FieldSpec(count()),
    "k_head_dim": FieldSpec(count()),
    "v_head_dim": FieldSpec(count(0)),
    "kv_lora_rank": FieldSpec(count()),
    "qk_rope_head_dim": FieldSpec(count()),
    "index_head_dim": FieldSpec(count()),
    "window_tokens": FieldSpec(count(unit="tokens")),
    "compression": FieldSpec(quantity("1")),
    "recurrent_elements": FieldSpec(count()),
    "conv_elements": FieldSpec(count(0)),
    "recurrent_bits": FieldSpec(bits),
    "kv_bits": FieldSpec(bits),
    "fp8_entry_bytes": FieldSpec(count(unit="bytes")),
    "beside": FieldSpec(flag),
    "class": FieldSpec(choice(*CLASSES)),
    "source": FieldSpec(text),
    "as_of": FieldSpec(date),
    "notes": FieldSpec(text),
}
"""Fields of a layer group; `head_dim` is short for a `k_head_dim` and a `v_head_dim` of one size."""

_OF_ANY_KIND = ("kind", "layers", "beside", "class", "source", "as_of", "notes")


def read_groups(
    raw: Iterable[Mapping[str, object]], provenance: Mapping[str, Any]
) -> tuple[tuple[LayerGroup, ...], list[Fault]]:
    """The groups, and every fault at `[0].kv_heads` and so on.

    `provenance` holds the class, source and date of the model's entry, which a group has where it states none.
    """
    groups, faults = [], []
    for index, item in enumerate(raw):
        group, found = read_group(item, provenance)
        faults += [(f"[{index}].{name}" if name else f"[{index}]", message) for name, message in found]
        if group is not None:
            groups.append(group)
    return tuple(groups), faults


def read_group(raw: Mapping[str, object], provenance: Mapping[str, Any]) -> tuple[LayerGroup | None, list[Fault]]:
    """One group, or None and what is wrong with it.

    >>> read_group({"kind": "full", "layers": 32, "kv_heads": 8}, {})[1]
    [('', 'kind full needs k_head_dim, v_head_dim (head_dim is short for both)')]
    """
    values, faults = _values(raw)
    if not faults:
        faults = _both_sizes(values) or _of_its_kind(values)
    if faults:
        return None, faults
    origin = {name: values.pop(name, None) for name in ("class", "source", "as_of")}
    return (
        LayerGroup(
            **values,
            cls=origin["class"] or provenance.get("class") or "assumption",
            source=origin["source"] or provenance.get("source") or "contract",
            as_of=origin["as_of"] or provenance.get("as_of"),
        ),
        [],
    )


def _values(raw: Mapping[str, object]) -> tuple[dict[str, Any], list[Fault]]:
    """The fields that can be read, without those that are null."""
    values: dict[str, Any] = {}
    faults: list[Fault] = []
    for key, value in raw.items():
        name = str(key)
        if name not in GROUP_FIELDS:
            faults.append((name, f"unknown field{suggestion(name, GROUP_FIELDS)}"))
            continue
        try:
            if value is not None:
                values[name] = GROUP_FIELDS[name].parse(value)
        except ValueError as error:
            faults.append((name, str(error)))
    named = {name for name, _ in faults} | values.keys()
    missing = [name for name, spec in GROUP_FIELDS.items() if spec.required and name not in named]
    if missing:
        kinds = f"; kinds: {', '.join(KINDS)}" if "kind" in missing else ""
        faults.append(("", f"a layer group needs {', '.join(missing)}{kinds}"))
    return values, faults


def _both_sizes(values: dict[str, Any]) -> list[Fault]:
    """`head_dim` taken apart into the sizes of keys and values."""
    size = values.pop("head_dim", None)
    if size is None:
        return []
    if "k_head_dim" not in REQUIRED[values["kind"]]:
        return [("head_dim", f"kind {values['kind']} has no head_dim")]
    if "k_head_dim" in values or "v_head_dim" in values:
        return [("head_dim", "is short for k_head_dim and v_head_dim: give it or them")]
    values |= {"k_head_dim": size, "v_head_dim": size}
    return []


def _of_its_kind(values: Mapping[str, Any]) -> list[Fault]:
    """What the kind lacks, and what belongs to another kind."""
    kind = values["kind"]
    faults = [
        (name, f"kind {kind} has no {name}")
        for name in values
        if name not in (*_OF_ANY_KIND, *REQUIRED[kind], *OPTIONAL[kind])
    ]
    missing = [name for name in REQUIRED[kind] if name not in values]
    if missing:
        short = " (head_dim is short for both)" if {"k_head_dim", "v_head_dim"} <= set(missing) else ""
        faults.append(("", f"kind {kind} needs {', '.join(missing)}{short}"))
    return faults
