"""An imported model as the block of a contract: `catalog: {models: ...}` with the counts by part as remarks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from gridplan.catalog.hf.entry import Imported

__all__ = ["default_id", "model_block", "model_entry"]


def default_id(folder: str, stem: str) -> str:
    """The id of a model that was given none: the file's name without `_config`, or its folder's for config.json.

    >>> default_id("Qwen3-8B", "config"), default_id("configs", "mine_config"), default_id("My model", "config")
    ('Qwen3-8B', 'mine', 'My-model')
    """
    name = "-".join((folder if stem == "config" else stem.removesuffix("_config")).split())
    return name if name and name.isprintable() else "imported"


def model_block(model_id: str, model: Imported) -> str:
    """The block as YAML, to be pasted into a contract."""
    head = ["catalog:", "  models:"]
    return "\n".join([*_remarks(model), *head, *(f"    {line}" for line in _lines(model_id, model))]) + "\n"


def model_entry(model_id: str, model: Imported) -> str:
    """The entry alone under its id as YAML, as models.yaml of a catalog folder holds it."""
    return "\n".join([*_remarks(model), *_lines(model_id, model)]) + "\n"


def _remarks(model: Imported) -> Iterator[str]:
    yield f"# parameters by part: {_counts(model.parts)}"
    if model.apart:
        yield f"# not in params_total: {_counts(model.apart)}"


def _lines(model_id: str, model: Imported) -> Iterator[str]:
    yield f"{_scalar(model_id)}:"
    for name, value in model.entry.items():
        if name == "layer_groups":
            yield "  layer_groups:"
            yield from (f"    - {_flow(group)}" for group in value)
        else:
            yield f"  {name}: {_scalar(value)}"


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
