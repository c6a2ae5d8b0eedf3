"""What a contract predicts of one replica at a load: the measures of its plan, and the formulas by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import gridplan
from gridplan.contract import loads_grid
from gridplan.errors import ContractError
from gridplan.formulas import operating_point, tpot_at_concurrency
from gridplan.report.predicted import replica_at

GRIDS = Path(__file__).parents[2] / "grids"

KNOWN = """
schema: 1
name: known
workload: {prompt_tokens: 1000, output_tokens: 200, arrival_rate: 6}
slo: {tpot: {limit: 40 ms, percentile: 95}, e2e: {limit: 10 s, percentile: 99}}
deployment:
  {model: llama-3.1-8b, gpu: h100-sxm, weight_dtype: bf16, kv_dtype: bf16, max_num_batched_tokens: 2048,
   step_weights_s: 0.010, step_per_context_token_s: 1.0e-7, prefill_per_token_s: 3.0e-5}
policy: {rho_target: 0.7}
"""
TIMES = ([1.0], [1000], [1000], [200], 0.010, 1e-7, 3e-5)
RATES = [2.0, 6.5, 11.0]


def test_it_is_the_operating_point_of_the_stated_times() -> None:
    replica = replica_at(loads_grid(KNOWN))
    point = operating_point(np.array(RATES), *TIMES, token_budget=2048)
    assert replica.at_rates(RATES, "tpot", "mean") == pytest.approx(point.tpot_mean_s.tolist(), rel=1e-9)
    assert replica.at_rates(RATES, "e2e", "mean") == pytest.approx(point.e2e_s.tolist(), rel=1e-9)
    for name in ("ttft", "tpot", "e2e", "itl"):
        expected = getattr(point, f"{name}_quantile")(0.9)
        assert replica.at_rates(RATES, name, 90.0) == pytest.approx(expected.tolist(), rel=1e-9)
    assert (replica.prompt_tokens, replica.output_tokens) == (1000.0, 200.0)


def test_in_a_closed_loop_it_is_the_closed_loop() -> None:
    replica = replica_at(loads_grid(KNOWN))
    for number in (1.0, 24.0):
        loop = tpot_at_concurrency(number, *TIMES, token_budget=2048)
        assert replica.at_clients([number], "tpot") == pytest.approx([float(loop.tpot_mean_s)], rel=1e-9)
        assert replica.at_clients([number], "ttft") == pytest.approx([float(loop.ttft_s)], rel=1e-6)
        assert replica.at_clients([number], "e2e") == pytest.approx([float(loop.e2e_s)], rel=1e-9)
    assert math.isnan(replica.at_clients([8.0], "itl")[0])


FIGURES = {
    "tpot_s": ("tpot", "mean"), "ttft_s": ("ttft", "mean"), "e2e_s": ("e2e", "mean"), "tpot_p95_s": ("tpot", 95.0),
    "ttft_p95_s": ("ttft", 95.0), "e2e_p99_s": ("e2e", 99.0), "itl_p99_s": ("itl", 99.0),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("chains-70b", {}),
        ("latency", {"gpu": "b200", "rho_target": 0.6}),
        ("capacity", {}),
        ("lesson", {"instance": "fractional", "scenario": "nominal"}),
    ],
)
def test_at_the_planned_rate_it_is_the_plan(name: str, at: dict[str, str | float]) -> None:
    """At the rate of an active replica every figure is that of the cube, mean steps of published texts included."""
    grid = gridplan.load_grid(GRIDS / f"{name}.yaml")
    cube = gridplan.evaluate(grid, [*FIGURES, "output_tokens_per_s_replica", "output_tokens_mean"])
    labels = {str(axis): at.get(str(axis), cube[axis].values.tolist()[0]) for axis in cube.sizes}
    cell = cube.sel(labels)
    rate = float(cell.output_tokens_per_s_replica / cell.output_tokens_mean)
    assert rate > 0
    replica = replica_at(grid, labels)
    for measure, (latency, statistic) in FIGURES.items():
        # Cubes whose cells share a replica read latencies from curves: within 0.5% of the formula.
        found = replica.at_rates([rate], latency, statistic)
        assert found == pytest.approx([float(cell[measure])], rel=5e-3, nan_ok=True), measure
    assert not math.isnan(replica.at_rates([rate], "tpot", "mean")[0])


def test_limits_and_fleets_play_no_part() -> None:
    """A limit that no rate holds stops a plan, not a replica; rates and headroom need not be chosen."""
    strict = KNOWN.replace("40 ms", "1 ms") + "axes: {arrival_rate: [1, 100, 1000], rho_target: [0.5, 0.7]}\n"
    strict = strict.replace(", arrival_rate: 6", "").replace("policy: {rho_target: 0.7}\n", "")
    found = replica_at(loads_grid(strict))
    assert (found.reason, dict(found.labels)) == (None, {})
    assert found.at_rates(RATES, "tpot", 95.0) == replica_at(loads_grid(KNOWN)).at_rates(RATES, "tpot", 95.0)


def test_an_axis_along_which_the_replica_is_the_same_may_be_left_out() -> None:
    """The lesson buys one GPU in two ways, and its scenarios change the fleet or the requests."""
    grid = gridplan.load_grid(GRIDS / "lesson.yaml")
    assert dict(replica_at(grid).labels) == {"scenario": "nominal"}
    assert replica_at(grid).at_rates(RATES, "e2e", 99.0) == replica_at(grid, {"scenario": "surge"}).at_rates(
        RATES, "e2e", 99.0
    )
    assert replica_at(grid, {"scenario": "context_x2"}).prompt_tokens > replica_at(grid).prompt_tokens


def test_a_replica_that_cannot_run_predicts_nothing() -> None:
    found = replica_at(loads_grid(KNOWN.replace("llama-3.1-8b", "llama-3.3-70b")))
    assert found.reason == "weights_exceed_memory"
    assert all(math.isnan(value) for value in [*found.at_rates(RATES, "tpot", 95.0), *found.at_clients([4.0], "tpot")])


def test_beyond_the_replica_the_flag_says_why() -> None:
    """28 requests a second of 1,000 prompt tokens at 30 us are 84% of the time; with decoding it is more than all."""
    found = replica_at(loads_grid(KNOWN))
    assert found.flags([6.0, 28.0]) == [None, "unstable_time"]
    assert math.isnan(found.at_rates([28.0], "ttft", "mean")[0])


def test_axes_of_the_replica_are_asked_for() -> None:
    with pytest.raises(ContractError, match="gpu: fix gpu at one of: h100-sxm, h200-sxm, b200"):
        replica_at(gridplan.load_grid(GRIDS / "latency.yaml"))
    with pytest.raises(ContractError, match="b2000 is not on the axis"):
        replica_at(gridplan.load_grid(GRIDS / "latency.yaml"), {"gpu": "b2000"})
