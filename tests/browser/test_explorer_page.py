"""The explorer as a page: its state survives, the keyboard suffices, it is quiet, accessible and within its window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from chart_contrast import pale_texts
from explorer_view import Explored, same, value_at
from page_checks import assert_quiet, overflow_px, violations
from page_view import Scheme, View
from served_explorer import served

import gridplan
from gridplan.explore.explorer import explorer_of

OpenPage = Callable[..., View]
GRID = Path(__file__).parents[2] / "grids" / "quickstart.yaml"


def test_the_page_begins_with_a_plan(open_page: OpenPage, explorer_address: str) -> None:
    explored = Explored(open_page(explorer_address))
    found = explored.read()
    assert found["status"].startswith("feasible: ")
    assert float(found["tiles"]["usd_per_mtok_output"][0]) > 0
    assert explored.page.inner_text("#size").startswith("72,000 cells (8 gpu x 10 model")
    assert_quiet(explored.view)


def test_state_survives_a_reload_and_a_link(open_page: OpenPage, explorer_address: str) -> None:
    explored = Explored(open_page(explorer_address))
    explored.choose(1, 5)
    explored.choose(2, 1)
    explored.choose(5, 8)
    explored.draw(0, "3")
    explored.draw(2, "gpus_deployed")
    explored.page.locator("#pareto-controls select").nth(1).select_option("ttft_s")
    explored.page.locator("#compare-4").check()
    explored.page.locator('#plane td[data-x="1"][data-y="5"]').click()
    explored.change("tpot_slo_s", "40 ms")
    explored.draw(3, "percent")
    before = explored.read()
    link = explored.page.url
    explored.page.reload()
    assert explored.read() == before
    assert Explored(open_page(link)).read() == before
    # Another link in the same page, as when somebody pastes one over the address.
    explored.page.evaluate("location.hash = 'at.gpu=b200&x=gpu&y=model&measure=binding_constraint'")
    after = explored.read()
    assert "gpu=b200" in after["place"]
    assert len(after["plane"]) == 80
    assert after["caption"].startswith("binding_constraint")
    assert_quiet(explored.view)


WRONG_LINKS = (
    ("at.gpu=<img src=x onerror=alert(1)>", "gpu=<img src=x onerror=alert(1)>"),
    ("at.nothing=3", "nothing=3"),
    ("at.arrival_rate=11", "arrival_rate=11"),
    ("measure=../../etc/passwd", "the measure ../../etc/passwd"),
    ("px=status", "the measure status"),
    ("x=__proto__", "the axis __proto__"),
    ("compared=gpu,nothing", "the axis nothing"),
    ("if.constructor=1", "a change of constructor"),
    (f"if.tpot_slo_s={'9' * 100}", "a change of tpot_slo_s"),
    ("show=all", "show all"),
    ("sql=select 1", "sql"),
)


def test_a_link_says_what_it_leaves_out(open_page: OpenPage, explorer_address: str) -> None:
    explored = Explored(open_page(explorer_address))
    for link, said in WRONG_LINKS:
        explored.follow(link)
        assert explored.page.inner_text("#notices") == f"the link names {said}, which is not here: left out"
        assert len(explored.read()["plane"]) == 80
        assert explored.page.locator("#main img").count() == 0
    assert_quiet(explored.view)


def test_the_keyboard_suffices(open_page: OpenPage, explorer_address: str) -> None:
    """A walk by Tab, arrows, Enter and Space alone: an axis, a preset, the plane, a list, what if, a folded part."""
    explored = Explored(open_page(f"{explorer_address}/#at.gpu=h100-sxm&at.model=qwen3-14b&at.arrival_rate=10"))
    page = explored.page

    def go(selector: str, most: int = 60) -> None:
        for _ in range(most):
            page.keyboard.press("Tab")
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(f"Tab does not lead to {selector}")

    go(".skip")
    go("#axis-0")
    page.keyboard.press("ArrowDown")
    assert "gpu=h200-sxm" in explored.read()["place"]
    go("#levers button")
    page.keyboard.press("Space")
    assert explored.read()["place"].startswith("gpu=")
    before = explored.read()
    go("#axis-5")
    page.keyboard.press("ArrowRight")
    assert explored.read()["tiles"] != before["tiles"]
    go("#if-name")
    page.keyboard.type("tpot_slo_s")
    go("#if-field")
    page.keyboard.type("30 ms")
    page.keyboard.press("Enter")
    explored.settle()
    assert "tpot_slo_s = 30 ms" in page.inner_text("#if-list")
    go("#plane td")
    assert page.evaluate("document.activeElement.getAttribute('aria-selected')") == "true"
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    chosen = page.evaluate("document.activeElement.dataset")
    found = explored.read()
    assert found["tiles"]["usd_per_mtok_output"][0] == chosen["value"]
    assert "arrival_rate=0.1" in found["place"]
    go("#rows > summary")
    page.keyboard.press("Enter")
    page.wait_for_selector("#table button", state="attached")
    explored.settle()
    go("#table button")
    go("#chain-open > summary", 200)
    page.keyboard.press("Enter")
    page.wait_for_selector("#chain [data-measure]", state="attached")
    explored.settle()
    assert page.locator("#chain [data-measure]").count() > 80
    assert_quiet(explored.view)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_accessible_and_within_its_window(
    open_page: OpenPage, explorer_address: str, width: int, scheme: Scheme
) -> None:
    link = f"{explorer_address}/#at.gpu=h100-sxm&at.model=llama-3.3-70b&at.arrival_rate=10&measure=gpus_deployed"
    explored = Explored(open_page(f"{link}&if.tpot_slo_s=40+ms", width=width, scheme=scheme))
    assert overflow_px(explored.view) == 0
    explored.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    explored.settle()
    assert overflow_px(explored.view) == 0
    assert_quiet(explored.view)
    judged, pale = pale_texts(explored.view)
    assert judged > 20
    assert not pale, "\n".join(map(str, pale))
    # All rules but contrast are of the same document, whatever its width and colours.
    if (width == 1280) == (scheme == "light"):
        explored.draw(2, "binding_constraint")
        assert violations(explored.view) == []


def test_a_server_that_is_gone_is_said(open_page: OpenPage) -> None:
    with served(explorer_of(gridplan.load_grid(GRID))) as address:
        explored = Explored(open_page(address))
        before = explored.read()["tiles"]
    explored.choose(5, 9)
    assert "the server does not answer" in explored.page.inner_text("#notices")
    assert explored.read()["tiles"] == before


def test_many_moves_at_once_end_where_the_last_one_is(open_page: OpenPage, explorer_address: str) -> None:
    """Sliders that move faster than anybody answers, with a change of what is drawn among them."""
    explored = Explored(open_page(f"{explorer_address}/#at.gpu=b200&at.model=qwen3-14b&compared=gpu,kv_dtype"))
    explored.page.evaluate(
        """() => {
          const move = (id, place, kind) => {
            const one = document.getElementById(id);
            one.value = String(place);
            one.dispatchEvent(new Event(kind, { bubbles: true }));
          };
          for (let step = 0; step < 60; step++) {
            move("axis-5", step % 10, "input");
            move("axis-3", step % 3, "input");
            if (step % 7 === 0) move("axis-1", step % 10, "change");
          }
          const drawn = document.querySelectorAll("#plane-controls select")[2];
          drawn.value = "gpus_deployed";
          drawn.dispatchEvent(new Event("change", { bubbles: true }));
        }"""
    )
    found = explored.read()
    assert explored.page.locator("#stairs svg, #stairs canvas").count() == 1
    assert explored.page.locator("#pareto svg, #pareto canvas").count() == 1
    link = explored.page.url
    assert "at.arrival_rate=100&" in link
    assert Explored(open_page(link)).read() == found
    assert_quiet(explored.view)


def test_a_plane_larger_than_the_page_moves_with_the_chosen_cell(open_page: OpenPage) -> None:
    text = GRID.read_text(encoding="utf-8").replace("[0.1, 100, 10]", "[0.1, 100, 300]")
    grid = gridplan.loads_grid(text)
    cube = gridplan.evaluate(grid, ["usd_per_mtok_output"]).usd_per_mtok_output
    at = {"model": "llama-3.1-8b", "kv_dtype": "fp8", "context_tokens": 8192, "rho_target": 0.7}
    with served(explorer_of(grid)) as address:
        explored = Explored(
            open_page(f"{address}/#at.gpu=b200&at.model=llama-3.1-8b&at.kv_dtype=fp8&at.arrival_rate=100")
        )
        for _ in range(2):
            found = explored.read()
            shown = sorted({int(place.split(",")[0]) for place in found["plane"]})
            assert len(found["plane"]) == 800
            assert f"labels {shown[0] + 1} to {shown[-1] + 1} of the 300 of arrival_rate" in found["caption"]
            for place, (value, _) in found["plane"].items():
                across, down = map(int, place.split(","))
                assert same(
                    value,
                    value_at(cube.sel(at).to_dataset(), "usd_per_mtok_output", {"arrival_rate": across, "gpu": down}),
                )
            assert shown[-1] == 299 or shown[0] > 0
            explored.choose(5, 150)
        assert shown == list(range(100, 200))
        # Past the edge the plane moves on, and whoever walks stays on it.
        explored.page.locator('#plane td[data-x="199"][data-y="5"]').focus()
        explored.page.keyboard.press("ArrowRight")
        explored.settle()
        assert explored.page.evaluate("document.activeElement.dataset.x") == "199"
        assert explored.page.locator('#plane td[data-x="248"]').count() == 8
        assert_quiet(explored.view)
