"""Predicted against measured: a simulated load test lies on the diagonal; what cannot be compared is named, and why."""

from __future__ import annotations

import re
import statistics
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn_charts import drawn_width

from gridplan import load_grid
from gridplan.contract import loads_grid
from gridplan.errors import ContractError
from gridplan.measured import SweepPoint, read_sweep, sweep_result
from gridplan.measured.sweep import Latency, sweep_of_text
from gridplan.report.charts import NARROW, WIDE, measured
from gridplan.report.predicted import replica_at
from gridplan.simulation import simulate, simulate_closed

ROOT = Path(__file__).parents[2]
LESSON = ROOT / "docs" / "lesson-sweep.csv"
AT = {"instance": "fractional"}
SVG = "{http://www.w3.org/2000/svg}"

KNOWN = """
schema: 1
name: known
workload: {prompt_tokens: 1000, output_tokens: 200, arrival_rate: 6}
slo: {ttft: {limit: 1 s, percentile: 95}, tpot: {limit: 40 ms, percentile: 95}, e2e: {limit: 10 s, percentile: 99}}
deployment:
  {model: llama-3.1-8b, gpu: h100-sxm, weight_dtype: bf16, kv_dtype: bf16, max_num_batched_tokens: 2048,
   step_weights_s: 0.010, step_per_context_token_s: 1.0e-7, prefill_per_token_s: 3.0e-5}
policy: {rho_target: 0.7}
"""
TIMES = (1.0, 1000, 1000, 200, 0.010, 1e-7, 3e-5)
RATES, CLIENTS = (2.0, 4.0, 6.0, 8.0, 10.0), (4.0, 16.0, 48.0)


@pytest.fixture(scope="module")
def known() -> Any:
    return loads_grid(KNOWN)


def latency(times: np.ndarray) -> Latency:
    kept = times[~np.isnan(times)]
    return Latency(float(kept.mean()), {p: float(np.percentile(kept, p)) for p in (50.0, 95.0, 99.0)})


def points_of(run: Any, loads: tuple[float, ...], loop: str, **names: str) -> list[SweepPoint]:
    return [
        SweepPoint(
            file="simulated.json", place="", tool="csv", format="csv", loop=loop, input_tokens_mean=1000.0,
            output_tokens_mean=200.0, ttft=latency(run.ttft_s[row]), tpot=latency(run.tpot_s[row]),
            e2e=latency(run.e2e_s[row]), tpot_definition="excludes_first_token", **{names["load"]: load},
        )
        for row, load in enumerate(loads)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def simulated() -> list[SweepPoint]:
    """Load tests of the replica of `KNOWN`, run step by step: 12,000 requests a rate, 4,000 a number of clients."""
    open_loop = simulate(np.array(RATES), *TIMES, requests=6000, runs=2, seed=7)
    closed = simulate_closed(np.array(CLIENTS), *TIMES, requests=4000, seed=7, geometric_outputs=True)
    return [
        *points_of(open_loop, RATES, "open", load="offered_rate_per_s"),
        *points_of(closed, CLIENTS, "closed", load="concurrency_limit"),
    ]


def table(rows: str, columns: str = "rate_rps,ttft_p95_ms,tpot_p95_ms") -> list[SweepPoint]:
    return sweep_of_text(f"{columns}\n{rows}", "test.csv")


def test_a_simulated_load_test_lies_on_the_diagonal(known: Any, simulated: list[SweepPoint]) -> None:
    """Within the errors that are known of the closed forms: means 1 to 3%, percentiles some percent."""
    data = measured(known, simulated).data
    counted = data[data["state"] == "counted"]
    within = {"ttft_mean": 0.05, "tpot_mean": 0.05, "e2e_mean": 0.05, "tpot_p95": 0.1, "ttft_p95": 0.1, "e2e_p99": 0.12}
    assert set(counted["figure"]) == set(within)
    for name, most in within.items():
        errors = counted[counted["figure"] == name]["error"]
        assert errors.abs().max() < most, name
        assert len(errors) == (8 if name.endswith("mean") else 5)
    other = measured(loads_grid(KNOWN.replace("step_weights_s: 0.010", "step_weights_s: 0.013")), simulated).data
    assert other[other["figure"] == "tpot_mean"]["error"].min() > 0.1


def test_percentiles_of_a_closed_loop_are_named_as_not_predicted(known: Any, simulated: list[SweepPoint]) -> None:
    chart = measured(known, simulated)
    missed = chart.data[chart.data["state"] == "not predicted"]
    assert set(missed["clients"]) == set(CLIENTS)
    assert set(missed["figure"]) == {"ttft_p95", "tpot_p95", "e2e_p99"}
    assert missed["predicted_s"].isna().all()
    assert (
        "not predicted, closed loop: means of requests alone: TTFT p95, TPOT p95, E2E p99 at c4, c16, c48"
        in chart.notes
    )


def test_numbers_are_the_prediction_over_what_the_file_says(known: Any) -> None:
    chart = measured(known, table("4,100,12\n8,150,16\n"))
    replica = replica_at(known)
    tpot = chart.data[chart.data["figure"] == "tpot_p95"]
    expected = replica.at_rates([4.0, 8.0], "tpot", 95.0)
    assert tpot["predicted_s"].tolist() == expected
    assert tpot["measured_s"].tolist() == [0.012, 0.016]
    assert tpot["error"].tolist() == pytest.approx([expected[0] / 0.012 - 1, expected[1] / 0.016 - 1])


def test_the_finding_has_medians_and_ranges(known: Any, simulated: list[SweepPoint]) -> None:
    chart = measured(known, simulated, figures=["tpot_p95"])
    errors = chart.data["error"].dropna()
    middle = statistics.median(errors)
    said = "as measured" if abs(middle) < 0.005 else f"{abs(middle):.0%} {'high' if middle > 0 else 'low'}"
    span = f"{errors.min():+.0%} to {errors.max():+.0%}"
    assert chart.finding == f"At the median TPOT p95 is predicted {said} ({span}, 5 loads)"


def test_by_hand() -> None:
    """A step of 10 ms and nothing else, in a test that measured 20, 12.5 and 10 ms: -50%, -20% and 0%."""
    grid = loads_grid(KNOWN.replace("1.0e-7", "1.0e-15").replace("3.0e-5", "1.0e-12"))
    rows = "1,100,20\n2,100,12.5\n3,100,10\n"
    chart = measured(grid, table(rows, "rate_rps,ttft_p95_ms,tpot_mean_ms"), figures=["tpot_mean"])
    assert chart.finding == "At the median TPOT mean is predicted 20% low (-50% to +0%, 3 loads)"
    assert measured(grid, table("1,9,5\n", "rate_rps,ttft_p95_ms,tpot_mean_ms"), figures=["tpot_mean"]).finding == (
        "TPOT mean is predicted 2.0 times too high (1 load)"
    )


def test_loads_beyond_the_replica_are_at_the_edge_and_named(known: Any) -> None:
    """28 requests a second of 1,000 prompt tokens at 30 us take 84% of the time, with decoding more than all of it."""
    chart = measured(known, table("4,100,12\n28,9000,90\n"))
    last = chart.data[(chart.data["offered_rate_per_s"] == 28) & chart.data["measured_s"].notna()]
    assert len(last) == 2
    assert set(last["state"]) == {"not predicted"}
    assert set(last["reason"]) == {"unstable_time"}
    assert "not predicted, unstable_time: all figures at 28" in chart.notes
    assert "measured, not predicted" in texts(chart.svg())


def test_where_percentiles_are_not_shown_means_are(known: Any) -> None:
    """Prompts and the steps that they are cut into take 75% to 90%: of all figures TPOT has its mean there."""
    assert replica_at(known).flags([16.0]) == ["token_budget"]
    chart = measured(known, table("16,100,150,60\n", "rate_rps,ttft_mean_ms,ttft_p95_ms,tpot_mean_ms"))
    states = dict(zip(chart.data["figure"], chart.data["state"], strict=True))
    assert (states["ttft_p95"], states["tpot_mean"]) == ("not predicted", "counted")
    assert "not predicted, token_budget: TTFT p95, TTFT mean at 16" in chart.notes


def test_the_lesson_contradicts_itself_and_is_told_so() -> None:
    """Its p99 E2E at 2 requests/s is below the least possible, and 12 and 14 were not served: they do not count."""
    chart = measured(load_grid(ROOT / "grids" / "lesson.yaml"), read_sweep(LESSON), AT)
    data = chart.data
    assert len(data) == 21
    doubted = data[data["state"] == "not counted"]
    assert set(doubted["offered_rate_per_s"]) == {2, 12, 14}
    assert "not counted, below_least_possible: E2E p99 at 2" in chart.notes
    assert "not counted, tokens_short: all figures at 12, 14" in chart.notes
    assert doubted["predicted_s"].notna().all()


def test_a_judged_test_is_compared_at_its_own_limits() -> None:
    grid = load_grid(ROOT / "grids" / "lesson.yaml")
    table_of_means = table("4,100,12,3\n", "rate_rps,ttft_p95_ms,tpot_p99_ms,e2e_mean_s")
    result = sweep_result(table_of_means, "tpot_p99=25ms")
    # a limit, the percentile of a latency that has neither limit nor mean, a mean
    assert measured(grid, result, AT).data["figure"].tolist() == ["tpot_p99", "ttft_p95", "e2e_mean"]


def test_without_limits_the_percentile_that_most_points_state(known: Any) -> None:
    grid = loads_grid(re.sub(r"slo: .*\n", "", KNOWN))
    chart = measured(grid, table("4,100,20,12\n8,,30,15\n", "rate_rps,ttft_p95_ms,ttft_p90_ms,tpot_p99_ms"))
    assert list(dict.fromkeys(chart.data["figure"])) == ["ttft_p90", "tpot_p99"]
    # A limit on the mean of the 70B plan is not what the lesson states: its own percentiles are compared.
    other = measured(load_grid(ROOT / "grids" / "chains-70b.yaml"), read_sweep(LESSON))
    assert "stated by no point: TPOT mean" in other.notes
    assert {"ttft_p95", "tpot_p95", "e2e_p99"} <= set(other.data["figure"])


def test_other_requests_and_figures_that_nobody_states_are_said(known: Any) -> None:
    chart = measured(known, table("4,100,500,210\n", "rate_rps,ttft_p95_ms,input_tokens_mean,output_tokens_mean"))
    assert "other requests than the contract's: 500 prompt tokens on average (1,000 in the contract)" in chart.notes
    assert "stated by no point: TPOT p95, E2E p99" in chart.notes


def test_times_that_count_the_first_token_are_not_held_against_the_model(known: Any) -> None:
    rows = "4,12,includes_first_token\n8,16,excludes_first_token\n"
    data = measured(known, table(rows, "rate_rps,tpot_p95_ms,tpot_definition")).data
    tpot = data[data["figure"] == "tpot_p95"]
    assert tpot["reason"].tolist() == ["tpot_includes_ttft", None]


def test_a_replica_that_cannot_run_predicts_nothing_and_says_why() -> None:
    chart = measured(loads_grid(KNOWN.replace("llama-3.1-8b", "llama-3.3-70b")), table("4,100,12\n"))
    assert chart.finding == "No load can be compared: weights_exceed_memory"
    ElementTree.fromstring(chart.svg())


def test_what_is_wrong_with_the_question(known: Any) -> None:
    with pytest.raises(ContractError, match=r"tpot_p59 is stated by no point \(did you mean tpot_p95"):
        measured(known, table("4,100,12\n"), figures=["tpot_p59"])
    with pytest.raises(ContractError, match="no point states a latency"):
        measured(known, table("4,8\n", "rate_rps,achieved_rate_rps"))
    with pytest.raises(ContractError, match="no point states a latency"):
        measured(known, [])
    with pytest.raises(ContractError, match="gpu: fix gpu at one of"):
        measured(load_grid(ROOT / "grids" / "latency.yaml"), read_sweep(LESSON))


def texts(svg: str) -> list[str]:
    return ["".join(node.itertext()) for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("figures", [["tpot_mean"], ["tpot_mean", "ttft_mean"], None])
def test_it_is_as_wide_as_asked_for(
    known: Any, simulated: list[SweepPoint], width: int, figures: list[str] | None
) -> None:
    svg = measured(known, simulated, figures=figures).svg(width)
    assert abs(drawn_width(svg) - width) <= 8
    assert {"open loop", "measured [ms]", "predicted [ms]", "c16"} <= set(texts(svg))


def test_points_far_apart_and_alone_are_drawn(known: Any) -> None:
    for rows in ("4,1000000,0.001\n8,0.01,90000\n", "4,100,12\n", "4,0,12\n"):
        for width in (WIDE, NARROW):
            ElementTree.fromstring(measured(known, table(rows)).svg(width))


def test_hostile_names_stay_in_the_numbers_and_labels_are_escaped() -> None:
    label = '<script>alert("1")</script>' + "x" * 200
    text = KNOWN.replace("step_weights_s: 0.010, ", "")
    grid = loads_grid(text + f"scenarios:\n  nominal: {{}}\n  '{label}': {{step_weights_s: 0.012}}\n")
    points = sweep_of_text("rate_rps,tpot_p95_ms\n4,12\n", "=cmd<script>.csv")
    chart = measured(grid, points, {"scenario": label})
    assert "<script" not in chart.svg()
    assert len(chart.notes[0]) < 200
    assert "'=cmd<script>" in chart.csv()


def test_same_input_same_bytes(known: Any) -> None:
    one, other = (measured(known, table("4,100,12\n8,150,16\n")) for _ in range(2))
    for suffix in (".svg", ".png", ".csv", ".json"):
        assert one.to_bytes(suffix) == other.to_bytes(suffix)


def test_the_command_line(cli: Any, grids: Path, tmp_path: Path) -> None:
    path = tmp_path / "measured.png"
    options = ("--sweep", LESSON, "--at", "instance=fractional", "-o", path)
    outcome = cli("chart", "measured", grids / "lesson.yaml", *options)
    assert (outcome.code, path.read_bytes()[:4]) == (0, b"\x89PNG")
    assert outcome.out.startswith("At the median TTFT p95 is predicted")
    assert cli("chart", "measured", grids / "lesson.yaml", *options).code == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), ["--sweep"]),
        (("--sweep", LESSON, "--at", "instance=aws"), ["instance: aws is not on the axis"]),
        (("--sweep", LESSON, "--at", "instance=fractional", "--figures", "ttft_p59"), ["--figures: ttft_p59"]),
        (("--sweep", LESSON, "--at", "instance=fractional", "--only", "model=x"), ["--only model=x: no point has it"]),
        (("--sweep", "absent.csv"), ["absent.csv"]),
    ],
)  # fmt: skip
def test_the_command_line_refuses_and_writes_nothing(
    cli: Any, grids: Path, tmp_path: Path, options: tuple[str, ...], said: list[str]
) -> None:
    outcome = cli("chart", "measured", grids / "lesson.yaml", *options, "-o", tmp_path / "measured.svg")
    assert (outcome.code, outcome.out, list(tmp_path.iterdir())) == (2, "", [])
    assert all(text in outcome.err for text in said)


def test_problems_of_contract_and_files_come_together(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "grid.yaml").write_text("schema: 1\nname: x\n", encoding="utf-8")
    options = ("--sweep", tmp_path / "absent.csv", "-o", tmp_path / "measured.svg")
    outcome = cli("chart", "measured", tmp_path / "grid.yaml", *options)
    assert outcome.code == 2
    assert "absent.csv" in outcome.err
    assert "grid.yaml" in outcome.err


def test_a_table_that_is_read_is_never_written_over(cli: Any, grids: Path, tmp_path: Path) -> None:
    file = tmp_path / "sweep.csv"
    file.write_bytes(LESSON.read_bytes())
    options = ("--sweep", file, "--at", "instance=fractional", "-o", file, "--force")
    assert cli("chart", "measured", grids / "lesson.yaml", *options).code == 2
    assert file.read_bytes() == LESSON.read_bytes()
