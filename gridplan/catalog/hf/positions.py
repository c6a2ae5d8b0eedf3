"""The longest sequence that an engine accepts: the positions of a model, stretched where its RoPE scaling says so."""

from __future__ import annotations

from gridplan.catalog.hf.fields import Fields

__all__ = ["longest"]

_STRETCHED = ("yarn", "linear", "dynamic")
"""Kinds whose factor multiplies the positions (fact; vLLM's `_get_and_verify_max_len`). `llama3` and `longrope` state
the stretched positions already; so do files of Gemma 3."""


def longest(fields: Fields) -> int | None:
    """`max_position_embeddings` [tokens]; under YaRN the original positions times the factor."""
    stated = fields.optional("max_position_embeddings")
    name = fields.first("rope_scaling", "rope_parameters")
    if not isinstance(fields.data.get(name), dict) or "gemma3" in str(fields.data.get("model_type")):
        return stated
    rope = fields.sub(name)
    kind = rope.text(rope.first("rope_type", "type"))
    if kind not in _STRETCHED or not rope.has("factor") or stated is None:
        return stated
    factor = rope.number("factor")
    original = "original_max_position_embeddings"
    start = rope.count(original) if kind == "yarn" and rope.has(original) else stated
    found = int(start * factor)
    if found != stated:
        fields.report.note(
            f"max_position_embeddings is {start:,} x {factor:g} by {name} {kind}; the file says {stated:,}"
        )
    return found
