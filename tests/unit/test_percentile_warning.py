"""A limit at a percentile that is planned as a mean is said aloud."""

from __future__ import annotations

import pytest

import gridplan
from gridplan.engine.inputs import build_inputs

GRID = """
schema: 1
workload: {{prompt_tokens: 3000, output_tokens: 500, arrival_rate: 3}}
policy: {{rho_target: 0.7}}
slo: {slo}
deployment: {{gpu: h100-sxm, model: llama-3.1-8b, workspace_bytes: 4 GiB}}
capacity: {{capacity_model: {model}}}
"""
BASIS = "capacity_model replica_seconds applies limits to means (slo_basis), not to percentiles: "


@pytest.mark.parametrize(
    ("slo", "model", "said"),
    [
        ("{tpot: {limit: 50 ms, percentile: 99}}", "replica_seconds", [BASIS + "tpot at percentile 99"]),
        (
            "{tpot: {limit: 50 ms, percentile: 99}, ttft: {limit: 2 s, percentile: 95}}",
            "replica_seconds",
            [BASIS + "ttft at percentile 95, tpot at percentile 99"],
        ),
        ("{tpot: {limit: 50 ms, percentile: mean}}", "replica_seconds", []),
        ("{tpot: {limit: 50 ms, percentile: 99}}", "littles_law", []),
    ],
)
def test_a_percentile_planned_as_a_mean_is_a_warning(slo: str, model: str, said: list[str]) -> None:
    grid = gridplan.loads_grid(GRID.format(slo=slo, model=model))
    assert [text for text in build_inputs(grid).warnings if "percentile" in text] == said
