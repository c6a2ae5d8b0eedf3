"""The explorer: every control moves the numbers, and each of them is that of the cube."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from explorer_view import GRID, Explored, same, value_at
from explorer_view import quickstart_cube as cube
from page_checks import assert_quiet
from page_view import View

import gridplan
from gridplan.dictionary import dictionary
from gridplan.quantities import format_quantity

OpenPage = Callable[..., View]
AXES = ("gpu", "model", "kv_dtype", "context_tokens", "rho_target", "arrival_rate")
LINK = "#at.gpu=h100-sxm&at.model=llama-3.1-8b&at.kv_dtype=fp8&x=arrival_rate&y=gpu&compared=gpu,kv_dtype"


@pytest.fixture
def explored(open_page: OpenPage, explorer_address: str) -> Iterator[Explored]:
    page = Explored(open_page(f"{explorer_address}/{LINK}"))
    page.page.set_default_timeout(20_000)
    yield page
    assert_quiet(page.view)


START = dict(zip(AXES, (3, 1, 1, 2, 2, 4), strict=True))
"""Positions that the link stands for: those it does not name are in the middle."""


LADDERS = ("s", "bytes", "bytes/s", "FLOP", "FLOP/s")
"""Units that are scaled to the size of a number, so that each has its own."""


def wrong(found: dict, at: dict[str, int], x: str, y: str, measure: str) -> list[str]:
    """Numbers of the page that are not those of the cube."""
    problems = []
    for place, (shown, _) in found["plane"].items():
        across, down = map(int, place.split(","))
        value = value_at(cube(), measure, at | {x: across, y: down})
        if not same(shown, value):
            problems.append(f"{measure} at {place}: {shown!r} is not {value!r}")
    for name, (shown, text) in (found["tiles"] | found["all"]).items():
        value = value_at(cube(), name, at)
        if not same(shown, value):
            problems.append(f"{name}: {shown!r} is not {value!r}")
        if text != format_quantity(value, dictionary()[name].unit):
            problems.append(f"{name}: {text!r} is not {format_quantity(value, dictionary()[name].unit)!r}")
    return problems


def test_every_axis_has_a_control_that_moves_the_numbers(explored: Explored) -> None:
    explored.unfold("all")
    before = explored.read()
    assert wrong(before, dict(START), "arrival_rate", "gpu", "usd_per_mtok_output") == []
    for axis, name in enumerate(AXES):
        explored.follow(f"{LINK}&again={axis}")
        at = START | {name: START[name] + (-1 if name == "kv_dtype" else 1)}
        explored.choose(axis, at[name])
        after = explored.read()
        assert wrong(after, at, "arrival_rate", "gpu", "usd_per_mtok_output") == []
        assert after["all"] != before["all"]
        assert after["place"] != before["place"]
        assert len(after["plane"]) == 80
        if name not in ("arrival_rate", "gpu"):
            assert after["plane"] != before["plane"]


def test_any_two_axes_are_drawn(explored: Explored) -> None:
    for x, y in (("model", "gpu"), ("context_tokens", "rho_target"), ("gpu", "arrival_rate")):
        explored.draw(0, str(AXES.index(x)))
        explored.draw(1, str(AXES.index(y)))
        found = explored.read()
        assert len(found["plane"]) == cube().sizes[x] * cube().sizes[y]
        assert wrong(found, dict(START), x, y, "usd_per_mtok_output") == []
        heads = explored.page.locator("#plane thead th").all_inner_texts()[1:]
        assert len(heads) == cube().sizes[x]


def test_an_axis_that_is_drawn_changes_places(explored: Explored) -> None:
    explored.draw(0, str(AXES.index("gpu")))
    found = explored.read()
    assert wrong(found, dict(START), "gpu", "arrival_rate", "usd_per_mtok_output") == []


def test_any_column_is_drawn_and_reads_as_everywhere(explored: Explored) -> None:
    options = explored.page.locator("#plane-controls select").nth(2).locator("option")
    names = [option.get_attribute("value") or "" for option in options.all()]
    given = [str(name) for name in cube().variables if name not in cube().dims]
    assert sorted(names) == sorted(given)
    # All columns of the chosen cell are looked at wherever it moves; on the plane those of each unit and type.
    kinds = {(dictionary()[name].unit, dictionary()[name].dtype): name for name in names}
    assert len(kinds) > 15
    for name in [*kinds.values(), "binding_constraint", "infeasible_reason"]:
        explored.draw(2, name)
        found = explored.read()
        assert wrong(found, dict(START), "arrival_rate", "gpu", name) == []
        unit = dictionary()[name].unit
        for shown, text in found["plane"].values():
            value = None if not shown else shown if dictionary()[name].is_label else float(shown)
            whole = format_quantity(value, unit)
            said = whole if unit in LADDERS else whole.removesuffix(f" {unit}")
            assert text == said, name


def test_a_click_and_a_row_choose_a_cell(explored: Explored) -> None:
    explored.page.locator('#plane td[data-x="7"][data-y="5"]').click()
    at = START | {"arrival_rate": 7, "gpu": 5}
    found = explored.read()
    assert wrong(found, at, "arrival_rate", "gpu", "usd_per_mtok_output") == []
    assert "gpu=b200" in found["place"]
    explored.unfold("rows")
    assert explored.page.locator("#table tbody tr").count() == 80
    explored.page.locator("#table th button", has_text="usd_per_mtok_output").click()
    first = explored.page.locator("#table tbody tr").first
    least = min(float(shown) for shown, _ in found["plane"].values() if shown)
    assert float(first.locator("td").first.get_attribute("data-value") or "nan") == least
    first.locator("th button").click()
    assert float(explored.read()["tiles"]["usd_per_mtok_output"][0]) == least


def test_what_binds_is_counted(explored: Explored) -> None:
    explored.choose(AXES.index("model"), 5)
    explored.settle()
    at = {name: place for name, place in START.items() if name not in ("arrival_rate", "gpu")} | {"model": 5}
    part = cube().isel(at)
    for name, attribute in (("binding_constraint", "binding"), ("infeasible_reason", "reason")):
        labels = [label for label in part[name].broadcast_like(part.gpus).values.ravel().tolist() if label]
        counted = {
            item.get_attribute(f"data-{attribute}"): int(item.get_attribute("data-count") or 0)
            for item in explored.page.locator(f"#legend li[data-{attribute}]").all()
        }
        assert counted == {label: labels.count(label) for label in set(labels)}
        assert counted


def test_the_chain_is_that_of_explain(explored: Explored) -> None:
    explored.unfold("chain-open")
    labels = {name: cube()[name].values.tolist()[START[name]] for name in AXES}
    found = gridplan.explain(gridplan.load_grid(GRID), **labels).to_dict()
    shown = {
        line.get_attribute("data-measure"): line.get_attribute("data-value")
        for line in explored.page.locator("#chain [data-measure]").all()
    }
    assert {name: float(value or "nan") for name, value in shown.items()} == found["values"]
    text = explored.page.inner_text("#chain")
    assert str(found["verdict"]) in text
    for line in found["chain"]:
        assert " ".join(line["numbers"].split()) in " ".join(text.split())
    assert explored.page.locator("#chain tbody tr").count() == len(found["inputs"])
