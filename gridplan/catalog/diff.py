"""What one catalog has otherwise than another: entry by entry, field by field, both provenances beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from gridplan.catalog.book import Catalog
from gridplan.catalog.entries import Entry, Model, as_dict
from gridplan.catalog.layers import groups_text

__all__ = ["KINDS", "EntryChange", "FieldChange", "catalog_diff", "entries_of"]

KINDS = ("gpus", "models", "instances", "engines", "dtypes")
"""Kinds of entries, in the order of every listing."""

PROVENANCE = ("source", "class", "as_of")


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field; None where the entry, or the value, is not known."""

    name: str
    old: object
    new: object


@dataclass(frozen=True, slots=True)
class EntryChange:
    """One entry; the provenance is empty on the side where the entry is not."""

    kind: str
    id: str
    what: Literal["added", "changed", "removed"]
    fields: tuple[FieldChange, ...]
    old_provenance: Mapping[str, object]
    new_provenance: Mapping[str, object]


def entries_of(catalog: Catalog, kind: str) -> dict[str, Entry]:
    """Entries of one kind by id: engines as `vllm@0.22`, formats as `kv/fp8`.

    >>> from gridplan.catalog import load_catalog
    >>> list(entries_of(load_catalog(), "dtypes"))[0]
    'weight/fp32'
    """
    if kind == "engines":
        return {entry.id: entry for entry in catalog.engines}
    if kind == "dtypes":
        return {f"{role}/{name}": entry for (role, name), entry in catalog.dtypes.items()}
    return dict(getattr(catalog, kind))


def catalog_diff(old: Catalog, new: Catalog, kinds: tuple[str, ...] = KINDS) -> tuple[EntryChange, ...]:
    """Entries that `new` adds, changes or no longer has, in the order of `new`, those of one kind together.

    >>> from gridplan.catalog import load_catalog
    >>> shipped = load_catalog()
    >>> ours = shipped.with_entries({"instances": {"aws-p5-48xlarge": {"usd_per_node_hour": 40}}})
    >>> [(change.id, change.fields[0]) for change in catalog_diff(shipped, ours)]
    [('aws-p5-48xlarge', FieldChange(name='usd_per_node_hour', old=55.04, new=40.0))]
    """
    return tuple(change for kind in kinds for change in _changes(kind, entries_of(old, kind), entries_of(new, kind)))


def _changes(kind: str, old: Mapping[str, Entry], new: Mapping[str, Entry]) -> Iterator[EntryChange]:
    for name in (*new, *(name for name in old if name not in new)):
        before, after = old.get(name), new.get(name)
        if before is after or before == after:
            continue
        was, now = _values(before), _values(after)
        fields = tuple(
            FieldChange(key, was.get(key), now.get(key))
            for key in {**was, **now}
            if key not in ("id", *PROVENANCE) and was.get(key) != now.get(key)
        )
        what: Literal["added", "changed", "removed"] = (
            "added" if before is None else "removed" if after is None else "changed"
        )
        yield EntryChange(kind, name, what, fields, _provenance(was), _provenance(now))


def _values(entry: Entry | None) -> dict[str, object]:
    """Fields under the names a person writes; layer groups as one text, peaks one by one."""
    if entry is None:
        return {}
    groups = {"layer_groups": groups_text(entry.layer_groups)} if isinstance(entry, Model) else {}
    flat: dict[str, object] = {}
    for name, value in (as_dict(entry) | groups).items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{key}": item for key, item in value.items()}
        else:
            flat[name] = None if value == "" else value
    return flat


def _provenance(values: Mapping[str, object]) -> dict[str, object]:
    return {name: values[name] for name in PROVENANCE if name in values}
