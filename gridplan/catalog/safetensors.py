"""Bytes of a checkpoint as its `model.safetensors.index.json` states them."""

from __future__ import annotations

import json
from pathlib import Path

__all__ = ["index_bytes"]

LARGEST_INDEX_BYTES = 64 * 2**20
"""An index of 500,000 tensors takes about as much; a larger file is none (policy)."""


def index_bytes(path: Path) -> int:
    """`metadata.total_size` of an index: the bytes of all tensors of the checkpoint [bytes].

    Raises ValueError with what is wrong: no such file, no JSON, no `metadata.total_size` that is a whole number.
    """
    try:
        if path.stat().st_size > LARGEST_INDEX_BYTES:
            raise ValueError(f"{path} is too large for a safetensors index")
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no safetensors index: {error}") from None
    metadata = data.get("metadata") if isinstance(data, dict) else None
    size = metadata.get("total_size") if isinstance(metadata, dict) else None
    if isinstance(size, float) and size.is_integer():
        size = int(size)
    if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
        raise ValueError(f"{path} has no metadata.total_size in bytes: is it a model.safetensors.index.json?")
    return size
