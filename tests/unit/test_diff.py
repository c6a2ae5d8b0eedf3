"""The difference of two plans: counts, labels, and effects of one change at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import gridplan
from gridplan.errors import ContractError
from gridplan.sensitivity.changes import number_change

GRID = """schema: 1
workload: {prompt_tokens: 1200, output_tokens: 300, arrival_rate: 40, peak_to_average: 2.5}
slo: {tpot: {limit: 60 ms}}
deployment: {model: llama-3.3-70b, weight_dtype: fp8, tensor_parallel: 4, gpus_per_node: 8, usd_per_node_hour: 30}
policy: {rho_target: 0.65}
axes: {gpu: [h100-sxm, b200], kv_dtype: [bf16, fp8]}
"""
AT = {"gpu": "h100-sxm", "kv_dtype": "fp8"}


def grid(*changes: tuple[str, str]) -> gridplan.Grid:
    text = GRID
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return gridplan.loads_grid(text)


def effects(found: gridplan.Difference, measure: str) -> dict[str, float]:
    rows = found.why[found.why.measure == measure]
    return dict(zip(rows.input, rows.effect, strict=True))


def test_nothing_changed() -> None:
    found = gridplan.diff(grid(), grid())
    assert found.cells == 4
    assert found.measures.changed.tolist() == [0, 0, 0, 0]
    assert (len(found.inputs), len(found.flips), len(found.labels)) == (0, 0, 0)
    assert effects(found, "nodes") == {"interaction": 0.0}


def test_each_change_alone_and_what_remains() -> None:
    """Against contracts with that one line changed."""
    edits = {
        "arrival_rate": ("arrival_rate: 40", "arrival_rate: 90"),
        "tpot_slo_s": ("60 ms", "30 ms"),
        "usd_per_node_hour": ("hour: 30", "hour: 20"),
        "lengths and classes": ("output_tokens: 300", "output_tokens: 500"),
    }
    a, b = grid(), grid(*edits.values())
    measures = ("replicas", "usd_per_month", "usd_per_mtok_output")
    found = gridplan.diff(a, b, measures, at=AT)
    first, last = (gridplan.evaluate(side, measures).sel(AT) for side in (a, b))
    for measure in measures:
        told = effects(found, measure)
        assert set(told) == {*edits, "interaction"}
        alone = {name: gridplan.evaluate(grid(edit), [measure]).sel(AT)[measure].item() for name, edit in edits.items()}
        for name, value in alone.items():
            assert told[name] == pytest.approx(value - first[measure].item(), rel=1e-9)
        assert sum(told.values()) == pytest.approx(last[measure].item() - first[measure].item(), rel=1e-9)


def test_the_largest_change_and_where_it_is() -> None:
    a, b = grid(), grid(("arrival_rate: 40", "arrival_rate: 400"))
    found = gridplan.diff(a, b, ["replicas"])
    values = [gridplan.evaluate(side, ["replicas"]).replicas for side in (a, b)]
    change = (values[1] - values[0]).stack(cell=("gpu", "kv_dtype"))
    row = found.measures.iloc[0]
    assert row.change == change.max().item()
    gpu, dtype = change.cell.values[int(np.argmax(change.values))]
    assert row.change_at == f"gpu={gpu},kv_dtype={dtype}"
    assert (row.changed, row.cells) == (4, 4)
    assert found.inputs.input.tolist() == ["arrival_rate"]
    assert found.inputs[["a", "b", "a_source"]].values.tolist() == [[40.0, 400.0, "assumption, contract"]]


def test_labels_of_one_side_are_listed() -> None:
    found = gridplan.diff(grid(), grid(("h100-sxm, b200", "b200, h200-sxm")))
    assert found.labels.values.tolist() == [["gpu", "A", "h100-sxm"], ["gpu", "B", "h200-sxm"]]
    assert found.cells == 2


def test_feasibility_that_flips_is_counted() -> None:
    found = gridplan.diff(grid(), grid(("60 ms", "2 ms")), ["replicas"])
    assert found.measures[["became_null", "became_number"]].values.tolist() == [[4, 0]]
    flips = found.flips[found.flips.measure == "status"].values.tolist()
    assert flips == [["status", "ok", "infeasible", 4, "gpu=h100-sxm,kv_dtype=bf16"]]
    note = found.why[found.why.input == "tpot_slo_s"].note.tolist()
    assert note == ["no plan with this change alone"]


def test_the_cell_that_is_told_is_one_where_something_happens() -> None:
    cube = gridplan.evaluate(grid())
    gone = cube.replicas.copy(deep=True)
    gone.loc[{"gpu": "b200", "kv_dtype": "bf16"}] = np.nan
    found = gridplan.diff(cube, cube.assign(replicas=gone), ["replicas"])
    assert found.cell == "gpu=b200,kv_dtype=bf16"
    assert found.measures.change.tolist() == [0.0]


def test_an_input_that_only_one_side_states() -> None:
    found = gridplan.diff(grid(("rho_target: 0.65", "rho_target: 0.65, redundancy: 3")), grid(), ["replicas"], AT)
    assert effects(found, "replicas") == {"redundancy": -2.0, "interaction": 0.0}


def test_an_axis_here_and_a_value_there() -> None:
    axis = grid(("arrival_rate: 40, ", ""), ("axes: {", "axes: {arrival_rate: [40, 80], "))
    with pytest.raises(ContractError, match="only A has the axis arrival_rate: fix it at one of: 40"):
        gridplan.diff(axis, grid())
    found = gridplan.diff(axis, grid(("rate: 40", "rate: 60")), ["replicas"], {**AT, "arrival_rate": 80})
    told = effects(found, "replicas")
    plans = [gridplan.evaluate(grid(("rate: 40", f"rate: {rate}")), ["replicas"]).sel(AT).replicas for rate in (80, 60)]
    assert told == {"arrival_rate": plans[1].item() - plans[0].item(), "interaction": 0.0}


def test_two_labels_of_one_axis() -> None:
    one = [grid(("[h100-sxm, b200]", f"[{gpu}]")) for gpu in ("h100-sxm", "b200")]
    found = gridplan.diff(*one, ["replicas"], {"kv_dtype": "fp8"})
    assert found.fixed == ({"gpu": "h100-sxm", "kv_dtype": "fp8"}, {"gpu": "b200", "kv_dtype": "fp8"})
    plans = gridplan.evaluate(grid(), ["replicas"]).replicas.sel(kv_dtype="fp8")
    assert effects(found, "replicas") == {"gpu": float(plans[1] - plans[0]), "interaction": 0.0}


def test_a_contract_and_a_cube(tmp_path: Path) -> None:
    changed = grid(("arrival_rate: 40", "arrival_rate: 90"))
    gridplan.run(changed, tmp_path / "cube")
    cube = gridplan.open_cube(tmp_path / "cube")
    of_cube, of_grid = gridplan.diff(grid(), cube), gridplan.diff(grid(), changed)
    assert of_cube.measures.equals(of_grid.measures)
    assert len(of_cube.why) == 0
    few = gridplan.diff(grid(), cube[["replicas", "nodes"]])
    assert (few.measures.measure.tolist(), few.left_out) == (
        ["replicas", "nodes"],
        ("usd_per_month", "usd_per_mtok_output"),
    )
    back = gridplan.diff(cube, grid())
    assert back.measures.change.tolist() == (-of_grid.measures.change).tolist()
    with pytest.raises(ContractError, match="the cube B holds no nodes_unrounded"):
        gridplan.diff(grid(), cube, ["nodes_unrounded"])


def test_rates_that_lengths_do_not_move_are_marked() -> None:
    measured = ("policy:", "capacity: {capacity_model: measured, lambda_instance_given: 6, applies_to: any}\npolicy:")
    found = gridplan.diff(grid(measured), grid(measured, ("prompt_tokens: 1200", "prompt_tokens: 5000")), ["replicas"])
    notes = dict(zip(found.why.input, found.why.note, strict=True))
    assert notes["lengths and classes"] == "measured_rate_not_moved"


def test_a_scenario_that_says_otherwise() -> None:
    text = GRID + "scenarios: {nominal: {}, surge: {arrival_rate: {multiply: 2}}}\n"
    other = gridplan.loads_grid(text.replace("multiply: 2", "multiply: 3"))
    found = gridplan.diff(gridplan.loads_grid(text), other, ["replicas"], AT)
    assert found.cell == "scenario=surge"
    told = effects(found, "replicas")
    assert told["arrival_rate"] > 0
    assert told["interaction"] == 0


def test_what_is_refused() -> None:
    with pytest.raises(ContractError, match="gpuu is not an axis of either side"):
        gridplan.diff(grid(), grid(), at={"gpuu": "x"})
    with pytest.raises(ContractError, match="h100 is not on the axis"):
        gridplan.diff(grid(), grid(), at={"gpu": "h100"})
    with pytest.raises(ContractError, match="status is a label"):
        gridplan.diff(grid(), grid(), ["status"])
    with pytest.raises(ContractError, match="no label of gpu is on both sides"):
        gridplan.diff(grid(), grid(("[h100-sxm, b200]", "[h200-sxm, mi300x]")))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(*[st.one_of(st.just(float("nan")), st.floats(-1e6, 1e6))] * 2), min_size=1, max_size=8))
def test_counts_add_up(pairs: list[tuple[float, float]]) -> None:
    labels = {"x": tuple(float(at) for at in range(len(pairs)))}
    a, b = (xr.DataArray([pair[side] for pair in pairs], dims="x") for side in (0, 1))
    found = number_change(a, b, labels)
    null = np.isnan(pairs)
    assert found["became_null"] == int((~null[:, 0] & null[:, 1]).sum())
    assert found["became_number"] == int((null[:, 0] & ~null[:, 1]).sum())
    both = [(x, y) for x, y in pairs if not (np.isnan(x) or np.isnan(y))]
    if both:
        assert abs(found["change"]) == pytest.approx(max(abs(y - x) for x, y in both), rel=1e-6, abs=1e-3)
    else:
        assert np.isnan(found["change"])
