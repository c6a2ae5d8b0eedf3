"""`manifest.json`: what a finished cube is made of, written last; a folder without it is an unfinished run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from gridplan.errors import StoreError
from gridplan.store.blocks import Part
from gridplan.store.columns import AxisSpec, Column
from gridplan.store.files import FileRecord, Receipt, store_errors, sync_folder, write_text
from gridplan.store.layout import Layout
from gridplan.store.objects import content_of
from gridplan.store.place import is_remote, place_of, sizes_below

__all__ = ["MANIFEST", "Attr", "Manifest", "Origin", "read_manifest", "write_manifest"]

MANIFEST = "manifest.json"
FORMAT = "gridplan-cube"
FORMAT_VERSION = 1

Attr = str | int | float | bool
"""What an attribute of the Dataset may hold, so that it comes back from JSON unchanged."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a cube comes from: package version, the text and hash of its grid, the hash of the catalog used."""

    package_version: str
    grid_name: str
    grid_text: str
    grid_sha256: str
    catalog_sha256: str


@dataclass(frozen=True)
class Manifest:
    """Everything `manifest.json` says; `parts[i]` is described by `receipts[i]`."""

    layout: Layout
    origin: Origin
    parts: tuple[Part, ...]
    receipts: tuple[Receipt, ...]
    dims: tuple[FileRecord, ...]
    options: Mapping[str, Any]
    attrs: Mapping[str, Attr]


def write_manifest(folder: Path, manifest: Manifest) -> Path:
    """Announce a finished cube: force the names of all its files to disk, then write `manifest.json`.

    Raises StoreError when the parts do not cover the cube, a receipt does not fit its part, or a file is no longer
    there as it was written, so that an incomplete cube is never announced.
    """
    _check_parts(folder, manifest)
    records = [*(receipt.record for receipt in manifest.receipts), *manifest.dims]
    if problems := check_sizes(folder, records):
        raise StoreError("\n".join([*problems, "somebody else changed the folder meanwhile; --resume mends it"]))
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        **asdict(manifest.origin),
        "cells": manifest.layout.cells,
        "rows": sum(receipt.rows for receipt in manifest.receipts),
        "row_group_rows": manifest.layout.row_group_rows,
        "axes": [asdict(axis) for axis in manifest.layout.axes],
        "columns": [{**vars(column), "meta": dict(column.meta)} for column in manifest.layout.columns],
        "parts": [
            {**asdict(receipt), "start": part.start, "stop": part.stop}
            for part, receipt in zip(manifest.parts, manifest.receipts, strict=True)
        ],
        "dims": [asdict(record) for record in manifest.dims],
        "options": dict(manifest.options),
        "attrs": dict(manifest.attrs),
    }
    for name in ("facts", "receipts", "dims"):
        if not is_remote(folder) and (folder / name).is_dir():
            sync_folder(folder / name)
    path = folder / MANIFEST
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    sync_folder(folder)
    return path


def _check_parts(folder: Path, manifest: Manifest) -> None:
    pairs = list(zip(manifest.parts, manifest.receipts, strict=False))
    dropped = bool(manifest.options.get("drop_infeasible"))
    fits = all(
        (part.number, part.file) == (own.number, own.file) and (part.rows == own.rows or dropped) for part, own in pairs
    )
    counted = len(manifest.parts) == len(manifest.receipts)
    if not counted or not fits or sum(part.rows for part in manifest.parts) != manifest.layout.cells:
        raise StoreError(f"{folder}: the parts do not make up the {manifest.layout.cells} rows of the cube")


def read_manifest(folder: str | Path) -> Manifest:
    """What the cube in `folder` is made of.

    Raises StoreError when there is no such folder, no finished cube in it, or a manifest that this version cannot read.
    """
    folder = place_of(folder)
    if is_remote(folder):
        return _remembered_text(folder, _text(folder))
    try:
        stated = (folder / MANIFEST).stat()
    except OSError:
        stated = None  # the reading says what is wrong
    if stated is None:
        return _read(folder)
    return _remembered(folder, stated.st_ino, stated.st_mtime_ns, stated.st_size)


@lru_cache(maxsize=4)
def _remembered(folder: Path, inode: int, mtime_ns: int, size: int) -> Manifest:
    """The manifest of a folder as long as its file is the same: one question reads it two dozen times."""
    return _read(folder)


@lru_cache(maxsize=4)
def _remembered_text(folder: Path, text: bytes) -> Manifest:
    """The same for an object store, whose files have neither a number nor a time that can be relied on."""
    return _made(folder, _decoded(folder / MANIFEST, text))


def _text(folder: Path) -> bytes:
    """The manifest of a cube in an object store."""
    text = content_of(folder / MANIFEST)
    if text is None:
        raise StoreError(
            f"{folder} has no {MANIFEST}: it holds no finished cube; --resume finishes a run that was stopped there"
        )
    return text


def _read(folder: Path) -> Manifest:
    return _made(folder, _load(folder))


def _made(folder: Path, content: Mapping[str, Any]) -> Manifest:
    if content.get("format") != FORMAT:
        raise StoreError(f"{folder / MANIFEST} does not describe a gridplan cube")
    version = content.get("format_version")
    if version != FORMAT_VERSION:
        raise StoreError(
            f"{folder / MANIFEST} has format version {version}, written by gridplan {content.get('package_version')}; "
            f"this version reads {FORMAT_VERSION}: use a newer gridplan"
        )
    try:
        manifest = _parsed(content)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{folder / MANIFEST} is damaged ({error!r}): run it again with --force") from error
    _check_parts(folder, manifest)
    return manifest


def _load(folder: Path) -> Mapping[str, Any]:
    if not folder.exists():
        raise StoreError(f"{folder} does not exist")
    if not folder.is_dir():
        raise StoreError(f"{folder} is not a folder; give the folder that holds {MANIFEST}")
    path = folder / MANIFEST
    if not path.is_file():
        if (folder / "facts").is_dir():
            mend = "finish it with --resume, or replace it with --force"
            raise StoreError(f"{folder} has no {MANIFEST}: the run did not finish; {mend}")
        raise StoreError(f"{folder} has no {MANIFEST}: it does not hold a cube")
    with store_errors("read", path):
        raw = path.read_bytes()
    return _decoded(path, raw)


def _decoded(path: Path, raw: bytes) -> Mapping[str, Any]:
    try:
        content = json.loads(raw)
    except ValueError as error:
        raise StoreError(f"{path} is damaged ({error}): run it again with --force") from error
    return content if isinstance(content, dict) else {}


def _parsed(content: Mapping[str, Any]) -> Manifest:
    axes = tuple(AxisSpec(**{**axis, "labels": tuple(axis["labels"])}) for axis in content["axes"])
    columns = tuple(
        Column(**{**column, "dims": tuple(column["dims"]), "categories": tuple(column["categories"])})
        for column in content["columns"]
    )
    parts = [Part(own["number"], tuple(own["start"]), tuple(own["stop"])) for own in content["parts"]]
    receipts = [_only(Receipt, own) for own in content["parts"]]
    return Manifest(
        layout=Layout(axes, columns, content["row_group_rows"]),
        origin=_only(Origin, content),
        parts=tuple(parts),
        receipts=tuple(receipts),
        dims=tuple(_only(FileRecord, own) for own in content["dims"]),
        options=content["options"],
        attrs=content["attrs"],
    )


def _only(kind: Any, content: Mapping[str, Any]) -> Any:
    return kind(**{name: content[name] for name in kind.__dataclass_fields__})


def check_sizes(folder: Path, records: Sequence[FileRecord]) -> list[str]:
    """Files that are missing or have another size than the manifest says, one sentence each."""
    problems: list[str] = []
    size_of = _sizes(folder, records)
    for record in records:
        path = folder / record.file
        size = size_of(record)
        if size is None:
            problems.append(f"{path} is missing")
        elif size != record.bytes:
            problems.append(f"{path} has {size} bytes, the manifest says {record.bytes}: it was altered")
    return problems


def _sizes(folder: Path, records: Sequence[FileRecord]) -> Callable[[FileRecord], int | None]:
    """The size of each file, None where it is not there; of an object store in one listing where several are asked."""
    if not is_remote(folder):

        def here(record: FileRecord) -> int | None:
            path = folder / record.file
            return path.stat().st_size if path.is_file() else None

        return here
    with store_errors("list", folder):
        found = sizes_below(folder)
    return lambda record: found.get(record.file)
