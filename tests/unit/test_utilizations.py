"""Four utilisations under four names, and the factor to the limit where there is one."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import xarray as xr

import gridplan
from gridplan.dictionary import dictionary
from gridplan.formulas import operating_point

CHAINS = Path(__file__).parents[2] / "grids" / "chains-70b.yaml"
FOUR = ("utilization_peak", "utilization_safe", "busy", "slot_share")


def test_four_names_for_four_shares() -> None:
    """ "Inference system design chains": 34 replicas of 9.3097 req/s at 200, 0.65 of that safe, d = 92.3288 ms."""
    cube = gridplan.evaluate(gridplan.load_grid(CHAINS), list(FOUR))
    assert cube["utilization_peak"] == pytest.approx(200 / (34 * 9.3097), rel=1e-4)
    assert cube["utilization_safe"] == pytest.approx(200 / (34 * 9.3097 * 0.65), rel=1e-4)
    assert cube["busy"] == pytest.approx(200 * 0.0923288 / 34, rel=1e-4)
    assert 0 < cube["slot_share"] < cube["busy"]
    assert len({dictionary()[name].long_name for name in FOUR}) == 4


def test_slot_share_is_that_of_the_operating_point() -> None:
    text = CHAINS.read_text(encoding="utf-8").replace("capacity: {", "capacity: {latency_model: queueing, ")
    grid = gridplan.loads_grid(text)
    step, context, prompt = 70.55e9 / 4 / (3.35e12 * 0.75), 81920 / (3.35e12 * 0.75), 2 * 70.55e9 / (4 * 1979e12 * 0.5)
    shown = gridplan.evaluate(grid, ["slot_share", "concurrency_scheduler", "concurrency_memory_residence"])
    slots = min(shown["concurrency_scheduler"].item(), shown["concurrency_memory_residence"].item())
    point = operating_point(
        200 / 34, [1.0], [2000], [2000], [300], step, context, prompt, token_budget=8192, slots=slots
    )
    assert shown["slot_share"] == pytest.approx(float(point.slot_share), rel=1e-3)


def test_the_factor_to_a_limit_is_null_where_slots_are_no_limit(cube: Callable[[str], xr.Dataset]) -> None:
    assert cube("chains-70b")["burst_to_slo"] == pytest.approx(1.583, abs=5e-4)
    theory = cube("theory")
    assert (theory["lambda_basis"] == "slots").all()
    assert theory["burst_to_slo"].isnull().all()
    opening = cube("lesson-opening").sel(scenario="given_1000_tok_s")
    assert (opening["lambda_basis"] == "throughput_measured").all()
    assert opening["burst_to_slo"].notnull().all()
    assert not math.isnan(cube("lesson")["burst_to_slo"].values.max())
