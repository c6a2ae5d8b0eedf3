"""A question to a slice of a stored cube: answered as from the whole cube, from the files of the slice alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import xarray as xr

import gridplan
from gridplan.errors import ContractError
from gridplan.sensitivity.source import cube_of
from gridplan.store.reader import read_columns

QUICKSTART = Path(__file__).parents[2] / "grids" / "quickstart.yaml"
PRICE = "usd_per_mtok_output"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The quickstart in files of at most 2,000 rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gridplan.store.layout.FEWEST_ROWS_PER_PART", 2_000)
        return gridplan.run(gridplan.load_grid(QUICKSTART), tmp_path_factory.mktemp("slice") / "cube").folder


@pytest.mark.parametrize(
    "at",
    [{}, {"gpu": "b200"}, {"model": "qwen3-14b", "kv_dtype": "fp8"}, {"rho_target": 0.1 * 7, "arrival_rate": "10"}],
)
def test_a_folder_is_asked_like_the_dataset(at: dict[str, Any], folder: Path) -> None:
    xr.testing.assert_identical(
        gridplan.cheapest(folder, PRICE, at=at), gridplan.cheapest(gridplan.open_cube(folder), PRICE, at=at)
    )


def test_only_the_slice_is_held(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []

    def read(*asked: Any) -> dict[str, Any]:
        arrays = read_columns(*asked)
        held.extend(array.size for array in arrays.values())
        return arrays

    monkeypatch.setattr("gridplan.store.open.read_columns", read)
    cube = cube_of(folder, [PRICE], at={"gpu": "b200", "model": "qwen3-14b"})
    assert cube[PRICE].shape == (1, 1, 3, 6, 5, 10)
    assert max(held) == 900


def test_nothing_is_read_before_all_that_is_wrong_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*asked: Any) -> None:
        raise AssertionError("read")

    monkeypatch.setattr("gridplan.store.open.read_columns", never)
    with pytest.raises(ContractError) as error:
        cube_of(folder, ["usd_per_mtok_outpt"], at={"gpu": "b20", "modl": "qwen3-14b"})
    said = str(error.value)
    assert "usd_per_mtok_outpt is not a measure of this cube (did you mean usd_per_mtok_output" in said
    assert "b20 is not on the axis" in said
    assert "modl is not an axis of this grid (did you mean model" in said
