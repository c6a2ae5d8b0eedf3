"""What a stored cube says at its end is what its run said, and of a slice what a run of that slice says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gridplan
from gridplan.engine.stored_summary import stored_summary
from gridplan.errors import ContractError, StoreError
from gridplan.sensitivity.cut_grid import grid_at
from gridplan.store import read_manifest

GRIDS = Path(__file__).parents[2] / "grids"


def said(text: str, folder: Path, **options: Any) -> tuple[dict[str, Any], list[str]]:
    """What the run of a contract said about its cells, and its warnings about the cheapest."""
    summary = gridplan.run(gridplan.loads_grid(text), folder, **options).summary
    return summary.to_dict(), summary.warnings()


def text(name: str) -> str:
    return (GRIDS / f"{name}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", ["quickstart", "lesson", "lesson-exercises", "buy", "latency", "capacity", "memory", "chains-price"]
)
def test_files_say_what_their_run_said(name: str, tmp_path: Path) -> None:
    run = said(text(name), tmp_path / "cube")
    summary = stored_summary(tmp_path / "cube")
    assert (summary.to_dict(), summary.warnings()) == run


@pytest.mark.parametrize(("rows", "group"), [(397, 160), (5_000, 333), (10**9, 1_000)])
def test_however_the_cube_is_cut(rows: int, group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridplan.store.layout.FEWEST_ROWS_PER_PART", rows)
    monkeypatch.setattr("gridplan.store.layout.ROWS_PER_ROW_GROUP", group)
    monkeypatch.setattr("gridplan.store.layout.PAGE_ROWS", group)
    run = said(text("buy"), tmp_path / "cube")
    layout = read_manifest(tmp_path / "cube").layout
    assert layout.row_group_rows == group
    for workers in (1, 3):
        summary = stored_summary(tmp_path / "cube", workers=workers)
        assert (summary.to_dict(), summary.warnings()) == run


SLICES: list[tuple[str, list[dict[str, Any]]]] = [
    ("quickstart", [{"arrival_rate": "10"}, {"kv_dtype": "fp8", "rho_target": 0.1 * 7}, {"model": "qwen3-14b"}]),
    ("lesson", [{"scenario": "nominal"}, {"scenario": "surge"}, {"instance": "fractional", "scenario": "gpu_loss"}]),
    ("buy", [{"model": "qwen3-32b", "arrival_rate": 12}, {"purchase": "on_demand"}, {"failure_policy": "node"}]),
    ("latency", [{"gpu": "b200"}, {"gpu": "h100-sxm", "rho_target": "0.60"}]),
]


@pytest.mark.parametrize(("name", "slices"), SLICES)
def test_a_slice_says_what_a_run_of_it_says(name: str, slices: list[dict[str, Any]], tmp_path: Path) -> None:
    grid = gridplan.loads_grid(text(name))
    gridplan.run(grid, tmp_path / "cube")
    for number, at in enumerate(slices):
        run = gridplan.run(grid_at(grid, at)[0], tmp_path / str(number)).summary
        summary = stored_summary(tmp_path / "cube", at)
        assert (summary.to_dict(), summary.warnings()) == (run.to_dict(), run.warnings())


def test_what_cannot_be_counted_is_refused(tmp_path: Path) -> None:
    grid = gridplan.loads_grid(text("latency"))
    gridplan.run(grid, tmp_path / "cube")
    with pytest.raises(ContractError, match=r"gpu: h100 is not on the axis: .*\(did you mean h100-sxm"):
        stored_summary(tmp_path / "cube", {"gpu": "h100"})
    with pytest.raises(ContractError, match=r"rho is not an axis of this grid"):
        stored_summary(tmp_path / "cube", {"rho": 0.5})
    with pytest.raises(StoreError, match="does not exist"):
        stored_summary(tmp_path / "nowhere")
    gridplan.run(grid, tmp_path / "table", drop_infeasible=True)
    with pytest.raises(StoreError, match="leaves out the rows of cells without a plan"):
        stored_summary(tmp_path / "table")
    part = tmp_path / "cube" / "facts" / "part-00000.parquet"
    part.write_bytes(bytes(part.stat().st_size))
    with pytest.raises(StoreError, match="is damaged"):
        stored_summary(tmp_path / "cube")
