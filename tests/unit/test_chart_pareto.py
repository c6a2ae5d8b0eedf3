"""Fronts drawn: the numbers are those of `gridplan.pareto`, the trade by hand, what is left out is said."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn_charts import drawn_width, lesson_of_instances

import gridplan
from gridplan import charts
from gridplan.contract.grid import Grid
from gridplan.errors import ContractError
from gridplan.report.charts.labels_free import beside

HOSTILE = ("<script>alert('x')</script>", 'a "quoted" & ' + "very " * 40 + "long name", "größer 数")
OBJECTIVES = "usd_per_hour, lambda_instance"


def three() -> Grid:
    """One replica is enough: `slow` has 10 req/s for 1 USD/h, `fast` 30 for 4, `poor` 20 for 5."""
    return gridplan.loads_grid(
        """
schema: 1
workload: {peak_to_average: 1, arrival_rate: 1}
capacity: {capacity_model: measured, lambda_instance_given: {by: instance, slow: 10, fast: 30, poor: 20}}
policy: {rho_target: 1, redundancy: 0, hours_per_month: 730}
catalog:
  instances:
    slow: {gpu: a100-sxm-80gb, gpus_per_node: 1, usd_per_node_hour: 1, as_of: 2026-01-01, source: x}
    fast: {gpu: h100-sxm, gpus_per_node: 1, usd_per_node_hour: 4, as_of: 2026-01-01, source: x}
    poor: {gpu: h100-sxm, gpus_per_node: 1, usd_per_node_hour: 5, as_of: 2026-01-01, source: x}
axes: {instance: [slow, fast, poor]}
"""
    )


def test_a_trade_by_hand() -> None:
    chart = charts.pareto(three(), "usd_per_hour, lambda_instance:max")
    assert chart.finding == (
        "2 of 3 options are on the front: from 1.00 USD/h and 10 req/s (instance=slow) "
        "to 4.00 USD/h and 30 req/s (instance=fast)"
    )
    assert chart.data.on_front.tolist() == [True, True, False]
    assert chart.data.dominated_by.tolist()[2] == 1
    svg = chart.svg()
    assert ">slow</text>" in svg
    assert ">fast</text>" in svg
    assert ">poor</text>" not in svg


def test_one_option_best_in_both_is_said() -> None:
    chart = charts.pareto(three(), "usd_per_hour, lambda_instance:min")
    assert chart.finding == ("1 of 3 options is on the front: best in both is 1.00 USD/h and 10 req/s (instance=slow)")
    assert "every option of the front has instance=slow" in chart.notes


def test_nothing_to_choose_from() -> None:
    chart = charts.pareto(three(), OBJECTIVES, where="usd_per_hour <= 0.5")
    assert chart.finding == "No option can be chosen among 3: not usd_per_hour <= 0.5 3"
    assert len(chart.data) == 0
    assert "no option can be chosen" in chart.svg()


def test_the_numbers_are_those_of_the_question(grids: Path) -> None:
    grid = gridplan.load_grid(grids / "buy.yaml")
    at = {"model": "qwen3-32b", "arrival_rate": 40}
    asked: dict[str, Any] = {"where": "nodes <= 8", "survives": "node", "at": at}
    found = gridplan.pareto(grid, "usd_per_month, ttft_s", **asked)
    data = charts.pareto(grid, "usd_per_month, ttft_s", **asked).data
    assert len(data) == found.attrs["candidates"]
    for name in ("usd_per_month", "ttft_s", "dominated_by"):
        assert np.array_equal(data[name].to_numpy(np.float64), found[name].values, equal_nan=True)
    assert data.instance.tolist() == found.instance.values.tolist()
    assert data.on_front.tolist() == (found.on_front.values == 1).tolist()


def test_each_point_has_a_front_of_its_own(grids: Path) -> None:
    grid = gridplan.load_grid(grids / "latency.yaml")
    chart = charts.pareto(grid, "usd_per_month, tpot_s", by="rho_target")
    found = gridplan.pareto(grid, "usd_per_month, tpot_s", by="rho_target")
    assert chart.data.on_front.sum() == int(found.on_front.sum())
    assert "fronts of 3 points; at rho_target=0.5" in chart.finding
    assert all(f">rho_target={label}</text>" in chart.svg() for label in ("0.5", "0.6", "0.7"))


def test_of_many_dominated_options_some_are_drawn_and_all_are_counted(grids: Path) -> None:
    grid = gridplan.load_grid(grids / "quickstart.yaml")
    at = {"arrival_rate": 10}
    chart = charts.pareto(grid, "gpus, tpot_s", at=at)
    beaten = int((~chart.data.on_front.astype(bool)).sum())
    assert beaten > 1500
    note = f"grey: 1,500 of {beaten:,} dominated options, evenly spaced in declared order"
    assert note in chart.notes
    assert len(re.findall(r"<path [^>]*fill=\"#8c959f\"", chart.svg())) == 1500


def test_the_scenario_is_nominal_unless_it_is_said(grids: Path) -> None:
    grid = gridplan.load_grid(grids / "lesson.yaml")
    chart = charts.pareto(grid, "usd_per_month, nodes")
    assert len(chart.data) == 2
    surge = charts.pareto(grid, "usd_per_month, nodes", at={"scenario": "surge"})
    # 90 req/s are 13 replicas of 7 and one spare: 14 single GPUs for 2.49 USD/h over 732 h.
    assert surge.data.usd_per_month.min() == pytest.approx(14 * 2.49 * 732)
    assert "at scenario=surge" in surge.notes


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("usd_per_month",), "a chart has two objectives, not 1"),
        (("usd_per_month, nodes, tpot_s",), "a chart has two objectives, not 3"),
        (("usd_per_month, node",), "node is not a measure"),
        (("usd_per_month, nodes:least",), "neither min nor max"),
        (("usd_per_month, nodes", "instance_"), "did you mean instance"),
        (("usd_per_month, nodes", None), "72 points have a front each, 6 are the most"),
    ],
)
def test_what_is_refused(grids: Path, asked: tuple[Any, ...], said: str) -> None:
    with pytest.raises(ContractError, match=said):
        charts.pareto(gridplan.load_grid(grids / "buy.yaml"), *asked, levers="instance, purchase, failure_policy")


@pytest.mark.parametrize("width", [760, 340])
def test_widths_and_bytes(grids: Path, width: int) -> None:
    at = {"model": "llama-3.3-70b", "arrival_rate": 60}
    grid = gridplan.load_grid(grids / "buy.yaml")
    first, again = (charts.pareto(grid, "usd_per_month, tpot_s", at=at).svg(width) for _ in range(2))
    assert abs(drawn_width(first) - width) <= 8
    assert first == again


def test_labels_are_text_and_nothing_else(grids: Path) -> None:
    grid = lesson_of_instances(grids, HOSTILE, usd_per_node_hour=40.0)
    chart = charts.pareto(grid, "usd_per_month, nodes")
    svg = chart.svg(340)
    assert "<script" not in svg
    assert "&lt;script&gt;" in svg
    assert chart.data.instance.tolist() == list(HOSTILE)
    assert chart.finding.endswith("2 more alike")


def test_texts_meet_neither_each_other_nor_a_point() -> None:
    points = [(x * 7.0, 50.0 + (x * 37) % 40, f"name {x}") for x in range(60)]
    boxes = []
    for at, align, up in beside(points, (430.0, 150.0), 6.0):
        x, y, text = points[at]
        wide = 6.0 * len(text)
        left = {"left": x + 8, "right": x - 8 - wide, "center": x - wide / 2}[align]
        boxes.append((left, left + wide, y + up - 6, y + up + 6))
        assert not any(
            left < px < left + wide and y + up - 6 < py < y + up + 6 for k, (px, py, _) in enumerate(points) if k != at
        )
    assert len(boxes) > 5
    for place, one in enumerate(boxes):
        assert not any(
            one[0] < two[1] and two[0] < one[1] and one[2] < two[3] and two[2] < one[3] for two in boxes[:place]
        )


def test_the_command(cli: Any, grids: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.csv"
    done = cli("chart", "pareto", grids / "latency.yaml", "--objectives", "usd_per_mtok_output,tpot_s", "-o", out)
    assert done.code == 0
    assert done.out.startswith("2 of 9 options are on the front: from ")
    assert len(out.read_text().splitlines()) == 10
    for wrong in (["--objectives", "nodes"], ["--objectives", "usd_per_month,node"]):
        failed = cli("chart", "pareto", grids / "latency.yaml", *wrong, "-o", tmp_path / "b.svg")
        assert failed.code == 2
        assert "--objectives" in failed.err
    assert not (tmp_path / "b.svg").exists()
