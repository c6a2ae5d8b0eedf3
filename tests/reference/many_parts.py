"""A cube of very many parts: few of its files are really written, the others are more names of these.

What is tested and measured is what grows with the number of parts, so most of them hold the bytes of the first one: a
file of the right columns, size and hash, with the labels of another part.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
from stored_cubes import ORIGIN

from gridplan.store import (
    AxisSpec,
    Column,
    Layout,
    Manifest,
    Part,
    Receipt,
    WriteOptions,
    make_layout,
    write_dims,
    write_part,
)
from gridplan.store.values import Arrays

__all__ = ["ROWS", "many_files", "many_layout", "many_objects", "usd_of"]

ROWS = 4
"""Rows of a part."""

NAMES = 1_000
"""Names of one file of this machine (fact: NTFS allows 1,024, ext4 65,000)."""

_FIRST = "facts/part-00000.parquet"

_OPTIONS = WriteOptions(grid_name=ORIGIN.grid_name, package_version=ORIGIN.package_version)

_Make = Callable[[Part, Receipt], None]
"""Makes the file of a part that has the bytes of the first one."""


def many_layout(parts: int) -> Layout:
    """A cube of so many parts, a multiple of 100, of `ROWS` rows each: axes of 10, 10, many and `ROWS` labels."""
    axes = [
        AxisSpec("gpu", tuple(f"gpu-{number}" for number in range(10)), True, "label"),
        AxisSpec("context_tokens", tuple(1024.0 * (number + 1) for number in range(10)), False, "tok"),
        AxisSpec("arrival_rate", tuple(float(number + 1) for number in range(parts // 100)), False, "req/s"),
        AxisSpec("rho_target", (0.5, 0.6, 0.7, 0.8), False, "1"),
    ]
    dims = tuple(axis.name for axis in axes)
    columns = [
        Column("model", "coord", "string", (), ("llama-3-8b",), {"unit": "label"}),
        Column("status", "measure", "string", dims, ("ok", "infeasible"), {}),
        Column("binding_constraint", "measure", "string", dims, ("memory", "latency"), {}),
        Column("gpus_deployed", "measure", "int64", dims, (), {"unit": "count"}),
        Column("usd_per_mtok_output", "measure", "float64", dims, (), {"unit": "USD/Mtok"}),
    ]
    return make_layout(axes, columns)


def usd_of(part: int) -> list[float]:
    """The values of `usd_per_mtok_output` in a part that is really written."""
    return [part + 0.25 * row for row in range(ROWS)]


def many_files(folder: Path, layout: Layout, own: Collection[int] = ()) -> Manifest:
    """Write the files of a cube to a folder, with their receipts, and give what its manifest is to say.

    The parts of these numbers hold their own rows, all others those of the first part.
    """
    source = f"{folder}/{_FIRST}"

    def make(part: Part, receipt: Receipt) -> None:
        nonlocal source
        # Plain names and few calls: this is most of what a test of such a cube takes.
        if part.number % NAMES:
            os.link(source, f"{folder}/{part.file}")
        else:
            source = shutil.copyfile(source, f"{folder}/{part.file}")
        with open(f"{folder}/{part.receipt_file}", "wb", buffering=0) as file:
            file.write(json.dumps({name: getattr(receipt, name) for name in receipt.__slots__}).encode())

    return _cube(folder, layout, own, make)


def many_objects(place: Path, store: dict[str, Any], layout: Layout, own: Collection[int] = ()) -> Manifest:
    """The same in fsspec's store in memory, whose objects are in `store` by their paths; only own parts have receipts.

    One object stands there under many names.
    """
    root = str(place.path)  # type: ignore[attr-defined]

    def make(part: Part, receipt: Receipt) -> None:
        store[f"{root}/{part.file}"] = store[f"{root}/{_FIRST}"]

    return _cube(place, layout, own, make)


def _cube(place: Path, layout: Layout, own: Collection[int], make: _Make) -> Manifest:
    parts = layout.parts(ROWS)
    first = write_part(place, layout, parts[0], _arrays(parts[0]), _OPTIONS)
    receipts = [first]
    for part in parts[1:]:
        if part.number in own:
            receipts.append(write_part(place, layout, part, _arrays(part), _OPTIONS))
        else:
            receipts.append(Receipt(part.number, part.file, first.rows, first.bytes, first.sha256))
            make(part, receipts[-1])
    dims = write_dims(place, layout, {}, _OPTIONS)
    said = {"compression": _OPTIONS.compression}
    return Manifest(layout, ORIGIN, parts, tuple(receipts), dims, said, {"grid": ORIGIN.grid_name})


def _arrays(part: Part) -> Arrays:
    shape = part.shape
    rows = np.arange(ROWS, dtype=np.float64).reshape(shape)
    return {
        "model": np.zeros((1,) * len(shape), dtype=np.int8),
        "status": np.zeros(shape, dtype=np.int8),
        "binding_constraint": (rows % 2).astype(np.int8),
        "gpus_deployed": part.number + rows,
        "usd_per_mtok_output": part.number + 0.25 * rows,
    }
