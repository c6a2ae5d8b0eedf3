"""The text of `manifest.json`, which is mostly its parts: each is written by one template, the rest as JSON does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gridplan.store.blocks import Part
from gridplan.store.files import Receipt

__all__ = ["manifest_text"]

_PARTS = '\n "parts": []'
"""Where the parts belong: a line of its own at the outermost level, which no value has, since `json` escapes lines."""


def manifest_text(content: Mapping[str, Any], parts: Sequence[Part], receipts: Sequence[Receipt]) -> str:
    """`content`, in which `parts` is an empty list, as JSON with these parts in that place.

    The text is that of `json.dumps(..., indent=1)`, whose encoder for indented text takes ten times as long: it is
    written in Python, and asks of every number what it is.
    """
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    before, _, after = text.partition(_PARTS)
    listed = ",\n  ".join(map(_part, parts, receipts))
    return f'{before}\n "parts": [\n  {listed}\n ]{after}\n' if parts else f"{text}\n"


def _part(part: Part, receipt: Receipt) -> str:
    """One part at its level; the number and the name are those of the receipt as well."""
    return (
        f'{{\n   "number": {part.number},\n   "file": "{part.file}",\n   "rows": {receipt.rows},\n'
        f'   "bytes": {receipt.bytes},\n   "sha256": "{receipt.sha256}",\n'
        f'   "start": {_numbers(part.start)},\n   "stop": {_numbers(part.stop)}\n  }}'
    )


def _numbers(values: Sequence[int]) -> str:
    joined = ",\n    ".join(map(str, values))
    return f"[\n    {joined}\n   ]" if joined else "[]"
