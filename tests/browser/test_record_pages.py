"""Records in the browser: quiet, accessible, legible on paper, screen and phone, and saying what the cube says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from itertools import product
from pathlib import Path

import pytest
import xarray as xr
from chart_contrast import pale_texts
from page_checks import assert_quiet, overflow_px, pdf, violations
from page_view import Media, Scheme, View, viewed
from playwright.sync_api import Browser
from record_pages import NAMES, grid_of, made

import gridplan
from gridplan.dictionary import all_measures, dictionary
from gridplan.quantities import format_quantity

OpenPage = Callable[..., View]

WIDTHS = (1280, 390)
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
HEIGHT = 900
A4_INSIDE = 695
"""Pixels between the margins of the printed page: 210 mm less 13 mm on either side, at 96 pixels an inch."""
LESSON_PAGES = 16
"""Pages of paper below which the record of the lesson stays (policy)."""


@pytest.fixture
def open_record(open_page: OpenPage) -> OpenPage:
    """`open_record("lesson", width=390)`: the page of a record."""

    def opened(name: str, **options: object) -> View:
        return open_page(made(name).html, **options)

    return opened


def seen_as(view: View, width: int, scheme: Scheme, media: Media | None = None) -> View:
    """The same page in another window: a record has no script, so nothing of it depends on how it was loaded."""
    view.page.set_viewport_size({"width": width, "height": HEIGHT})
    view.page.emulate_media(media=media or "null", color_scheme=scheme)
    return view


@pytest.fixture(scope="module")
def still(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenPage]:
    """`still("lesson", width=390)`: the page of a record, loaded once for all tests that change nothing in it."""
    with ExitStack() as views:

        @cache
        def loaded(name: str) -> View:
            file = tmp_path_factory.mktemp("records") / f"{name}.html"
            file.write_text(made(name).html, encoding="utf-8")
            return views.enter_context(viewed(browser, file, width=1280, height=HEIGHT, scheme="light", media=None))

        def seen(name: str, width: int = 1280, scheme: Scheme = "light", media: Media | None = None) -> View:
            return seen_as(loaded(name), width, scheme, media)

        yield seen


@pytest.mark.parametrize("name", NAMES)
def test_the_page_is_quiet_accessible_and_within_its_window(open_record: OpenPage, name: str) -> None:
    view = open_record(name)
    assert_quiet(view)
    for window in product(WIDTHS, SCHEMES):
        seen_as(view, *window)
        assert overflow_px(view) == 0, window
        judged, pale = pale_texts(view)
        assert judged > 10 or not made(name).record.figures, window
        assert not pale, (window, "\n".join(map(str, pale)))
    view.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    for width, scheme in product(WIDTHS, SCHEMES):
        seen_as(view, width, scheme)
        assert overflow_px(view) == 0, (width, scheme)
        assert_quiet(view)  # axe may log
        # Every rule but contrast is of the same document, and each page has the same parts.
        if (width == max(WIDTHS)) == (scheme == "light") and name != "break-even":
            assert violations(view) == [], (width, scheme)
            view.console_errors.clear()


STRUCTURE = """
() => {
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  const lost = [];
  for (const svg of document.querySelectorAll("svg"))
    for (const one of svg.querySelectorAll("*"))
      for (const {name, value} of one.attributes)
        for (const [, id] of value.matchAll(/url\\(#([^)]*)\\)/g))
          if (!svg.querySelector("#" + CSS.escape(id))) lost.push(`${name}=${value}`);
  return {
    twice: ids.filter((id, at) => ids.indexOf(id) !== at),
    lost,
    referred: document.querySelectorAll("svg [fill^='url('], svg [clip-path^='url(']").length,
    nav: [...document.querySelectorAll("nav a")].map((one) => one.getAttribute("href")),
    headings: [...document.querySelectorAll("h2")].map((one) => "#" + one.id),
    named: [...document.querySelectorAll("[aria-labelledby]")].filter(
      (one) => one.getAttribute("aria-labelledby").split(" ").some((id) => !document.getElementById(id))).length,
  };
}
"""


@pytest.mark.parametrize("name", NAMES)
def test_every_heading_is_in_the_navigation_and_every_reference_resolves(still: OpenPage, name: str) -> None:
    found = still(name).page.evaluate(STRUCTURE)
    assert found["twice"] == []
    assert found["lost"] == []
    assert found["referred"] > 0
    assert found["named"] == 0
    assert len(found["headings"]) >= 3
    assert sorted(found["nav"]) == sorted(found["headings"])


@pytest.mark.parametrize("name", NAMES)
def test_one_picture_of_each_figure_is_shown(still: OpenPage, name: str) -> None:
    for width, media in product([*WIDTHS, 560, 561, A4_INSIDE], [None, "print"]):
        shown = still(name, width=width, media=media).page.evaluate(
            """() => [...document.querySelectorAll("figure")].map((one) => [...one.querySelectorAll(".picture svg")]
                .filter((svg) => svg.getBoundingClientRect().height > 40).length)"""
        )
        assert shown == [1] * len(made(name).record.figures), (width, media)


def _as_shown(figure: str, value: float) -> str:
    unit = dictionary()[figure].unit
    text = format_quantity(value, unit)
    return text.removesuffix(f" {unit}") if unit.startswith(("USD", "req/s", "tokens")) else text


def _cell(view: View, caption: str, row: str, head: str) -> tuple[str, float]:
    """The visible text and the number of one cell of a table of the page."""
    text, value = view.page.evaluate(
        """([caption, row, head]) => {
            const table = [...document.querySelectorAll("table")].find(
                (one) => one.caption && one.caption.innerText.startsWith(caption));
            const heads = [...table.tHead.rows[0].cells].map((one) => one.innerText);
            const line = [...table.tBodies[0].rows].find((one) => one.cells[0].innerText.startsWith(row));
            const cell = line.cells[heads.indexOf(head)];
            return [cell.innerText, cell.dataset.value];
        }""",
        [caption, row, head],
    )
    return text.strip(), float(value)


def test_figures_of_the_lesson_are_those_of_the_cube(still: OpenPage) -> None:
    view = still("lesson")
    cell = gridplan.evaluate(grid_of("lesson"), all_measures()).sel(instance="aws-p4de", scenario="nominal")
    places = {
        "nodes": ("Fleet", "nodes", "value"),
        "gpus_deployed": ("Fleet", "GPUs in the nodes", "value"),
        "replicas": ("Fleet", "replicas with spares", "value"),
        "usd_per_month": ("Cost by way of buying", "aws-p4de", "bill [USD/month]"),
        "usd_per_mtok_output": ("Cost by way of buying", "aws-p4de", "per 1M output [USD/Mtok]"),
    }
    for figure, place in places.items():
        text, value = _cell(view, *place)
        assert value == cell[figure].item(), figure
        assert text == _as_shown(figure, value), figure


def test_figures_of_scenarios_are_those_of_the_stress_table(still: OpenPage) -> None:
    view = still("lesson", width=390, scheme="dark")
    found = gridplan.stress(grid_of("lesson"), at={"instance": "aws-p4de"})
    anew, bought = "Each scenario planned anew", "The fleet of the nominal plan, as bought, in each scenario"
    for scenario, caption, head, name in (
        ("surge", anew, "nodes", "nodes"),
        ("context_and_surge", anew, "USD/month", "usd_per_month"),
        ("gpu_loss", bought, "safe req/s", "bought_arrival_rate_safe"),
        ("node_loss", bought, "replicas left", "bought_replicas_left"),
    ):
        text, value = _cell(view, caption, scenario, head)
        assert value == found[name].sel(scenario=scenario).item(), (scenario, head)
        assert float(text.split()[0].replace(",", "")) == pytest.approx(value, abs=0.005), (scenario, head)


def test_the_plan_against_an_api_and_the_infeasible_one_show_the_figures_of_the_cube(still: OpenPage) -> None:
    record = made("break-even").record
    cube = gridplan.evaluate(grid_of("break-even"), all_measures())
    best = cube.sel(arrival_rate=20.0, method="nearest")
    if "scenario" in best.dims:
        best = best.sel(scenario="nominal")
    assert best.usd_per_mtok_output.min().item() == pytest.approx(
        float(re.search(r"([\d.,]+) USD for 1M output", record.decision)[1]),
        abs=0.005,  # type: ignore[index]
    )
    said = still("break-even").page.inner_text(".decision")
    assert format_quantity(best.usd_per_month.where(best.usd_per_mtok_output == best.usd_per_mtok_output.min())
                           .min().item(), "USD/month") in said  # fmt: skip
    opening = gridplan.evaluate(grid_of("opening"), all_measures()).sel(rho_target=0.7, method="nearest")
    other = opening.sel(scenario="given_1000_tok_s")
    finding = still("opening").page.inner_text(".findings")
    assert (
        f"{other.replicas_active.item():.0f} active replicas, {other.replicas.item():.0f} with spares on "
        f"{other.nodes.item():.0f} nodes, {format_quantity(other.usd_per_month.item(), 'USD/month')}" in finding
    )


def test_counts_of_the_overview_are_those_of_the_cube(still: OpenPage, cube: Callable[[str], xr.Dataset]) -> None:
    whole = cube("quickstart")
    everywhere = whole.usd_per_mtok_output
    for row, name, label in (
        ("feasible", "status", "ok"),
        ("binds: decode TPOT", "binding_constraint", "tpot"),
    ):
        text, value = _cell(still("overview"), "Cells of the cube", row, "count")
        assert value == int((whole[name] == label).broadcast_like(everywhere).sum())
        assert text == f"{value:,.0f}"


FOCUSED = "() => document.activeElement.outerHTML.slice(0, 200)"


def test_the_keyboard_reaches_everything(open_record: OpenPage) -> None:
    page = open_record("lesson", width=390).page
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0  # type: ignore[index]
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "main"
    first = page.locator("summary").first
    for key in ("Enter", "Space"):
        before = first.evaluate("one => one.parentElement.open")
        first.focus()
        page.keyboard.press(key)
        assert first.evaluate("one => one.parentElement.open") is not before
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    wide = page.evaluate(
        """() => [...document.querySelectorAll("*")].filter((one) => one.scrollWidth > one.clientWidth + 1
            && ["auto", "scroll"].includes(getComputedStyle(one).overflowX)).map((one) => one.tabIndex)"""
    )
    assert len(wide) > 3
    assert set(wide) == {0}
    page.locator(".scroll").first.focus()
    assert "scroll" in page.evaluate(FOCUSED)


def test_numbers_of_each_figure_are_downloaded_by_keyboard(open_record: OpenPage, tmp_path: Path) -> None:
    view = open_record("lesson")
    for figure in made("lesson").record.figures:
        place = view.page.locator(f"#figure-{figure.name}")
        place.locator("summary").focus()
        view.page.keyboard.press("Enter")
        view.page.keyboard.press("Tab")
        assert view.page.evaluate("() => document.activeElement.localName") == "a"
        with view.page.expect_download() as download:
            view.page.keyboard.press("Enter")
        assert download.value.suggested_filename == f"{figure.name}.csv"
        file = tmp_path / "numbers.csv"
        download.value.save_as(file)
        assert file.read_bytes() == figure.chart.csv().encode()
    assert_quiet(view)


CUT = """
() => {
  const right = document.documentElement.clientWidth;
  return [...document.querySelectorAll("body *")].filter((one) => !one.closest("svg") || one.localName === "svg")
    .filter((one) => one.getClientRects().length && one.getBoundingClientRect().right > right + 0.5)
    .map((one) => `${one.localName} ${one.className} ${one.textContent.slice(0, 60)}`);
}
"""


@pytest.mark.parametrize("name", NAMES)
def test_print_is_whole_and_light(still: OpenPage, name: str) -> None:
    view = still(name, width=A4_INSIDE, scheme="dark", media="print")
    assert overflow_px(view) == 0
    assert view.page.evaluate(CUT) == []
    colours = "() => [document.body, document.querySelector('svg text')].map((one) => getComputedStyle(one))"
    ground, ink = view.page.evaluate(f"() => {{ const [a, b] = ({colours})(); return [a.backgroundColor, b.fill]; }}")
    assert ground == "rgb(255, 255, 255)"
    assert ink in ("rgb(31, 35, 40)", "rgb(87, 96, 106)")
    judged, pale = pale_texts(view)
    assert judged > 10
    assert not pale, "\n".join(map(str, pale))


def test_the_lesson_is_short_on_paper(still: OpenPage) -> None:
    printed = pdf(still("lesson"))
    pages = len(re.findall(rb"/Type\s*/Page\b", printed))
    assert 4 <= pages < LESSON_PAGES


@pytest.mark.parametrize("name", ["lesson", "overview"])
def test_the_page_is_the_same_wherever_it_lies(still: OpenPage, open_page: OpenPage, tmp_path: Path, name: str) -> None:
    file = tmp_path / "folder with spaces & signs #1" / "record.html"
    file.parent.mkdir()
    file.write_text(made(name).html, encoding="utf-8")
    seen = []
    for view in (still(name), open_page(file)):
        seen.append((view.page.inner_text("body"), view.page.screenshot()))
        assert_quiet(view)
    assert seen[0] == seen[1]


def test_the_page_needs_no_script(browser: Browser, still: OpenPage, tmp_path: Path) -> None:
    file = tmp_path / "record.html"
    file.write_text(made("lesson").html, encoding="utf-8")
    with_scripts = still("lesson").page.inner_text("body")
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 900})
    try:
        page = context.new_page()
        page.goto(file.as_uri())
        assert page.inner_text("body") == with_scripts
        table = page.locator("details table").first
        assert not table.is_visible()
        page.locator("summary").first.click()
        assert table.is_visible()
        assert page.locator(".picture.wide svg").first.is_visible()
    finally:
        context.close()
