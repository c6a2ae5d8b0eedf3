"""Aggregates of a stream of blocks equal those of the whole cube in memory."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import gridplan
from gridplan.engine.sketch import ACCURACY, QuantileSketch

PRICE = "usd_per_mtok_output"
GRID = gridplan.load_grid(Path(__file__).parents[2] / "grids" / "quickstart.yaml")


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    return gridplan.evaluate(GRID)


@pytest.mark.parametrize("by", [(), ("model",), ("arrival_rate", "gpu"), tuple(axis.name for axis in GRID.axes)])
@pytest.mark.parametrize(("block", "hoisted"), [(777, 2_000), (32_768, 0), (32_768, 100_000)])
def test_every_aggregate_equals_the_one_of_the_cube(
    cube: xr.Dataset, by: tuple[str, ...], block: int, hoisted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gridplan.engine.reduce.BLOCK_CELLS", block)
    monkeypatch.setattr("gridplan.engine.reduce.TASK_CELLS", 20_000)
    monkeypatch.setattr("gridplan.engine.hoist.HOIST_CELLS", hoisted)
    kinds = ["min", "max", "mean", "sum", "count", "argmin", *(["p50"] if len(by) < len(GRID.axes) else [])]
    found = gridplan.reduce(GRID, {PRICE: kinds, "binding_constraint": "count"}, by=by, workers=2)
    price = cube[PRICE].broadcast_like(cube["replicas"])
    folded = [axis.name for axis in GRID.axes if axis.name not in by]
    kept = [axis.name for axis in GRID.axes if axis.name in by]

    def same(kind: str, expected: xr.DataArray, rtol: float = 0.0) -> None:
        np.testing.assert_allclose(found[f"{PRICE}_{kind}"], expected.transpose(*kept), rtol=rtol)

    same("min", price.min(folded))
    same("max", price.max(folded))
    same("count", price.count(folded))
    same("sum", price.sum(folded, min_count=1), 1e-12)
    same("mean", price.mean(folded), 1e-12)
    if "p50" in kinds:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "All-NaN slice")
            same("p50", price.quantile(0.5, folded, method="lower").drop_vars("quantile"), ACCURACY * 1.01)
    labels = cube["binding_constraint"].broadcast_like(price)
    for label in found["binding_constraint"].values:
        counted = (labels == label).sum(folded).transpose(*kept)
        np.testing.assert_array_equal(found["binding_constraint_count"].sel(binding_constraint=label), counted)
    if folded:
        _first_in_declared_order(found, price, folded, kept)


def _first_in_declared_order(
    found: xr.Dataset, price: xr.DataArray, folded: list[str], kept: list[str], stem: str = f"{PRICE}_argmin"
) -> None:
    flat = price.transpose(*kept, *folded).values.reshape(*(price.sizes[name] for name in kept), -1)
    place = np.where(np.isnan(flat), np.inf, flat).argmin(axis=-1)
    none = np.isnan(flat).all(axis=-1)
    at = np.unravel_index(place, [price.sizes[name] for name in folded])
    for name, position in zip(folded, at, strict=True):
        stored = found[f"{stem}_{name}"].values
        expected = price[name].values[position]
        assert (np.asarray(stored == expected) | none).all()
        assert all(value is None or value != value for value in np.atleast_1d(stored)[np.atleast_1d(none)])


@pytest.mark.parametrize("by", [(), ("arrival_rate",), ("gpu", "rho_target")])
def test_a_measure_known_in_whole_counts_every_cell(cube: xr.Dataset, by: tuple[str, ...]) -> None:
    """Nothing is streamed here: the measures never see the traffic, so a few values stand for all cells."""
    told: list[int] = []
    wanted = {"lambda_instance": ["count", "max", "argmax"], "status": "count", "gpu_memory_source": "count"}
    found = gridplan.reduce(GRID, wanted, by=by, progress=told.append)
    folded = [axis.name for axis in GRID.axes if axis.name not in by]
    rate = cube["lambda_instance"].broadcast_like(cube["replicas"])
    assert sum(told) == rate.size
    np.testing.assert_array_equal(found["lambda_instance_count"], rate.count(folded).transpose(*by))
    np.testing.assert_array_equal(found["lambda_instance_max"], rate.max(folded).transpose(*by))
    _first_in_declared_order(found, -rate, folded, list(by), "lambda_instance_argmax")
    for name in ("status", "gpu_memory_source"):
        counted = found[f"{name}_count"].sum(name)
        known = cube[name].broadcast_like(rate).notnull()
        np.testing.assert_array_equal(counted, known.sum(folded).transpose(*by))


def test_what_cannot_be_folded_is_named() -> None:
    with pytest.raises(gridplan.ContractError) as caught:
        gridplan.reduce(GRID, {"replicaz": "min", PRICE: "median", "status": "min"}, by=["model_"])
    said = str(caught.value)
    with pytest.raises(gridplan.ContractError, match="72,000 groups are too many for quantiles"):
        gridplan.reduce(GRID, {PRICE: "p50"}, by=[axis.name for axis in GRID.axes])
    for text in ("did you mean model", "did you mean replicas", "median is no aggregate", "it may be count"):
        assert text in said


def test_a_sketch_is_within_its_accuracy() -> None:
    values = np.exp(np.random.default_rng(1).normal(0, 3, 50_000))
    values[:100] = 0.0
    sketch = QuantileSketch(1)
    sketch.add(np.zeros(values.size, dtype=np.int64), values, 2)
    for q in (0.001, 0.01, 0.5, 0.9, 0.999):
        exact = np.quantile(np.repeat(values, 2), q, method="lower")
        np.testing.assert_allclose(sketch.quantile(q)[0], exact, rtol=ACCURACY * 1.01)
    assert np.isnan(QuantileSketch(2).quantile(0.5)).all()
