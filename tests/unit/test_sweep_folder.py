"""Folders as load generators leave them: every load point once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from gridplan.errors import ContractError
from gridplan.measured.sweep import read_sweep

FILES = Path(__file__).parent / "sweep_files"
STAGE = json.loads((FILES / "inference_perf_stage_0_lifecycle_metrics.v0.6plus.json").read_text())
RUN = json.loads((FILES / "vllm_bench_serve.json").read_text())


def write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def stage(rate: float) -> dict:
    return STAGE | {"load_summary": STAGE["load_summary"] | {"requested_rate": rate}}


def test_stages_in_order_without_their_summary(tmp_path):
    for number in (10, 2, 0):
        write(tmp_path / f"stage_{number}_lifecycle_metrics.json", stage(number + 1.0))
    load = {key: STAGE["load_summary"][key] for key in ("count", "schedule_delay")}
    write(tmp_path / "summary_lifecycle_metrics.json", STAGE | {"load_summary": load})
    write(tmp_path / "per_request_lifecycle_metrics.json", [{"request": "...", "start_time": 1.0}])
    write(tmp_path / "config.yaml", "load:\n  stages: []\n")
    points = read_sweep(tmp_path)
    assert [point.place for point in points] == ["stage 0", "stage 2", "stage 10"]
    assert [point.offered_rate_per_s for point in points] == [1.0, 3.0, 11.0]


def test_vllm_sweep_counts_no_run_twice(tmp_path):
    shutil.copy(FILES / "vllm_sweep_summary.csv", tmp_path / "summary.csv")
    combination = tmp_path / "SERVE-1-BENCH-1"
    shutil.copytree(FILES, combination, ignore=lambda _, names: [n for n in names if n != "vllm_sweep_summary.json"])
    write(combination / "run=0.json", RUN)
    write(combination / "warmup.json", RUN)
    write(combination / "run=1.failure.json", {"error": "no"})
    assert [point.format for point in read_sweep(tmp_path)] == ["vllm-sweep-csv"] * 8
    assert [point.format for point in read_sweep(combination)] == ["vllm-sweep-json"] * 4


def test_one_report_in_several_forms_is_read_once(tmp_path):
    shutil.copy(FILES / "aiperf_0.13.json", tmp_path / "profile_export_aiperf.json")
    shutil.copy(FILES / "aiperf.csv", tmp_path / "profile_export_aiperf.csv")
    write(tmp_path / "profile_export.jsonl", '{"metadata": {"benchmark_phase": "profiling"}, "metrics": {}}\n')
    shutil.copy(FILES / "genai_perf.csv", tmp_path / "profile_export_genai_perf.csv")
    points = read_sweep(tmp_path)
    assert [point.format for point in points] == ["aiperf-0.13", "genai-perf-csv"]


def test_a_large_file_of_single_requests_is_passed_over(tmp_path):
    shutil.copy(FILES / "aiperf_0.13.json", tmp_path / "profile_export_aiperf.json")
    with (tmp_path / "profile_export.jsonl").open("wb") as stream:
        stream.write(b'{"metadata": {"benchmark_phase": "profiling"}}\n')
        stream.truncate(2**30)
    assert len(read_sweep(tmp_path)) == 1


def test_a_result_that_is_cut_off_is_not_passed_over(tmp_path):
    write(tmp_path / "a.json", RUN)
    write(tmp_path / "b.json", json.dumps(RUN)[:-50])
    write(tmp_path / "c.json", RUN | {"duration": -1})
    with pytest.raises(ContractError) as caught:
        read_sweep(tmp_path)
    assert [Path(problem.file).name for problem in caught.value.problems] == ["b.json", "c.json"]


def test_folders_with_nothing_to_read(tmp_path):
    with pytest.raises(ContractError, match="it has no JSON, CSV or YAML files"):
        read_sweep(tmp_path)
    write(tmp_path / "package.json", {"name": "x"})
    write(tmp_path / "notes.csv", "who,what\nme,nothing\n")
    with pytest.raises(ContractError, match="2 files were looked at"):
        read_sweep(tmp_path)


def test_files_and_folders_keep_their_order_and_all_samples_are_read(tmp_path):
    write(tmp_path / "one" / "run.json", RUN | {"request_rate": 1.0})
    write(tmp_path / "two.json", RUN | {"request_rate": 2.0})
    points = read_sweep([tmp_path / "two.json", tmp_path / "one", tmp_path / "two.json"])
    assert [point.offered_rate_per_s for point in points] == [2.0, 1.0]
    assert len({point.tool for point in read_sweep(FILES)}) == 8
