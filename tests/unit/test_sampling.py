"""Samples through a grid: the same plans as one by one, percentiles, missing values, memory in pieces, seeds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import gridplan
from gridplan.errors import ContractError
from gridplan.sensitivity import sample_folds, sampling
from gridplan.sensitivity.sample_study import points_of

GRID = """schema: 1
workload: {prompt_tokens: 1000, output_tokens: 200, peak_to_average: 2}
slo: {tpot: {limit: 200 ms, percentile: mean}}
deployment: {model: llama-3.1-8b, gpus_per_node: 8, usd_per_node_hour: 30, mbu: 0.7, mfu: 0.5}
capacity: {capacity_model: replica_seconds}
policy: {rho_target: 0.65, redundancy: 1, failure_domain: replica}
axes: {gpu: [h100-sxm, l4], arrival_rate: [60, 600]}
scenarios: {nominal: {}, surge: {peak_to_average: {multiply: 2}}}
"""


@pytest.fixture
def grid() -> gridplan.Grid:
    return gridplan.loads_grid(GRID)


def test_a_percentile_of_nodes_is_the_plan_at_that_percentile_of_the_load(grid: gridplan.Grid) -> None:
    found = gridplan.sample(grid, {"arrival_rate": "normal(600, 60)"}, ["nodes", "replicas_active"], n=1 << 14)
    assert found.nodes_p90.dims == ("gpu",)
    for p in (10, 50, 90):
        rate = stats.norm(600, 60).ppf(p / 100)
        plan = gridplan.evaluate(gridplan.loads_grid(GRID.replace("[60, 600]", f"[{rate}]")), ["nodes"]).nodes
        np.testing.assert_array_equal(found[f"nodes_p{p}"], plan.isel(arrival_rate=0))


def test_every_statistic_by_brute_force(grid: gridplan.Grid) -> None:
    sampled = gridplan.sample(
        grid, {"arrival_rate": "x lognormal(1, 0.3)"}, "replicas_active", n=512, percentiles=(5, 99.5), seed=3
    )
    rate = stats.lognorm(0.3).ppf(next(points_of(1, 512, 3, "sobol", 512))[:, 0])
    plan = gridplan.evaluate(grid, ["lambda_safe"]).lambda_safe
    for gpu in plan.gpu.values:
        for label in (60.0, 600.0):
            values = np.ceil(rate * label / plan.sel(gpu=gpu).item())
            cell = sampled.sel(gpu=gpu, arrival_rate=label)
            assert cell.replicas_active_mean.item() == pytest.approx(values.mean())
            assert cell.replicas_active_sd.item() == pytest.approx(values.std(ddof=1))
            assert cell.replicas_active_min.item() == values.min()
            assert cell.replicas_active_max.item() == values.max()
            assert cell.replicas_active_p5.item() == np.percentile(values, 5, method="inverted_cdf")
            assert cell["replicas_active_p99.5"].item() == np.percentile(values, 99.5, method="inverted_cdf")


def test_samples_without_a_plan_are_counted_and_said(grid: gridplan.Grid) -> None:
    # 16.06 GB of weights: a GPU that lets the engine have less than that holds no model.
    wide = {"gpu_memory_bytes": "uniform(10e9, 30e9)"}
    at = {"scenario": "nominal", "gpu": "h100-sxm"}
    found = gridplan.sample(grid, wide, ["nodes", "status", "slo_held"], n=4096, at=at)
    share = found.infeasible_share.values
    assert ((share > 0.2) & (share < 0.8)).all()
    assert found.nodes_null_share.dims == ("arrival_rate",)
    assert (found.nodes_null_share == share).all()
    np.testing.assert_allclose(found.status_share.sel(status="infeasible"), share)
    assert "of the samples have no nodes: its statistics are of the others" in found.attrs["warnings"]
    assert found.attrs["at"] == "scenario=nominal, gpu=h100-sxm"
    assert ((found.slo_held_share >= 0) & (found.slo_held_share <= 1)).all()


def test_pieces_make_no_difference(grid: gridplan.Grid, monkeypatch: pytest.MonkeyPatch) -> None:
    moves = {"arrival_rate": "x uniform(0.5, 1.5)", "mbu": "triangular(0.5, 0.7, 0.8)"}
    names = ["nodes", "usd_per_mtok_output", "binding_constraint"]
    whole = gridplan.sample(grid, moves, names, n=1024)
    monkeypatch.setattr(sampling, "CHUNK_CELLS", 512)
    pieces = gridplan.sample(grid, moves, names, n=1024)
    for name in whole.data_vars:
        np.testing.assert_allclose(pieces[name], whole[name], rtol=1e-12)
    monkeypatch.setattr(sample_folds, "KEPT_VALUES", 100)
    sketched = gridplan.sample(grid, moves, names, n=1024)
    assert sketched.attrs["percentile_error"] == 0.005
    for name in ("nodes_p10", "nodes_p90", "usd_per_mtok_output_p50"):
        np.testing.assert_allclose(sketched[name], whole[name], rtol=0.0051)


def test_a_seed_is_a_sample(grid: gridplan.Grid) -> None:
    moves = {"mbu": "uniform(0.5, 0.8)"}
    for method, n in (("sobol", 256), ("random", 300)):
        first, again, other = (
            gridplan.sample(grid, moves, "usd_per_month", n=n, seed=seed, method=method) for seed in (1, 1, 2)
        )
        assert first.identical(again)
        assert not first.identical(other)
        assert first.attrs["inputs"] == "mbu uniform(low=0.5, high=0.8)"


def test_inputs_that_change_nothing_are_said(grid: gridplan.Grid) -> None:
    found = gridplan.sample(grid, {"peak_to_average": "uniform(1, 3)", "mbu": "uniform(0.5, 0.8)"}, "nodes", n=64)
    assert "peak_to_average changes none of nodes" in found.attrs["warnings"]


def test_inputs_in_whose_place_another_stands_are_refused() -> None:
    grid = gridplan.loads_grid(
        GRID.replace("prompt_tokens: 1000, ", "").replace("axes: {", "axes: {context_tokens: [2000], ")
    )
    with pytest.raises(ContractError, match="prompt_tokens: prompt_tokens changes nothing here"):
        gridplan.sample(grid, {"prompt_tokens": "x uniform(0.5, 1.5)"}, "nodes", n=64)
    assert gridplan.sample(grid, {"output_tokens": "x uniform(0.5, 1.5)"}, "replicas", n=64).replicas_sd.max() > 0


def test_a_contract_may_leave_out_what_is_sampled() -> None:
    grid = gridplan.loads_grid(GRID.replace(", usd_per_node_hour: 30", ""))
    inputs = {"usd_per_node_hour": "uniform(20, 40)", "mbu": "x uniform(0.9, 1.1)"}
    assert gridplan.sample(grid, inputs, "usd_per_month", n=64).usd_per_month_sd.min() > 0


def test_what_the_contract_warns_of_is_said_once() -> None:
    said = "percentile: 95}, goodput: 0.95}"
    grid = gridplan.loads_grid(GRID.replace("percentile: mean}}", said))
    expected = gridplan.evaluate(grid, ["nodes"]).attrs["warnings"].splitlines()
    assert expected
    found = gridplan.sample(grid, {"mbu": "uniform(0.6, 0.8)"}, "nodes", n=64, at={"gpu": "l4"})
    assert found.attrs["warnings"].splitlines()[: len(expected)] == expected
    axes = gridplan.axis_indices(grid, "nodes", at={"gpu": "l4"})
    assert axes.attrs["warnings"].splitlines()[: len(expected)] == expected


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"measures": ["node"]}, "did you mean nodes"),
        ({"measures": []}, "at least one measure"),
        ({"n": 1000}, "such as 512 or 1,024"),
        ({"n": 1}, "n must be from 2"),
        ({"percentiles": [0]}, "a percentile lies above 0"),
        ({"method": "sobel"}, "sobol or random"),
        ({"at": {"gpu": "l5"}}, "l4"),
        ({"at": {"arrival_rate": 60}}, "is sampled and fixed"),
        ({"distributions": {}}, "at least one input"),
    ],
)
def test_wrong_questions(grid: gridplan.Grid, arguments: dict[str, object], said: str) -> None:
    asked = {"distributions": {"arrival_rate": "normal(60, 6)"}, "measures": ["nodes"], "n": 64, **arguments}
    with pytest.raises(ContractError, match=said):
        gridplan.sample(grid, **asked)  # type: ignore[arg-type]
