"""Shipped grids with a piece of their text replaced, for figures that need another setting."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import xarray as xr

import gridplan


@pytest.fixture(scope="session")
def changed(grids: Path) -> Callable[..., xr.Dataset]:
    """`changed("lesson", ("redundancy: 1", "redundancy: 2"))`: the cube after changes of pieces that stand there once.

    A change ("", text) adds lines at the end; `outputs` names measures on request.
    """

    @cache
    def cube_of(name: str, *changes: tuple[str, str], outputs: tuple[str, ...] | None = None) -> xr.Dataset:
        text = (grids / f"{name}.yaml").read_text(encoding="utf-8")
        for old, new in changes:
            assert not old or text.count(old) == 1, f"{old!r} does not stand once in {name}.yaml"
            text = text.replace(old, new) if old else f"{text}\n{new}\n"
        return gridplan.evaluate(gridplan.loads_grid(text, f"{name}.yaml"), outputs)

    return cube_of
