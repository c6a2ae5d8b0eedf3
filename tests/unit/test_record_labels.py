"""Names of a contract are text in a record, whatever they look like: no markup, no formula, none lost, none alike."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hostile_labels import HOSTILE, PLAIN, REFUSED, hostile_contract
from markdown_it import MarkdownIt

import gridplan
from gridplan.report import charts as draw
from gridplan.report.charts.chart import Chart
from gridplan.report.charts.texts import short_labels
from gridplan.report.record import Record, html_page, markdown_page, record_of

NAMES = {"plain": PLAIN, "hostile": HOSTILE}
AT = {"arrival_rate": 20.0}


@cache
def grid(kind: str) -> Any:
    return gridplan.loads_grid(hostile_contract(NAMES[kind]))


@cache
def record(kind: str) -> Record:
    return record_of(grid(kind), at=AT)


@cache
def page(kind: str) -> str:
    return html_page(record(kind))


@cache
def charts() -> dict[str, Chart]:
    """Charts of the record, and others that show the names on their axes."""
    ours = grid("hostile")
    found = {figure.name: figure.chart for figure in record("hostile").figures}
    found["memory-along"] = draw.memory(ours, along="instance", at=AT)
    found["heatmap"] = draw.heatmap(ours, "instance", "scenario", "replicas", AT)
    found["heatmap-turned"] = draw.heatmap(ours, "arrival_rate", "instance", "usd_per_month", {"scenario": HOSTILE[0]})
    return found


CHARTS = ("memory", "stairs", "tornado", "pareto", "map-usd-per-mtok-output")
CHARTS += ("memory-along", "heatmap", "heatmap-turned")


@pytest.mark.parametrize("label", REFUSED)
def test_labels_that_a_contract_refuses(label: str) -> None:
    with pytest.raises(gridplan.GridplanError):
        gridplan.loads_grid(hostile_contract((label, *HOSTILE[1:])))


def test_the_contract_keeps_the_names() -> None:
    assert record("hostile").title == HOSTILE[1]
    assert tuple(gridplan.evaluate(grid("hostile"), ["nodes"]).instance.values.tolist()) == HOSTILE


DRAWN = {"svg", "g", "path", "text", "tspan", "rect", "circle", "line", "defs", "clipPath", "pattern"}
"""What a picture consists of."""


class _Elements(HTMLParser):
    """Elements with the names of their attributes outside pictures, kinds of elements inside; and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.outside: list[str] = []
        self.inside: set[str] = set()
        self.text = ""
        self._in_picture = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = " ".join([tag, *(name for name, _ in attrs)])
        self._in_picture = self._in_picture or tag == "svg"
        if self._in_picture:
            self.inside.update([tag, *(name for name, _ in attrs)])
        elif tag != "wbr":
            self.outside.append(named)

    def handle_endtag(self, tag: str) -> None:
        self._in_picture = self._in_picture and tag != "svg"

    def handle_data(self, data: str) -> None:
        if not self._in_picture:
            self.text += data

    def handle_comment(self, data: str) -> None:
        self.outside.append("comment")


@cache
def elements(kind: str) -> _Elements:
    reader = _Elements()
    reader.feed(page(kind))
    reader.close()
    return reader


def test_names_add_no_element_and_no_attribute() -> None:
    assert elements("hostile").outside == elements("plain").outside
    assert elements("hostile").inside <= elements("plain").inside | {"xml:space", "tspan"}
    assert not {"script", "image", "a", "foreignobject", "onerror", "onmouseover", "href"} & elements("hostile").inside


def test_every_name_is_readable_in_full() -> None:
    for name in HOSTILE:
        assert name in elements("hostile").text, name
    assert page("hostile").count("</html>") == 1


def test_rows_of_alternatives_have_whole_names() -> None:
    from record_tables import tables_of

    table = next(found for title, found in tables_of(page("hostile")).items() if title.startswith("Other labels of"))
    shown = [row[0].text.removesuffix(" (this plan)") for row in table.rows]
    assert len(shown) > 10
    assert len(set(shown)) == len(shown)
    assert set(shown) <= set(HOSTILE)


@pytest.mark.parametrize("html", [False, True])
def test_markdown_is_text_and_its_tables_keep_their_columns(html: bool) -> None:
    """By a renderer of CommonMark with tables, whether it takes HTML or not."""
    reader = MarkdownIt("commonmark", {"html": html}).enable(["table", "strikethrough"])
    found = {kind: reader.parse(markdown_page(record(kind))) for kind in NAMES}
    for tokens in found.values():
        kinds = {token.type for token in _all(tokens)}
        assert not kinds & {"html_inline", "html_block", "image", "link_open", "code_inline", "code_block", "fence"}
        assert not kinds & {"s_open", "em_open"}
        _same_columns(tokens)
    shape = [[token.type for token in tokens] for tokens in found.values()]
    assert shape[0] == shape[1]
    bold = [sum(token.type == "strong_open" for token in _all(tokens)) for tokens in found.values()]
    assert bold[0] == bold[1]
    text = "\n".join(
        "".join(part.content for part in token.children or ()) for token in found["hostile"] if token.type == "inline"
    )
    for name in HOSTILE:
        assert name in text, name


def _all(tokens: Any) -> Iterator[Any]:
    for token in tokens:
        yield token
        yield from _all(token.children or ())


def _same_columns(tokens: Any) -> None:
    due = count = 0
    tables = 0
    for token in tokens:
        if token.type == "table_open":
            due, tables = 0, tables + 1
        elif token.type == "tr_open":
            count = 0
        elif token.type in ("th_open", "td_open"):
            count += 1
        elif token.type == "tr_close":
            due = due or count
            assert count == due
    assert tables > 10


@pytest.mark.parametrize("name", CHARTS)
def test_charts_are_well_formed_and_hold_no_markup(name: str) -> None:
    chart = charts()[name]
    plain = {width: chart.svg(width) for width in (760, 340)}
    for text in (*plain.values(), *(chart.svg(width, name="one", title=False) for width in plain)):
        tags = {item.tag.rpartition("}")[2] for item in ElementTree.fromstring(text).iter()}
        assert tags <= DRAWN
    assert chart.png(340).startswith(b"\x89PNG")
    assert chart.svg() == plain[760]


@pytest.mark.parametrize("name", ["heatmap", "heatmap-turned", "memory-along"])
@pytest.mark.parametrize("width", [760, 340])
def test_names_on_an_axis_are_told_apart(name: str, width: int) -> None:
    shown = [text for text in _texts(charts()[name].svg(width)) if text.startswith("xxxx")]
    assert len(shown) >= 4
    assert len(set(shown)) % 4 == 0


def test_a_name_like_the_marks_of_a_picture_is_left_as_it_is() -> None:
    """Ids and paths of a picture are rewritten in its tags, never in its text."""
    name = 'id="clip3" d="M1.23456 0" url(#clip3)'
    shown = short_labels(HOSTILE)[name]
    texts = _texts(charts()["heatmap-turned"].svg(760, name="own"))
    assert shown in texts, texts


def _texts(svg: str) -> list[str]:
    return [
        "".join(item.itertext()) for item in ElementTree.fromstring(svg).iter() if item.tag.rpartition("}")[2] == "text"
    ]


@pytest.mark.parametrize("name", CHARTS)
def test_no_text_of_a_csv_is_a_formula(name: str) -> None:
    rows = list(csv.reader(io.StringIO(charts()[name].csv())))
    width = len(rows[0])
    for row in rows:
        assert len(row) == width
        for text in row:
            number = re.fullmatch(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?", text)
            assert number or text[:1] not in ("=", "+", "-", "@"), text


def test_every_name_is_in_the_numbers_of_a_chart() -> None:
    rows = list(csv.DictReader(io.StringIO(charts()["heatmap-turned"].csv())))
    assert {row["instance"].removeprefix("'") for row in rows} == {name.removeprefix("'") for name in HOSTILE}


def test_names_of_files_are_safe(cli: Callable[..., Any], tmp_path: Path) -> None:
    contract = tmp_path / "hostile.yaml"
    contract.write_text(hostile_contract(), encoding="utf-8")
    found = cli(
        *("report", contract, "--at", "arrival_rate=20", "-o", tmp_path / "r.md", "--charts", tmp_path / "charts"),
    )
    assert found.code == 0, found.err
    for path in (tmp_path / "charts").iterdir():
        assert re.fullmatch(r"[a-z][a-z-]*\.(svg|png|csv)", path.name), path.name
    assert sorted(path.name for path in tmp_path.iterdir()) == ["charts", "hostile.yaml", "r.md"]
