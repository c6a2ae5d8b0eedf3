"""What several test files share: the example grids, their cubes computed once, and the command line in this process."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# Before NumPy is loaded: matrices of tests are small, and threads that wait for each other cost more than they save.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
import xarray as xr
from hypothesis import settings

import gridplan
from gridplan.cli import main

ROOT = Path(__file__).parents[1]
GRIDS = ROOT / "grids"

# A busy machine is no fault of the code: no example is timed. Fifty of each law where it does not say how many, so that
# the whole suite stays within ten minutes.
settings.register_profile("untimed", deadline=None, max_examples=50)
settings.load_profile("untimed")

# `--import-mode=importlib` puts no test folder on sys.path; the scalar oracle is a module of its own.
sys.path.append(str(Path(__file__).parent / "reference"))


@dataclass(frozen=True)
class Outcome:
    """What one call of the command line did."""

    code: int
    out: str
    err: str


Cli = Callable[..., Outcome]


def call(*arguments: str | Path) -> Outcome:
    """`gridplan` with these arguments, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    code = stop.value.code
    assert isinstance(code, int)
    return Outcome(code, out.getvalue(), err.getvalue())


@cache
def example_cube(name: str) -> xr.Dataset:
    """The cube of one grid of `grids/`; computed once, so copy it before changing it."""
    return gridplan.evaluate(gridplan.load_grid(GRIDS / f"{name}.yaml"))


@pytest.fixture(scope="session")
def cli() -> Cli:
    """The command line: `cli("run", path, "-o", folder)` gives its exit code and what it printed."""
    return call


@pytest.fixture(scope="session")
def grids() -> Path:
    """The folder of example grids."""
    return GRIDS


@pytest.fixture(scope="session")
def cube() -> Callable[[str], xr.Dataset]:
    """`cube("quickstart")`: the Dataset of an example grid."""
    return example_cube


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`folder("quickstart")`: an example grid as written by `run`, once."""

    @cache
    def written(name: str) -> Path:
        path = tmp_path_factory.mktemp("cubes") / name
        gridplan.run(gridplan.load_grid(GRIDS / f"{name}.yaml"), path)
        return path

    return written
