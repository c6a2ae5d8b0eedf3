"""Slices against the cube itself: the same figures, the same winners, whatever is filtered and grouped."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import yaml
from hostile_labels import HOSTILE, hostile_contract
from hypothesis import given, settings
from hypothesis import strategies as st

import gridplan
from gridplan.errors import ContractError, StoreError
from gridplan.query import winners
from gridplan.query.slice import DEFAULT_MEASURE as slice_measure
from gridplan.query.slice import open_slice
from gridplan.sensitivity import choice, ranking

MEASURE = "usd_per_mtok_output"
Folder = Callable[[str], Path]
Cube = Callable[[str], xr.Dataset]

FIGURES: Mapping[str, Callable[[np.ndarray], float]] = {
    **{"min": np.min, "max": np.max, "avg": np.mean, "mean": np.mean},
    **{"median": np.median, "sum": np.sum, "count": len},
}


def oracle(cube: xr.Dataset, keep: Mapping[str, list[Any]], by: list[str], agg: str) -> list[tuple[Any, ...]]:
    """The figure of each combination of labels, one at a time in NumPy."""
    part = cube[MEASURE].broadcast_like(cube).sel(keep)
    found = []
    for labels in itertools.product(*(part[name].values.tolist() for name in by)):
        values = part.sel(dict(zip(by, labels, strict=True))).values.ravel()
        known = values[~np.isnan(values)]
        figure = FIGURES[agg](known) if known.size or agg == "count" else None
        found.append((*labels, figure, values.size, known.size))
    return found


def lesson(grids: Path, rates: list[float]) -> dict[str, Any]:
    """The lesson's contract over arrival rates."""
    grid: dict[str, Any] = yaml.safe_load((grids / "lesson.yaml").read_text(encoding="utf-8"))
    del grid["workload"]["arrival_rate"]
    grid["axes"] = {"arrival_rate": rates}
    return grid


def written(grid: dict[str, Any], folder: Path) -> Path:
    """The cube of a contract, as `run` writes it."""
    gridplan.run(gridplan.loads_grid(yaml.safe_dump(grid)), folder / "cube")
    return folder / "cube"


def conditions(keep: Mapping[str, list[Any]]) -> list[str]:
    """Labels as SQL."""
    return [f"{name} in ({', '.join(map(repr, labels))})" for name, labels in keep.items()]


@settings(max_examples=25)
@given(data=st.data())
def test_figures_are_those_of_the_cube(data: st.DataObject, folder: Folder, cube: Cube) -> None:
    whole = cube("quickstart")
    names = [str(name) for name in whole[MEASURE].dims]
    by = data.draw(st.lists(st.sampled_from(names), unique=True, max_size=2), "by")
    kept = data.draw(st.lists(st.sampled_from(names), unique=True, max_size=3), "axes with a condition")
    keep = {
        name: data.draw(st.lists(st.sampled_from(whole[name].values.tolist()), unique=True, min_size=1, max_size=3))
        for name in kept
    }
    keep = {name: [label for label in whole[name].values.tolist() if label in labels] for name, labels in keep.items()}
    agg = data.draw(st.sampled_from(sorted(FIGURES)), "agg")
    rows = open_slice(folder("quickstart"), conditions(keep), by, MEASURE, agg).rows()
    expected = oracle(whole, keep, by, agg)
    if agg == "count":
        expected = [(*row[: len(by)], *row[len(by) + 1 :]) for row in expected]
    assert [row[: len(by)] for row in rows] == [row[: len(by)] for row in expected]
    for row, due in zip(rows, expected, strict=True):
        known = [pytest.approx(value, rel=1e-12) if value is not None else None for value in due[len(by) :]]
        assert list(row[len(by) :]) == known


def test_what_ties_is_what_ties_where_plans_are_chosen() -> None:
    assert float(winners.TIE) == ranking.TIE
    assert slice_measure == choice.DEFAULT_MEASURE


@pytest.mark.parametrize("agg", ["argmin", "argmax"])
def test_winners_carry_their_labels(agg: str, folder: Folder, cube: Cube) -> None:
    """Of cells that tie the first in declared order wins, whichever thread read it."""
    whole = cube("quickstart").sel(rho_target=0.7)
    names = ["gpu", "kv_dtype", "context_tokens", "arrival_rate"]
    frame = gridplan.slice_cube(folder("quickstart"), "rho_target = 0.7", "model", f"{MEASURE},gpus_deployed", agg)
    for row in frame.to_dict("records"):
        table = whole.sel(model=row["model"])
        values = table[MEASURE].transpose(*names).values
        extreme = np.nanmin(values) if agg == "argmin" else np.nanmax(values)
        tied = np.argwhere(np.isclose(values, extreme, rtol=1e-9, atol=0.0))
        place = dict(zip(names, tied[0].tolist(), strict=True))
        assert row[MEASURE] == pytest.approx(values[tuple(tied[0])], rel=1e-15)
        assert {name: row[name] for name in names} == {name: whole[name].values[at] for name, at in place.items()}
        assert row["gpus_deployed"] == table["gpus_deployed"].isel(place).item()
        assert (row["ties"], row["cells"]) == (len(tied) - 1, values.size)
        assert row[f"count_{MEASURE}"] == np.count_nonzero(~np.isnan(values))
    assert frame["model"].tolist() == whole["model"].values.tolist()


def test_cells_come_in_the_order_of_the_cube(folder: Folder, cube: Cube) -> None:
    frame = gridplan.slice_cube(folder("quickstart"), "arrival_rate = 10", measure="status,replicas")
    due = cube("quickstart")[["status", "replicas"]].sel(arrival_rate=[10.0])
    due = due.broadcast_like(xr.Dataset(coords=due.coords)).to_dataframe()[["status", "replicas"]].reset_index()
    axes = list(cube("quickstart").sizes)
    assert list(frame.columns) == [*axes, "status", "replicas"]
    assert len(frame) == 7_200
    assert frame["replicas"].dtype == pd.Int64Dtype()
    assert frame["replicas"].isna().sum() == due["replicas"].isna().sum()
    assert frame["replicas"].sum() == due["replicas"].sum()


def test_rows_without_any_plan_are_rows(folder: Folder) -> None:
    """DeepSeek-V3 fits no L4: a row with null, and with the count of its cells."""
    rows = open_slice(folder("quickstart"), "model = 'deepseek-v3'", "gpu", MEASURE, "min").rows()
    assert rows[0] == ("l4", None, 900, 0)
    (row,) = open_slice(folder("quickstart"), "gpu = 'l4' and model = 'deepseek-v3'", (), MEASURE, "argmin").rows()
    assert row == (None, None, None, None, None, None, None, None, 900, 0)


def test_a_condition_that_holds_nowhere_gives_no_rows(folder: Folder) -> None:
    nowhere = "gpu = 'l4' and gpu = 'b200'"
    assert open_slice(folder("quickstart"), nowhere, "model", MEASURE, "min").rows() == []
    assert open_slice(folder("quickstart"), nowhere).rows() == []
    assert open_slice(folder("quickstart"), nowhere, (), MEASURE, "count").rows() == [(0, 0)]


def test_labels_that_no_number_sorts_come_as_declared(tmp_path: Path, grids: Path) -> None:
    folder = written(lesson(grids, [30, 10, 60, 20]), tmp_path)
    rows = open_slice(folder, by="arrival_rate", measure="replicas", agg="min").rows()
    assert [row[0] for row in rows] == [30.0, 10.0, 60.0, 20.0]
    rows = open_slice(folder, by="arrival_rate", measure="replicas", agg="argmin").rows()
    assert [row[0] for row in rows] == [30.0, 10.0, 60.0, 20.0]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "cube"
    gridplan.run(gridplan.loads_grid(hostile_contract()), folder)
    return folder


@pytest.mark.parametrize("label", HOSTILE)
def test_any_label_can_be_asked_for(label: str, hostile: Path) -> None:
    quoted = label.replace("'", "''")
    rows = open_slice(hostile, f"instance = '{quoted}'", "instance", "replicas", "count").rows()
    assert rows == [(label, 2 * (len(HOSTILE) + 1), 2 * (len(HOSTILE) + 1))]


def test_a_folder_without_infeasible_rows_says_so(tmp_path: Path, grids: Path) -> None:
    folder = tmp_path / "cube"
    gridplan.run(gridplan.load_grid(grids / "quickstart.yaml"), folder, drop_infeasible=True)
    found = open_slice(folder, "model = 'deepseek-v3'", "gpu", MEASURE, "min")
    assert [row[0] for row in found.rows()] == ["h200-sxm", "b200", "mi300x"] or found.rows()[0][0] != "l4"
    assert any("without the cells that have no plan" in warning for warning in found.warnings)


def test_fleets_that_cannot_hold_their_plan_are_told_of(tmp_path: Path, grids: Path) -> None:
    """Three nodes hold fewer replicas than the load needs, and still have a price."""
    grid = lesson(grids, [10, 60, 200])
    grid["policy"] |= {"nodes_given": 3}
    grid["deployment"] |= {"instance": "aws-p4de"}
    folder = written(grid, tmp_path)
    short = int((gridplan.open_cube(folder)["fleet_sufficient"] == 0).sum())
    assert short
    for agg in ("min", "argmin"):
        found = open_slice(folder, measure=MEASURE, agg=agg)
        assert len(found.rows()[0]) == len(found.columns)
        assert f"{short:,} of these cells are fleets that cannot hold their plan" in found.warnings[0]
    aware = open_slice(folder, "fleet_sufficient", measure=MEASURE, agg="min")
    aware.rows()
    assert aware.warnings == []


def test_what_is_asked_wrongly_is_said_at_once(folder: Folder) -> None:
    with pytest.raises(ContractError) as found:
        open_slice(folder("quickstart"), "gpuu = 'b200'", "modl", "usd_per_mtok", "least")
    said = str(found.value)
    for part in ("gpuu is no column", "modl is no column", "did you mean usd_per_mtok_", "least is none of min, max"):
        assert part in said
    for arguments, message in (
        ({"by": "model"}, "rows are grouped for a figure"),
        ({"measure": "status", "agg": "min"}, "status is a label: it has a count and no min"),
        ({"measure": "fleet_sufficient", "agg": "argmin"}, "true or false"),
        ({"by": "model", "measure": "model", "agg": "count"}, "model stays already"),
    ):
        with pytest.raises(ContractError, match=message):
            open_slice(folder("quickstart"), **arguments)  # type: ignore[arg-type]


def test_a_folder_that_is_no_cube_says_so(tmp_path: Path, folder: Folder) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        open_slice(tmp_path / "nothing")
    import shutil

    broken = tmp_path / "broken"
    shutil.copytree(folder("lesson"), broken)
    (broken / "facts" / "part-00000.parquet").write_bytes(b"PAR1" + b"\x00" * 40)
    with pytest.raises(StoreError, match="the manifest says"):
        open_slice(broken)
    size = (folder("lesson") / "facts" / "part-00000.parquet").stat().st_size
    (broken / "facts" / "part-00000.parquet").write_bytes(b"\x00" * size)
    with pytest.raises(StoreError, match="cannot be read"):
        open_slice(broken).rows()
