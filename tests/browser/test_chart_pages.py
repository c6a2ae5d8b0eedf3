"""Each kind of chart in the browser: as a file of its own, and beside another one in a page."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from chart_contrast import pale_texts
from page_checks import assert_quiet, violations
from page_view import View
from record_pages import made
from small_page import small_page

from gridplan.report.charts.chart import Chart

OpenPage = Callable[..., View]

KINDS = ("heatmap", "stairs", "pareto", "tornado", "sweep", "memory", "break_even", "measured")


@cache
def charts() -> dict[str, Chart]:
    """A chart of each kind, of the records of the lesson and of the price of an API."""
    found = {}
    for name in ("lesson", "break-even"):
        found |= {figure.chart.kind: figure.chart for figure in made(name).record.figures}
    return found


@cache
def svg(kind: str, width: int, name: str) -> str:
    """A picture as it stands in a page, drawn once."""
    return charts()[kind].svg(width, name=name)


def test_every_kind_is_drawn_here() -> None:
    assert sorted(charts()) == sorted(KINDS)


STANDALONE = """
() => {
  const root = document.documentElement;
  const all = [root, ...root.querySelectorAll("*")];
  return {
    root: root.localName, role: root.getAttribute("role"), label: root.getAttribute("aria-label"),
    size: [root.getAttribute("width"), root.getAttribute("height")].map(Number),
    banned: all.filter((one) => ["script", "foreignObject", "image", "use", "a", "animate", "set", "style"].includes(
      one.localName)).map((one) => one.localName),
    active: all.flatMap((one) => [...one.attributes]).filter((one) => /^on|href/.test(one.name)
      || /url\\((?!#)/.test(one.value)).map((one) => one.name + "=" + one.value),
    roles: all.slice(1).filter((one) => one.hasAttribute("role")).length,
    outside: all.filter((one) => one.localName === "text" && one.textContent.trim()).map((one) => {
      const box = one.getBoundingClientRect(), frame = root.getBoundingClientRect();
      return [one.textContent, box.left - frame.left, frame.right - box.right, box.top - frame.top,
              frame.bottom - box.bottom];
    }).filter(([, ...room]) => Math.min(...room) < -1),
  };
}
"""


@pytest.mark.parametrize("width", [760, 340])
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_its_own_is_quiet_named_and_whole(open_page: OpenPage, tmp_path: Path, kind: str, width: int) -> None:
    file = charts()[kind].save(tmp_path / f"{kind}.svg", width)
    view = open_page(file, width=width + 40, height=1600)
    assert_quiet(view)
    found = view.page.evaluate(STANDALONE)
    assert (found["root"], found["role"]) == ("svg", "img")
    assert found["label"] == charts()[kind].alt
    assert found["banned"] == []
    assert found["active"] == []
    assert found["roles"] == 0
    assert found["outside"] == []
    assert abs(found["size"][0] - width) <= 8


CLASHES = """
() => {
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  const foreign = [];
  for (const svg of document.querySelectorAll("svg"))
    for (const one of svg.querySelectorAll("*"))
      for (const {value} of one.attributes)
        for (const [, id] of value.matchAll(/url\\(#([^)]*)\\)/g))
          if (!svg.querySelector("#" + CSS.escape(id))) foreign.push(id);
  return [ids.filter((id, at) => ids.indexOf(id) !== at), foreign, ids.length];
}
"""


@pytest.mark.parametrize("kind", KINDS)
def test_two_pictures_share_a_page(open_page: OpenPage, kind: str) -> None:
    other = KINDS[(KINDS.index(kind) + 1) % len(KINDS)]
    drawn = [svg(kind, 760, "first"), svg(other, 340, "second"), svg(kind, 340, "third")]
    view = open_page(small_page("".join(f"<div class='picture'>{text}</div>" for text in drawn)))
    assert_quiet(view)
    twice, foreign, count = view.page.evaluate(CLASHES)
    assert (twice, foreign) == ([], [])
    assert count == sum(len(re.findall(r" id=", text)) for text in drawn)
    assert violations(view) == []
    judged, pale = pale_texts(view)
    assert judged > 20
    assert not pale, "\n".join(map(str, pale))
    # The dark twins of the colours are a rule of the page, not of the picture: without it nothing changes.
    light = view.page.screenshot(full_page=True)
    view.page.emulate_media(color_scheme="dark")
    assert view.page.screenshot(full_page=True) == light
    assert_quiet(view)


def test_unnamed_pictures_would_clash(open_page: OpenPage) -> None:
    """What the names are for: the same picture twice without them has the same ids twice."""
    bare = re.sub(r'role="img" aria-label="[^"]*"', "", charts()["sweep"].svg(340))
    twice, _, _ = open_page(small_page(f"{bare}{bare}")).page.evaluate(CLASHES)
    assert twice
