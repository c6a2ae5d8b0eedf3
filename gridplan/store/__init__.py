"""The stored cube: Parquet facts, small dimension tables and a manifest, and the way back to a Dataset.

A run calls `prepare_folder`, then `write_part` (or a `PartWriter` a thread) once per part of the layout, in any order,
`write_dims`, and `write_manifest` last. `open_cube` gives the Dataset back, `verify_cube` checks every byte. The names
below are imported when first used, so that importing one room does not load Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridplan.store.columns import dictionary_meta
    from gridplan.store.dataset import dataset_from_arrays
    from gridplan.store.dims import write_dims
    from gridplan.store.files import Receipt
    from gridplan.store.folder import prepare_folder
    from gridplan.store.layout import AxisSpec, Block, Column, Layout, Part, make_layout
    from gridplan.store.manifest import Manifest, Origin, read_manifest, write_manifest
    from gridplan.store.open import open_cube
    from gridplan.store.parquet import WriteOptions, write_part
    from gridplan.store.verify import verify_cube

_PLACES = {
    "AxisSpec": "layout",
    "Block": "layout",
    "Column": "layout",
    "Layout": "layout",
    "Manifest": "manifest",
    "Origin": "manifest",
    "Part": "layout",
    "Receipt": "files",
    "WriteOptions": "parquet",
    "dataset_from_arrays": "dataset",
    "dictionary_meta": "columns",
    "make_layout": "layout",
    "open_cube": "open",
    "prepare_folder": "folder",
    "read_manifest": "manifest",
    "verify_cube": "verify",
    "write_dims": "dims",
    "write_manifest": "manifest",
    "write_part": "parquet",
}

__all__ = [
    "AxisSpec",
    "Block",
    "Column",
    "Layout",
    "Manifest",
    "Origin",
    "Part",
    "Receipt",
    "WriteOptions",
    "dataset_from_arrays",
    "dictionary_meta",
    "make_layout",
    "open_cube",
    "prepare_folder",
    "read_manifest",
    "verify_cube",
    "write_dims",
    "write_manifest",
    "write_part",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
