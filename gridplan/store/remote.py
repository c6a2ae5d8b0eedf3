"""A place in an object store made ready for a run: what may be replaced there, and what is never touched."""

from __future__ import annotations

import re
from pathlib import Path

from gridplan.errors import StoreError
from gridplan.store.files import store_errors
from gridplan.store.inside import INTENT
from gridplan.store.objects import remove_file, remove_files
from gridplan.store.place import sizes_below

__all__ = ["claim_remote"]

_MANIFEST = "manifest.json"
_OWN = re.compile(
    rf"{_MANIFEST}|{re.escape(INTENT)}|facts/part-\d{{5,}}\.parquet|receipts/part-\d{{5,}}\.json|dims/[A-Za-z_]\w*\.parquet"
)
"""Names of what gridplan writes."""


def claim_remote(folder: Path, force: bool = False, resume: bool = False) -> None:
    """Make a place ready for a new cube, or leave it as it stands for `resume`.

    There is no lock in an object store: two runs that write to one place at once are not told of each other, and each
    file is that of the later one. The manifest goes first where a cube is replaced: without it the rest claims nothing.

    Raises StoreError for a place that holds something else, or a cube without `force`.
    """
    with store_errors("list", folder):
        found = sizes_below(folder)
    foreign = sorted(name for name in found if not _OWN.fullmatch(name))
    if foreign:
        shown = ", ".join(foreign[:5]) + (f" and {len(foreign) - 5} more" if len(foreign) > 5 else "")
        raise StoreError(f"{folder} holds files that gridplan did not write ({shown}); give an empty or new place")
    if found and not force and not resume:
        what, mend = ("a cube", "") if _MANIFEST in found else ("an unfinished run", "finish it with --resume, ")
        raise StoreError(f"{folder} already holds {what}; {mend}replace it with --force or give another place")
    if not resume:
        if _MANIFEST in found:
            remove_file(folder / _MANIFEST)
        remove_files(folder, sorted(found.keys() - {_MANIFEST}))
