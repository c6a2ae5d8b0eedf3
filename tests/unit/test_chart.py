"""What every chart has in common: files, ids, texts, numbers that are safe in spreadsheets, the same bytes."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

import gridplan
from gridplan.report.charts import NARROW, WIDE, Chart, heatmap
from gridplan.report.charts.rows import frame, inline
from gridplan.report.charts.texts import lines, short_labels
from gridplan.report.charts.theme import COLOUR_OF, DARK, INK, MUTED, PAPER

GRIDS = Path(__file__).parents[2] / "grids"
AT = {"gpu": "h100-sxm", "kv_dtype": "fp8", "arrival_rate": 10, "rho_target": 0.7}


def chart_of(labels: list[str], finding: str = "What was found") -> Chart:
    """A chart of bars with these labels."""
    rows = [{"label": label, "value": 1.0 + place} for place, label in enumerate(labels)]

    def draw(width: float) -> object:
        import altair as alt

        texts = short_labels(labels)
        marks = [{"x": row["value"], "y": texts[str(row["label"])]} for row in rows]
        fit = alt.AutoSizeParams(type="fit", contains="padding")
        bars = alt.Chart(inline(marks)).mark_bar(color="#0072b2").encode(x="x:Q", y=alt.Y("y:N", sort=None))
        return bars.properties(width=width, height=200, autosize=fit)

    return Chart("bars", finding, ("a note",), frame(rows), f"Bars. {finding}", draw)


def test_all_kinds_of_files(tmp_path: Path) -> None:
    chart = chart_of(["a", "b"])
    assert ElementTree.fromstring(chart.save(tmp_path / "x.svg").read_text()).tag.endswith("svg")
    assert chart.save(tmp_path / "x.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert chart.save(tmp_path / "x.csv").read_text() == "label,value\na,1.0\nb,2.0\n"
    spec = json.loads(chart.save(tmp_path / "x.json").read_text())
    assert spec["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
    with pytest.raises(ValueError, match=r"\.svg, \.png, \.csv, \.json"):
        chart.save(tmp_path / "x.pdf")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.csv", "x.json", "x.png", "x.svg"]


def test_a_picture_says_what_it_is_and_needs_nothing_else() -> None:
    drawn = chart_of(['<script>alert("1")</script>', "b"], 'Finding with "quotes" & <b>').svg()
    root = ElementTree.fromstring(drawn)
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'Bars. Finding with "quotes" & <b>'
    assert not [one for one in root.iter() if one.tag.endswith(("script", "image", "foreignObject", "style"))]
    assert '<script>alert("1")' not in drawn
    assert "&lt;script&gt;" in drawn


def test_inside_a_page_ids_are_its_own_and_there_is_no_background() -> None:
    chart = heatmap(gridplan.load_grid(GRIDS / "quickstart.yaml"), "context_tokens", "model", "replicas", AT)
    one, two = (chart.svg(width, name) for width, name in ((WIDE, "first"), (NARROW, "second")))
    ids = [set(re.findall(r"""\bid=["']([^"']+)""", text)) for text in (one, two)]
    assert ids[0]
    assert not ids[0] & ids[1]
    for text, own in zip((one, two), ids, strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", text)) <= own
        assert not re.search(r'<svg[^>]* (width|height)="', text)
        assert f'fill="{PAPER}"/>' not in text[:600]


def test_the_same_chart_gives_the_same_bytes() -> None:
    first, second = (chart_of(["a", "b"]) for _ in range(2))
    assert first.svg() == second.svg() == first.svg()
    assert first.png() == second.png()
    assert first.to_bytes(".json") == second.to_bytes(".json")


def test_numbers_for_spreadsheets_are_harmless_and_exact() -> None:
    labels = ["=cmd()", "+1", "-1", "@x", "plain", 'with "quotes", and comma']
    text = chart_of(labels).csv()
    read = pd.read_csv(io.StringIO(text), dtype={"label": str})
    assert read.label.tolist() == ["'=cmd()", "'+1", "'-1", "'@x", "plain", 'with "quotes", and comma']
    assert read.value.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_nulls_are_empty_and_whole_numbers_whole() -> None:
    table = frame([{"a": 1, "b": None, "c": 0.1}, {"a": 2, "b": 3, "c": None}, {"a": 3, "b": 4, "c": 1e-300}])
    assert table.a.dtype.kind == "i"
    assert table.to_csv(index=False) == "a,b,c\n1,,0.1\n2,3.0,\n3,4.0,1e-300\n"


def test_short_labels_stay_apart() -> None:
    alike = ["x" * 100 + str(number) + "y" * 99 for number in range(12)]
    found = short_labels(alike, 20)
    assert len(set(found.values())) == 12
    assert max(map(len, found.values())) <= 20


def test_lines_are_as_wide_as_they_may_be() -> None:
    for text in ("a word and others " * 9, "漢字" * 60, "x" * 300):
        for line in lines(text, 340, 14):
            wide = sum(2 if ord(sign) > 0x2E80 else 1 for sign in line)
            assert wide * 0.52 * 14 <= 340 + 1e-9
        assert "".join(lines(text, 340, 14)).replace(" ", "") == text.replace(" ", "")


def _luminance(colour: str) -> float:
    """WCAG 2.1, relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, two: str) -> float:
    low, high = sorted((_luminance(one), _luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("text", [INK, MUTED])
def test_text_is_legible_on_both_papers(text: str) -> None:
    assert _contrast(text, PAPER) >= 4.5
    assert _contrast(DARK[text], DARK[PAPER]) >= 4.5


@pytest.mark.parametrize("colour", sorted(set(COLOUR_OF.values())))
@pytest.mark.parametrize("share", [0.16, 0.58])
def test_ink_is_legible_on_every_tile(colour: str, share: float) -> None:
    for ink, paper, tile in ((INK, PAPER, colour), (DARK[INK], DARK[PAPER], DARK.get(colour, colour))):
        mixed = [
            round(share * int(tile[at : at + 2], 16) + (1 - share) * int(paper[at : at + 2], 16)) for at in (1, 3, 5)
        ]
        assert _contrast(ink, "#" + "".join(f"{part:02x}" for part in mixed)) >= 4.5


def test_without_the_libraries_a_chart_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "altair" else real(name))
    with pytest.raises(gridplan.GridplanError, match=r"pip install 'gridplan\[report\]'"):
        chart_of(["a"]).view()
