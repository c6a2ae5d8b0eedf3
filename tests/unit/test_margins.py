"""The utilisation target by its named margins: their product, where it comes from, and what it plans."""

from __future__ import annotations

import numpy as np
import pytest

import gridplan
from gridplan.contract.margins import MARGINS
from gridplan.dictionary import dictionary
from gridplan.engine.inputs import build_inputs

SLOTS = """
schema: 1
workload: {{arrival_rate: 500}}
deployment: {{kv_pool_bytes_given: 40 GB, kv_bytes_per_sequence_given: 500 MB, kv_efficiency: 0.9}}
capacity: {{capacity_model: littles_law, e2e_latency_s: 4.0}}
policy: {{redundancy: 0, {0}}}
{1}
"""
"""The sizing formula of "Sizing a Serving Cluster End to End": 72 slots, 4 s, 18 req/s; at 0.7 that is 40 replicas."""


def grid(policy: str, rest: str = "") -> gridplan.contract.Grid:
    return gridplan.loads_grid(SLOTS.format(policy, rest))


def test_the_target_is_the_product_of_the_margins() -> None:
    """0.875 x 0.8 = 0.7, so 18 x 0.7 = 12.6 req/s and ceil(500 / 12.6) = 40 as the text has it."""
    cube = gridplan.evaluate(grid("margin_forecast: 0.875, margin_skew: 0.8"))
    assert cube["lambda_safe"] == pytest.approx(12.6, rel=1e-12)
    assert cube["replicas_active"] == 40
    assert cube["lambda_basis"] == "slots"


def test_both_may_be_stated_where_they_agree() -> None:
    stated = "margin_forecast: 0.875, margin_skew: 0.8"
    alone, both = (gridplan.evaluate(grid(text)) for text in (stated, f"{stated}, rho_target: 0.7"))
    assert both["replicas_active"] == alone["replicas_active"] == 40


def test_the_origin_names_the_factors() -> None:
    inputs = build_inputs(grid("margin_forecast: 0.875, margin_skew: 0.8"))
    origin = inputs.origins["rho_target"]({})
    assert (origin.cls, origin.provider) == ("policy", "margins")
    assert origin.source == "product of margin_forecast x margin_skew"
    stated = build_inputs(grid("rho_target: 0.7")).origins["rho_target"]({})
    assert (stated.cls, stated.source, stated.provider) == ("policy", "contract", "contract")


def test_a_margin_may_be_an_axis_differ_by_label_and_be_changed_by_a_scenario() -> None:
    axis = gridplan.evaluate(grid("margin_skew: 0.8", "axes: {margin_forecast: [0.875, 1]}"))
    assert axis["replicas_active"].values.tolist() == [40, np.ceil(500 / (18 * 0.8))]
    by = "margin_skew: {by: weight_dtype, bf16: 0.7, fp8: 1}"
    differs = gridplan.evaluate(grid(by, "axes: {weight_dtype: [bf16, fp8]}"))
    assert differs["lambda_safe"].values.tolist() == pytest.approx([12.6, 18.0])
    changes = "scenarios: {nominal: {}, tight: {margin_skew: {multiply: 0.875}}, more: {margin_forecast: 0.5}}"
    cube = gridplan.evaluate(grid("margin_skew: 0.8", changes))
    assert cube["lambda_safe"].values.tolist() == pytest.approx([18 * 0.8, 12.6, 18 * 0.4])
    assert cube["margin_skew"].values.tolist() == pytest.approx([0.8, 0.7, 0.8])
    assert cube["rho_target"].values.tolist() == pytest.approx([0.8, 0.7, 0.4])
    assert "rho_target" in axis.coords


def test_an_axis_of_the_target_may_stand_beside_a_margin_that_agrees_with_it() -> None:
    cube = gridplan.evaluate(grid("margin_skew: 0.7", "axes: {rho_target: [0.7]}"))
    assert cube["replicas_active"].values.tolist() == [40]


def test_explain_shows_the_product_and_its_factors() -> None:
    page = str(gridplan.explain(grid("margin_forecast: 0.875, margin_skew: 0.8")))
    lines = {line.split()[0]: line for line in page.splitlines() if line.strip()}
    assert lines["rho_target"].endswith("policy, margins, product of margin_forecast x margin_skew")
    assert lines["margin_forecast"].split()[1:] == ["0.875", "policy,", "contract"]
    assert "margin_statistic" not in lines
    assert lines["lambda_basis"].endswith("slots")
    plain = gridplan.explain(grid("rho_target: 0.7"))
    assert not {"routing", "routing_credit", *MARGINS} & {item.name for item in plain.inputs}


def test_a_planned_rate_has_its_basis_beside_it() -> None:
    assert set(gridplan.evaluate(grid("rho_target: 0.7"), "lambda_safe")) == {"lambda_safe", "lambda_basis"}


def test_the_dictionary_has_all_margins() -> None:
    rows = [row for row in dictionary().values() if row.name.startswith("margin_") and row.is_input]
    assert tuple(row.name for row in rows) == MARGINS
    assert {(row.unit, row.bounds, row.default, row.cls, row.section) for row in rows} == {
        ("1", "0<x<=1", "1", "policy", "policy")
    }
