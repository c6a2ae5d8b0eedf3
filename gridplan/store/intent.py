"""`run.json`: what a run set out to write, so that a later run may finish it and no other may mix with it.

It is written before the first part and removed after the manifest, which says the same of a finished cube.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gridplan.errors import StoreError
from gridplan.store.files import Receipt, sha256_of, store_errors, write_text
from gridplan.store.folder import INTENT
from gridplan.store.layout import Part
from gridplan.store.manifest import MANIFEST, Manifest, Origin, read_manifest
from gridplan.store.objects import content_of, is_there, remove_file
from gridplan.store.place import is_remote

__all__ = ["INTENT", "Intent", "finished_parts", "read_intent", "remove_intent", "write_intent"]


@dataclass(frozen=True)
class Intent:
    """What decides the bytes of a cube: where it comes from, its options, and its size."""

    origin: Origin
    options: Mapping[str, Any]
    rows: int
    parts: int

    def differences(self, other: Intent) -> list[str]:
        """What `other` would write differently, one phrase each."""
        mine, theirs = _flat(self), _flat(other)
        names = {"grid_sha256": "the grid", "catalog_sha256": "the catalog", "package_version": "the version"}
        changed = [names.get(key, key) for key in mine if mine[key] != theirs.get(key) and key not in ("grid_text",)]
        return list(dict.fromkeys(changed))


def _flat(intent: Intent) -> dict[str, Any]:
    return {**asdict(intent.origin), **intent.options, "rows": intent.rows, "parts": intent.parts}


def write_intent(folder: Path, intent: Intent) -> None:
    """Write `run.json`, whole or not at all."""
    write_text(folder / INTENT, json.dumps(asdict(intent), indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def remove_intent(folder: Path) -> None:
    """Remove `run.json`: the manifest stands in its place now."""
    remove_file(folder / INTENT)


def read_intent(folder: Path) -> Intent | None:
    """What the run in `folder` set out to write, from `run.json` or from the manifest of a finished cube; else None.

    Raises StoreError when the file there cannot be read.
    """
    path = folder / INTENT
    if (text := content_of(path)) is not None:
        try:
            content = json.loads(text)
            return Intent(Origin(**content["origin"]), content["options"], content["rows"], content["parts"])
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{path} is damaged ({error!r}): run it again with --force") from error
    if is_there(folder / MANIFEST):
        return intent_of(read_manifest(folder))
    return None


def intent_of(manifest: Manifest) -> Intent:
    """What the run behind a finished cube set out to write."""
    return Intent(manifest.origin, manifest.options, manifest.layout.cells, len(manifest.parts))


def finished_parts(folder: Path, parts: tuple[Part, ...]) -> dict[int, Receipt]:
    """Receipts of the parts that stand in `folder` as they were written: same rows, size and SHA-256.

    Raises StoreError where an object store does not say: parts that stand are not written again for that.
    """
    return {part.number: receipt for part in parts if (receipt := _standing(folder, part)) is not None}


def _standing(folder: Path, part: Part) -> Receipt | None:
    """The receipt of a part that stands as it was written, else None."""
    path = folder / "receipts" / f"{Path(part.file).stem}.json"
    with store_errors("read", path), contextlib.suppress(_lost(folder), ValueError, TypeError):
        receipt = Receipt(**json.loads(path.read_bytes()))
        if (receipt.number, receipt.file) == (part.number, part.file) and _as_written(folder, receipt):
            return receipt
    return None


def _as_written(folder: Path, receipt: Receipt) -> bool:
    path = folder / receipt.file
    with store_errors("read", path), contextlib.suppress(_lost(folder)):
        return path.stat().st_size == receipt.bytes and sha256_of(path) == receipt.sha256
    return False


def _lost(folder: Path) -> type[OSError]:
    """What means that a file has to be written anew: whatever a disk says, of a store only that it is not there."""
    return FileNotFoundError if is_remote(folder) else OSError
