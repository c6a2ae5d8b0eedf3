"""Cubes at the level of the store: a layout with its arrays, written to a folder as a run would write it."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from gridplan.store import (
    Layout,
    Manifest,
    Origin,
    WriteOptions,
    dataset_from_arrays,
    write_dims,
    write_manifest,
    write_part,
)
from gridplan.store.manifest import read_manifest
from gridplan.store.reader import read_columns
from gridplan.store.values import take_block

__all__ = ["ORIGIN", "Cube", "in_parts"]

ORIGIN = Origin("0.1.0", "test", "schema: 1\n", hashlib.sha256(b"schema: 1\n").hexdigest(), "c" * 64)


@dataclass
class Cube:
    """A layout with its arrays, and the whole way to a finished folder."""

    layout: Layout
    arrays: dict[str, np.ndarray]
    attrs: dict[str, Any] = field(default_factory=lambda: {"grid": "test", "cells": 3, "ratio": 0.7, "exact": True})

    def dataset(self) -> xr.Dataset:
        """The cube as it is opened again."""
        return dataset_from_arrays(self.layout, self.arrays, self.attrs)

    def write(
        self,
        folder: Path,
        rows_per_part: int | None = 5,
        options: WriteOptions | None = None,
        workers: int = 1,
        dims: Mapping[str, Sequence[Mapping[str, object]]] | None = None,
    ) -> Path:
        """Write the cube to `folder` in parts of at most `rows_per_part` rows; `dims` are tables beside the facts."""
        options = options or WriteOptions(grid_name="test", package_version="0.1.0", block_cells=4)
        parts = self.layout.parts(rows_per_part)
        with ThreadPoolExecutor(workers) as pool:
            jobs = [
                pool.submit(write_part, folder, self.layout, part, take_block(self.arrays, part.block), options)
                for part in parts
            ]
            receipts = tuple(job.result() for job in jobs)
        tables = write_dims(folder, self.layout, dims or {}, options)
        said = {"compression": options.compression}
        write_manifest(folder, Manifest(self.layout, ORIGIN, parts, receipts, tables, said, self.attrs))
        return folder


def in_parts(folder: Path, target: Path, rows: int, changed: Callable[[dict[str, np.ndarray]], object] = len) -> Path:
    """A cube written again in parts of so many rows; `changed` may change its arrays on the way."""
    old = read_manifest(folder)
    arrays = dict(read_columns(folder, old.layout, old.parts, old.layout.given))
    changed(arrays)
    parts = old.layout.parts(rows)
    receipts = tuple(write_part(target, old.layout, part, take_block(arrays, part.block)) for part in parts)
    shutil.copytree(folder / "dims", target / "dims")
    write_manifest(target, Manifest(old.layout, old.origin, parts, receipts, old.dims, old.options, old.attrs))
    return target
