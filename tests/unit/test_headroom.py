"""What is counted twice is said with its numbers and with what to write instead; nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest

import gridplan
from gridplan.engine.headroom import COUNTED_TWICE
from gridplan.engine.inputs import build_inputs

MEASURED: dict[str, Any] = {
    "schema": 1,
    "workload": {"prompt_tokens": 1000, "output_tokens": 100, "arrival_rate": 100},
    "slo": {"tpot": {"limit": 0.05, "percentile": 95}},
    "deployment": {
        **{"step_weights_s": 0.01, "step_per_context_token_s": 1e-7, "prefill_per_token_s": 1e-5},
        **{"kv_pool_tokens_given": 110_000},
    },
    "capacity": {"capacity_model": "measured", "lambda_instance_given": 20},
    "policy": {"redundancy": 0},
}


def said(policy: dict[str, Any], **more: Any) -> list[str]:
    """Sentences about headroom of the measured plan with this policy."""
    text = {**MEASURED, **more, "policy": {**MEASURED["policy"], **policy}}
    warnings = build_inputs(gridplan.loads_grid(json.dumps(text))).warnings
    return [item for item in warnings if COUNTED_TWICE in item]


MEANS = {"capacity": {"capacity_model": "replica_seconds"}}


@pytest.mark.parametrize(
    ("policy", "more", "parts"),
    [
        ({"rho_target": 0.7}, {}, ("rho_target 0.7", "percentile_measured", "margin_forecast", "rho_target: 1")),
        ({}, {"axes": {"rho_target": [0.5, 0.8, 1]}}, ("rho_target 0.5 to 0.8 on",)),
        ({"margin_statistic": 0.8}, {}, ("margin_statistic 0.8", "percentile_measured", "Leave margin_statistic out")),
        (
            {"margin_failure": 0.9, "redundancy": 2},
            MEANS,
            ("margin_failure 0.9 beside redundancy 2", "set redundancy: 0"),
        ),
        (
            {"margin_cold_start": 0.8, "margin_forecast": 0.9},
            MEANS,
            ("margin_cold_start 0.8", "at 0.9 of lambda_instance already (lambda_safe)", "add rise x start time"),
        ),
    ],
)
def test_headroom_counted_twice(policy: dict[str, Any], more: dict[str, Any], parts: tuple[str, ...]) -> None:
    (sentence,) = said(policy, **more)
    assert sentence.startswith("headroom_counted_twice: ")
    for part in parts:
        assert part in sentence


@pytest.mark.parametrize(
    ("policy", "more"),
    [
        ({"rho_target": 1}, {}),
        ({"margin_forecast": 0.8}, {}),
        ({"rho_target": 0.72, "margin_forecast": 0.9, "margin_skew": 0.8}, {}),
        ({"rho_target": 0.65}, MEANS),
        ({"margin_statistic": 0.65}, MEANS),
        ({"margin_failure": 0.9}, MEANS),
        ({"margin_cold_start": 0.8}, MEANS),
        ({"rho_target": 0.7}, {"slo": {}}),  # a throughput: nothing says that percentiles hold there
    ],
)
def test_what_is_counted_once_is_not_said(policy: dict[str, Any], more: dict[str, Any]) -> None:
    assert said(policy, **more) == []


def test_spares_are_there_by_default() -> None:
    text = {**MEASURED, **MEANS, "policy": {"margin_failure": 0.9}}
    (sentence,) = build_inputs(gridplan.loads_grid(json.dumps(text))).warnings[-1:]
    assert sentence.startswith("headroom_counted_twice: margin_failure 0.9 beside redundancy 1")


def test_explain_says_it_where_it_holds_only() -> None:
    text = {**MEASURED, "policy": {"redundancy": 0}, "axes": {"rho_target": [0.7, 1]}}
    grid = gridplan.loads_grid(json.dumps(text))
    low, full = (gridplan.explain(grid, rho_target=rho).warnings for rho in (0.7, 1.0))
    assert sum(item.startswith("headroom_counted_twice: rho_target 0.7 on") for item in low) == 1
    assert not any(COUNTED_TWICE in item for item in full)
    assert any("rho_target 0.7 on" in item for item in gridplan.evaluate(grid).attrs["warnings"].splitlines())


def test_the_lesson_pays_twice() -> None:
    """Its 10 req/s hold percentiles at the limits of a sweep, and it plans 0.70 of them without saying for what."""
    from pathlib import Path

    lesson = gridplan.load_grid(Path(__file__).parents[2] / "grids" / "lesson.yaml")
    (sentence,) = (item for item in build_inputs(lesson).warnings if COUNTED_TWICE in item)
    assert "rho_target 0.7 on lambda_basis percentile_measured" in sentence
