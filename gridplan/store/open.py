"""Open a stored cube, or a slice of it, again as the Dataset it was written from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gridplan.errors import StoreError, suggestion
from gridplan.store.blocks import Block, Part
from gridplan.store.dataset import dataset_from_arrays
from gridplan.store.manifest import Manifest, read_manifest
from gridplan.store.place import place_of
from gridplan.store.reader import read_columns
from gridplan.store.slices import slice_box, slice_layout

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["check_files", "open_cube", "whole_manifest"]


def open_cube(
    folder: str | Path, variables: Collection[str] | None = None, at: Mapping[str, str | float] | None = None
) -> xr.Dataset:
    """The Dataset that was written to `folder`: dims, declared label order, coordinates, dtypes, attrs and values.

    `variables` names the measures wanted (all by default; coordinates always come), so that a few measures of a cube
    larger than the memory can be opened. `at` names axes and one label of each, as number or text: what comes is the
    slice there, in which these axes keep size 1, and only the row groups that hold it are read, of files that are
    looked at for it. The hash of each file is not checked here (`verify_cube` does).

    Raises
    ------
    StoreError
        When the folder holds no finished cube, rows were left out, a file that is read is missing or has another size,
        or a variable is not in it.
    ContractError
        If `at` names an axis or a label that the cube does not have, with the nearest labels.
    """
    folder = place_of(folder)
    manifest = whole_manifest(folder)
    layout = manifest.layout
    known = [column.name for column in layout.given]
    unknown = [name for name in variables or () if name not in known]
    if unknown:
        raise StoreError("\n".join(f"{folder} holds no {name!r}{suggestion(name, known)}" for name in unknown))
    box = slice_box(layout, at)
    wanted = [c for c in layout.given if variables is None or c.role == "coord" or c.name in variables]
    arrays = read_columns(folder, layout, check_files(folder, manifest, box), wanted, box)
    return dataset_from_arrays(slice_layout(layout, box), arrays, manifest.attrs)


def whole_manifest(folder: Path) -> Manifest:
    """The manifest of a cube that holds every cell; its files are not looked at (`check_files`).

    Raises StoreError when the folder holds no finished cube, or rows were left out.
    """
    manifest = read_manifest(folder)
    if manifest.options.get("drop_infeasible"):
        raise StoreError(
            f"{folder} leaves out the rows of cells without a plan, so it is a table and no cube: read "
            f"{folder}/facts/*.parquet, or run it again without --drop-infeasible"
        )
    return manifest


def check_files(folder: Path, manifest: Manifest, box: Block) -> list[Part]:
    """The parts with cells of `box`, whose files are there with the sizes they were written with.

    Raises StoreError for files that are missing or have another size; of others nothing is said.
    """
    parts = manifest.parts_within(box)
    if problems := manifest.size_problems(folder, parts):
        raise StoreError("\n".join([*problems, "run it again with --resume"]))
    return parts
