"""Open a stored cube again as the Dataset it was written from."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from gridplan.errors import StoreError, suggestion
from gridplan.store.dataset import dataset_from_arrays
from gridplan.store.manifest import check_sizes, read_manifest
from gridplan.store.reader import read_columns

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["open_cube"]


def open_cube(folder: str | Path, variables: Collection[str] | None = None) -> xr.Dataset:
    """The Dataset that was written to `folder`: dims, declared label order, coordinates, dtypes, attrs and values.

    `variables` names the measures wanted (all by default; coordinates always come), so that a few measures of a cube
    larger than the memory can be opened. The hash of each file is not checked here (`verify_cube` does).

    Raises StoreError when the folder holds no finished cube, rows were left out, a file is missing or has another
    size, or a variable is not in it.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    problems = check_sizes(folder, [receipt.record for receipt in manifest.receipts])
    if problems:
        raise StoreError("\n".join([*problems, "run it again with --resume"]))
    if manifest.options.get("drop_infeasible"):
        raise StoreError(
            f"{folder} leaves out the rows of cells without a plan, so it is a table and no cube: read "
            f"{folder}/facts/*.parquet, or run it again without --drop-infeasible"
        )
    layout = manifest.layout
    known = [column.name for column in layout.given]
    unknown = [name for name in variables or () if name not in known]
    if unknown:
        raise StoreError("\n".join(f"{folder} holds no {name!r}{suggestion(name, known)}" for name in unknown))
    wanted = [c for c in layout.given if variables is None or c.role == "coord" or c.name in variables]
    return dataset_from_arrays(layout, read_columns(folder, layout, manifest.parts, wanted), manifest.attrs)
