"""The explorer as one file, opened from the disk: small, without network, with the numbers of the cube."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import xarray as xr
from explorer_view import Explored, same, value_at
from hostile_labels import HOSTILE, hostile_contract
from page_checks import assert_quiet, overflow_px, violations
from page_view import View
from served_explorer import served

import gridplan
from gridplan.explore.explorer import explorer_of
from gridplan.explore.static import static_page

OpenPage = Callable[..., View]
GRID = Path(__file__).parents[2] / "grids" / "quickstart.yaml"
MOST_BYTES = 5_000_000


def grid() -> gridplan.contract.grid.Grid:
    """The quickstart with 14 arrival rates: 100,800 cells."""
    text = GRID.read_text(encoding="utf-8")
    assert text.count("[0.1, 100, 10]") == 1
    return gridplan.loads_grid(text.replace("[0.1, 100, 10]", "[0.1, 100, 14]"), "quickstart.yaml")


@cache
def cube() -> xr.Dataset:
    return gridplan.evaluate(grid())


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "cube.html"
    path.write_text(static_page(explorer_of(grid())), encoding="utf-8")
    return path


def test_a_cube_of_100_000_cells_is_under_5_mb_and_needs_no_network(open_page: OpenPage, file: Path) -> None:
    assert cube().sizes["arrival_rate"] == 14
    assert file.stat().st_size < MOST_BYTES
    explored = Explored(open_page(file))
    for axis, place in ((0, 5), (1, 7), (2, 1), (3, 3), (4, 1), (5, 11)):
        explored.choose(axis, place)
    explored.unfold("all", "front-rows", "chain-open")
    found = explored.read()
    names = ("gpu", "model", "kv_dtype", "context_tokens", "rho_target", "arrival_rate")
    at = dict(zip(names, (5, 7, 1, 3, 1, 11), strict=True))
    assert len(found["all"]) > 20
    for name, (shown, _) in found["all"].items():
        assert same(shown, value_at(cube(), name, at)), name
    for place, (shown, _) in found["plane"].items():
        across, down = map(int, place.split(","))
        assert same(shown, value_at(cube(), "usd_per_mtok_output", at | {"arrival_rate": across, "gpu": down}))
    labels = {
        name: cube()[name].values.tolist()[place] for name, place in at.items() if name not in ("gpu", "kv_dtype")
    }
    front = gridplan.pareto(cube(), "usd_per_mtok_output,tpot_s", levers=("gpu", "kv_dtype"), at=labels)
    assert explored.page.locator("#front tbody tr").count() == int(front.on_front.sum())
    for line in explored.page.locator("#chain [data-measure]").all():
        name = line.get_attribute("data-measure") or ""
        assert same(line.get_attribute("data-value") or "", value_at(cube(), name, at)), name
    assert "gridplan explain" in explored.page.inner_text("#chain")
    assert "gridplan explore" in explored.page.inner_text("#changes")
    state = explored.read()
    explored.page.reload()
    explored.unfold("all", "front-rows", "chain-open")
    assert explored.read() == state
    assert_quiet(explored.view)


@pytest.mark.parametrize("is_served", [True, False])
def test_names_of_a_contract_stay_text(open_page: OpenPage, tmp_path: Path, is_served: bool) -> None:
    explorer = explorer_of(gridplan.loads_grid(hostile_contract()))
    dialogs: list[str] = []

    def checked(source: Path | str) -> None:
        explored = Explored(open_page(source))
        explored.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        explored.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        explored.settle()
        text = explored.page.evaluate("document.body.textContent")
        for name in HOSTILE:
            assert name in text, name
        scripts = 4 if is_served else 5  # two, the data, none of a label
        assert explored.page.locator("script").count() == scripts - 1
        assert explored.page.locator("img, iframe, object, a:not(.skip)").count() == 0
        assert_quiet(explored.view)
        assert overflow_px(explored.view) == 0
        assert violations(explored.view) == []
        state = explored.read()
        explored.page.reload()
        explored.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert explored.read() == state

    if is_served:
        with served(explorer) as address:
            checked(address)
    else:
        path = tmp_path / "names.html"
        path.write_text(static_page(explorer), encoding="utf-8")
        checked(path)
    assert dialogs == []
