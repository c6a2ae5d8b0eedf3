"""`run.json`: what a run set out to write, so that a later run may finish it and no other may mix with it.

It is written before the first part and removed after the manifest, which says the same of a finished cube.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gridplan.errors import StoreError
from gridplan.store.files import Receipt, bytes_of, hashed, store_errors, write_text
from gridplan.store.folder import INTENT
from gridplan.store.layout import Part
from gridplan.store.manifest import MANIFEST, Manifest, Origin, read_manifest
from gridplan.store.objects import content_of, is_there, remove_file
from gridplan.store.place import file_system, is_remote
from gridplan.store.sizes import sizes_of
from gridplan.store.threads import readers_of, side_by_side

__all__ = ["INTENT", "Intent", "finished_part", "finished_parts", "read_intent", "remove_intent", "write_intent"]


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


def finished_parts(folder: Path, parts: tuple[Part, ...], dropped: bool = False) -> dict[int, Receipt]:
    """Receipts of the parts that stand in `folder` as they were written: same rows, size and SHA-256.

    With `dropped` rows may have been left out of their files. Raises StoreError where an object store does not say:
    parts that stand are not written again for that.
    """
    # Of an object store a listing says what there is: a run that was stopped early has few of very many parts.
    size_of = sizes_of(folder, [name for part in parts for name in (part.receipt_file, part.file)])
    found = side_by_side(lambda part: _standing(folder, part, size_of, dropped), parts, readers_of(folder))
    return {receipt.number: receipt for receipt in found if receipt is not None}


def finished_part(folder: Path, part: Part, dropped: bool = False) -> Receipt | None:
    """The same of one part; None where it does not stand."""
    return _standing(folder, part, sizes_of(folder, [part.receipt_file, part.file]), dropped)


def _standing(folder: Path, part: Part, size_of: Callable[[str], int | None], dropped: bool) -> Receipt | None:
    """The receipt of a part that stands as it was written, else None."""
    if size_of(part.receipt_file) is None:
        return None
    with _asking(folder, part.receipt_file), contextlib.suppress(_lost(folder), ValueError, TypeError, RecursionError):
        receipt = Receipt(**json.loads(bytes_of(folder, part.receipt_file)))
        own = (receipt.number, receipt.file) == (part.number, part.file) and size_of(part.file) == receipt.bytes
        if own and _as_written(folder, receipt) and receipt.rows == _rows_of(folder, part, dropped):
            return receipt
    return None


def _rows_of(folder: Path, part: Part, dropped: bool) -> int:
    """The rows that a file of this part has, as its footer says where some may have been left out."""
    if not dropped:
        return part.rows
    from pyarrow.parquet import read_metadata

    where, files = file_system(folder / part.file)
    return int(read_metadata(where, filesystem=files).num_rows)


def _as_written(folder: Path, receipt: Receipt) -> bool:
    with _asking(folder, receipt.file), contextlib.suppress(_lost(folder)):
        return hashed(folder, receipt.file)[0] == receipt.sha256
    return False


def _asking(folder: Path, file: str) -> contextlib.AbstractContextManager[None]:
    """What a store answers about a file, in words; what a disk says is never told here."""
    return store_errors("read", folder / file) if is_remote(folder) else contextlib.nullcontext()


def _lost(folder: Path) -> type[OSError]:
    """What means that a file has to be written anew: whatever a disk says, of a store only that it is not there."""
    return FileNotFoundError if is_remote(folder) else OSError
