"""The tornado chart draws what `gridplan.tornado` finds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn_charts import drawn_width

import gridplan
from gridplan.report.charts.chart import Chart
from gridplan.report.charts.tornado import tornado, tornado_of

GRIDS = Path(__file__).parents[2] / "grids"
RANGES = {
    "output_tokens": "x0.5:x2",
    "peak_to_average": "2:5",
    "rho_target": "0.6:0.8",
    "usd_per_node_hour": "-20%:+20%",
    "lambda_instance_given": "7:10",
}
MEASURES = ["usd_per_mtok_output", "replicas_active", "nodes"]
QUICK = {"model": "llama-3.1-8b", "gpu": "h100-sxm", "kv_dtype": "fp8", "arrival_rate": 10, "rho_target": 0.7}


@cache
def lesson() -> Any:
    return gridplan.load_grid(GRIDS / "lesson.yaml")


@cache
def drawn() -> Chart:
    return tornado(lesson(), RANGES, MEASURES, {"instance": "aws-p4de"})


@cache
def quick() -> Chart:
    grid = gridplan.load_grid(GRIDS / "quickstart.yaml")
    ranges = {"context_tokens": "2048:131072", "tpot_slo_s": "5 ms:60 ms", "mbu": "-20%:+20%"}
    return tornado(grid, ranges, ["usd_per_mtok_output", "replicas"], {**QUICK, "context_tokens": 8192})


def marks(item: Any, *keys: str) -> Iterator[dict[str, Any]]:
    """Rows of data anywhere in a specification that have these fields."""
    if isinstance(item, dict):
        if all(key in item and not isinstance(item[key], (dict, list)) for key in keys):
            yield item
        for inner in item.values():
            yield from marks(inner, *keys)
    elif isinstance(item, list):
        for inner in item:
            yield from marks(inner, *keys)


def test_data_are_the_table_and_the_table_is_that_of_the_readme() -> None:
    table = gridplan.tornado(lesson(), RANGES, MEASURES, at={"instance": "aws-p4de"})
    data = drawn().data
    assert list(data) == list(table)
    for name in ("low", "base", "high", "swing", "low_unrounded", "high_unrounded", "input_low", "input_high"):
        np.testing.assert_array_equal(data[name].to_numpy(np.float64), table[name].to_numpy(np.float64))
    own = data[data["measure"] == "replicas_active"].set_index("input")
    # "Decide" in README.md, after the lesson: 9 replicas carry the peak, 14 with twice the output, 13 at 7 req/s.
    assert own[["low", "base", "high"]].values.tolist() == [[8, 9, 14], [9, 9, 9], [9, 9, 9], [13, 9, 9], [10, 9, 8]]
    price = data[data["measure"] == "usd_per_mtok_output"].set_index("input")
    # Two nodes whatever the ratio of peak to average: the price of a token goes with it, 9.36 x 2/3 and x 5/3.
    base = price.loc["peak_to_average", "base"]
    assert price.loc["peak_to_average", ["low", "high"]].tolist() == pytest.approx([base * 2 / 3, base * 5 / 3])
    assert tornado_of(table).data.equals(data)
    assert tornado_of(table).notes[1] == "at scenario=nominal, instance=aws-p4de"


def test_title_is_a_short_sentence_of_the_numbers() -> None:
    assert drawn().finding == (
        "output_tokens moves usd_per_mtok_output most, from 9.36 USD/Mtok to 18.71 USD/Mtok at 60.80 tokens"
        " and 4.68 USD/Mtok at 243.20 tokens"
    )
    assert drawn().notes[1:] == (
        "at instance=aws-p4de",
        "output_tokens: the rate is scaled by a measurement far from first principles",
    )
    still = tornado(
        lesson(), {"rho_target": (0.6, 0.8), "peak_to_average": (2, 5)}, ["nodes"], {"instance": "aws-p4de"}
    )
    assert still.finding.startswith("None of 2 inputs moves nodes, which stays 2; before rounding up rho_target")


def test_bars_go_from_the_base_to_both_ends_low_hollow_high_filled() -> None:
    spec = drawn().spec()
    bars = [(mark["kind"], mark["x"], mark["x2"]) for mark in marks(spec, "kind", "x2") if mark["y2"] - mark["y"] > 10]
    wanted = [
        (kind, row["base"], row[end])
        for row in drawn().data.to_dict("records")
        for end, kind in (("low", "low end (L)"), ("high", "high end (H)"))
        if row[end] != row["base"]
    ]
    assert sorted(bars) == sorted(wanted)
    smooth = {(mark["x"], mark["x2"]) for mark in marks(spec, "kind", "x2") if mark["y2"] - mark["y"] < 10}
    for row in drawn().data.to_dict("records"):
        assert (row["base_unrounded"], row["low_unrounded"]) in smooth
        assert (row["base_unrounded"], row["high_unrounded"]) in smooth
    texts = [mark["text"] for mark in marks(spec, "text", "left")]
    assert {"L 18.71", "H 4.68", "H 14", "L 13"} <= set(texts)
    assert texts.count("no change") == 2 + 2 + 5  # prices, replicas and nodes that no end moves
    assert len(spec["vconcat"]) == 3


def test_ends_on_one_side_of_the_base_have_a_bar_each() -> None:
    chart = tornado(lesson(), {"peak_to_average": (4, 5)}, ["usd_per_mtok_output"], {"instance": "aws-p4de"})
    low, high = [mark for mark in marks(chart.spec(), "kind", "x2") if mark["y2"] - mark["y"] > 10]
    assert low["y2"] <= high["y"]


def test_flips_and_ends_without_a_plan_are_marked_and_told() -> None:
    assert quick().finding == (
        "context_tokens matters most: usd_per_mtok_output has no value at 131,072 tokens (ttft_unreachable);"
        " what binds (decode TPOT now) changes with context_tokens, tpot_slo_s, mbu"
    )
    spec = quick().spec()
    stubs = [mark for mark in marks(spec, "kind", "x2") if mark["kind"] == "no value"]
    assert len(stubs) == 4  # two inputs, in both panels
    texts = [mark["text"] for mark in marks(spec, "text", "flip")]
    assert [text for text in texts if "no value" in text] or "H (131,072 tokens) no value:" in texts
    assert {"L: scheduler slots binds", "H: KV memory binds"} <= set(texts)
    assert "url(#hatch-up)" in quick().svg()


def test_a_cell_without_a_plan_has_no_base_and_no_scale() -> None:
    at = {**QUICK, "model": "llama-3.3-70b", "context_tokens": 65536}
    grid = gridplan.load_grid(GRIDS / "quickstart.yaml")
    chart = tornado(grid, {"rho_target": "0.5:0.9"}, ["nodes"], at)
    assert chart.finding == "nodes has no value in this cell: ttft_unreachable"
    spec = chart.spec(340)
    assert not [mark for mark in marks(spec, "text") if str(mark["text"]).startswith("base ")]
    assert [axis["values"] for axis in _axes(spec) if "values" in axis][:1] == [[]]


def _axes(item: Any) -> Iterator[dict[str, Any]]:
    if isinstance(item, dict):
        if isinstance(item.get("axis"), dict):
            yield item["axis"]
        for inner in item.values():
            yield from _axes(inner)
    elif isinstance(item, list):
        for inner in item:
            yield from _axes(inner)


@pytest.mark.parametrize("width", [340, 760])
def test_width_and_bytes(width: int) -> None:
    for chart in (drawn(), quick()):
        assert abs(drawn_width(chart.svg(width)) - width) <= 8
    assert tornado(lesson(), RANGES, MEASURES, {"instance": "aws-p4de"}).svg(width) == drawn().svg(width)


def test_labels_of_the_cell_are_harmless() -> None:
    evil = '<script>alert("x")</script>&' + "\u65e5\u672c" * 10 + "a" * 150
    text = (GRIDS / "lesson.yaml").read_text().replace("fractional", f"'{evil}'")
    chart = tornado(gridplan.loads_grid(text), {"rho_target": (0.6, 0.8)}, at={"instance": evil})
    assert "<script" not in chart.svg(340)
    assert "&lt;script&gt;" in chart.svg(340)


def test_the_view_is_an_altair_chart_with_the_title() -> None:
    import altair

    view = drawn().view(760)
    assert isinstance(view, altair.TopLevelMixin)
    assert " ".join(view.to_dict()["title"]["text"]) == drawn().finding
    changed = view.properties(title="mine").to_dict()
    assert changed["title"] == "mine"
    assert len(changed["vconcat"]) == 3


def test_what_is_refused(tmp_path: Path) -> None:
    for source in (tmp_path, str(tmp_path), gridplan.evaluate(lesson())):
        with pytest.raises(gridplan.ContractError, match="a contract is due"):
            tornado(source, RANGES)  # type: ignore[arg-type]
    with pytest.raises(gridplan.ContractError, match=r"gridplan\.tornado has made is due"):
        tornado_of(drawn().data[["input", "low"]])
    with pytest.raises(gridplan.ContractError) as error:
        tornado(lesson(), {"rho": (0.6, 0.8)}, ["node"], {"instance": "aws-p4de"})
    assert [problem.key for problem in error.value.problems] == ["vary", "measures"]


def test_the_command(cli: Any, grids: Path, tmp_path: Path) -> None:
    path = tmp_path / "tornado.svg"
    grid = ("chart", "tornado", grids / "lesson.yaml")
    said = cli(
        *grid, "--vary", "rho_target=0.6:0.8", "--measure", "replicas_active", "--at", "instance=aws-p4de", "-o", path
    )
    assert (said.code, said.out) == (0, "rho_target moves replicas_active most, from 9 to 10 at 0.6 and 8 at 0.8\n")
    other = tmp_path / "none.svg"
    for wrong, named in (
        (("--vary", "rho=0.6:0.8", "--at", "instance=aws-p4de"), "--vary"),
        (("--vary", "rho_target=0.6:0.8", "--measure", "node", "--at", "instance=aws-p4de"), "--measure"),
        (("--vary", "rho_target=0.6:0.8"), "instance"),
    ):
        said = cli(*grid, *wrong, "-o", other)
        assert (said.code, other.exists()) == (2, False)
        assert named in said.err
        assert "Traceback" not in said.err
    said = cli("chart", "tornado", tmp_path, "--vary", "rho_target=0.6:0.8", "-o", other)
    assert (said.code, other.exists()) == (2, False)
    assert "a contract is due" in said.err
