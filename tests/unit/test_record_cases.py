"""Records of plans that are none, of odd cubes, of load tests beside limits: what a hurried reader would get wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from record_tables import tables_of

import gridplan
from gridplan.cli.explain import parse_labels
from gridplan.engine.planned_summary import planned_summary
from gridplan.report.charts import stairs
from gridplan.report.record import Record, html_page, markdown_page, record_of

GRIDS = Path(__file__).parents[2] / "grids"
SWEEP = str(Path(__file__).parents[2] / "docs" / "lesson-sweep.csv")

BASE = """
schema: 1
name: base
workload: {prompt_tokens: 2000, output_tokens: 300, arrival_rate: 60, peak_to_average: 3}
slo: {tpot_slo_s: 0.05, ttft_slo_s: 1.0}
deployment: {model: llama-3.3-70b, weight_dtype: fp8, kv_dtype: fp8, tensor_parallel: 4, instance: gcp-a3-megagpu-8g}
capacity: {capacity_model: queueing}
policy: {rho_target: 0.65, redundancy: 1, failure_domain: node}
"""


def made(text: str, **asked: object) -> Record:
    return record_of(gridplan.loads_grid(text), charts=False, **asked)  # type: ignore[arg-type]


def test_a_fleet_that_does_not_hold_its_plan_is_no_decision() -> None:
    """Nodes of 8 GPUs hold two replicas of 4."""
    record = made(BASE.replace("instance: gcp", "nodes_given: 3, instance: gcp"))
    planned = gridplan.evaluate(gridplan.loads_grid(BASE), ["replicas"]).replicas.item()
    said = f"No plan: 3 nodes hold 6 replicas, and the plan takes {planned:.0f} (fleet_sufficient is false)."
    assert (record.state, record.decision, record.tiles) == ("infeasible", said, ())
    assert "Rent" not in markdown_page(record).partition("## ")[0]


def test_a_budget_that_is_too_small_says_by_how_much() -> None:
    text = BASE.replace("redundancy: 1,", "redundancy: 1, budget_usd_per_month: 300000,")
    bill = gridplan.evaluate(gridplan.loads_grid(BASE), ["usd_per_month"]).usd_per_month.item()
    said = f"No plan: budget_exceeded: {bill - 300000:,.2f} USD/month above 300,000.00 USD/month."
    assert made(text).decision == said


def test_what_binds_is_counted_over_cells_with_a_plan() -> None:
    text = BASE.replace("redundancy: 1,", "redundancy: 1, budget_usd_per_month: 300000,")
    text = text.replace("rho_target: 0.65, ", "").replace("arrival_rate: 60, ", "")
    text += "axes: {arrival_rate: [1, 10, 60, 200, 1000], rho_target: [0.5, 0.65]}\n"
    cube = gridplan.evaluate(gridplan.loads_grid(text))
    feasible = int((cube.status == "ok").sum())
    assert 0 < feasible < 10
    counts = tables_of(html_page(made(text)))["Cells of the cube"]
    assert counts.value("feasible", "count") == feasible
    assert sum(row[1].value or 0 for row in counts.rows if row[0].text.startswith("binds")) == feasible


@pytest.mark.parametrize("name", ["quickstart", "lesson", "buy", "latency"])
def test_counts_of_a_contract_are_those_of_its_run(name: str, tmp_path: Path) -> None:
    grid = gridplan.load_grid(GRIDS / f"{name}.yaml")
    assert planned_summary(grid, workers=2).to_dict() == gridplan.run(grid, tmp_path / "cube").summary.to_dict()


def test_a_grid_that_is_too_large_is_not_counted_and_says_so() -> None:
    text = (GRIDS / "quickstart.yaml").read_text().replace("geomspace: [0.1, 100, 10]", "geomspace: [0.1, 100, 3000]")
    record = made(text, at={"model": "qwen3-32b", "context_tokens": 8192, "rho_target": 0.7, "arrival_rate": 100})
    notes = [block.text for part in record.sections if part.name == "remarks" for block in part.blocks]  # type: ignore[union-attr]
    assert any("21,600,000 cells are more than the 20,000,000" in text for text in notes)


def test_a_cube_without_a_status_claims_no_counts(tmp_path: Path) -> None:
    grid = gridplan.loads_grid(BASE.replace("arrival_rate: 60, ", "") + "axes: {arrival_rate: [1, 60]}\n")
    gridplan.run(grid, tmp_path / "few", outputs=["usd_per_month"])
    page = html_page(record_of(tmp_path / "few", charts=False))
    counts = tables_of(page)["Cells of the cube"]
    assert [row[0].text for row in counts.rows] == ["cells"]
    assert "The cube holds no status, binding_constraint, infeasible_reason" in page.replace("<wbr>", "")


def test_a_plan_of_another_scenario_is_not_judged_by_the_nominal_fleet() -> None:
    record = record_of(
        gridplan.load_grid(GRIDS / "lesson.yaml"), at={"instance": "aws-p4de", "scenario": "surge"}, charts=False
    )
    assert "13 replicas carry the peak of 90 req/s" in record.decision
    assert "what a scenario breaks is said of the nominal plan" in html_page(record).replace("<wbr>", "")
    assert not any("scenario" in text and "ask" in text for text in record.findings)


def test_limits_stand_beside_what_was_measured_near_the_planned_load() -> None:
    """60 req/s over 9 replicas are 6.67 a replica; the sweep of section 3.3 has 280 ms, 17.8 ms, 3.45 s at 8."""
    record = record_of(
        gridplan.load_grid(GRIDS / "lesson.yaml"), at={"instance": "aws-p4de"}, sweep=[SWEEP], charts=False
    )
    limits = tables_of(html_page(record))["Service level objectives"]
    assert "measured at 8 req/s" in limits.heads
    assert [limits.value(name, "measured at 8 req/s") for name in ("TTFT p95", "TPOT p95", "E2E p99")] == pytest.approx(
        [0.28, 0.0178, 3.45]
    )
    assert any("its figures have 1 error (below_least_possible)" in text for text in record.findings)


def test_a_predicted_rate_is_said_to_be_untested() -> None:
    assert "The rate of a replica is predicted and was not load-tested." in made(BASE).findings


def test_a_comma_of_a_label_can_be_written() -> None:
    assert parse_labels((r"instance=x\,y=z,gpu=b200",)) == {"instance": "x,y=z", "gpu": "b200"}
    assert gridplan.quantities.format_labels({"instance": "x,y=z"}.items()) == r"instance=x\,y=z"


def test_stairs_refuse_more_than_a_picture_holds(tmp_path: Path) -> None:
    axis = "axes: {arrival_rate: {linspace: [1, 3000, 2500]}}\n"
    many = gridplan.loads_grid(BASE.replace("arrival_rate: 60, ", "") + axis)
    cube = gridplan.evaluate(many)
    with pytest.raises(gridplan.ContractError, match="2,500 plans are too many for a picture"):
        stairs(cube)
    huge = gridplan.loads_grid(BASE.replace("arrival_rate: 60", "arrival_rate: 1e8"))
    with pytest.raises(gridplan.ContractError, match="more than 200 steps lie between"):
        stairs(huge)


def test_stairs_say_that_the_contract_itself_has_no_plan() -> None:
    text = BASE.replace("redundancy: 1,", "redundancy: 1, budget_usd_per_month: 300000,")
    assert stairs(gridplan.loads_grid(text)).finding.startswith("60 req/s has no plan (budget_exceeded)")


def test_noise_of_the_arithmetic_is_no_swing() -> None:
    """A bill before rounding up is proportional to the rate, so its price a token does not move with it."""
    grid = gridplan.load_grid(GRIDS / "break-even.yaml")
    at = {"instance": "nebius-hgx-b200", "purchase": "reserved", "arrival_rate": 20.0}
    rows = gridplan.tornado(grid, {"arrival_rate": "-20%:+20%"}, ["usd_per_mtok_output"], at)
    assert np.asarray(rows.swing_unrounded).tolist() == [0.0]


def lesson_text() -> str:
    return (GRIDS / "lesson.yaml").read_text(encoding="utf-8")


def test_a_load_test_is_judged_by_the_limits_of_the_plan() -> None:
    """In the sweep's own table 8 req/s is the last rate that holds TTFT p95 400 ms (errata E5)."""
    at = {"instance": "aws-p4de", "scenario": "ttft_400ms_sweep"}
    record = record_of(gridplan.loads_grid(lesson_text()), at=at, sweep=SWEEP, charts=False)
    said = markdown_page(record)
    assert "8 requests/s hold every limit; at 10 requests/s ttft_p95 breaks" in said
    assert "The plan uses that rate: lambda_instance is 8 req/s." in said


def test_a_limit_that_less_load_breaks_does_not_hold() -> None:
    """15 req/s a replica are planned, and the test stops at 14, where every limit is broken."""
    text = lesson_text().replace("lambda_instance_given: 10.0", "lambda_instance_given: 16.0")
    record = record_of(
        gridplan.loads_grid(text.replace("rho_target: 0.70", "rho_target: 1")),
        at={"instance": "aws-p4de"},
        sweep=[SWEEP],
        charts=False,
    )
    limits = tables_of(html_page(record))["Service level objectives"]
    assert "measured at 14 req/s" in limits.heads
    assert [row[limits.heads.index("held")].text for row in limits.rows] == ["no", "no", "no"]


def test_classes_are_those_of_the_plan() -> None:
    """A scenario makes the lesson's summaries four times as long (errata E20)."""
    at = {"instance": "aws-p4de", "scenario": "context_and_surge"}
    page = html_page(record_of(gridplan.loads_grid(lesson_text()), at=at, charts=False))
    classes = next(table for title, table in tables_of(page).items() if title.startswith("Classes of requests"))
    assert classes.value("summarisation", "prompt P [tokens]") == 2048.0
    assert classes.value("summarisation", "context S [tokens]") == 2304.0


def test_a_plan_without_a_bill_has_a_record() -> None:
    """The sizing formula's worked example has no prices: 500 requests/s at 4 s need 40 replicas."""
    record = record_of(gridplan.load_grid(GRIDS / "theory.yaml"), at={"rho_target": 0.7}, charts=False)
    assert "40 replicas carry the peak of 500 req/s; at a price that is not known" in record.decision
    assert any(text.startswith("arrival_rate moves replicas most") for text in record.findings)


def test_what_python_gives_wrongly_is_an_error_of_the_question() -> None:
    grid = gridplan.loads_grid(lesson_text())
    with pytest.raises(gridplan.ContractError, match="the folder of a cube, not Dataset"):
        gridplan.record(gridplan.evaluate(grid))  # type: ignore[arg-type]
    with pytest.raises(gridplan.ContractError, match="labels by axis are due"):
        gridplan.record(grid, at="instance=aws-p4de", charts=False)  # type: ignore[arg-type]
    with pytest.raises(gridplan.ContractError, match="binding_constraint is a label"):
        gridplan.record(grid, measure="binding_constraint", charts=False)
    refused = gridplan.record(grid, where="usd_per_month <= 100", charts=False)
    assert refused.decision == "No plan: none of 2 cells is a candidate (not usd_per_month <= 100: 2)."
