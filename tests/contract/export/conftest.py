"""The awkward cube, its folder and its truth; what is exported of it; the cubes of example grids."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# `--import-mode=importlib` puts no test folder on sys.path; the tests of this one share modules.
sys.path.append(str(Path(__file__).parent))

from awkward_cube import ROWS_PER_PART, TABLES, awkward_cube, view_of
from stored_cubes import Cube
from table_view import View

from gridplan.export.handover import Exported, export_cube

Export = Callable[..., Exported]


@pytest.fixture(scope="session")
def awkward() -> Cube:
    """The cube in memory."""
    return awkward_cube()


@pytest.fixture(scope="session")
def truth(awkward: Cube) -> View:
    """Its wide table, computed from the arrays."""
    return view_of(awkward)


@pytest.fixture(scope="session")
def stored(awkward: Cube, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its folder, in 15 parts."""
    return awkward.write(tmp_path_factory.mktemp("awkward") / "cube", ROWS_PER_PART, dims=TABLES)


@pytest.fixture(scope="module")
def export(stored: Path, tmp_path_factory: pytest.TempPathFactory) -> Export:
    """`export("wide", "cells.parquet")`: the cube in that form in a folder of the module, in many small batches."""
    folder = tmp_path_factory.mktemp("exports")

    def made(form: str, name: str, **asked: Any) -> Exported:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("gridplan.export.forms.ROW_GROUP_ROWS", 500)
            patch.setattr("gridplan.export.forms.FILE_GROUPS", 3)
            patch.setattr("gridplan.query.database.ROWS_PER_BATCH", 700)
            return export_cube(stored, form, folder / name, **asked)

    return made
