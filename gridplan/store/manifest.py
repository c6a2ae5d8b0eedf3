"""`manifest.json`: what a finished cube is made of, written last; a folder without it is an unfinished run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridplan.errors import StoreError
from gridplan.store.blocks import Block, Part
from gridplan.store.columns import AxisSpec, Column
from gridplan.store.files import FileRecord, Receipt, store_errors, sync_folder, write_text
from gridplan.store.inside import INTENT
from gridplan.store.layout import Layout
from gridplan.store.manifest_text import manifest_text
from gridplan.store.objects import content_of
from gridplan.store.place import content_tag, is_remote, place_of
from gridplan.store.sizes import check_sizes

if TYPE_CHECKING:
    from gridplan.store.bounds import Bounds

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

    @cached_property
    def bounds(self) -> Bounds:
        """The bounds of all parts, for questions that a few of them answer."""
        from gridplan.store.bounds import Bounds  # NumPy is not loaded for a look at what a cube is

        return Bounds(self.parts, len(self.layout.axes))

    def parts_within(self, box: Block) -> list[Part]:
        """The parts with cells of `box`, in order."""
        return [self.parts[place] for place in self.bounds.meeting(box)]

    def size_problems(self, folder: Path, parts: Sequence[Part]) -> list[str]:
        """What is wrong with the files of these parts by their sizes, as `check_sizes` says it."""
        numbers = {part.number for part in parts}
        receipts = [receipt for receipt in self.receipts if receipt.number in numbers]
        return check_sizes(folder, receipts, among=len(self.receipts))


def write_manifest(folder: Path, manifest: Manifest) -> Path:
    """Announce a finished cube: force the names of all its files to disk, then write `manifest.json`.

    Raises StoreError when the parts do not cover the cube, a receipt does not fit its part, or a file is no longer
    there as it was written, so that an incomplete cube is never announced.
    """
    _check_parts(folder, manifest)
    if problems := check_sizes(folder, [*manifest.receipts, *manifest.dims]):
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
        "parts": [],
        "dims": [asdict(record) for record in manifest.dims],
        "options": dict(manifest.options),
        "attrs": dict(manifest.attrs),
    }
    for name in ("facts", "receipts", "dims"):
        if not is_remote(folder) and (folder / name).is_dir():
            sync_folder(folder / name)
    path = folder / MANIFEST
    write_text(path, manifest_text(content, manifest.parts, manifest.receipts))
    sync_folder(folder)
    return path


def _check_parts(folder: Path, manifest: Manifest) -> None:
    """Raise StoreError unless the parts are the cube, cell after cell, and each receipt is that of its part."""
    dropped, shape = bool(manifest.options.get("drop_infeasible")), manifest.layout.shape
    cells, fits = 0, len(manifest.parts) == len(manifest.receipts)
    for number, (part, own) in enumerate(zip(manifest.parts, manifest.receipts, strict=False)):
        rows = part.rows
        fits = fits and part.number == own.number == number and part.file == own.file
        fits = fits and (0 <= own.rows <= rows if dropped else own.rows == rows)
        fits = fits and _follows(part, shape, cells)
        cells += rows
    if not fits or cells != manifest.layout.cells:
        raise StoreError(f"{folder}: the parts do not make up the {manifest.layout.cells} rows of the cube")


def _follows(part: Part, shape: Sequence[int], cells: int) -> bool:
    """Whether a part holds the cells of the cube that follow the first `cells`, and no others.

    As many cells as lie from its first to its last one: there is no room for another.
    """
    first = last = 0
    for start, stop, size in zip(part.start, part.stop, shape, strict=True):
        if not (type(start) is int and type(stop) is int and 0 <= start < stop <= size):
            return False
        first, last = first * size + start, last * size + stop - 1
    return first == cells and last == cells + part.rows - 1


def read_manifest(folder: str | Path) -> Manifest:
    """What the cube in `folder` is made of.

    Raises StoreError when there is no such folder, no finished cube in it, or a manifest that this version cannot read.
    """
    folder = place_of(folder)
    if is_remote(folder):
        if (tag := content_tag(folder / MANIFEST)) is not None:
            return _remembered(folder, tag, lambda: _text(folder))
        text = _text(folder)
        return _remembered(folder, hashlib.sha256(text).hexdigest(), lambda: text)
    try:
        stated = (folder / MANIFEST).stat()
    except OSError:
        return _made(folder, _here(folder))  # the reading says what is wrong
    return _remembered(folder, (stated.st_ino, stated.st_mtime_ns, stated.st_size), lambda: _here(folder))


def _remembered(folder: Path, stamp: Hashable, read: Callable[[], bytes]) -> Manifest:
    """The manifest of a folder as long as its file has the same stamp: one question reads it two dozen times."""
    key = (folder, stamp)
    found = _known.get(key)
    if found is None:
        found = _made(folder, read())
        for oldest in list(_known)[: max(0, len(_known) + 1 - _MOST_KNOWN)]:
            _known.pop(oldest, None)
        _known[key] = found
    return found


_MOST_KNOWN = 4
"""Manifests that are remembered (policy): two cubes are compared, and a cube may be written anew meanwhile."""

_known: dict[tuple[Path, Hashable], Manifest] = {}


_UNFINISHED = "the run did not finish; finish it with --resume, or replace it with --force"


def _text(folder: Path) -> bytes:
    """The manifest of a cube in an object store."""
    text = content_of(folder / MANIFEST)
    if text is None:
        begun = content_of(folder / INTENT) is not None
        raise StoreError(f"{folder} has no {MANIFEST}: {_UNFINISHED if begun else 'it holds no finished cube'}")
    return text


def _made(folder: Path, text: bytes) -> Manifest:
    content = _decoded(folder / MANIFEST, text)
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
        _check_parts(folder, manifest)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise StoreError(f"{folder / MANIFEST} is damaged ({error!r}): run it again with --force") from error
    return manifest


def _here(folder: Path) -> bytes:
    """The manifest of a cube in a folder."""
    if not folder.exists():
        raise StoreError(f"{folder} does not exist")
    if not folder.is_dir():
        raise StoreError(f"{folder} is not a folder; give the folder that holds {MANIFEST}")
    path = folder / MANIFEST
    if not path.is_file():
        if (folder / "facts").is_dir():
            raise StoreError(f"{folder} has no {MANIFEST}: {_UNFINISHED}")
        raise StoreError(f"{folder} has no {MANIFEST}: it does not hold a cube")
    with store_errors("read", path):
        return path.read_bytes()


def _decoded(path: Path, raw: bytes) -> Mapping[str, Any]:
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is damaged ({error}): run it again with --force") from error
    return content if isinstance(content, dict) else {}


def _parsed(content: Mapping[str, Any]) -> Manifest:
    axes = tuple(AxisSpec(**{**axis, "labels": tuple(axis["labels"])}) for axis in content["axes"])
    columns = tuple(
        Column(**{**column, "dims": tuple(column["dims"]), "categories": tuple(column["categories"])})
        for column in content["columns"]
    )
    listed = content["parts"]
    receipts = (Receipt(own["number"], own["file"], own["rows"], own["bytes"], own["sha256"]) for own in listed)
    return Manifest(
        layout=Layout(axes, columns, _positive(content["row_group_rows"])),
        origin=_only(Origin, content),
        parts=tuple(Part(own["number"], tuple(own["start"]), tuple(own["stop"])) for own in listed),
        receipts=tuple(receipts),
        dims=tuple(_only(FileRecord, own) for own in content["dims"]),
        options=content["options"],
        attrs=content["attrs"],
    )


def _positive(number: Any) -> int:
    if type(number) is not int or number < 1:
        raise ValueError(f"row_group_rows is {number!r}")
    return number


def _only(kind: Any, content: Mapping[str, Any]) -> Any:
    return kind(**{name: content[name] for name in kind.__dataclass_fields__})
