"""Tornados and elasticities: against contracts that say the same, by hand, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridplan
from gridplan.errors import ContractError
from gridplan.sensitivity.ranges import ranges_of

GRID = """schema: 1
workload: {prompt_tokens: 1200, output_tokens: 300, arrival_rate: 40, peak_to_average: 2.5}
slo: {tpot: {limit: 60 ms}}
deployment: {model: llama-3.3-70b, weight_dtype: fp8, tensor_parallel: 4, gpus_per_node: 8, usd_per_node_hour: 30}
policy: {rho_target: 0.65}
axes: {gpu: [h100-sxm, b200], kv_dtype: [bf16, fp8]}
"""
AT = {"gpu": "h100-sxm", "kv_dtype": "bf16"}
MEASURES = ("replicas", "nodes", "usd_per_month", "usd_per_mtok_output")
SMOOTH = ("replicas_fractional", "nodes_unrounded", "usd_per_month_unrounded", "usd_per_mtok_output_unrounded")


def grid(*changes: tuple[str, str]) -> gridplan.Grid:
    text = GRID
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return gridplan.loads_grid(text)


def test_every_end_is_the_contract_that_says_so() -> None:
    ranges = {
        "rho_target": "0.5:0.8",
        "tpot_slo_s": "30 ms:90 ms",
        "output_tokens": "x0.5:x2",
        "arrival_rate": (20, 90),
    }
    edits = {
        "rho_target": ("rho_target: 0.65", "rho_target: 0.5", "rho_target: 0.8"),
        "tpot_slo_s": ("60 ms", "30 ms", "90 ms"),
        "output_tokens": ("output_tokens: 300", "output_tokens: 150", "output_tokens: 600"),
        "arrival_rate": ("arrival_rate: 40", "arrival_rate: 20", "arrival_rate: 90"),
    }
    rows = gridplan.tornado(grid(), ranges, MEASURES, at=AT)
    for row in rows.itertuples():
        old, low, high = edits[row.input]
        smooth = SMOOTH[MEASURES.index(row.measure)]
        for end, new in (("base", old), ("low", low), ("high", high)):
            cube = gridplan.evaluate(grid((old, new)), [row.measure, smooth]).sel(AT)
            assert getattr(row, end) == pytest.approx(cube[row.measure].item(), rel=1e-12)
            assert getattr(row, f"{end}_unrounded") == pytest.approx(cube[smooth].item(), rel=1e-12)
        values = (row.low, row.base, row.high)
        assert row.swing == max(values) - min(values)


def test_rows_are_sorted_by_the_first_measure_then_before_rounding() -> None:
    ranges = {"peak_to_average": (2, 3), "rho_target": (0.64, 0.66), "arrival_rate": (20, 90)}
    rows = gridplan.tornado(grid(), ranges, ("nodes", "usd_per_mtok_output"), at=AT)
    assert list(dict.fromkeys(rows.input)) == ["arrival_rate", "rho_target", "peak_to_average"]
    assert rows.attrs["finding"].startswith("arrival_rate from 20 req/s to 90 req/s moves nodes most, by ")


def test_an_axis_moves_over_the_label_of_the_cell() -> None:
    axes = ("axes: {", "axes: {arrival_rate: [10, 40], ")
    text = GRID.replace("arrival_rate: 40, ", "").replace(*axes)
    rows = gridplan.tornado(gridplan.loads_grid(text), {"arrival_rate": "x0.5:x2"}, at={**AT, "arrival_rate": 40})
    plain = gridplan.tornado(grid(), {"arrival_rate": (20, 80)}, at=AT)
    assert rows[["low", "base", "high"]].values.tolist() == plain[["low", "base", "high"]].values.tolist()


def test_a_baseline_holds_while_others_move() -> None:
    rows = gridplan.tornado(grid(), {"rho_target": (0.5, 0.8)}, ("replicas",), at=AT, baseline={"arrival_rate": 400})
    plain = gridplan.tornado(grid(("rate: 40", "rate: 400")), {"rho_target": (0.5, 0.8)}, ("replicas",), at=AT)
    assert rows[["low", "base", "high"]].values.tolist() == plain[["low", "base", "high"]].values.tolist()


def test_an_end_without_a_plan_is_said_and_goes_first() -> None:
    ranges = {"arrival_rate": (20, 900), "tpot_slo_s": "1 ms:60 ms"}
    rows = gridplan.tornado(grid(), ranges, ("nodes",), at=AT)
    first = rows.iloc[0]
    assert (first.input, first.why_low) == ("tpot_slo_s", "tpot_unreachable")
    assert math.isnan(first.swing)
    assert first.flips
    assert "tpot_slo_s matters most: nodes has no value at 1.00 ms (tpot_unreachable)" in rows.attrs["finding"]
    assert "tpot -> tpot_unreachable at 1.00 ms" in rows.attrs["finding"]


def test_a_limit_that_flips_is_named() -> None:
    rows = gridplan.tornado(grid(), {"tpot_slo_s": "30 ms:10 s"}, ("replicas",), at=AT)
    row = rows.iloc[0]
    assert (row.binds_base, row.binds_low) == ("tpot", "tpot")
    assert row.binds_high != "tpot"
    assert row.flips
    assert f"tpot -> {row.binds_high} at 10.00 s" in rows.attrs["finding"]


def test_a_measured_rate_that_does_not_follow_is_marked() -> None:
    measured = ("policy:", "capacity: {capacity_model: measured, lambda_instance_given: 6, applies_to: any}\npolicy:")
    rows = gridplan.tornado(grid(measured), {"tpot_slo_s": "30 ms:90 ms", "rho_target": (0.5, 0.7)}, ("nodes",), at=AT)
    notes = dict(zip(rows.input, rows.rate_note, strict=True))
    assert notes["tpot_slo_s"] == "measured_rate_not_moved"
    assert not isinstance(notes["rho_target"], str)


def test_nothing_to_compare_gives_the_reason() -> None:
    rows = gridplan.tornado(
        grid((", peak_to_average: 2.5", "")), {"rho_target": (0.5, 0.7)}, ("usd_per_mtok_output",), at=AT
    )
    assert "PAR" in rows.why_base[0]
    assert rows.attrs["finding"].startswith("usd_per_mtok_output has no value in this cell")


@pytest.mark.parametrize(
    ("ranges", "texts"),
    [
        ({"rho": "1:2"}, ["rho is not an input (did you mean rho_target?)"]),
        ({"kv_dtype": "bf16:fp8"}, ["kv_dtype is a label and has no low and high"]),
        ({"nodes": (1, 2), "mfu": "0.2"}, ["nodes is not an input", "LOW:HIGH is due"]),
        ({"rho_target": "0.6:1.8"}, ["rho_target would be 1.8, and must be > 0 and <= 1"]),
        ({"tensor_parallel": "x0.375:x2"}, ["tensor_parallel would be 1.5, and takes whole numbers only"]),
        ({"budget_usd_per_month": "1:2"}, ["budget_usd_per_month has no value in this cell"]),
        ({"tpot_slo_s": "20 mss:40 ms"}, ["unknown unit"]),
        ({"mfu": "x2:x1"}, ["the low end 2 is above the high end 1"]),
        ({"mfu": "x2:0.5"}, ["both ends are factors"]),
        ({"mfu": "-120%:+10%"}, ["a factor below 0"]),
        ({}, ["name at least one input"]),
    ],
)
def test_ranges_that_are_refused(ranges: dict[str, object], texts: list[str]) -> None:
    with pytest.raises(ContractError) as caught:
        gridplan.tornado(grid(), ranges, at=AT)
    for text in texts:
        assert text in str(caught.value)


def test_measures_and_cells_that_are_refused() -> None:
    with pytest.raises(ContractError, match=r"nodez is not a measure.*nodes") as caught:
        gridplan.tornado(grid(), {"rho_target": (0.5, 0.7)}, ("nodez", "status"), at=AT)
    assert "status is a label" in str(caught.value)
    with pytest.raises(ContractError, match="fix gpu at one of: h100-sxm, b200"):
        gridplan.tornado(grid(), {"rho_target": (0.5, 0.7)})


def test_a_target_that_follows_from_margins_moves_too() -> None:
    from_margins = ("rho_target: 0.65", "margin_forecast: 0.8, margin_skew: 0.8")
    rows = gridplan.tornado(grid(from_margins), {"rho_target": "x0.5:x1.25"}, ("replicas_fractional",), at=AT)
    assert rows[["input_low", "input_base", "input_high"]].values[0] == pytest.approx([0.32, 0.64, 0.8])
    assert rows.low[0] == pytest.approx(2 * rows.base[0])


def test_lengths_of_classes_can_be_multiplied_only() -> None:
    classes = "classes: [{name: a, weight: 0.5, prompt_tokens: 100, output_tokens: 100}, "
    classes += "{name: b, weight: 0.5, prompt_tokens: 2000, output_tokens: 500}]"
    several = grid(("prompt_tokens: 1200, output_tokens: 300", classes))
    rows = gridplan.tornado(several, {"output_tokens": "x0.5:x2"}, ("replicas_fractional",), at=AT)
    assert rows[["input_low", "input_base", "input_high"]].values.tolist() == [[150, 300, 600]]
    with pytest.raises(ContractError, match="output_tokens differs by class: give factors"):
        gridplan.tornado(several, {"output_tokens": (100, 200)}, at=AT)


def test_what_classes_state_of_themselves_is_not_set_over_their_heads() -> None:
    classes = "classes: [{name: a, weight: 0.5, prompt_tokens: 100, output_tokens: 100, prefix_hit_ratio: 0.4}, "
    classes += "{name: b, weight: 0.5, prompt_tokens: 2000, output_tokens: 500}]"
    several = grid(("prompt_tokens: 1200, output_tokens: 300", classes))
    with pytest.raises(ContractError, match="prefix_hit_ratio has no value in this cell"):
        gridplan.tornado(several, {"prefix_hit_ratio": (0, 0.5)}, at=AT)
    shared = grid(("prompt_tokens: 1200, output_tokens: 300", f"{classes}, prefix_hit_ratio: 0.2"))
    with pytest.raises(ContractError, match="prefix_hit_ratio differs by class: give factors"):
        gridplan.tornado(shared, {"prefix_hit_ratio": (0, 0.5)}, at=AT)
    with pytest.raises(ContractError, match="prefix_hit_ratio differs by class: no value holds for all"):
        gridplan.tornado(shared, {"rho_target": (0.5, 0.6)}, at=AT, baseline={"prefix_hit_ratio": 0.3})


@pytest.mark.parametrize(
    ("text", "unit_of", "low", "high", "factors"),
    [
        ("2:5", "peak_to_average", 2, 5, False),
        ("0.6:0.8", "rho_target", 0.6, 0.8, False),
        ("60%:80%", "rho_target", 0.6, 0.8, False),
        ("x0.5:x2", "output_tokens", 0.5, 2, True),
        ("-20%:+20%", "usd_per_node_hour", 0.8, 1.2, True),
        ("0%:+50%", "arrival_rate", 1.0, 1.5, True),
        ("20 ms : 40 ms", "tpot_slo_s", 0.02, 0.04, False),
        ("70 GiB:80 GiB", "gpu_memory_bytes", 70 * 2**30, 80 * 2**30, False),
    ],
)
def test_texts_of_ranges(text: str, unit_of: str, low: float, high: float, factors: bool) -> None:
    found, problems = ranges_of({unit_of: text})
    assert not problems
    assert (found[unit_of].low, found[unit_of].high) == pytest.approx((low, high))
    assert found[unit_of].factors is factors


@settings(max_examples=15, deadline=None)
@given(rate=st.floats(5, 400), price=st.floats(5, 90), target=st.floats(0.3, 0.9))
def test_power_laws_have_their_exponents(rate: float, price: float, target: float) -> None:
    moved = grid(("rate: 40", f"rate: {rate!r}"), ("hour: 30", f"hour: {price!r}"), ("0.65", f"{target!r}"))
    inputs = ("usd_per_node_hour", "arrival_rate", "rho_target", "peak_to_average")
    rows = gridplan.elasticities(moved, inputs, MEASURES, at=AT)
    found = rows.pivot(index="input", columns="measure", values="elasticity").loc[list(inputs), list(SMOOTH)]
    expected = [[0, 0, 1, 1], [1, 1, 1, 0], [-1, -1, -1, -1], [0, 0, 0, 1]]
    np.testing.assert_allclose(found.values, expected, atol=1e-9)


def test_elasticities_say_what_has_none() -> None:
    rows = gridplan.elasticities(grid((", peak_to_average: 2.5", "")), ["rho_target"], at=AT)
    assert rows.measure.tolist() == ["replicas_fractional", "usd_per_mtok_output_unrounded"]
    assert math.isnan(rows.elasticity[1])
    assert "PAR" in rows.why[1]


@pytest.mark.parametrize(
    ("inputs", "measures", "step", "text"),
    [
        (["rho"], ["nodes"], 0.01, "rho is not an input"),
        (["tensor_parallel"], ["nodes"], 0.01, "takes whole numbers only"),
        (["prefix_hit_ratio"], ["nodes"], 0.01, "prefix_hit_ratio is 0 in this cell"),
        (["budget_usd_per_month"], ["nodes"], 0.01, "has no value in this cell"),
        (["rho_target"], ["gpus"], 0.01, "gpus moves in stairs"),
        (["rho_target"], ["nodes"], 0.9, "must be > 0 and <= 1"),
        (["rho_target"], ["nodes"], 0.0, "a step between 0 and 1 is due"),
    ],
)
def test_elasticities_that_are_refused(inputs: list[str], measures: list[str], step: float, text: str) -> None:
    with pytest.raises(ContractError, match=text):
        gridplan.elasticities(grid(), inputs, measures, at=AT, step=step)
