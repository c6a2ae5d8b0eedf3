"""The table of winners: what is known of a label also where nothing may be chosen."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

import gridplan
from gridplan.export.handover import export_cube

CONTRACT = """
schema: 1
name: two-models
workload: {context_tokens: 2048, output_tokens: 256, arrival_rate: 1}
slo: {tpot: {limit: 50 ms, percentile: mean}}
deployment: {gpu: h100-sxm}
policy: {rho_target: 0.65}
axes:
  model: [deepseek-v3, llama-3.1-8b]
"""


def test_a_label_without_a_plan_keeps_its_rank(tmp_path: Path) -> None:
    contract = tmp_path / "two.yaml"
    contract.write_text(CONTRACT, encoding="utf-8")
    gridplan.run(gridplan.load_grid(contract), tmp_path / "two")
    export_cube(tmp_path / "two", "wide", tmp_path / "two.parquet", best="model", best_measure="tpot_s")
    best = pq.read_table(tmp_path / "two_best.parquet").to_pydict()
    assert best["model"] == ["deepseek-v3", "llama-3.1-8b"]
    assert best["model_rank"] == [0, 1]
    assert best["candidates"] == [0, 1]
    assert best["infeasible_reason"] == [None, None]
