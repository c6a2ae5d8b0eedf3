"""The chart of a load test: numbers of the lesson's sweep, what is drawn where, edges, closed loops, hostile names."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from drawn_charts import drawn_width

from gridplan.errors import ContractError
from gridplan.measured import SweepResult, read_sweep, sweep_result
from gridplan.measured.sweep import sweep_of_text
from gridplan.report.charts import NARROW, WIDE, sweep

ROOT = Path(__file__).parents[2]
LESSON = ROOT / "docs" / "lesson-sweep.csv"
LIMITS = "ttft_p95=1s,tpot_p95=25ms,e2e_p99=5s"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def lesson() -> SweepResult:
    return sweep_result(read_sweep(LESSON), LIMITS)


def of_text(table: str, slos: str, **more: Any) -> SweepResult:
    return sweep_result(sweep_of_text(table, "sweep.csv"), slos, **more)


def marks(chart: Any, panel: int, kind: str) -> list[dict[str, Any]]:
    """Rows behind the marks of one type in one panel."""
    spec = chart.spec()
    found = []
    for layer in spec["vconcat"][panel]["layer"]:
        mark = layer["mark"] if isinstance(layer["mark"], str) else layer["mark"]["type"]
        data = layer["data"]
        if mark == kind:
            found += data["values"] if "values" in data else spec["datasets"][data["name"]]
    return found


def texts(svg: str) -> list[str]:
    return ["".join(node.itertext()) for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_the_numbers_are_those_of_the_lesson(lesson: SweepResult) -> None:
    """Capacity Planning: From Traffic Profile to GPU Count, 3.3: seven rates, limits of 1 s, 25 ms and 5 s."""
    data = sweep(lesson).data
    assert len(data) == 21
    ttft = data[data["limit"] == "ttft_p95"]
    assert ttft["offered_rate_per_s"].tolist() == [2, 4, 6, 8, 10, 12, 14]
    assert ttft["value"].tolist() == [0.085, 0.11, 0.165, 0.28, 0.62, 1.45, 3.8]
    assert set(ttft["limit_value"]) == {1.0}
    assert data[data["limit"] == "e2e_p99"]["value"].tolist() == [1.82, 2.15, 2.68, 3.45, 4.65, 7.8, 14.2]
    assert data[data["limit"] == "tpot_p95"]["point_holds"].tolist() == [True] * 5 + [False] * 2


def test_the_finding_names_the_rate_and_what_breaks(lesson: SweepResult) -> None:
    chart = sweep(lesson)
    assert chart.finding == "10 requests/s hold every limit; at 12 requests/s E2E p99, TTFT p95 and TPOT p95 break"
    assert "interval of λ* (band): 10 to 12 requests/s" in chart.notes
    assert chart.finding in chart.alt


def test_rate_limits_and_band_are_where_they_belong(lesson: SweepResult) -> None:
    chart = sweep(lesson)
    assert marks(chart, 0, "rect") == [{"x": 10.0, "x2": 12.0}]
    rules = marks(chart, 1, "rule")
    assert {rule["x"] for rule in rules if "x0" not in rule} == {10.0}
    assert [rule["y"] for rule in rules if "x0" in rule] == [25.0]
    said = texts(chart.svg())
    assert said.count("λ* 10 requests/s") == 1
    assert {"TTFT p95 [s]", "TPOT p95 [ms]", "E2E p99 [s]", "offered rate [req/s]"} <= set(said)
    assert {"limit 1.00 s", "limit 25.00 ms", "limit 5.00 s"} <= set(said)


def test_the_line_goes_through_used_rates_alone() -> None:
    """Row 1 of the lesson is impossible on its machine: it is a point of its own kind, and the line starts at 4."""
    from gridplan import load_grid
    from gridplan.report.sweep_facts import facts_of_grid

    facts = facts_of_grid(load_grid(ROOT / "grids" / "lesson.yaml"))
    result = sweep_result(read_sweep(LESSON), facts.slos, least=facts.least, output_lengths=facts.output_lengths)
    chart = sweep(result)
    assert [mark["x"] for mark in marks(chart, 0, "line")] == [4, 6, 8, 10, 12, 14]
    kinds = {mark["x"]: mark["kind"] for mark in marks(chart, 0, "point")}
    assert kinds[2] == "not known, or not used"
    assert (kinds[4], kinds[12]) == ("holds every limit", "does not")
    assert "1 of 7 points are not used: below_least_possible (1)" in chart.notes


def test_repeats_are_points_and_the_line_goes_through_their_median() -> None:
    chart = sweep(of_text("rate_rps,ttft_p95_ms\n4,100\n4,300\n4,200\n8,500\n", "ttft_p95=1s"))
    assert len(marks(chart, 0, "point")) == 4
    assert [(mark["x"], mark["y"]) for mark in marks(chart, 0, "line")] == [(4, 0.2), (8, 0.5)]


def test_a_rate_whose_figure_is_not_stated_breaks_the_line() -> None:
    table = "rate_rps,ttft_p95_ms,tpot_p95_ms\n2,100,9\n4,,9\n6,200,9\n8,300,9\n"
    chart = sweep(of_text(table, "ttft_p95=1s,tpot_p95=20ms"))
    assert [(mark["x"], mark["run"]) for mark in marks(chart, 0, "line")] == [(2, 0), (6, 1), (8, 1)]
    assert [mark["run"] for mark in marks(chart, 1, "line")] == [0, 0, 0, 0]
    assert {mark["x"]: mark["kind"] for mark in marks(chart, 1, "point")}[4] == "not known, or not used"


def test_far_points_stay_at_the_edge_with_their_value() -> None:
    chart = sweep(of_text("rate_rps,ttft_p95_ms\n8,900\n9,4000\n12,38000\n", "ttft_p95=1s"))
    assert [(mark["x"], mark["y"]) for mark in marks(chart, 0, "point")] == [(8, 0.9), (9, 4.0), (12, 4.0)]
    # the line keeps its slope and is cut, it does not bend along the edge
    assert marks(chart, 0, "line")[-1]["y"] == 38.0
    said = texts(chart.svg())
    assert "38.00 s" in said
    assert "4.00 s" not in said
    assert chart.data["value"].tolist() == [0.9, 4.0, 38.0]


def test_goodput_is_in_percent_and_at_least() -> None:
    table = "rate_rps,achieved_rate_rps,goodput_rps,ttft_p95_ms\n8,8,7.8,500\n10,10,9.2,900\n"
    chart = sweep(of_text(table, "goodput=95%"))
    assert [mark["y"] for mark in marks(chart, 0, "point")] == pytest.approx([97.5, 92.0])
    assert {"goodput [%]", "limit 95.0% or more"} <= set(texts(chart.svg()))
    assert chart.data["unit"].tolist() == ["1", "1"]
    assert chart.data["value"].tolist() == pytest.approx([0.975, 0.92])


def test_without_a_rate_there_is_no_line_of_it() -> None:
    chart = sweep(of_text("rate_rps,ttft_p95_ms\n8,1500\n10,1900\n", "ttft_p95=1s"))
    assert chart.finding == "No measured rate is known to hold every limit"
    assert marks(chart, 0, "rect") == [{"x": 0.0, "x2": 8.0}]
    assert not any("λ*" in text for text in texts(chart.svg(title=False)))


def test_where_nothing_breaks_the_band_is_open() -> None:
    chart = sweep(of_text("rate_rps,ttft_p95_ms\n8,500\n10,600\n", "ttft_p95=1s"))
    assert chart.finding == "10 requests/s hold every limit, and no tested rate breaks one"
    assert "interval of λ* (band): 10 requests/s or more" in chart.notes
    assert marks(chart, 0, "rect")[0]["x"] == 10.0


def test_a_closed_loop_is_drawn_over_its_clients() -> None:
    table = "concurrency_limit,loop,ttft_p95_ms\n8,closed,500\n16,closed,800\n32,closed,1700\n"
    chart = sweep(of_text(table, "ttft_p95=1s"))
    assert chart.finding.startswith("Every limit holds up to 16 clients, 32 break one: a closed loop offers no rate")
    assert [(mark["x"], mark["kind"]) for mark in marks(chart, 0, "point")] == [
        (8, "holds every limit"), (16, "holds every limit"), (32, "does not"),
    ]  # fmt: skip
    assert "concurrency [requests in flight]" in texts(chart.svg())
    assert not marks(chart, 0, "line")
    assert not marks(chart, 0, "rect")
    assert chart.data["clients"].tolist() == [8, 16, 32]


def test_points_without_a_rate_beside_others_are_counted_not_drawn() -> None:
    table = "rate_rps,concurrency_limit,loop,ttft_p95_ms\n8,,open,500\n,16,closed,800\ninf,,drain,900\n"
    chart = sweep(of_text(table, "ttft_p95=1s"))
    assert len(marks(chart, 0, "point")) == 1
    assert "2 of 3 points have no offered rate and are not drawn" in chart.notes
    assert len(chart.data) == 3


def test_nothing_to_draw_over_is_refused() -> None:
    with pytest.raises(ContractError, match=r"sweep.csv: no point has an offered rate or a number of clients"):
        sweep(of_text("rate_rps,ttft_p95_ms\ninf,500\n", "ttft_p95=1s"))


def test_a_figure_that_no_point_states_is_said_in_its_panel() -> None:
    chart = sweep(of_text("rate_rps,ttft_p95_ms\n8,500\n", "ttft_p95=1s,itl_p99=40ms"))
    assert "no point states ITL p99" in texts(chart.svg())


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize(
    ("table", "slos"),
    [
        (LESSON.read_text(), LIMITS),
        ("rate_rps,ttft_p95_ms\n1e6,5e8\n2e6,6e8\n", "goodput=0.95,ttft_p95=1us,e2e_mean=1h"),
        ("rate_rps,ttft_p50_ms\n0.001,500\n", "ttft_p95=1s"),
        ("rate_rps,ttft_p95_ms\n" + "".join(f"{k},{40 * k * k}\n" for k in range(1, 41)), "ttft_p95=1s"),
        ("concurrency_limit,loop,ttft_p95_ms\n8,closed,500\n16,closed,1800\n", "ttft_p95=1s"),
    ],
)
def test_it_is_as_wide_as_asked_for(table: str, slos: str, width: int) -> None:
    svg = sweep(of_text(table, slos)).svg(width)
    assert abs(drawn_width(svg) - width) <= 8


def test_a_hostile_name_of_a_file_stays_in_the_numbers() -> None:
    name = "=cmd<script>&'\x00\"" + "x" * 200 + ".csv"
    chart = sweep(sweep_result(sweep_of_text("rate_rps,ttft_p95_ms\n8,500\n", name), "ttft_p95=1s"))
    assert "<script" not in chart.svg()
    assert "cmd" not in chart.svg()
    ElementTree.fromstring(chart.svg())
    assert chart.data["file"].tolist() == [name]
    assert "'=cmd<script>" in chart.csv()


def test_same_input_same_bytes(lesson: SweepResult) -> None:
    one, other = sweep(lesson), sweep(lesson)
    for suffix in (".svg", ".png", ".csv", ".json"):
        assert one.to_bytes(suffix) == other.to_bytes(suffix)


def test_the_command_line(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "sweep.svg"
    outcome = cli("chart", "sweep", LESSON, "--slo", LIMITS, "-o", path)
    assert (outcome.code, path.read_text()[:4]) == (0, "<svg")
    assert outcome.out.startswith("10 requests/s hold every limit")
    assert cli("chart", "sweep", LESSON, "--slo", LIMITS, "-o", path).code == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--slo", "ttft_p95=1"), "'1' has no unit"),
        ((), "give the limits"),
        (("--slo", LIMITS, "--weights", "1GB"), "--weights and --bandwidth are given together"),
        (("--slo", LIMITS, "--only", "max_num_seqs=3"), "no point has it"),
    ],
)
def test_the_command_line_refuses_and_writes_nothing(
    cli: Any, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    outcome = cli("chart", "sweep", LESSON, *options, "-o", tmp_path / "sweep.svg")
    assert (outcome.code, outcome.out, list(tmp_path.iterdir())) == (2, "", [])
    assert said in outcome.err


def test_a_table_that_is_read_is_never_written_over(cli: Any, tmp_path: Path) -> None:
    file = tmp_path / "sweep.csv"
    file.write_text("rate_rps,ttft_p95_ms\n4,100\n", encoding="utf-8")
    outcome = cli("chart", "sweep", file, "--slo", "ttft_p95=1s", "-o", file, "--force")
    assert outcome.code == 2
    assert file.read_text(encoding="utf-8").startswith("rate_rps")
