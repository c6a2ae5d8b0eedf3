"""The stress rows of "Capacity Planning: From Traffic Profile to GPU Count" with the right figures of its errata."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import gridplan

AWS, FRACTIONAL = "aws-p4de", "fractional"


@pytest.fixture(scope="module")
def table(grids: Path) -> xr.Dataset:
    return gridplan.stress(gridplan.load_grid(grids / "lesson.yaml"))


def row(table: xr.Dataset, scenario: str, *names: str, instance: str = AWS) -> list[Any]:
    cell = table.sel(scenario=scenario, instance=instance)
    return [cell[name].item() for name in names]


@pytest.mark.parametrize(
    ("scenario", "lambda_safe", "active", "resilient", "nodes", "usd_per_month"),
    [
        ("nominal", 7.0, 9, 10, 2, 59965.44),
        ("surge", 7.0, 13, 14, 2, 59965.44),
        ("context_x2", 5.25, 12, 13, 2, 59965.44),  # E8: +3, not +2
        ("context_x2_lambda7", 4.9, 13, 14, 2, 59965.44),
        ("context_and_surge", 4.9, 19, 20, 3, 89948.16),
        ("ttft_400ms", 5.2, 12, 13, 2, 59965.44),  # E5: N+1 of 12 is 13, not 15
        ("ttft_400ms_sweep", 5.6, 11, 12, 2, 59965.44),
        ("gpu_loss", 7.0, 9, 10, 2, 59965.44),
        ("node_loss", 7.0, 9, 10, 2, 59965.44),
    ],
)
def test_what_each_scenario_would_need(
    table: xr.Dataset, scenario: str, lambda_safe: float, active: int, resilient: int, nodes: int, usd_per_month: float
) -> None:
    found = row(table, scenario, "lambda_safe", "replicas_active", "replicas", "nodes", "usd_per_month")
    assert found == pytest.approx([lambda_safe, active, resilient, nodes, usd_per_month], rel=1e-9)
    assert row(table, scenario, "replicas_delta") == [resilient - 10]


def test_e06_a_lost_gpu_leaves_105_and_63(table: xr.Dataset) -> None:
    """Printed: 15 GPUs carry 70 req/s, which is ten GPUs' worth."""
    names = ("bought_replicas", "bought_replicas_left", "bought_arrival_rate_safe", "bought_breaks")
    assert row(table, "gpu_loss", *names) == [16, 15, pytest.approx(105), "nothing"]
    assert row(table, "gpu_loss", *names, instance=FRACTIONAL) == [10, 9, pytest.approx(63), "nothing"]


def test_e07_a_lost_node_takes_the_headroom_and_not_the_limits(table: xr.Dataset) -> None:
    """Printed: the N+1 plan holds. 8 x 7.0 = 56 < 60; 60 is 75% of 8 x 10."""
    names = ("bought_replicas_left", "bought_arrival_rate_safe", "bought_arrival_rate_slo", "bought_utilization")
    assert row(table, "node_loss", *names) == pytest.approx([8, 56, 80, 0.75])
    assert row(table, "node_loss", "bought_headroom_kept", "bought_slo_held") == [0.0, 1.0]
    assert row(table, "node_loss", "bought_breaks") == ["headroom"]


def test_e09_one_surge_and_two_denominators(table: xr.Dataset) -> None:
    """Printed: 80%. Of safe capacity 90/112 = 80%, of capacity at the limits 90/160 = 56%."""
    names = ("bought_utilization_safe", "bought_utilization", "bought_breaks")
    assert row(table, "surge", *names) == [pytest.approx(90 / 112), pytest.approx(90 / 160), "nothing"]


def test_e28_a_surge_on_single_gpus_takes_the_headroom(table: xr.Dataset) -> None:
    """Printed: queues blow up at 90 req/s. 9.0 a GPU is under 10; of what is safe it is 128%, 129 before rounding."""
    names = ("bought_replicas_left", "bought_utilization_safe", "bought_slo_held", "bought_breaks")
    assert row(table, "surge", *names, instance=FRACTIONAL) == [10, pytest.approx(90 / 70), 1.0, "headroom"]


def test_longer_prompts_on_the_fleet_as_bought(table: xr.Dataset) -> None:
    """16 x 4.9 = 78.4 carries 60; 90 only within limits: 16 x 7 = 112."""
    assert row(table, "context_x2_lambda7", "bought_arrival_rate_safe", "bought_breaks") == [
        pytest.approx(78.4),
        "nothing",
    ]
    names = ("bought_arrival_rate_safe", "bought_arrival_rate_slo", "bought_breaks")
    assert row(table, "context_and_surge", *names) == [pytest.approx(78.4), pytest.approx(112), "headroom"]


def test_a_rate_scaled_against_its_own_measurement_is_marked(table: xr.Dataset) -> None:
    assert row(table, "fp8_kv", "rate_note") == ["scaled_by_far_anchor"]
    assert row(table, "surge", "rate_note") == [None]


def test_the_director_s_tornado(grids: Path) -> None:
    """60/(0.6 x 10) is 10 active (11 with the spare), 60/8 is 8 (9); 60/(0.7 x 7) = 12.2 is 13; prices by hand."""
    ranges = {
        "peak_to_average": (2, 5),
        "rho_target": (0.6, 0.8),
        "output_tokens": "x0.5:x2",
        "usd_per_node_hour": "-20%:+20%",
        "lambda_instance_given": (7, 10),
    }
    grid = gridplan.load_grid(grids / "lesson.yaml")
    measures = ("replicas_active", "replicas", "nodes", "usd_per_mtok_output")
    rows = gridplan.tornado(grid, ranges, measures, at={"instance": AWS})
    found = {(row.input, row.measure): (row.low, row.base, row.high) for row in rows.itertuples()}
    price = 59965.44 / (20 * 3600 * 732 * 121.6) * 1e6
    assert found["rho_target", "replicas_active"] == (10, 9, 8)
    assert found["rho_target", "replicas"] == (11, 10, 9)
    assert found["lambda_instance_given", "replicas_active"] == (13, 9, 9)
    assert found["lambda_instance_given", "nodes"] == (2, 2, 2)
    par = [price * share for share in (2 / 3, 1, 5 / 3)]
    assert found["peak_to_average", "usd_per_mtok_output"] == pytest.approx(par, rel=1e-9)
    assert found["usd_per_node_hour", "usd_per_mtok_output"] == pytest.approx([0.8 * price, price, 1.2 * price])
    assert found["output_tokens", "usd_per_mtok_output"] == pytest.approx([2 * price, price, price / 2])
    smooth = rows[(rows.input == "rho_target") & (rows.measure == "replicas_active")].iloc[0]
    assert (smooth.low_unrounded, smooth.high_unrounded) == pytest.approx((10, 7.5))
    assert np.isfinite(rows.swing).all()
    assert not rows.flips.any()
