"""What is made of a judged sweep: the contract block, the words, plain data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

import gridplan
from gridplan.catalog import load_catalog
from gridplan.errors import ContractError
from gridplan.measured import read_sweep, sweep_result
from gridplan.measured.sweep import sweep_of_text
from gridplan.report.sweep_block import capacity_block, dated, settings_of_points
from gridplan.report.sweep_data import sweep_data
from gridplan.report.sweep_facts import facts_of_grid
from gridplan.report.sweep_page import sweep_page

ROOT = Path(__file__).parents[2]
LIMITS = "ttft_p95=1s,tpot_p95=25ms,e2e_p99=5s"
STATED = "rate_rps,model,gpu,engine,engine_version,setting_max_num_seqs,ttft_p95_ms\n"
ROW = "{},meta-llama/Meta-Llama-3-8B-Instruct,a100-sxm-80gb,vllm,0.25,256,{}\n"


@pytest.fixture(scope="module")
def lesson():
    return sweep_result(read_sweep(ROOT / "docs" / "lesson-sweep.csv"), LIMITS)


def merged(block: str, tmp_path: Path, **changes) -> gridplan.contract.Grid:
    contract = yaml.safe_load((ROOT / "grids" / "lesson.yaml").read_text())
    contract["capacity"] = yaml.safe_load(block)["capacity"]
    contract["axes"] |= changes
    path = tmp_path / "grid.yaml"
    path.write_text(yaml.safe_dump(contract))
    return gridplan.load_grid(path)


def test_the_block_loads_and_plans_the_lesson(lesson, tmp_path):
    grid = merged(capacity_block(lesson, "2025-04-28"), tmp_path)
    given = grid.given["lambda_instance_given"]
    assert (given.value, given.cls, given.as_of) == (10.0, "measurement", "2025-04-28")
    assert given.source.endswith("lesson-sweep.csv (csv)")
    assert grid.measured.measured_at["tpot_slo_s"] == 0.025
    cube = gridplan.evaluate(grid).sel(instance="fractional", scenario="nominal")
    assert (float(cube.lambda_instance), str(cube.capacity_source.values)) == (10.0, "measured")
    assert (float(cube.replicas_active), float(cube.replicas)) == (9.0, 10.0)


def test_another_limit_is_not_where_it_was_measured(tmp_path):
    points = read_sweep(ROOT / "docs" / "lesson-sweep.csv")
    block = capacity_block(sweep_result(points, LIMITS.replace("1s", "400ms")), "2025-04-28")
    cube = gridplan.evaluate(merged(block, tmp_path)).sel(instance="fractional", scenario="nominal")
    assert str(cube.capacity_source.values) == "scaled"


def test_settings_that_the_files_state_are_named(tmp_path):
    points = sweep_of_text(STATED + ROW.format(8, 500) + ROW.format(10, 1500))
    at = settings_of_points(points, load_catalog())
    assert at == {"model": "llama-3-8b", "gpu": "a100-sxm-80gb", "engine": "vllm@0.25", "max_num_seqs": 256}
    block = yaml.safe_load(capacity_block(sweep_result(points, "ttft_p95=1s"), "2026-01-02"))["capacity"]
    assert block["measured_at"]["engine"] == "vllm@0.25"
    assert block["applies_to"] == {}
    mixed = sweep_of_text(STATED + ROW.format(8, 500) + ROW.format(10, 1500).replace("256", "128"))
    assert "max_num_seqs" not in settings_of_points(mixed, load_catalog())


def test_the_day_of_the_test_is_stated_or_asked_for(lesson):
    vllm = read_sweep(ROOT / "tests" / "unit" / "sweep_files" / "vllm_bench_serve_append.jsonl")
    assert dated(vllm) == "2026-01-15"
    with pytest.raises(ContractError, match="--as-of: the files do not state the day"):
        capacity_block(lesson)


def test_a_name_of_a_file_cannot_break_the_block():
    points = sweep_of_text("rate_rps,ttft_p95_ms\n8,500\n", 'a"b\n: {x}#\x07.csv')
    block = capacity_block(sweep_result(points, "ttft_p95=1s"), "2026-01-02")
    assert yaml.safe_load(block)["capacity"]["lambda_instance_given"]["source"] == 'a"b : {x}#?.csv (csv)'


def test_no_rate_no_block(lesson):
    with pytest.raises(ContractError, match="no measured rate"):
        capacity_block(sweep_result(read_sweep(ROOT / "docs" / "lesson-sweep.csv"), "ttft_p95=1ms"), "2026-01-02")


def test_data_is_json_and_complete(lesson):
    data = json.loads(json.dumps(sweep_data(lesson), allow_nan=False))
    assert data["lambda_instance_per_s"] == 10.0
    assert [point["row"] for point in data["points"]] == [1, 2, 3, 4, 5, 6, 7]
    assert data["neighbours_per_s"] == [10.0, 12.0]
    assert {check["id"] for check in data["checks"]} == {check.id for check in lesson.checks}


def test_goodput_on_the_page():
    table = "rate_rps,achieved_rate_rps,goodput_rps,ttft_p95_ms\n8,8,7.8,500\n10,10,9.2,900\n"
    found = sweep_result(sweep_of_text(table), "goodput=95%", interpolate=True)
    page = sweep_page(found)
    assert ">= 95.0%" in page
    assert "goodput        97.5% within the limits" in page
    assert "interpolated   8.909 requests/s" in page


def test_what_a_contract_says_of_a_test(tmp_path):
    facts = facts_of_grid(gridplan.load_grid(ROOT / "grids" / "lesson.yaml"))
    assert ",".join(slo.name for slo in facts.slos) == "ttft_p95,tpot_p95,e2e_p99"
    # 8.03e9 parameters of 2 bytes at 2,039 and 1,550 GB/s
    assert facts.least.step_peak_s == pytest.approx(16.06 / 2039, rel=1e-6)
    assert facts.least.step_stated_s == pytest.approx(16.06 / 1550, rel=1e-4)
    assert facts.least.prefill_peak_s == pytest.approx(2 * 8.03e9 / 312e12, rel=1e-6)
    with pytest.raises(ContractError, match="the contract has no limits: give --slo"):
        facts_of_grid(gridplan.load_grid(ROOT / "grids" / "memory.yaml"))
    assert facts_of_grid(gridplan.load_grid(ROOT / "grids" / "memory.yaml"), limits_wanted=False).slos == ()


def test_limits_that_are_an_axis_are_asked_for(tmp_path):
    contract = yaml.safe_load((ROOT / "grids" / "lesson.yaml").read_text())
    contract["slo"].pop("ttft")
    contract["axes"]["ttft_slo_s"] = [0.4, 1.0]
    contract["scenarios"] = {"nominal": {}}
    path = tmp_path / "grid.yaml"
    path.write_text(yaml.safe_dump(contract))
    with pytest.raises(ContractError, match="ttft_slo_s has several values: give --slo"):
        facts_of_grid(gridplan.load_grid(path))


@pytest.mark.parametrize("grid", sorted((ROOT / "grids").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_grid_is_read(grid):
    facts_of_grid(gridplan.load_grid(grid), limits_wanted=False)
