"""JSON and YAML documents of a file: one value, or several one after another, each with the line it begins on."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from gridplan.errors import ContractError, Problem

__all__ = ["MAX_YAML_BYTES", "json_documents", "looks_like_yaml", "yaml_document"]

MAX_YAML_BYTES = 32 * 2**20
"""Largest YAML text read (policy): it is read a hundred times slower than JSON."""

_SPACE = re.compile(r"[\s\x1e]*")
_YAML = re.compile(r"^(?:benchmarks|metadata|args|config):", re.MULTILINE)


def json_documents(text: str, file: str) -> list[tuple[int, Any]]:
    """Every JSON value of a text with its first line; Infinity and NaN stay numbers for whoever asks for them.

    >>> json_documents('{"a": 1}\\n{"a": Infinity}', "f")
    [(1, {'a': 1}), (2, {'a': inf})]
    """
    decoder = json.JSONDecoder(object_pairs_hook=lambda pairs: _object(pairs))
    found: list[tuple[int, Any]] = []
    at, line, counted = _SPACE.match(text).end(), 1, 0  # type: ignore[union-attr]  # matches the empty text too
    while at < len(text):
        line += text.count("\n", counted, at)
        counted = at
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise ContractError([_json_problem(error, text, file)]) from None
        except _DuplicateKeyError as error:
            raise ContractError(
                [Problem(f"the key {error.args[0][:60]!r} stands twice in one object", file, line)]
            ) from None
        except RecursionError:
            raise ContractError([Problem("is nested too deeply to be a result of a load test", file, line)]) from None
        except ValueError:
            raise ContractError([Problem("holds a number of thousands of digits", file, line)]) from None
        found.append((line, value))
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
    return found


class _DuplicateKeyError(Exception):
    """An object has one key twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        seen: set[str] = set()
        raise _DuplicateKeyError(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return values


def _json_problem(error: json.JSONDecodeError, text: str, file: str) -> Problem:
    cut_off = not any(mark in text[error.pos :] for mark in "}]") or error.msg.startswith("Unterminated")
    said = "ends in the middle of JSON: it is cut off" if cut_off else f"is not JSON: {error.msg}"
    return Problem(said, file, error.lineno, error.colno)


def looks_like_yaml(text: str) -> bool:
    """Whether a text has the top-level keys of a GuideLLM report in YAML."""
    return _YAML.search(text[:1_000_000]) is not None


def yaml_document(text: str, file: str) -> Any:
    """The YAML document of a text."""
    import yaml

    if len(text) > MAX_YAML_BYTES:
        shown = f"is YAML of {len(text):,} characters; {MAX_YAML_BYTES:,} are read at most: write it as JSON"
        raise ContractError([Problem(shown, file)])
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """Refuses a key that stands twice in one mapping."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Mapping[Any, Any]:
            seen: set[str] = set()
            for key in (key for key, _ in node.value if isinstance(key.value, str)):
                if key.value in seen:
                    said = f"the key {key.value[:60]!r} stands twice"
                    raise yaml.constructor.ConstructorError(None, None, said, key.start_mark)
                seen.add(key.value)
            made: Mapping[Any, Any] = super().construct_mapping(node, deep)
            return made

    try:
        return yaml.load(text, Loader=Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line, column = (None, None) if mark is None else (mark.line + 1, mark.column + 1)
        said = getattr(error, "problem", None) or "cannot be read"
        raise ContractError([Problem(f"is not YAML: {said}", file, line, column)]) from None
    except (RecursionError, ValueError, TypeError):
        raise ContractError(
            [Problem("is not YAML that can be read: nested too deeply, or keys are no texts", file)]
        ) from None
