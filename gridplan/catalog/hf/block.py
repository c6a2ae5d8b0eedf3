"""An imported model as the block of a contract: `catalog: {models: ...}` with the counts by part as remarks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from gridplan.catalog.hf.entry import Imported

__all__ = ["default_id", "model_block"]


def default_id(folder: str, stem: str) -> str:
    """The id of a model that was given none: its folder's name, or the file's where that says more.

    >>> default_id("Qwen3-8B", "config"), default_id("configs", "mine")
    ('Qwen3-8B', 'mine')
    """
    name = folder if stem == "config" else stem
    return name if name.strip() and name.isprintable() else "imported"


def model_block(model_id: str, model: Imported) -> str:
    """The block as YAML, to be pasted into a contract."""
    return "\n".join(_lines(model_id, model)) + "\n"


def _lines(model_id: str, model: Imported) -> Iterator[str]:
    yield f"# parameters by part: {_counts(model.parts)}"
    if model.apart:
        yield f"# not in params_total: {_counts(model.apart)}"
    yield "catalog:"
    yield "  models:"
    yield f"    {_scalar(model_id)}:"
    for name, value in model.entry.items():
        if name == "layer_groups":
            yield "      layer_groups:"
            yield from (f"        - {_flow(group)}" for group in value)
        else:
            yield f"      {name}: {_scalar(value)}"


def _counts(parts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in parts.items())


def _flow(group: Mapping[str, object]) -> str:
    return "{" + ", ".join(f"{name}: {_scalar(value)}" for name, value in group.items()) + "}"


def _scalar(value: object) -> str:
    """A value as YAML; texts that are plain names need no quotes."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and value.isidentifier() and value.casefold() not in ("true", "false", "null"):
        return value
    return json.dumps(value, ensure_ascii=False)
