"""The explorer: presets, the front and what if say what the functions of the library say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest
import xarray as xr
from explorer_view import GRID, Explored, quickstart_cube, same, value_at
from page_checks import assert_quiet
from page_view import View
from served_explorer import served

import gridplan
from gridplan.explore.explorer import explorer_of

OpenPage = Callable[..., View]
AXES = ("gpu", "model", "kv_dtype", "context_tokens", "rho_target", "arrival_rate")
AT = {"model": "llama-3.1-8b", "context_tokens": 8192.0, "rho_target": 0.7}
LINK = "#at.gpu=h100-sxm&at.model=llama-3.1-8b&at.kv_dtype=fp8&at.arrival_rate=10&compared=gpu,kv_dtype"
HERE = dict(zip(AXES, (3, 1, 1, 2, 2, 6), strict=True))


@cache
def cube(changed: bool = False) -> xr.Dataset:
    """The cube of the contract, or of the one that was changed by hand."""
    if not changed:
        return quickstart_cube()
    text = GRID.read_text(encoding="utf-8")
    assert text.count("limit: 50 ms") == 1
    return gridplan.evaluate(gridplan.loads_grid(text.replace("limit: 50 ms", "limit: 30 ms")))


@pytest.fixture
def explored(open_page: OpenPage, explorer_address: str) -> Iterator[Explored]:
    page = Explored(open_page(f"{explorer_address}/{LINK}"))
    yield page
    assert_quiet(page.view)


def test_the_front_is_that_of_pareto(explored: Explored) -> None:
    explored.unfold("front-rows")
    for objectives in (("usd_per_mtok_output", "tpot_s"), ("gpus", "concurrency"), ("nodes", "ttft_s")):
        explored.follow(f"{LINK}&again={objectives[0]}")
        for number, name in enumerate(objectives):
            explored.page.locator("#pareto-controls select").nth(number).select_option(name)
        explored.settle()
        check_front(explored, objectives)


def check_front(explored: Explored, objectives: tuple[str, str]) -> None:
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


def test_a_preset_of_levers_is_the_cheapest(explored: Explored) -> None:
    for preset, measure in enumerate(("usd_per_mtok_output", "usd_per_month", "gpus_deployed", "tpot_s")):
        explored.follow(f"{LINK}&again={preset}")
        explored.page.locator("#levers button").nth(preset).click()
        found = gridplan.cheapest(cube(), measure, levers=("gpu", "kv_dtype"), at={**AT, "arrival_rate": 10.0})
        labels = {name: found[name].values.item() for name in ("gpu", "kv_dtype")}
        shown = explored.read()
        places = {name: cube()[name].values.tolist().index(label) for name, label in labels.items()}
        assert explored.page.locator("#axis-0").input_value() == str(places["gpu"])
        assert f"kv_dtype={labels['kv_dtype']}" in shown["place"]
        assert same(shown["tiles"][measure][0], value_at(cube(), measure, HERE | places))
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
        delta = tile.locator(".delta[data-before]")
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


def test_a_change_that_no_contract_may_state_is_said_and_changes_nothing(explored: Explored) -> None:
    explored.change("tpot_slo_s", "40 ms")
    before = explored.read()
    link = explored.page.url
    for value in ("5 GiB", "-1", "1_0", "nan", "1e999"):
        explored.change("tpot_slo_s", value)
        assert "tpot" in explored.page.inner_text("#if-problem")
        assert explored.read() == before
        assert explored.page.url == link
        assert explored.page.inner_text("#if-list").startswith("All numbers are planned with\ntpot_slo_s = 40 ms")
    explored.choose(5, 3)
    assert explored.read()["tiles"] != before["tiles"]
    explored.change("tpot_slo_s", "50 ms")
    assert explored.page.inner_text("#if-problem") == ""
    answered_400(explored)


def test_changes_of_a_link_that_are_refused_are_left_out(explored: Explored) -> None:
    before = explored.read()
    explored.page.evaluate("location.hash += '&if.tpot_slo_s=5+GiB'")
    assert explored.read() == before
    assert explored.page.inner_text("#notices").startswith("the changes of the link are left out: ")
    assert "if." not in explored.page.url
    answered_400(explored)


def answered_400(explored: Explored) -> None:
    """Chromium logs an answer of 400 as an error of the network; nothing else was logged."""
    lines = explored.view.console_errors
    assert lines
    assert all("400" in line for line in lines)
    lines.clear()


def test_a_plan_that_may_not_be_chosen_is_marked(explored: Explored) -> None:
    """Two nodes are given where three are due: there is a plan, and the fleet does not hold it."""
    explored.change("nodes_given", "2")
    status = explored.page.locator("#cell-status")
    assert "may not be chosen: fleet_sufficient false" in status.inner_text()
    assert "unfit" in (status.get_attribute("class") or "")
    item = explored.page.locator("#legend li[data-unfit='fleet_sufficient false']")
    marked = explored.page.locator("#plane td.unfit").count()
    assert marked == int(item.get_attribute("data-count") or 0) > 5
    assert "may not be chosen" in (explored.page.locator("#plane td.unfit").first.get_attribute("title") or "")


def test_what_was_said_of_a_choice_goes_with_it(explored: Explored) -> None:
    explored.page.locator("#levers button").first.click()
    explored.settle()
    assert "kv_dtype chosen freely" in explored.page.inner_text("#preset-said")
    explored.choose(5, 2)
    assert explored.page.inner_text("#preset-said") == ""


def test_a_plan_has_to_survive(open_page: OpenPage) -> None:
    """The cheapest of those that hold their limits without a node, as `gridplan choose --survives node`."""
    grid = gridplan.load_grid(GRID.with_name("buy.yaml"))
    at = {"model": "llama-3.3-70b", "arrival_rate": 12.0}
    levers = ("instance", "purchase", "failure_policy")
    with served(explorer_of(grid)) as address:
        link = "#at.model=llama-3.3-70b&at.arrival_rate=12&compared=instance,purchase,failure_policy"
        page = Explored(open_page(f"{address}/{link}"))
        for survives, name in (("", None), ("survives_node_loss_slo", "node")):
            page.page.locator(".must select").select_option(survives)
            page.page.locator("#levers button", has_text="per month").click()
            found = gridplan.cheapest(grid, "usd_per_month", levers=levers, at=at, survives=name)
            shown = page.read()
            assert float(shown["tiles"]["usd_per_month"][0]) == float(found.usd_per_month.squeeze())
            for lever in levers:
                assert f"{lever}={found[lever].values.item()}" in shown["place"]
            said = page.page.inner_text("#preset-said")
            assert f"left out: {found.left_out_because.values.item()}".split(", ")[0] in said
        page.page.reload()
        assert page.page.locator(".must select").input_value() == "survives_node_loss_slo"
        assert_quiet(page.view)


def test_the_chain_is_planned_with_the_change(explored: Explored) -> None:
    explored.change("tpot_slo_s", "30 ms")
    explored.unfold("chain-open")
    line = explored.page.locator("#chain [data-measure=usd_per_mtok_output]")
    assert same(line.get_attribute("data-value") or "", value_at(cube(changed=True), "usd_per_mtok_output", HERE))
    assert "changed in the explorer" in explored.page.inner_text("#chain")
