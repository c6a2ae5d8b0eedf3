"""The page as one file: every value inside, no label that is markup, nothing that is loaded from anywhere."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hostile_labels import HOSTILE, hostile_contract
from packed import unpacked
from whole_cube import cells_of

import gridplan
from gridplan.errors import ContractError, GridTooLargeError
from gridplan.explore.explorer import explorer_of
from gridplan.explore.static import static_page

GRIDS = Path(__file__).parents[2] / "grids"


class Parsed(HTMLParser):
    """Elements with their attributes, and the text of each script and style."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, dict[str, str | None], str]] = []
        self.words = ""
        self._open: tuple[str, dict[str, str | None]] | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._open = tag, dict(attrs)
            self.texts.append((*self._open, ""))

    def handle_endtag(self, tag: str) -> None:
        self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is None:
            self.words += data
        else:
            tag, attrs, text = self.texts[-1]
            self.texts[-1] = tag, attrs, text + data

    def script(self, name: str) -> str:
        (found,) = (text for tag, attrs, text in self.texts if attrs.get("id") == name)
        return found


def grid_of(name: str) -> gridplan.Grid:
    return gridplan.loads_grid(hostile_contract()) if name == "hostile" else gridplan.load_grid(GRIDS / f"{name}.yaml")


@cache
def page_of(name: str) -> str:
    return static_page(explorer_of(grid_of(name)))


@pytest.mark.parametrize("name", ["lesson", "theory", "hostile", "memory", "chains-70b"])
def test_all_cells_are_inside(name: str) -> None:
    parsed, cube = Parsed(page_of(name)), gridplan.evaluate(grid_of(name))
    about = json.loads(parsed.script("about"))
    box = unpacked(gzip.decompress(base64.b64decode(parsed.script("cube"), validate=True)))
    axes = [axis["name"] for axis in about["axes"]]
    place = tuple(range(cube.sizes[axis]) for axis in axes)
    assert box.size == [len(own) for own in place]
    assert set(box.columns) == {column["name"] for column in about["columns"]} | {"left_out", about["priceFlag"]}
    assert {"status", "gpus_deployed", "usd_per_hour"} <= set(box.columns)
    for column in {column["name"] for column in about["columns"]}:
        due = cells_of(cube, column, place, axes)
        found = np.broadcast_to(box.columns[column], due.shape)
        if found.dtype == object:
            assert found.tolist() == due.tolist(), column
        else:
            np.testing.assert_array_equal(found, due.astype(float), column)


def test_a_part_and_measures_that_are_asked_for() -> None:
    text = static_page(explorer_of(grid_of("lesson")), ["kv_pool_bytes_per_gpu"], {"instance": "fractional"})
    parsed = Parsed(text)
    box = unpacked(gzip.decompress(base64.b64decode(parsed.script("cube"))))
    cube: xr.Dataset = gridplan.evaluate(grid_of("lesson")).sel(instance=["fractional"])
    assert box.size == [10, 1]
    assert "usd_per_hour" not in box.columns
    found = np.broadcast_to(box.columns["kv_pool_bytes_per_gpu"], (10, 1))
    due = cube["kv_pool_bytes_per_gpu"].broadcast_like(cube["status"]).values
    np.testing.assert_array_equal(found.ravel(), np.broadcast_to(due, (10, 1)).ravel())
    about = json.loads(parsed.script("about"))
    assert [axis["labels"] for axis in about["axes"]][1] == ["fractional"]
    assert about["inputs"] == []
    assert not about["served"]


def test_no_label_is_markup() -> None:
    text, parsed = page_of("hostile"), Parsed(page_of("hostile"))
    for label in HOSTILE:
        if "<" in label or '"' in label:
            assert label not in text
    kinds = {tag for tag, _ in parsed.tags}
    assert not {"img", "iframe", "object", "embed", "base", "image", "use"} & kinds
    assert not [attrs for _, attrs in parsed.tags if any(name.startswith("on") for name in attrs)]
    about = json.loads(parsed.script("about"))
    (labels,) = (axis["labels"] for axis in about["axes"] if axis["name"] == "instance")
    assert labels == list(HOSTILE)
    assert not re.search("[<>&\u2028\u2029]", parsed.script("about"))


@pytest.mark.parametrize("evil", ["</script><img src=x onerror=alert(1)>", "<!--<script>", "]]></script >", "&lt;"])
def test_a_label_cannot_end_the_script_it_stands_in(evil: str) -> None:
    text = hostile_contract([evil, *HOSTILE[1:]])
    page = static_page(explorer_of(gridplan.loads_grid(text)))
    about = json.loads(Parsed(page).script("about"))
    assert evil in next(axis["labels"] for axis in about["axes"] if axis["name"] == "instance")
    assert [tag for tag, _ in Parsed(page).tags] == [tag for tag, _ in Parsed(page_of("hostile")).tags]


@pytest.mark.parametrize("name", ["lesson", "hostile"])
def test_the_policy_names_the_scripts_that_stand_there_and_no_other(name: str) -> None:
    parsed = Parsed(page_of(name))
    (policy,) = (
        attrs["content"] or "" for tag, attrs in parsed.tags if attrs.get("http-equiv") == "Content-Security-Policy"
    )
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
    run = [text for tag, attrs, text in parsed.texts if tag == "script" and "type" not in attrs]
    styles = [text for tag, _, text in parsed.texts if tag == "style"]
    for rule, texts in (("script-src", run), ("style-src", styles)):
        due = [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in texts]
        assert rules[rule] == due
    assert len(run) == 2
    assert rules["default-src"] == rules["connect-src"] == rules["base-uri"] == rules["form-action"] == ["'none'"]
    assert "unsafe" not in policy


def test_nothing_is_loaded_from_anywhere() -> None:
    parsed = Parsed(page_of("lesson"))
    for tag, attrs in parsed.tags:
        for name in ("src", "href", "xlink:href", "action", "srcset", "poster", "data", "background", "formaction"):
            value = attrs.get(name)
            assert value is None or value.startswith(("#", "data:")), (tag, name, value)
        assert not re.search(r"url\((?!#|data:)", attrs.get("style") or "")
    for tag, _, text in parsed.texts:
        if tag == "style":
            assert not re.search(r"@import|url\((?![\"']?(#|data:))", text)


def test_the_same_cube_gives_the_same_bytes() -> None:
    assert static_page(explorer_of(grid_of("lesson"))) == page_of("lesson")


def test_what_a_file_cannot_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = explorer_of(grid_of("lesson"))
    with pytest.raises(ContractError, match="did you mean"):
        static_page(explorer, ["usd_per_hourr"])
    with pytest.raises(ContractError):
        static_page(explorer, None, {"instance": "fractionall"})
    monkeypatch.setattr("gridplan.explore.static.MOST_CELLS", 19)
    with pytest.raises(GridTooLargeError, match="20 cells are more than the 19"):
        static_page(explorer)
    assert static_page(explorer, None, {"scenario": "surge"})
