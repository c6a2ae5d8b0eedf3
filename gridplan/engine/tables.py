"""The small tables beside the facts: what each label of the cube means."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from collections.abc import Callable, Mapping

from gridplan.catalog import Catalog, Entry, Model, as_dict, groups_text
from gridplan.engine.bundle import Inputs
from gridplan.engine.lengths import mean_length

__all__ = ["catalog_hash", "dimension_tables"]

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def dimension_tables(inputs: Inputs) -> dict[str, list[dict[str, object]]]:
    """Rows of `dims/gpu.parquet` and its like: the entries whose labels occur in the cube, flat and typed."""
    catalog = inputs.catalog
    finders: dict[str, Callable[[str], Entry]] = {
        "gpu": catalog.gpu,
        "model": catalog.model,
        "instance": catalog.instance,
        "engine": catalog.engine,
        "weight_dtype": lambda name: catalog.dtype("weight", name),
        "kv_dtype": lambda name: catalog.dtype("kv", name),
    }
    tables: dict[str, list[dict[str, object]]] = {}
    for name, find in finders.items():
        labels = [label for label in inputs.labels[name].unique if label is not None]
        if name == "instance":
            labels += [
                label
                for label in inputs.labels["priced_by"].unique
                if label is not None and label in catalog.instances and label not in labels
            ]
        if labels:
            tables[name] = [
                {name: label, f"{name}_rank": rank, **_flat(_fields(find(label)))} for rank, label in enumerate(labels)
            ]
    if "workload" in inputs.space.labels:
        tables["workload"] = _workloads(inputs)
    return tables


def _fields(entry: Entry) -> dict[str, object]:
    """All fields of an entry; layer groups as one text, for a table has no lists."""
    groups = {"layer_groups": groups_text(entry.layer_groups)} if isinstance(entry, Model) else {}
    return as_dict(entry) | groups


def _flat(entry: Mapping[str, object]) -> dict[str, object]:
    """An entry in columns that every BI tool reads: nested values spread out, dates as dates."""
    row: dict[str, object] = {}
    for name, value in entry.items():
        if isinstance(value, Mapping):
            row.update({f"{name}_{key}": inner for key, inner in value.items()})
        elif isinstance(value, str) and name.endswith("as_of") and _DATE.fullmatch(value):
            row[name] = dt.date.fromisoformat(value)
        elif name.endswith("as_of"):
            row[name] = None
        else:
            row[name] = value
    return row


def _workloads(inputs: Inputs) -> list[dict[str, object]]:
    """One row per class of every workload; a random length is shown by its mean."""
    return [
        {
            "workload": workload.name,
            "workload_rank": rank,
            "class": item.name,
            "weight": item.weight,
            "prompt_tokens": mean_length(item.prompt_tokens),
            "output_tokens": mean_length(item.output_tokens),
        }
        for rank, workload in enumerate(inputs.grid.workloads)
        for item in workload.classes
    ] or [{"workload": workload.name, "workload_rank": rank} for rank, workload in enumerate(inputs.grid.workloads)]


def catalog_hash(catalog: Catalog) -> str:
    """SHA-256 of everything in a catalog, so that a cube says which values it was computed from."""
    entries: list[Entry] = [
        *catalog.gpus.values(),
        *catalog.models.values(),
        *catalog.instances.values(),
        *catalog.engines,
        *catalog.dtypes.values(),
        *catalog.activation_families.values(),
        *catalog.memory_terms,
        *catalog.step_constants,
    ]
    text = json.dumps([as_dict(entry) for entry in entries], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
