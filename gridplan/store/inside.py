"""The folder of a cube belongs to the runs that write it: no other output lies in it."""

from __future__ import annotations

from pathlib import Path

from gridplan.errors import StoreError
from gridplan.store.files import store_errors

__all__ = ["INTENT", "refuse_inside_cube"]

INTENT = "run.json"
"""What a run set out to write; see `gridplan.store.intent`."""

_SIGNS = ("manifest.json", INTENT)
"""One of these beside `facts/` makes the folder of a cube, finished or not."""


def refuse_inside_cube(path: Path) -> None:
    """Refuse a path in the folder of a cube. Raises StoreError."""
    with store_errors("use", path):
        for folder in path.absolute().resolve().parents:
            if (folder / "facts").is_dir() and any((folder / name).is_file() for name in _SIGNS):
                raise StoreError(f"{path} lies in {folder}, which is the folder of a cube; give another place")
