"""The heat map shows the cube: every cell its number, what binds, or why there is no plan."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from drawn_charts import drawn_width

import gridplan
from gridplan.report.charts import NARROW, WIDE, heatmap

GRIDS = Path(__file__).parents[2] / "grids"
AT = {"gpu": "h100-sxm", "kv_dtype": "fp8", "arrival_rate": 10, "rho_target": 0.7}
PLACE = {"model": "qwen3-32b", "kv_dtype": "fp8", "arrival_rate": 10, "context_tokens": 8192}


def test_cells_are_those_of_the_cube(cube: Callable[[str], xr.Dataset]) -> None:
    whole = cube("quickstart")
    chart = heatmap(whole, "context_tokens", "model", "usd_per_mtok_output", AT)
    one = whole.sel(gpu="h100-sxm", kv_dtype="fp8").sel(arrival_rate=10, rho_target=0.7, method="nearest")
    assert len(chart.data) == 60
    for row in chart.data.to_dict("records"):
        cell = one.sel(model=row["model"]).sel(context_tokens=row["context_tokens"])
        value = cell.usd_per_mtok_output.item()
        assert row["usd_per_mtok_output"] == value or (np.isnan(value) and np.isnan(row["usd_per_mtok_output"]))
        assert row["infeasible_reason"] == cell.infeasible_reason.item()
        assert row["binding_constraint"] == cell.binding_constraint.item()


def test_a_grid_a_cube_and_a_folder_give_the_same_map(
    cube: Callable[[str], xr.Dataset], folder: Callable[[str], Path]
) -> None:
    sources = (gridplan.load_grid(GRIDS / "quickstart.yaml"), cube("quickstart"), folder("quickstart"))
    drawn = [heatmap(source, "rho_target", "gpu", "replicas", PLACE).svg() for source in sources]
    assert drawn[0] == drawn[1] == drawn[2]


def test_the_finding_counts_what_is_drawn() -> None:
    """Counted by hand in the table that `gridplan.evaluate` gives: 23 of 43 feasible cells, 17 without a plan."""
    grid = gridplan.load_grid(GRIDS / "quickstart.yaml")
    chart = heatmap(grid, "context_tokens", "model", "replicas", AT)
    feasible = chart.data[chart.data.infeasible_reason.isna()]
    assert (len(feasible), int((feasible.binding_constraint == "tpot").sum())) == (43, 23)
    assert chart.finding.startswith(
        "Decode TPOT binds in 23 of 43 feasible cells; replicas from 3 (2048, llama-3.1-8b)"
    )
    assert "17 of 60 cells have no plan (context_exceeds_model in 8, 2 more)" in chart.finding


@pytest.mark.parametrize("width", [WIDE, NARROW, 1000])
def test_the_picture_is_as_wide_as_asked(width: int) -> None:
    drawn = heatmap(gridplan.load_grid(GRIDS / "quickstart.yaml"), "context_tokens", "model", "replicas", AT).svg(width)
    assert drawn_width(drawn) == pytest.approx(width, abs=8)


def test_what_has_no_plan_is_hatched_and_what_binds_has_its_letter() -> None:
    drawn = heatmap(gridplan.load_grid(GRIDS / "quickstart.yaml"), "context_tokens", "model", "replicas", AT).svg()
    assert {"hatch-up", "hatch-down", "hatch-level"} == set(re.findall(r"<pattern id='([a-z-]+)'", drawn))
    assert drawn.count('fill="url(#hatch') == 17 + 3  # cells, and the legend
    for letter in "MSD":
        assert f">{letter}</text>" in drawn


def cube_of(reasons: list[list[str | None]], values: list[list[float]]) -> xr.Dataset:
    """A cube of two axes made by hand."""
    dims = ("gpu", "arrival_rate")
    labels = {"gpu": np.array(["a", "b"], dtype=object), "arrival_rate": [1.0, 2.0, 3.0][: len(values[0])]}
    why = np.array(reasons, dtype=object)
    binds = np.where(np.equal(why, None), "memory", None).astype(object)  # type: ignore[call-overload]
    status = np.where(np.equal(why, None), "ok", "infeasible").astype(object)  # type: ignore[call-overload]
    texts = {"infeasible_reason": why, "binding_constraint": binds, "status": status}
    variables = {name: xr.Variable(dims, item, fastpath=True) for name, item in texts.items()}
    return xr.Dataset({"usd_per_month": (dims, np.array(values)), **variables}, labels)


def test_nothing_feasible() -> None:
    reasons: list[list[str | None]] = [["tpot_unreachable"] * 2, ["ttft_unreachable", "tpot_unreachable"]]
    chart = heatmap(cube_of(reasons, [[np.nan] * 2] * 2), "arrival_rate", "gpu", "usd_per_month")
    assert chart.finding == "No cell has a plan: tpot_unreachable in 3, 1 more"
    assert chart.svg().count('fill="url(#hatch') == 4 + 2


def test_a_feasible_cell_without_a_price_is_told_apart() -> None:
    none: list[list[str | None]] = [[None, None], [None, None]]
    chart = heatmap(cube_of(none, [[5.0, np.nan], [5.0, 5.0]]), "arrival_rate", "gpu", "usd_per_month")
    assert chart.finding == "KV memory binds in 4 of 4 feasible cells; usd_per_month is 5.00 USD/month in all of them"
    assert "usd_per_month null" in chart.svg()


def test_many_reasons_share_the_last_hatch() -> None:
    names = [
        "tpot_unreachable",
        "ttft_unreachable",
        "e2e_unreachable",
        "not_measured",
        "budget_exceeded",
        "power_exceeded",
    ]
    chart = heatmap(
        cube_of([list(names[:3]), list(names[3:])], [[np.nan] * 3] * 2), "arrival_rate", "gpu", "usd_per_month"
    )
    assert "no plan: other reasons" in chart.svg()
    assert sorted(chart.data.infeasible_reason) == sorted(names)


@pytest.mark.parametrize(
    ("x", "y", "measure", "at", "said"),
    [
        ("rho_target", "rho_target", "replicas", PLACE, "cannot be both axes"),
        ("rho_targt", "gpu", "replicas", PLACE, "did you mean rho_target"),
        ("rho_target", "gpu", "replica", PLACE, "did you mean replicas"),
        ("rho_target", "gpu", "status", PLACE, "is a label"),
        ("rho_target", "gpu", "replicas", {}, "fix model at one of its 10 labels"),
        ("rho_target", "gpu", "replicas", {**PLACE, "gpu": "b200"}, "gpu is drawn, so it cannot be fixed"),
        ("rho_target", "gpu", "replicas", {**PLACE, "model": "qwen"}, "did you mean qwen3"),
    ],
)
def test_what_cannot_be_drawn_is_refused(x: str, y: str, measure: str, at: dict[str, str | float], said: str) -> None:
    with pytest.raises(gridplan.ContractError, match=re.escape(said)):
        heatmap(gridplan.load_grid(GRIDS / "quickstart.yaml"), x, y, measure, at)


def test_too_many_cells_are_no_map() -> None:
    text = (GRIDS / "quickstart.yaml").read_text().replace("geomspace: [0.1, 100, 10]", "geomspace: [0.1, 100, 900]")
    at = {name: label for name, label in PLACE.items() if name != "arrival_rate"} | {"rho_target": 0.7}
    with pytest.raises(gridplan.ContractError, match="too many for a map"):
        heatmap(gridplan.loads_grid(text), "arrival_rate", "gpu", "replicas", at)
