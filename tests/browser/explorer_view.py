"""The page of an explorer as a person sees it: what it is asked, and the numbers that stand on it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import xarray as xr
from page_view import View

import gridplan

__all__ = ["GRID", "SETTLED", "Explored", "quickstart_cube", "same", "value_at"]

GRID = Path(__file__).parents[2] / "grids" / "quickstart.yaml"
"""The contract that most tests explore."""


@cache
def quickstart_cube() -> xr.Dataset:
    """Its cube, planned once for all of them."""
    return gridplan.evaluate(gridplan.load_grid(GRID))


SETTLED = "html[data-settled]:not([data-busy])"
"""What the page says of itself once every number stands."""

_HANDLED = """async () => {
    for (let turn = 0; turn < 2; turn++) await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
}"""
"""Comes back after events that were sent before, and those that they bring about: `toggle` is a task of its own."""

_READ = """() => {
  const values = (selector, key) => Object.fromEntries(
    [...document.querySelectorAll(selector)].map((one) => [key(one), [one.dataset.value, one.firstChild.textContent]]));
  return {
    plane: values("#plane td", (one) => `${one.dataset.x},${one.dataset.y}`),
    tiles: values("#tiles dd", (one) => one.dataset.measure),
    all: values("#measures td[data-measure]", (one) => one.dataset.measure),
    status: document.getElementById("cell-status").textContent,
    place: document.getElementById("cell-place").textContent,
    controls: [...document.querySelectorAll("form[id] input, form[id] select")]
      .map((one) => one.type === "checkbox" ? one.checked : one.value),
    front: document.getElementById("front").innerText,
    pareto: document.getElementById("pareto-caption").textContent,
    stairs: document.getElementById("stairs-caption").textContent,
    caption: document.getElementById("plane-caption").textContent,
    legend: document.getElementById("legend").innerText,
  };
}"""


class Explored:
    """An open page of an explorer."""

    def __init__(self, view: View) -> None:
        self.view, self.page = view, view.page
        self.settle()

    def settle(self) -> None:
        """Wait until every number stands."""
        self.page.evaluate(_HANDLED)
        self.page.wait_for_timeout(20)
        self.page.wait_for_selector(SETTLED, state="attached")

    def read(self) -> dict[str, Any]:
        """All that stands on the page."""
        self.settle()
        found: dict[str, Any] = self.page.evaluate(_READ)
        return found

    def follow(self, link: str) -> None:
        """Go to another state of the same page, as when somebody pastes a link over its address."""
        self.page.evaluate("link => { location.hash = link; }", link)
        self.settle()

    def choose(self, at: int, place: int) -> None:
        """Move the control of an axis to a position."""
        control = self.page.locator(f"#axis-{at}")
        if control.evaluate("one => one.tagName") == "SELECT":
            control.select_option(str(place))
        else:
            control.fill(str(place))
        self.settle()

    def draw(self, number: int, value: str) -> None:
        """Choose in the list `number` beside the plane: across, down, measure, shown."""
        self.page.locator("#plane-controls select").nth(number).select_option(value)
        self.settle()

    def unfold(self, *names: str) -> None:
        """Open parts that are folded."""
        for name in names:
            self.page.locator(f"#{name} > summary").click()
        self.settle()

    def change(self, name: str, value: str) -> None:
        """Plan with a value of an input in place of the contract's."""
        self.page.select_option("#if-name", name)
        field = self.page.locator("#if-field")
        if field.evaluate("one => one.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
        self.page.click("#if-set")
        self.settle()


def value_at(cube: xr.Dataset, name: str, at: Mapping[str, int]) -> float | str | None:
    """A value of the cube at positions along its axes."""
    item = cube[name]
    value = item.isel({dim: at[str(dim)] for dim in item.dims}).values.item()
    return None if value is None or (isinstance(value, float) and math.isnan(value)) else value


def same(shown: str, value: float | str | None) -> bool:
    """Whether the exact text of a cell is that value; what is searched for may differ in the last bit by the part."""
    if value is None:
        return shown == ""
    return (
        shown == value if isinstance(value, str) else shown != "" and math.isclose(float(shown), value, rel_tol=1e-12)
    )
