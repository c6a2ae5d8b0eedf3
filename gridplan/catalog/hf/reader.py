"""Reading a JSON file that somebody else published: bounded in size and depth, with every key given once.

Published files hold `Infinity` (as in `time_step_limit` of Nemotron), which Python writes though JSON has no such
number. It is kept as it is, and refused where a field is read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridplan.errors import CatalogError, Problem

__all__ = ["MAX_BYTES", "MAX_DEPTH", "JsonFile", "read_json"]

MAX_BYTES = 8 * 2**20
"""The largest config.json seen in public has 3.1 MB, a list of quantised modules (policy)."""
MAX_DEPTH = 32
"""Published files are nested six deep at most (policy)."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
"""A text (to the end of the file where it is not closed) or a bracket."""


@dataclass(frozen=True)
class JsonFile:
    """A JSON object as it was read: its name, its fields and the SHA-256 of its bytes."""

    file: str
    data: Mapping[str, Any]
    sha256: str


def read_json(path: str | Path, what: str = "a config.json") -> JsonFile:
    """The object in a JSON file.

    Raises CatalogError with the file, and the line or the key, for a file that is missing, too large, nested too deep,
    no JSON, no object, or has a key twice.
    """
    file = str(path)
    text, sha256 = _text(Path(path), file, what)
    _check_depth(text, file)
    repeated: list[str] = []
    try:
        data = json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, repeated))
    except json.JSONDecodeError as error:
        raise CatalogError([Problem(f"is not JSON: {error.msg}", file, error.lineno, error.colno)]) from None
    except (ValueError, RecursionError):  # a whole number of more digits than Python reads
        raise CatalogError([Problem("holds a number with too many digits", file)]) from None
    if repeated:
        raise CatalogError([Problem("is given twice", file, _line_of(text, key), key=key) for key in repeated])
    if not isinstance(data, dict):
        raise CatalogError([Problem(f"holds no JSON object; {what} is one", file)])
    return JsonFile(file, data, sha256)


def _text(path: Path, file: str, what: str) -> tuple[str, str]:
    """The text of the file and the SHA-256 of its bytes."""
    try:
        if path.is_dir():
            raise CatalogError([Problem(f"is a folder; give the path of {what}", file)])
        if not path.is_file():
            raise CatalogError([Problem("no such file", file)])
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise CatalogError([Problem(f"cannot be read: {reason}", file)]) from None
    if len(content) > MAX_BYTES:
        raise CatalogError([Problem(f"has more than {MAX_BYTES:,} bytes, the most that {what} may have", file)])
    try:
        return content.decode("utf-8-sig"), hashlib.sha256(content).hexdigest()
    except UnicodeDecodeError:
        raise CatalogError([Problem("is not UTF-8 text", file)]) from None


def _check_depth(text: str, file: str) -> None:
    """Refuse nesting before the parser follows it."""
    depth = 0
    for token in _TOKEN.finditer(text):
        if token[0][0] in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                line = text.count("\n", 0, token.start()) + 1
                raise CatalogError([Problem(f"is nested more than {MAX_DEPTH} deep", file, line)])
        elif token[0][0] in "]}":
            depth -= 1


def _object(pairs: list[tuple[str, Any]], repeated: list[str]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        repeated += [name for name in found if names.count(name) > 1 and name not in repeated]
    return found


def _line_of(text: str, key: str) -> int | None:
    """The line on which a key stands for the second time."""
    quoted = json.dumps(key, ensure_ascii=False)
    at = text.find(quoted, text.find(quoted) + 1)
    return text.count("\n", 0, at) + 1 if at >= 0 else None
