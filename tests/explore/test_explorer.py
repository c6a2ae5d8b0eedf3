"""The explorer as a page asks it: cells with changes, explanations, and folders that this version plans otherwise."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from packed import unpacked
from whole_cube import cells_of

import gridplan
import gridplan.store as store
from gridplan.errors import ContractError, StoreError
from gridplan.explore.explorer import _MOST_KEPT, Explorer, explorer_of
from gridplan.explore.whatif import changed_contract
from gridplan.report.explain import explain
from gridplan.store.manifest import Manifest, read_manifest
from gridplan.store.reader import read_columns
from gridplan.store.values import take_block

GRIDS = Path(__file__).parents[2] / "grids"
COLUMNS = ["status", "gpus_deployed", "usd_per_hour", "tpot_s"]
ALL = "0:10,0:2"


@cache
def lesson(**changes: str) -> gridplan.Grid:
    """The contract, or with these values in place of its own."""
    grid = gridplan.load_grid(GRIDS / "lesson.yaml")
    return changed_contract(grid, changes) if changes else grid


@cache
def cube(**changes: str) -> xr.Dataset:
    """Its cube."""
    return gridplan.evaluate(lesson(**changes))


@cache
def chain(**changes: str) -> Any:
    """How one of its cells is explained by the library."""
    return explain(lesson(**changes), scenario="surge", instance="fractional").to_dict()["chain"]


@pytest.fixture(scope="module", params=["planned", "stored"])
def explorer(request: pytest.FixtureRequest, folder: Callable[[str], Path]) -> Explorer:
    return explorer_of(lesson() if request.param == "planned" else folder("lesson"))


def is_part(block: bytes, cube: xr.Dataset, place: tuple[range, ...]) -> None:
    """Every column that came is that of the cube."""
    box = unpacked(block)
    axes = ["scenario", "instance"]
    assert box.start == [own.start for own in place]
    for name, found in box.columns.items():
        due = cells_of(cube, name, place, axes)
        assert np.broadcast_to(found, due.shape).tolist() == due.tolist(), name


def test_cells_and_changed_cells(explorer: Explorer) -> None:
    names = ",".join(COLUMNS)
    whole = (range(10), range(2))
    is_part(explorer.block(ALL, names), cube(), whole)
    for changes in ({"rho_target": "0.5"}, {"redundancy": "2", "tpot_slo_s": "20 ms"}):
        due = cube(**changes)
        texts = [f"{name}={value}" for name, value in changes.items()]
        is_part(explorer.block(ALL, names, texts), due, whole)
        is_part(explorer.block("3,1", names, texts), due, (range(3, 4), range(1, 2)))
    # A change is of its question: the next one sees the cube as it is.
    is_part(explorer.block(ALL, names), cube(), whole)


def test_many_changes_are_not_all_kept(explorer: Explorer) -> None:
    for place in range(_MOST_KEPT + 1):
        explorer.block("0,0", "gpus_deployed", [f"rho_target=0.{50 + place}"])
    assert len(explorer._changed) == _MOST_KEPT
    assert (("rho_target", "0.50"),) not in explorer._changed
    due = cube(rho_target="0.50")
    is_part(explorer.block(ALL, "gpus_deployed", ["rho_target=0.50"]), due, (range(10), range(2)))


def test_an_explanation_is_that_of_the_library(explorer: Explorer) -> None:
    assert explorer.explain("1,1")["chain"] == chain()
    assert explorer.explain("1,1", ["redundancy=3"])["chain"] == chain(redundancy="3")


def test_what_inputs_are_now(explorer: Explorer) -> None:
    assert explorer.now("0,0").items() >= {"rho_target": "0.7", "hours_per_month": "732 h"}.items()
    assert explorer.now("0,0")["ttft_slo_s"] != explorer.now("6,0")["ttft_slo_s"]  # ttft_400ms states its own
    assert "budget_usd_per_month" not in explorer.now("0,0")


def test_every_place_that_is_wrong_is_refused(explorer: Explorer) -> None:
    for ask in (lambda: explorer.explain("0:2,0"), lambda: explorer.now("0,0:2"), lambda: explorer.explain("0")):
        with pytest.raises(ContractError, match="at: "):
            ask()
    with pytest.raises(ContractError, match="rho_targt cannot be changed here"):
        explorer.block("0,0", "status", ["rho_targt=1"])
    with pytest.raises(ContractError) as found:
        explorer.block("0,0", "status", ["rho_target=1.5"])
    assert "lesson.yaml" not in str(found.value)


def test_a_stored_contract_is_explained_without_the_catalog_file(folder: Callable[[str], Path]) -> None:
    about = explorer_of(folder("lesson")).about()
    assert about["noWhatIf"] == ""
    assert [axis["name"] for axis in about["axes"]] == ["scenario", "instance"]
    assert str(folder("lesson").parent) not in str(about)


def altered(source: Path, target: Path) -> Path:
    """The cube of a folder with twice the GPUs in the first cell, written as a run would, from the same contract."""
    old = read_manifest(source)
    arrays = read_columns(source, old.layout, old.parts, old.layout.given)
    arrays["gpus_deployed"] = np.array(arrays["gpus_deployed"])
    arrays["gpus_deployed"][0, 0] *= 2
    options = store.WriteOptions(grid_name="lesson", package_version="0.1.0")
    receipts = tuple(
        store.write_part(target, old.layout, part, take_block(arrays, part.block), options) for part in old.parts
    )
    shutil.copytree(source / "dims", target / "dims")
    store.write_manifest(
        target, Manifest(old.layout, old.origin, old.parts, receipts, old.dims, old.options, old.attrs)
    )
    return target


def test_numbers_that_are_planned_otherwise_now_are_neither_explained_nor_changed(
    folder: Callable[[str], Path], tmp_path: Path
) -> None:
    explorer = explorer_of(altered(folder("lesson"), tmp_path / "cube"))
    said = r"plans the cell otherwise than the folder has it \(gpus_deployed\), so nothing is planned anew"
    with pytest.raises(ContractError, match=said):
        explorer.explain("0,0")
    with pytest.raises(ContractError, match=said):
        explorer.block("0,0", "gpus_deployed", ["redundancy=2"])
    # What is stored is shown as it is, and the other cells are as they were.
    due = int(cube()["gpus_deployed"][0, 0])
    assert unpacked(explorer.block("0,0", "gpus_deployed")).columns["gpus_deployed"].item() == 2 * due
    assert explorer.explain("0,1")["chain"]


def test_a_folder_of_another_catalog_says_why_nothing_is_planned_anew(tmp_path: Path) -> None:
    grid = gridplan.load_grid(GRIDS / "chains-70b.yaml")
    gridplan.run(grid, tmp_path / "cube")
    manifest = (tmp_path / "cube" / "manifest.json").read_text(encoding="utf-8")
    digest = read_manifest(tmp_path / "cube").origin.catalog_sha256
    assert manifest.count(digest) == 1
    (tmp_path / "cube" / "manifest.json").write_text(manifest.replace(digest, "0" * 64), encoding="utf-8")
    explorer = explorer_of(tmp_path / "cube")
    assert explorer.about()["inputs"] == []
    assert "planned with another catalog" in explorer.about()["noWhatIf"]
    for ask in (lambda: explorer.explain(""), lambda: explorer.now(""), lambda: explorer.block("", "status", ["a=1"])):
        with pytest.raises(ContractError, match="planned with another catalog"):
            ask()
    assert unpacked(explorer.block("", "status")).columns["status"].item() == "ok"


def test_what_is_no_cube_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        explorer_of(tmp_path / "nothing")
    with pytest.raises(StoreError):
        explorer_of(tmp_path)


def test_questions_side_by_side_get_their_own_answers(explorer: Explorer) -> None:
    """Eight threads, boxes and changes drawn at random."""
    rhos = [None, "0.5", "0.6", "0.9"]
    cubes = {rho: cube(rho_target=rho) if rho else cube() for rho in rhos}
    random = np.random.default_rng(5)
    asked = []
    for _ in range(10):
        first = int(random.integers(10))
        place = (range(first, int(random.integers(first, 10)) + 1), range(int(random.integers(2)), 2))
        asked.append((place, rhos[int(random.integers(4))]))

    explained = asked[::3]  # a chain takes as long as twenty boxes

    def ask(question: tuple[tuple[range, ...], str | None]) -> None:
        place, rho = question
        at = ",".join(f"{own.start}:{own.stop}" for own in place)
        block = explorer.block(at, ",".join(COLUMNS), [f"rho_target={rho}"] if rho else [])
        is_part(block, cubes[rho], place)
        cell = f"{place[0].start},{place[1].start}"
        assert explorer.now(cell)["rho_target"] == "0.7"
        if question not in explained:
            return
        labels = {
            name: str(cubes[None][name].values[own.start])
            for name, own in zip(("scenario", "instance"), place, strict=True)
        }
        assert explorer.explain(cell)["labels"] == labels

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, asked))
