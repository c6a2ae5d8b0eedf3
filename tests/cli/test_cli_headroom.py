"""Warnings about headroom and routing, where a person sees them: validate, run and explain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

GRIDS = Path(__file__).parents[2] / "grids"
ROUTED = """
schema: 1
workload: {prompt_tokens: 2000, output_tokens: 300, arrival_rate: 200}
slo: {tpot: {limit: 50 ms, percentile: mean}}
deployment: {model: llama-3.3-70b, gpu: h100-sxm, weight_dtype: fp8, tensor_parallel: 4}
policy: {margin_forecast: 0.8, margin_failure: 0.9, redundancy: 1, routing: round_robin, routing_credit: 1.5}
"""


def test_the_lesson_is_told_what_it_counts_twice(cli: Any, tmp_path: Path) -> None:
    said = cli("validate", GRIDS / "lesson.yaml")
    assert "warning: headroom_counted_twice: rho_target 0.7 on lambda_basis percentile_measured" in said.err
    ran = cli("run", GRIDS / "lesson.yaml", "-o", tmp_path / "lesson")
    assert "warning: headroom_counted_twice: rho_target 0.7" in ran.err
    assert "rho* basis  percentile_measured 20\n" in ran.out


def test_run_and_explain_say_the_same(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "routed.yaml"
    path.write_text(ROUTED, encoding="utf-8")
    ran = json.loads(cli("run", path, "-o", tmp_path / "out", "--json").out)
    assert ran["lambda_basis"] == {"mean_tpot": 1}
    explained = json.loads(cli("explain", path, "--json").out)
    for said in (ran["warnings"], explained["warnings"]):
        assert (
            sum(item.startswith("headroom_counted_twice: margin_failure 0.9 beside redundancy 1") for item in said) == 1
        )
        assert sum(item.startswith("routing_credit 1.5 lies outside 1.02 to 1.16") for item in said) == 1
    assert explained["labels_of_the_cell"]["lambda_basis"] == "mean_tpot"
