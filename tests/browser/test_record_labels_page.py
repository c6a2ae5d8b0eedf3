"""A record whose names try to become markup, opened: nothing runs, nothing is asked for, everything is within reach."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from chart_contrast import pale_texts
from hostile_labels import HOSTILE, hostile_contract
from page_checks import assert_quiet, overflow_px, violations
from page_view import Scheme, View

import gridplan
from gridplan.report.charts import heatmap
from gridplan.report.record import html_page, record_of

OpenPage = Callable[..., View]


@cache
def record_page() -> str:
    return html_page(record_of(gridplan.loads_grid(hostile_contract()), at={"arrival_rate": 20.0}))


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_names_stay_text(open_page: OpenPage, width: int, scheme: Scheme) -> None:
    view = open_page("<!doctype html><title>empty</title>", width=width, scheme=scheme)
    dialogs: list[str] = []
    said: list[str] = []
    view.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    view.page.on("console", lambda message: said.append(message.text))
    Path(view.page.url.removeprefix("file://")).write_text(record_page(), encoding="utf-8")
    view.page.reload()
    assert_quiet(view)
    view.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    view.page.mouse.move(200, 300)
    for summary in view.page.locator("summary").all():
        summary.hover()
    assert_quiet(view)
    assert (dialogs, said) == ([], [])
    assert overflow_px(view) == 0
    text = view.page.evaluate("document.querySelector('main').textContent")
    for name in HOSTILE:
        assert name in text, name
    assert view.page.evaluate("document.querySelectorAll('script, img, iframe, object').length") == 0
    judged, pale = pale_texts(view)
    assert judged > 20
    assert not pale, "\n".join(map(str, pale))
    # What names could break is the document, the same in both; colours are those of every record.
    if scheme == "light":
        assert violations(view) == []
    assert view.page.title().startswith(HOSTILE[1])


def test_a_picture_with_such_names_is_quiet(open_page: OpenPage, tmp_path: Path) -> None:
    grid = gridplan.loads_grid(hostile_contract())
    chart = heatmap(grid, "instance", "scenario", "replicas", {"arrival_rate": 20.0})
    view = open_page(chart.save(tmp_path / "map.svg"))
    assert_quiet(view)
    assert view.page.evaluate("document.documentElement.getAttribute('aria-label')") == chart.alt
