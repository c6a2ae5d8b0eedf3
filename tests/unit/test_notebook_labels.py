"""Names that try to become markup stay names in a notebook: pages have the elements that plain names give them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hostile_labels import HOSTILE, PLAIN, hostile_contract
from notebook_pages import Page, read_page

import gridplan
from gridplan.export.handover import Exported
from gridplan.markup import printable
from gridplan.measured import read_sweep, sweep_result

ROOT = Path(__file__).parents[2]
NAMES = {"plain": PLAIN, "hostile": HOSTILE}
RESULTS = ("grid", "explanation", "run", "difference", "sweep", "export", "record")


@cache
def grid(kind: str) -> Any:
    return gridplan.loads_grid(hostile_contract(NAMES[kind]))


@cache
def page(kind: str, result: str, folder: Path) -> Page:
    return read_page(made(kind, result, folder)._repr_html_())


def made(kind: str, result: str, folder: Path) -> Any:
    """One result of the contract with these names."""
    names, ours = NAMES[kind], grid(kind)
    at = {"instance": names[0], "arrival_rate": 20.0}
    if result == "grid":
        return ours
    if result == "explanation":
        return gridplan.explain(ours, **at)
    if result == "run":
        return gridplan.run(ours, folder / kind)
    if result == "difference":
        other = hostile_contract(names).replace("mbu: 0.7", "mbu: 0.6").replace("  - 20.0\n", "  - 30.0\n")
        return gridplan.diff(ours, gridplan.loads_grid(other))
    if result == "sweep":
        found = sweep_result(read_sweep(ROOT / "docs" / "lesson-sweep.csv"), "ttft_p95=1s,tpot_p95=25ms,e2e_p99=5s")
        checks = tuple(replace(found.checks[0], sentence=f"the model is {name}") for name in names)
        return replace(found, checks=checks)
    if result == "export":
        return Exported(Path(names[0]), dict.fromkeys(names, 1), names)
    return gridplan.record(ours, at=at)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cubes")


@pytest.mark.parametrize("result", RESULTS)
def test_no_name_becomes_markup(result: str, folder: Path) -> None:
    hostile, plain = page("hostile", result, folder), page("plain", result, folder)
    assert hostile.skeleton == plain.skeleton
    assert hostile.style == plain.style


@pytest.mark.parametrize("result", ["grid", "sweep", "export"])
def test_every_name_is_shown_as_it_is(result: str, folder: Path) -> None:
    text = page("hostile", result, folder).text
    # Of an axis with more than 20 labels the page shows the ends; scenarios and entries stand below it, all of them.
    for name in HOSTILE:
        assert printable(name) in text, name


def test_turned_and_hidden_signs_are_replaced() -> None:
    turned = Exported(Path("a\u202eb"), {"\x00<b>\u200b": 1}, ("\ud800",))
    assert "\u202e" not in turned._repr_html_()
    text = read_page(turned._repr_html_()).text
    for shown in ("a?b", "?<b>?", "Warning: ?"):
        assert shown in text
