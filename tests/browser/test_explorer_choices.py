"""The explorer: presets, the front and what if say what the functions of the library say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import xarray as xr
from explorer_view import Explored, same, value_at
from page_checks import assert_quiet
from page_view import View

import gridplan

OpenPage = Callable[..., View]
GRID = Path(__file__).parents[2] / "grids" / "quickstart.yaml"
AXES = ("gpu", "model", "kv_dtype", "context_tokens", "rho_target", "arrival_rate")
AT = {"model": "llama-3.1-8b", "context_tokens": 8192.0, "rho_target": 0.7}
LINK = "#at.gpu=h100-sxm&at.model=llama-3.1-8b&at.kv_dtype=fp8&at.arrival_rate=10&compared=gpu,kv_dtype"
HERE = dict(zip(AXES, (3, 1, 1, 2, 2, 6), strict=True))


@cache
def cube(changed: bool = False) -> xr.Dataset:
    """The cube of the contract, or of the one that was changed by hand."""
    text = GRID.read_text(encoding="utf-8")
    if changed:
        assert text.count("limit: 50 ms") == 1
        text = text.replace("limit: 50 ms", "limit: 30 ms")
    return gridplan.evaluate(gridplan.loads_grid(text))


@pytest.fixture
def explored(open_page: OpenPage, explorer_address: str) -> Iterator[Explored]:
    page = Explored(open_page(f"{explorer_address}/{LINK}"))
    yield page
    assert_quiet(page.view)


@pytest.mark.parametrize(
    "objectives", [("usd_per_mtok_output", "tpot_s"), ("gpus", "concurrency"), ("nodes", "ttft_s")]
)
def test_the_front_is_that_of_pareto(explored: Explored, objectives: tuple[str, str]) -> None:
    for number, name in enumerate(objectives):
        explored.page.locator("#pareto-controls select").nth(number).select_option(name)
    explored.unfold("front-rows")
    at = {**AT, "arrival_rate": 10.0}
    found = gridplan.pareto(cube(), objectives, levers=("gpu", "kv_dtype"), at=at)
    front = found.isel(row=found.on_front.values == 1)
    wanted = sorted(zip(*(front[name].values.tolist() for name in ("gpu", "kv_dtype", *objectives)), strict=True))
    shown = []
    for row in explored.page.locator("#front tbody tr").all():
        numbers = [float(cell.get_attribute("data-value") or "nan") for cell in row.locator("td.n").all()]
        shown.append((row.locator("th").inner_text(), row.locator("td").first.inner_text(), *numbers))
    assert sorted(shown) == wanted
    said = explored.read()["pareto"]
    assert said.startswith(f"{len(wanted)} of {found.attrs['candidates']} options of gpu x kv_dtype on the front")
    assert set(said.partition("left out of 24: ")[2].split(", ")) == set(found.attrs["left_out"].split(", "))
    marks = explored.page.locator("#pareto svg path[d^='M']").count()
    assert marks >= found.attrs["candidates"]
    explored.page.locator("#front tbody button").first.click()
    at_front = explored.read()
    assert at_front["place"].startswith(f"gpu={shown[0][0]}")


@pytest.mark.parametrize("preset", [0, 1, 2, 3])
def test_a_preset_of_levers_is_the_cheapest(explored: Explored, preset: int) -> None:
    measure = ("usd_per_mtok_output", "usd_per_month", "gpus_deployed", "tpot_s")[preset]
    explored.page.locator("#levers button").nth(preset).click()
    found = gridplan.cheapest(cube(), measure, levers=("gpu", "kv_dtype"), at={**AT, "arrival_rate": 10.0})
    shown = explored.read()
    assert same(
        explored.page.locator("#axis-0").input_value(), str(list(cube().gpu.values).index(found.gpu.values.item()))
    )
    assert f"kv_dtype={found.kv_dtype.values.item()}" in shown["place"]
    at = HERE | {name: cube()[name].values.tolist().index(found[name].values.item()) for name in ("gpu", "kv_dtype")}
    assert same(shown["tiles"].get(measure, [""])[0], value_at(cube(), measure, at))
    assert measure in explored.page.inner_text("#preset-said")


def test_presets_of_uncertainties_move_to_the_ends(explored: Explored) -> None:
    for text, place in (("all low", 0), ("all high", -1)):
        explored.page.click(f"text={text}")
        found = explored.read()["place"]
        for name in ("context_tokens", "arrival_rate"):
            assert f"{name}={cube()[name].values[place]:.12g}" in found
        assert "rho_target=0.7" in found


def test_a_change_plans_anew_and_says_by_how_much(explored: Explored) -> None:
    explored.unfold("all")
    before = explored.read()
    explored.change("tpot_slo_s", "30 ms")
    after = explored.read()
    for name, (shown, _) in after["all"].items():
        assert same(shown, value_at(cube(changed=True), name, HERE)), name
    moved = 0
    for tile in explored.page.locator("#tiles dd").all():
        name = tile.get_attribute("data-measure") or ""
        delta = tile.locator(".delta")
        was = value_at(cube(), name, HERE)
        assert same(delta.get_attribute("data-before") or "", was), name
        moved += delta.inner_text() != "as in the contract"
    assert moved > 3
    for place, (shown, _) in after["plane"].items():
        across, down = map(int, place.split(","))
        value = value_at(cube(changed=True), "usd_per_mtok_output", HERE | {"arrival_rate": across, "gpu": down})
        assert same(shown, value)
    assert after["plane"] != before["plane"]
    explored.page.click("#if-list button")
    undone = explored.read()
    assert (undone["plane"], undone["all"], undone["tiles"]) == (before["plane"], before["all"], before["tiles"])


def test_the_plane_shows_changes(explored: Explored) -> None:
    explored.draw(2, "gpus_deployed")
    explored.change("tpot_slo_s", "30 ms")
    explored.draw(3, "change")
    for place, (_, text) in explored.read()["plane"].items():
        across, down = map(int, place.split(","))
        at = HERE | {"arrival_rate": across, "gpu": down}
        was, now = (value_at(cube(changed), "gpus_deployed", at) for changed in (False, True))
        if was is None or now is None:
            assert text == ("-" if was == now else "new" if was is None else "gone")
        else:
            assert text.replace(",", "") == f"{float(now) - float(was):+.0f}".replace("+0", "0")
    explored.draw(3, "percent")
    assert {text[-1] for _, text in explored.read()["plane"].values() if text not in ("-", "new", "gone", "0")} == {"%"}


def test_a_change_that_no_contract_may_state_is_said_and_takes_nothing_away(explored: Explored) -> None:
    before = explored.read()
    explored.change("tpot_slo_s", "5 GiB")
    said = explored.page.inner_text("#notices")
    assert "tpot" in said
    assert "GiB" in said
    assert explored.read()["tiles"] == before["tiles"]
    # The server answered 400, which Chromium logs as an error of the network.
    explored.view.console_errors[:] = [line for line in explored.view.console_errors if "400" not in line]
    explored.page.click("#if-list button")
    explored.settle()
    assert explored.page.inner_text("#notices") == ""
    assert explored.read()["plane"] == before["plane"]


def test_the_chain_is_planned_with_the_change(explored: Explored) -> None:
    explored.change("tpot_slo_s", "30 ms")
    explored.unfold("chain-open")
    line = explored.page.locator("#chain [data-measure=usd_per_mtok_output]")
    assert same(line.get_attribute("data-value") or "", value_at(cube(changed=True), "usd_per_mtok_output", HERE))
    assert "changed in the explorer" in explored.page.inner_text("#chain")
