"""The break-even chart draws what `gridplan.break_even` finds, at values that were planned."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn_charts import drawn_width

import gridplan
from gridplan.report.charts.break_even import break_even
from gridplan.report.charts.chart import Chart

GRIDS = Path(__file__).parents[2] / "grids"
TEXT = (GRIDS / "break-even.yaml").read_text()
CELL = {"instance": "lambda-gpu-8x-h100-sxm", "purchase": "reserved"}
EVIL = '<script>alert("x")</script>&' + "\u65e5\u672c" * 10 + "a" * 150


def grid(text: str = TEXT) -> Any:
    return gridplan.loads_grid(text)


@cache
def drawn() -> Chart:
    return break_even(grid(), at=CELL)


def marks(item: Any, key: str) -> Iterator[dict[str, Any]]:
    """Rows of data anywhere in a specification that have this field."""
    if isinstance(item, dict):
        if key in item and not isinstance(item[key], (dict, list)):
            yield item
        for inner in item.values():
            yield from marks(inner, key)
    elif isinstance(item, list):
        for inner in item:
            yield from marks(inner, key)


def test_crossings_are_those_of_break_even_to_the_last_digit() -> None:
    answer = gridplan.break_even(grid(), "arrival_rate", at=CELL)
    data = drawn().data
    for side in ("below", "above"):
        own = data[data["side"] == side].sort_values("crossing")
        assert own["value"].tolist() == answer[f"arrival_rate_{side}"].values.tolist()
        assert own["cost_first"].tolist() == answer[f"first_api_usd_per_month_{side}"].values.tolist()
        assert own["cost_second"].tolist() == answer[f"second_usd_per_month_{side}"].values.tolist()
        assert own["cheaper"].tolist() == answer[f"cheaper_{side}"].values.tolist()
    diamonds = [mark for mark in marks(drawn().spec(), "x2") if "text" in mark]
    assert {mark["x2"] for mark in diamonds} == set(answer["arrival_rate_above"].values.tolist())


def test_crossings_on_a_stair_by_hand() -> None:
    # A request: 1,500 tokens at 0.60, 500 at 0.15, 300 at 2.40 USD a million; 730 h of 3,600 s at 1/2.5 of the peak.
    per_rate = (1500 * 0.60 + 500 * 0.15 + 300 * 2.40) / 1e6 * 3600 * 730 / 2.5
    node = 31.92 * (1 - 0.4) * 730  # reserved: 40% off 31.92 USD/h
    found = drawn().data.query("side == 'above'")["value"].tolist()
    assert found[::2] == pytest.approx([nodes * node / per_rate for nodes in (3, 4, 5)], rel=1e-10)
    assert drawn().finding == (
        "Own fleet costs at most what the API does from 39.23 req/s on, and in 2 ranges below, first from 23.54 req/s"
        " (5 crossings)"
    )


def test_bills_are_planned_values_and_stairs_are_stairs() -> None:
    own = drawn().data.iloc[::23]
    text = re.sub(r"arrival_rate: \[.*\]", f"arrival_rate: {own['value'].tolist()}", TEXT)
    cube = gridplan.evaluate(grid(text), ["api_usd_per_month", "usd_per_month"]).sel(CELL)
    assert own["cost_first"].tolist() == pytest.approx(cube["api_usd_per_month"].values.tolist(), rel=1e-12)
    assert own["cost_second"].tolist() == pytest.approx(cube["usd_per_month"].values.tolist(), rel=1e-12)
    rows = drawn().data[["value", "cost_second"]].values.tolist()
    rises = [(low, high) for (low, cost), (high, then) in pairwise(rows) if cost != then]
    assert len(rises) > 20
    assert all(high / low - 1 < 1e-10 for low, high in rises)  # both sides of each edge: no slope is drawn


def test_no_slope_where_nodes_are_added_between_planned_values() -> None:
    chart = break_even(grid(), at=CELL, points=5)
    steps = [list(mark.values()) for mark in marks(chart.spec(), "part") if mark["kind"] == "own fleet"]
    by_part: dict[int, set[float]] = {}
    for place, cost, _, part in steps:
        rows = chart.data[chart.data["value"] == place]
        assert cost in rows["cost_second"].tolist()
        by_part.setdefault(part, set()).add(place)
    for places in by_part.values():
        own = chart.data[chart.data["value"].isin(places)]
        assert all(
            high / low - 1 < 1e-9 or nodes == then
            for (low, nodes), (high, then) in pairwise(own[["value", "nodes_second"]].values.tolist())
        )
    assert len(by_part) > 2
    assert "lines break where nodes are added somewhere between two planned values" in chart.notes
    assert not any("break where" in note for note in drawn().notes)


def test_shade_spans_planned_values_where_the_second_costs_at_most_as_much() -> None:
    chart = break_even(grid(), at=CELL, low=20, high=30, points=9)
    boxes = [mark for mark in marks(chart.spec(), "x2") if not {"text", "mark"} & set(mark) and "y2" in mark]
    cheap = chart.data[chart.data["cheaper"] == "self_host"]["value"]
    assert {(box["x"], box["x2"]) for box in boxes} == {(cheap.min(), cheap.max())}
    assert chart.finding == "Own fleet costs at most what the API does from 23.54 req/s to 25.37 req/s (2 crossings)"


def test_never_and_always_say_how_near_the_bills_come() -> None:
    never = break_even(grid(), at={**CELL, "instance": "coreweave-hgx-h200", "purchase": "on_demand"}, points=33)
    assert never.finding.startswith(
        "Own fleet costs more than the API at every arrival_rate from 1 req/s to 500 req/s;"
    )
    ratio = (never.data["cost_second"] / never.data["cost_first"]).min()
    assert f"{ratio:.3g} times as much" in never.finding
    assert not any("shaded" in note for note in never.notes)
    always = break_even(grid(), against="purchase=on_demand,reserved", at={"instance": CELL["instance"]}, points=9)
    assert always.finding.endswith(", 0.6 times as much")  # 40% off, whatever the fleet
    assert "reserved costs at most what on_demand does at every arrival_rate" in always.finding


def test_no_line_and_no_claim_where_a_bill_is_null() -> None:
    asked = {"against": "instance=lambda-gpu-8x-h100-sxm,nebius-hgx-b200", "high": 0.1, "points": 17}
    at = {"purchase": "on_demand", "arrival_rate": 50}
    chart = break_even(grid(), "tpot_slo_s", at=at, low=0.002, **asked)  # type: ignore[arg-type]
    gone = chart.data["cost_first"].isna()
    assert gone.any()
    assert set(chart.data[gone]["no_plan_first"]) == {"tpot_unreachable"}
    assert chart.data[gone]["cheaper"].isna().all()
    planned = [mark["y"] for mark in marks(chart.spec(), "part")]
    both = np.concatenate([chart.data["cost_first"], chart.data["cost_second"]])
    assert sorted(planned) == sorted(both[~np.isnan(both)].tolist())
    assert "values a bill is null" in chart.finding
    assert any("no bill of lambda-gpu-8x-h100-sxm (tpot_unreachable)" in note for note in chart.notes)
    assert "url(#hatch-up)" in chart.svg()
    nothing = break_even(grid(), "tpot_slo_s", at=at, low=0.002, **{**asked, "high": 0.003, "points": 3})  # type: ignore[arg-type]
    assert nothing.finding.startswith("Nothing to compare")
    assert "<svg" in nothing.svg(340)


def test_values_are_those_that_a_contract_states_under_a_scenario() -> None:
    surge = grid(TEXT.replace("axes:\n", "scenarios:\n  nominal: {}\n  surge: {arrival_rate: {multiply: 2}}\naxes:\n"))
    asked: dict[str, Any] = {"low": 5, "high": 20, "points": 33}
    chart = break_even(surge, at={**CELL, "scenario": "surge"}, **asked)
    nominal = drawn().data.query("side == 'above'")["value"].tolist()
    assert chart.data.query("side == 'above'")["value"].tolist() == pytest.approx([rate / 2 for rate in nominal])
    assert "arrival_rate as the contract states it: the scenario changes it" in chart.notes
    assert not any("scenario" in note for note in break_even(surge, at=CELL, **asked).notes)


def test_crossings_next_to_each_other_are_all_drawn() -> None:
    answer = gridplan.break_even(grid(), "output_tokens", at={**CELL, "arrival_rate": 50}, low=1, high=400, points=65)
    chart = break_even(grid(), "output_tokens", at={**CELL, "arrival_rate": 50}, low=1, high=400, points=65)
    assert len(chart.data.query("side == 'below'")) == answer["crossings"]
    assert chart.data["value"].is_monotonic_increasing


def test_width_and_bytes() -> None:
    again = break_even(grid(), at=CELL)
    for width in (340, 760):
        first = drawn().svg(width)
        assert abs(drawn_width(first) - width) <= 8
        assert again.svg(width) == first


def test_labels_are_harmless_told_apart_and_whole_in_the_data() -> None:
    priced = "{gpu: h100-sxm, gpus_per_node: 8, usd_per_node_hour: %s, as_of: 2025-01-01, source: x}"
    own = "".join(f"    '{EVIL}{number}': {priced % (10 + number)}\n" for number in (1, 2))
    text = TEXT.replace("axes:\n", f"catalog:\n  instances:\n{own}axes:\n")
    text = text.replace("[lambda-gpu-8x-h100-sxm,", f"['{EVIL}1', '{EVIL}2',")
    chart = break_even(grid(text), against=f"instance={EVIL}2,{EVIL}1", at={"purchase": "on_demand"}, points=9)
    assert set(chart.data["cheaper"]) == {f"{EVIL}1"}
    for width in (340, 760):
        svg = chart.svg(width)
        assert "<script" not in svg
        legend = {text for text in re.findall(r">([^<>]*)</text>", svg) if text.endswith(("a1", "a2"))}
        assert len(legend) >= 2


def test_only_one_cell_of_a_contract_is_drawn(tmp_path: Path) -> None:
    for asked, said in (
        ({}, "fix instance at one of its 3 labels"),
        ({"at": {**CELL, "arrival_rate": 5}}, "arrival_rate is drawn, so it cannot be fixed"),
        ({"against": "purchase=on_demand,reserved", "at": CELL}, "purchase is drawn, so it cannot be fixed"),
        ({"against": "purchases=a,b", "at": CELL}, "purchases is not an axis of this grid .did you mean purchase"),
        ({"measure": "nodes", "at": CELL}, "usd_per_month is compared|usd_per_month or"),
        ({"vary": "arival_rate", "at": {**CELL, "arrival_rate": 5}}, "did you mean arrival_rate"),
    ):
        with pytest.raises(gridplan.ContractError, match=said):
            break_even(grid(), **asked)  # type: ignore[arg-type]
    with pytest.raises(gridplan.ContractError) as error:
        break_even(grid(), against="purchase", measure="latency")
    assert len(error.value.problems) == 4  # two alternatives, the measure, and both axes that are left open
    with pytest.raises(gridplan.ContractError, match="a contract is due"):
        break_even(tmp_path)  # type: ignore[arg-type]


def test_the_command(cli: Any, grids: Path, tmp_path: Path) -> None:
    path, csv = tmp_path / "even.svg", tmp_path / "even.csv"
    at = "instance=lambda-gpu-8x-h100-sxm,purchase=reserved"
    asked = ("chart", "break-even", grids / "break-even.yaml", "--low", "20 req/s", "--high", "30", "--points", "9")
    said = cli(*asked, "--at", at, "-o", path, "-o", csv)
    assert (said.code, path.exists(), len(csv.read_text().splitlines()) > 9) == (0, True, True)
    assert said.out.startswith("Own fleet costs at most what the API does from 23.54 req/s to 25.37 req/s")
    other = tmp_path / "none.svg"
    for wrong, named in (
        (("--low", "20 tokens"), "--low"),
        (("--against", "purchase"), "--against"),
        (("--vary", "arrival"), "--vary"),
        (("--measure", "usd"), "--measure"),
    ):
        said = cli("chart", "break-even", grids / "break-even.yaml", "--at", at, *wrong, "-o", other)
        assert (said.code, other.exists()) == (2, False)
        assert named in said.err
        assert "Traceback" not in said.err
    said = cli("chart", "break-even", tmp_path, "-o", other)
    assert (said.code, other.exists()) == (2, False)
    assert "a contract is due" in said.err
