"""Reductions and lazy cubes on a cluster equal those of one process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import gridplan
from gridplan.errors import ContractError, StoreError

GRIDS = Path(__file__).parents[2] / "grids"
ASKED = {"gpus": ["min", "max", "mean", "sum", "count", "argmin", "p95"], "status": "count", "tpot_s": "argmax"}


@pytest.mark.parametrize("name", ["quickstart", "lesson", "latency", "buy", "chains-70b"])
def test_a_lazy_cube_is_the_eager_one(name: str) -> None:
    grid = gridplan.load_grid(GRIDS / f"{name}.yaml")
    eager, lazy = gridplan.evaluate(grid), gridplan.evaluate(grid, chunks=5)
    assert all(
        item.chunks is not None or not item.dims for item in lazy.data_vars.values() if "lambda" in str(item.name)
    )
    assert list(lazy.data_vars) == list(eager.data_vars)
    xr.testing.assert_identical(lazy.compute(), eager)


@settings(max_examples=8)
@given(data=st.data())
def test_chunks_of_any_size(data: st.DataObject) -> None:
    grid = gridplan.load_grid(GRIDS / "latency.yaml")
    names = ["status", "replicas", "tpot_s", "usd_per_month"]
    eager = gridplan.evaluate(grid, names)
    chunks = {str(name): data.draw(st.sampled_from([-1, 1, 2, size])) for name, size in eager.sizes.items()}
    lazy = gridplan.evaluate(grid, names, chunks=chunks)
    xr.testing.assert_identical(lazy.compute(), eager)
    whole = [eager.sizes[name] if size == -1 else min(size, eager.sizes[name]) for name, size in chunks.items()]
    assert [own[0] for own in lazy.replicas.chunks or ()] == [
        size for size, name in zip(whole, chunks, strict=True) if name in lazy.replicas.dims
    ]


def test_one_box_is_planned_for_one_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    from gridplan.engine.cluster import lazy as module

    planned: list[tuple[int, ...]] = []
    real = module._plan_box
    monkeypatch.setattr(module, "_plan_box", lambda *args: (planned.append(args[1]), real(*args))[1])
    grid = gridplan.load_grid(GRIDS / "quickstart.yaml")
    cube = gridplan.evaluate(grid, ["gpus"], chunks={"gpu": 1, "arrival_rate": 5})
    value = float(cube.gpus.sel(gpu="b200", model="qwen3-14b", arrival_rate=100.0).isel(kv_dtype=1).max())
    assert planned == [(5, 0, 0, 0, 0, 5)]
    assert value == float(gridplan.evaluate(grid, ["gpus"]).gpus.isel(gpu=5, model=2, arrival_rate=9, kv_dtype=1).max())
    assert np.isfinite(value)


def test_wrong_chunks_are_refused_all_at_once() -> None:
    grid = gridplan.load_grid(GRIDS / "quickstart.yaml")
    with pytest.raises(ContractError) as error:
        gridplan.evaluate(grid, chunks={"gpus": 3, "model": 0, "kv_dtype": -2})
    assert [problem.message.split(",")[0] for problem in error.value.problems] == [
        "gpus is not an axis of this grid (did you mean gpu?)",
        "model: a chunk has one label at least",
        "kv_dtype: a chunk has one label at least",
    ]


def test_another_version_is_refused() -> None:
    from gridplan.engine.cluster.bench import check_version

    with pytest.raises(StoreError, match=r"this run is of 0\.0\.9: install the same everywhere"):
        check_version("0.0.9")


def test_a_reduction_on_two_workers(scheduler: str) -> None:
    """The last test here: nothing is drawn by Hypothesis while the scheduler stands."""
    grid = gridplan.load_grid(GRIDS / "quickstart.yaml")
    told: list[int] = []
    here = gridplan.reduce(grid, ASKED, by=["gpu", "context_tokens"], workers=1)
    there = gridplan.reduce(grid, ASKED, by=["gpu", "context_tokens"], scheduler=scheduler, progress=told.append)
    xr.testing.assert_allclose(there, here, rtol=1e-12)
    assert sum(told) == 72_000
