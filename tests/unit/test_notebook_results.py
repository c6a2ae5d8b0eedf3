"""Explanations, runs, records, sweeps, differences and exports in a notebook: the numbers are those of their data."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from notebook_pages import Page, read_page

import gridplan
from gridplan.export.handover import Exported
from gridplan.measured import read_sweep, sweep_result
from gridplan.report.explanation import FACTS

ROOT = Path(__file__).parents[2]
CELLS = {
    "lesson": {"instance": "aws-p4de"},
    "lesson-opening": {"rho_target": 0.7},
    "chains-70b": {},
    "latency": {"gpu": "b200", "rho_target": 0.6},
    "memory": {"model": "deepseek-v3.2", "gpu": "h100-sxm", "tensor_parallel": 8, "max_model_len": 131072},
}
SWEEP = "ttft_p95=1s,tpot_p95=25ms,e2e_p99=5s"


@cache
def explained(name: str) -> Any:
    return gridplan.explain(gridplan.load_grid(ROOT / "grids" / f"{name}.yaml"), **CELLS[name])


@cache
def page_of(name: str) -> Page:
    return read_page(explained(name)._repr_html_())


@pytest.mark.parametrize("name", CELLS)
def test_an_explanation_shows_the_numbers_of_its_data(name: str) -> None:
    data, page = explained(name).to_dict(), page_of(name)
    shown = {key.split(" (")[0]: value for key, value in page.values("value").items()}
    for key, value in data["values"].items():
        assert shown[key] == value, key
    for item in data["inputs"]:
        assert shown[item["name"]] == (None if isinstance(item["value"], str) else item["value"]), item["name"]
    assert list(page.values("GiB").values()) == [line["bytes"] for line in data["memory_budget"]]
    assert list(page.values("on one GPU").values()) == [line["bytes"] for line in data["kv_layer_groups"]]


@pytest.mark.parametrize("name", CELLS)
def test_an_explanation_shows_verdict_formulas_warnings_and_provenance(name: str) -> None:
    found, text = explained(name), " ".join(page_of(name).text.split())
    shown = [found.title, found.status, found.verdict, *found.warnings]
    shown += [str(found.facts[fact]) for fact in FACTS if found.facts.get(fact)]
    shown += [word for line in found.lines for word in (line.section, line.long_name, line.formula, line.numbers)]
    shown += [word for item in found.inputs for word in (item.cls, item.provider, item.source, item.as_of)]
    for words in shown:
        assert " ".join(words.split()) in text


def test_key_figures_come_first_and_the_chain_is_folded_by_section() -> None:
    page = page_of("lesson")
    first = [row[0].text for row in page.tables[0][1:]]
    assert first[:4] == ["lambda_instance", "lambda_safe", "replicas_active", "replicas"]
    assert page.skeleton.count("details") == page.skeleton.count("summary") > 8
    assert "replicas_fractional" in page.text
    assert "8.57 replicas → 9" in page.text
    assert repr(explained("lesson")) == "<Explanation 'lesson at scenario=nominal, instance=aws-p4de': ok>"


def test_a_run_shows_the_counts_and_prices_of_its_data(tmp_path: Path) -> None:
    result = gridplan.run(gridplan.load_grid(ROOT / "grids" / "buy.yaml"), tmp_path / "buy")
    data, page = result.to_dict(), read_page(result._repr_html_())
    pairs = page.pairs()
    assert pairs["cells"].value == data["cells"] == 10_368
    assert pairs["cells with a plan"].value == data["feasible"]
    assert page.values("1M output tokens") == {best["model"]: best["usd_per_mtok_output"] for best in data["cheapest"]}
    counted = {row[1].text: row[2].value for table in page.tables for row in table if len(row) == 3 and row[2].value}
    for key in ("binding_constraint", "infeasible_reason", "lambda_basis", "latency_flag"):
        assert data[key].items() <= counted.items()
    bills = [[cell.value for cell in row[1:3]] for row in page.tables[-1][1:]]
    plans = data["cheapest_surviving"]["survives_node_loss_slo"]
    assert bills == [[plan["usd_per_hour"], plan["nodes"]] for plan in plans]
    for warning in data["warnings"]:
        assert warning in page.text
    assert repr(result) == f"<RunResult '{tmp_path / 'buy'}': 10,368 cells>"


def test_a_run_without_counts_shows_its_cells(tmp_path: Path) -> None:
    result = gridplan.run(gridplan.load_grid(ROOT / "grids" / "lesson.yaml"), tmp_path / "lesson", outputs=["gpus"])
    page = read_page(result._repr_html_())
    assert page.pairs()["cells"].value == 20
    assert "cells with a plan" not in page.text


def test_a_sweep_shows_its_rate_its_points_and_its_findings() -> None:
    found = sweep_result(read_sweep(ROOT / "docs" / "lesson-sweep.csv"), SWEEP)
    page = read_page(found._repr_html_())
    assert page.pairs()["last measured rate that holds every limit"].value == found.lambda_instance_per_s == 10
    assert page.pairs()["neighbours"].text == "10 to 12 req/s"
    assert page.values("offered [req/s]") == {
        f"{i + 1}": p.point.offered_rate_per_s for i, p in enumerate(found.points)
    }
    for place, slo in enumerate(found.slos):
        assert list(page.values(str(slo)).values()) == [point.limits[place].value for point in found.points]
    assert [row[-1].text for row in page.tables[1][1:]] == ["yes"] * 5 + ["no"] * 2
    for check in found.checks:
        assert check.sentence in page.text
    assert repr(found) == "<SweepResult of 7 load points: 10 requests/s hold every limit>"


def test_a_sweep_in_which_nothing_holds_says_so() -> None:
    found = sweep_result(read_sweep(ROOT / "docs" / "lesson-sweep.csv"), "ttft_p95=1ms")
    page = read_page(found._repr_html_())
    assert page.pairs()["last measured rate that holds every limit"].text == "none"
    assert repr(found) == "<SweepResult of 7 load points: no rate holds every limit>"


def test_a_difference_shows_what_its_frames_hold() -> None:
    text = (ROOT / "grids" / "lesson.yaml").read_text(encoding="utf-8")
    sides = text, text.replace("rho_target: 0.70", "rho_target: 0.60").replace("[aws-p4de, fractional]", "[aws-p4de]")
    found = gridplan.diff(*map(gridplan.loads_grid, sides))
    page = read_page(found._repr_html_())
    assert page.pairs()["cells on both sides"].value == found.cells == 10
    assert page.values("largest change") == dict(zip(found.measures.measure, found.measures.change, strict=True))
    inputs = next(table for table in page.tables if table[0][0].text == "input")
    assert [cell.value for cell in inputs[1][1:4]] == [10, 0.7, 0.6]
    effects = [row[4].value for table in page.tables if table[0][-1].text == "note" for row in table[1:]]
    assert effects == found.why.effect.tolist()
    assert page.tables[-1][-1][-1].text == "fractional"
    assert repr(found) == "<Difference in 1 inputs over 10 cells>"
    same = read_page(gridplan.diff(*map(gridplan.loads_grid, sides[:1] * 2))._repr_html_())
    assert "rho_target" not in same.text


def test_a_record_shows_its_decision_findings_and_tables() -> None:
    record = gridplan.record(gridplan.load_grid(ROOT / "grids" / "lesson.yaml"), at=CELLS["lesson"])
    page = read_page(record._repr_html_())
    for words in (record.title, record.decision, *record.findings, *(value for _, value in record.tiles)):
        assert words in page.text
    for part in record.sections:
        assert part.title in page.text
    values = {cell.value for table in page.tables for row in table for cell in row}
    told = [block for part in record.sections if not part.appendix for block in part.blocks]
    for table in (block for block in told if hasattr(block, "rows")):
        assert {cell.value for row in table.rows for cell in row} <= values
    assert repr(record) == "<Record 'lesson': Plan>"


def test_an_export_shows_what_was_written() -> None:
    page = read_page(Exported(Path("cube.csv"), {"cube.csv": 10_368}, ("a warning",))._repr_html_())
    assert page.values("rows") == {"cube.csv": 10_368}
    assert "a warning" in page.text
