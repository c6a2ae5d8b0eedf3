"""Reading YAML so that every key and value keeps its line and column.

Scalars follow the YAML 1.2 core schema (`8.03e9`, `1e3` and `0o17` are numbers; `no`, `on` and `2025-04-28` are texts).
The tree is built from parser events, so that duplicate keys, tags, anchors, aliases and deep nesting are refused before
anything is expanded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gridplan.contract.document import Document, KeyPath, Position, dotted
from gridplan.contract.scalars import resolve_scalar
from gridplan.errors import ContractError, Problem, suggestion

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "Document",
    "Form",
    "KeyPath",
    "Position",
    "dotted",
    "parse_document",
    "read_document",
]

MAX_BYTES = 4 * 2**20
MAX_DEPTH = 16

Form = tuple[str, str]
"""What a file is and how it begins, for messages."""

CONTRACT: Form = ("a contract", "starts with `schema: 1`")


def read_document(path: str | Path, form: Form = CONTRACT) -> Document:
    """Read and parse a file; ContractError says what is wrong with it."""
    where = Path(path)
    name = str(path)
    try:
        if where.is_dir():
            raise _file_error(name, "is a folder, not a file")
        size = where.stat().st_size
        content = b"" if size > MAX_BYTES else where.read_bytes()
    except FileNotFoundError:
        raise _file_error(name, f"no such file{_neighbours(where)}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _file_error(name, f"cannot be read: {reason}") from None
    if size > MAX_BYTES:
        raise _file_error(name, f"has {size:,} bytes; {form[0]} may have {MAX_BYTES:,} at most")
    return _parse_bytes(content, name, form)


def parse_document(text: str, file: str = "<text>") -> Document:
    """Parse a text; `file` is the name that problems carry."""
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError:
        raise _file_error(file, "is not valid Unicode") from None
    if len(content) > MAX_BYTES:
        raise _file_error(file, f"has {len(content):,} bytes; a contract may have {MAX_BYTES:,} at most")
    return _parse_bytes(content, file, CONTRACT)


def _parse_bytes(content: bytes, file: str, form: Form) -> Document:
    if b"\0" in content:
        raise _file_error(file, f"is not a text file (it holds a NUL byte); {form[0]} is YAML in UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        raise ContractError([Problem("is not UTF-8 text", file, *_after(before))]) from None
    return _Builder(text, file, form).document(hashlib.sha256(content).hexdigest())


def _neighbours(path: Path) -> str:
    """The files beside a missing one that look like it."""
    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.suffix in (".yaml", ".yml")]
    except OSError:
        return ""
    return suggestion(path.name, sorted(names))


def _file_error(file: str, message: str) -> ContractError:
    return ContractError([Problem(message, file)])


@dataclass
class _Builder:
    """One pass over the parser's events; `data` is the tree, `flaws` what was refused on the way."""

    text: str
    file: str
    form: Form
    keys: dict[KeyPath, Position] = field(default_factory=dict)
    values: dict[KeyPath, Position] = field(default_factory=dict)
    flaws: list[Problem] = field(default_factory=list)
    unusable: set[KeyPath] = field(default_factory=set)

    def document(self, sha256: str) -> Document:
        try:
            data = self._build()
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            message = ", ".join(part for part in (error.context, error.problem) if part)
            raise self._fatal(message, mark) from None
        except yaml.reader.ReaderError as error:
            message = f"the character U+{error.character:04X} is not allowed in YAML"
            raise ContractError([Problem(message, self.file, *_after(self.text[: error.position]))]) from None
        except (ValueError, OverflowError):
            raise _file_error(self.file, "an escape in a quoted text is not a character") from None
        flaws, unusable = tuple(self.flaws), frozenset(self.unusable)
        return Document(self.file, self.text, sha256, data, self.keys, self.values, flaws, unusable)

    def _build(self) -> dict[str, object]:
        what, begins = self.form
        events = iter(yaml.parse(self.text, Loader=yaml.SafeLoader))
        next(events)  # the start of the stream
        opening = next(events)
        if not isinstance(opening, yaml.DocumentStartEvent):
            raise _file_error(self.file, f"is empty; {what} {begins}")
        if opening.tags:
            raise self._fatal("%TAG is not allowed", opening.start_mark)
        first = next(events)
        data = self._node(first, events, ())
        if data is None and isinstance(first, yaml.ScalarEvent):
            raise _file_error(self.file, f"is empty; {what} {begins}")
        if not isinstance(data, dict):
            kind = "a list" if isinstance(data, list) else "a single value"
            raise self._fatal(f"is {kind}; {what} is a mapping that {begins}", first.start_mark)
        next(events)  # the end of the document
        after = next(events)
        if isinstance(after, yaml.DocumentStartEvent):
            raise self._fatal(f"a second document starts here; {what} is one document", after.start_mark)
        return data

    def _node(self, event: yaml.Event, events: Iterator[yaml.Event], path: KeyPath) -> object:
        self.values[path] = _position(event.start_mark)
        if len(path) > MAX_DEPTH:
            raise self._fatal(f"nested more than {MAX_DEPTH} deep", event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            self._flaw(path, f"*{event.anchor}: aliases are not allowed; write the value out", event.start_mark)
            return None
        if anchor := getattr(event, "anchor", None):
            self._flaw(path, f"&{anchor}: anchors are not allowed", event.start_mark, usable=True)
        if tag := getattr(event, "tag", None):
            self._flaw(path, f"{tag}: tags are not allowed; write the value plainly", event.start_mark)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(events, path)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[object] = []
            while not isinstance(item := next(events), yaml.SequenceEndEvent):
                items.append(self._node(item, events, (*path, len(items))))
            return items
        return self._scalar(event, path) if isinstance(event, yaml.ScalarEvent) else None

    def _mapping(self, events: Iterator[yaml.Event], path: KeyPath) -> dict[str, object]:
        entries: dict[str, object] = {}
        while not isinstance(key := next(events), yaml.MappingEndEvent):
            if not isinstance(key, yaml.ScalarEvent):
                raise self._fatal("a key must be a plain text", key.start_mark)
            name, entry = key.value, (*path, key.value)
            if key.tag or key.anchor:
                self._flaw(entry, "tags and anchors are not allowed", key.start_mark)
            if not name or not name.isprintable():
                self._flaw(entry, "a name must be printable text on one line", key.start_mark)
            if name in entries:
                first = self.keys[entry]
                self._flaw(entry, f"is given twice; first on line {first[0]}", key.start_mark, usable=True)
                shadow = _Builder(self.text, self.file, self.form)  # the second value is read only to move on
                shadow._node(next(events), events, entry)
                self.flaws += shadow.flaws
                continue
            self.keys[entry] = _position(key.start_mark)
            entries[name] = self._node(next(events), events, entry)
        return entries

    def _scalar(self, event: yaml.ScalarEvent, path: KeyPath) -> object:
        text = event.value
        if not event.implicit[0]:  # quoted or a block: a text whatever it looks like
            if any("\ud800" <= letter <= "\udfff" for letter in text) or "\0" in text:
                self._flaw(path, "holds an escape that is not a character", event.start_mark)
                return None
            return text
        try:
            return resolve_scalar(text)
        except ValueError as error:
            self._flaw(path, str(error), event.start_mark)
            return None

    def _flaw(self, path: KeyPath, message: str, mark: Any, usable: bool = False) -> None:
        self.flaws.append(Problem(message, self.file, *_position(mark), dotted(path) or None))
        if not usable:
            self.unusable.add(path)

    def _fatal(self, message: str, mark: Any) -> ContractError:
        line, column = _position(mark) if mark is not None else (1, 1)
        return ContractError([*self.flaws, Problem(message, self.file, line, column)])


def _after(before: str) -> Position:
    """The position of the character that follows this text."""
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _position(mark: Any) -> Position:
    return mark.line + 1, mark.column + 1
