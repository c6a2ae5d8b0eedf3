"""Each check tells a bad page from a good one, in the window, the colours and the medium that were asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from page_checks import overflow_px, pdf, screenshot, violations
from page_view import View
from small_page import small_page

OpenPage = Callable[..., View]

COLOURS = """<style>
body { background: rgb(255, 255, 255); color: rgb(0, 0, 0) }
@media (prefers-color-scheme: dark) { body { background: rgb(0, 0, 0); color: rgb(255, 255, 255) } }
@media print { h1 { display: none } }
</style>"""


def test_axe_finds_nothing_wrong_with_a_good_page(open_page: OpenPage) -> None:
    assert violations(open_page(small_page("<img alt='plot' src='data:,'>"))) == []


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("<img src='data:,'>", 'image-alt (critical) at img: <img src="data:,">'),
        (
            "<b style='color: #bbb'>pale</b>",
            'color-contrast (serious) at b: <b style="color: #bbb">pale</b>',
        ),
    ],
)
def test_axe_finds_what_is_wrong(open_page: OpenPage, body: str, line: str) -> None:
    assert violations(open_page(small_page(body))) == [line]


def test_axe_judges_the_colours_of_the_scheme(open_page: OpenPage) -> None:
    page = small_page("<b style='color: #444'>grey</b>", COLOURS)
    assert violations(open_page(page)) == []
    assert len(violations(open_page(page, scheme="dark"))) == 1


@pytest.mark.parametrize("media", [None, "screen", "print"])
@pytest.mark.parametrize(("scheme", "background"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(0, 0, 0)")])
def test_scheme_and_media_are_applied(open_page: OpenPage, scheme: str, background: str, media: str | None) -> None:
    view = open_page(small_page(head=COLOURS), scheme=scheme, media=media)
    assert view.page.evaluate("getComputedStyle(document.body).backgroundColor") == background
    assert view.page.is_visible("h1") is (media != "print")


def test_overflow_is_what_does_not_fit_the_window(open_page: OpenPage) -> None:
    page = small_page("<div style='width: 600px'>wide</div>", "<style>body { margin: 0 }</style>")
    assert overflow_px(open_page(page, width=600)) == 0
    assert overflow_px(open_page(page, width=360, height=640)) == 240


def test_a_pdf_has_the_size_of_a4(open_page: OpenPage) -> None:
    printed = pdf(open_page(small_page()))
    assert printed.startswith(b"%PDF-")
    box = re.search(rb"/MediaBox ?\[0 0 ([0-9.]+) ([0-9.]+)\]", printed)
    assert box is not None
    # 210 mm by 297 mm in points of 1/72 inch; Chromium rounds up to whole pixels.
    assert [float(side) for side in box.groups()] == pytest.approx([595.28, 841.89], abs=1.0)


def test_a_screenshot_shows_what_is_below_the_window(open_page: OpenPage, tmp_path: Path) -> None:
    tall = small_page("<div style='height: 1000px'></div>", "<style>body, h1, p { margin: 0 }</style>")
    png = screenshot(open_page(tall, width=400, height=300), tmp_path / "tall.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20]) == 400
    assert int.from_bytes(png[20:24]) > 1000
