"""The contract that a cube in a folder was planned from, where it can be planned again here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridplan.contract import loads_grid
from gridplan.contract.grid import Grid
from gridplan.engine.inputs import build_inputs
from gridplan.engine.tables import catalog_hash
from gridplan.errors import GridplanError
from gridplan.store.manifest import read_manifest

if TYPE_CHECKING:
    from gridplan.store.manifest import Manifest

__all__ = ["stored_contract"]


def stored_contract(folder: str | Path, catalog: Any = None) -> tuple[Grid | None, str, Manifest]:
    """The contract of a folder, why it cannot be planned anew, and the manifest; `catalog` as of `load_grid`.

    Raises StoreError when the folder holds no finished cube.
    """
    manifest = read_manifest(folder)
    try:
        grid = loads_grid(manifest.origin.grid_text, f"{folder}/manifest.json", catalog)
        same = catalog_hash(build_inputs(grid).catalog) == manifest.origin.catalog_sha256
    except GridplanError as error:
        first = str(error).splitlines()[0]
        return None, f"the contract in the folder cannot be planned anew here ({first})", manifest
    if not same:
        said = "the folder was planned with another catalog than the one in use here, so nothing is planned anew"
        return None, said, manifest
    return grid, "", manifest
