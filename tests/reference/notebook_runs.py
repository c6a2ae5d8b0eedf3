"""The notebooks of the documentation, run from nothing in a copy of their place.

`python tests/reference/notebook_runs.py` runs them and stores what they show now.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

__all__ = ["FOLDER", "NOTEBOOKS", "executed", "stored"]

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
"""Of the kernel nothing is stored that differs between machines."""

LIMIT_S = 300
"""Longest that a cell may take on a busy machine [s] (policy)."""


def stored(path: Path) -> nbformat.NotebookNode:
    """The notebook as it lies in the documentation. Raises ValidationError where it is none."""
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    return book


def executed(path: Path, folder: Path) -> nbformat.NotebookNode:
    """The notebook run from nothing, with `folder` in the place of the checkout; nothing is written outside of it.

    Raises CellExecutionError for a cell that fails.
    """
    place = folder / "docs" / "notebooks"
    place.mkdir(parents=True)
    (folder / "grids").symlink_to(ROOT / "grids")
    (folder / "docs" / "lesson-sweep.csv").symlink_to(ROOT / "docs" / "lesson-sweep.csv")
    book = stored(path)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with TemporaryDirectory() as runtime:
        # Sockets of the file system: no port that another run could take, and nothing that other users could read.
        # Their names must be short. A profile of the user's own is no part of the documentation.
        kernel = {"transport": "ipc", "ip": f"{runtime}/kernel", "connection_file": f"{runtime}/kernel.json"}
        client = NotebookClient(
            book,
            coalesce_streams=True,
            config=Config(KernelManager=kernel),
            kernel_name="python3",
            record_timing=False,
            resources={"metadata": {"path": str(place)}},
            timeout=LIMIT_S,
        )
        client.execute(env={**os.environ, "IPYTHONDIR": f"{runtime}/ipython"})
    book.metadata = nbformat.from_dict(METADATA)
    return book


if __name__ == "__main__":
    for notebook in NOTEBOOKS:
        with TemporaryDirectory() as empty:
            nbformat.write(executed(notebook, Path(empty)), notebook)
        print(f"{notebook.relative_to(ROOT)}: {notebook.stat().st_size:,} bytes")
