"""A target and margins that contradict each other, and neither of them: one error, at its place, with both numbers."""

from __future__ import annotations

import pytest

import gridplan
from gridplan.errors import ContractError

HEAD = """schema: 1
workload: {arrival_rate: 500}
deployment: {kv_pool_bytes_given: 40 GB, kv_bytes_per_sequence_given: 500 MB}
capacity: {capacity_model: littles_law, e2e_latency_s: 4.0}
"""


def problem(text: str) -> tuple[int | None, int | None, str | None, str]:
    with pytest.raises(ContractError) as caught:
        gridplan.evaluate(gridplan.loads_grid(HEAD + text))
    (found,) = caught.value.problems
    return found.line, found.column, found.key, found.message


@pytest.mark.parametrize(
    ("text", "line", "key", "parts"),
    [
        (
            "policy: {margin_forecast: 0.9, rho_target: 0.7, margin_skew: 0.8}",
            5,
            "policy.rho_target",
            ("rho_target 0.7 is not", "margin_forecast 0.9 x margin_skew 0.8 = 0.72", "leave one of them out"),
        ),
        ("policy: {margin_forecast: 1, rho_target: 0.7}", 5, "policy.rho_target", ("0.7 is not", "margin_forecast 1:")),
        (
            "policy: {margin_skew: 0.8}\naxes: {rho_target: [0.8, 0.9]}",
            6,
            "axes.rho_target",
            ("rho_target 0.9 is not", "margin_skew 0.8 at rho_target=0.9", "agree with it in every cell"),
        ),
        (
            "policy: {rho_target: 0.8}\naxes: {margin_skew: [0.8, 0.9]}",
            5,
            "policy.rho_target",
            ("rho_target 0.8 is not", "margin_skew 0.9 at margin_skew=0.9"),
        ),
        (
            "policy: {rho_target: 0.8, margin_skew: {by: weight_dtype, bf16: 0.8, fp8: 0.7}}\n"
            "axes: {weight_dtype: [bf16, fp8]}",
            5,
            "policy.rho_target",
            ("margin_skew 0.7 at weight_dtype=fp8",),
        ),
        (
            "policy: {rho_target: 0.8, margin_skew: 0.8}\nscenarios:\n  nominal: {}\n  tight: {margin_skew: 0.7}",
            8,
            "scenarios.tight.margin_skew",
            ("rho_target 0.8 is not", "margin_skew 0.7 at scenario=tight"),
        ),
        (
            "policy: {margin_skew: 0.8}\nscenarios:\n  nominal: {}\n  tight: {rho_target: 0.7}",
            8,
            "scenarios.tight.rho_target",
            ("rho_target 0.7 is not", "margin_skew 0.8"),
        ),
    ],
)
def test_a_target_beside_margins_must_be_their_product(text: str, line: int, key: str, parts: tuple[str, ...]) -> None:
    found_line, column, found_key, message = problem(text)
    assert (found_line, found_key) == (line, key)
    assert column is not None
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    "text", ["policy: {redundancy: 1}", "policy: {}\nscenarios: {nominal: {}, a: {margin_skew: 1}}"]
)
def test_neither_is_an_error_that_proposes_by_basis(text: str) -> None:
    line, _, key, message = problem(text)
    assert (line, key) == (5, "policy.rho_target")
    proposals = ("slots 0.9 (littles_law)", "mean 0.65", "replica_seconds", "percentile 0.85", "queueing", "measured")
    for part in (*proposals, "margin_statistic", "margin_cold_start"):
        assert part in message


def test_a_margin_has_bounds_also_after_a_change() -> None:
    assert problem("policy: {margin_skew: 1.2}")[3] == "margin_skew must be > 0 and <= 1; 1.2 is not"
    text = "policy: {margin_skew: 0.8}\nscenarios: {nominal: {}, a: {margin_skew: {multiply: 2}}}"
    assert "0.8 x 2 = 1.6 is not" in problem(text)[3]


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("policy: {rho_target: 0.9, routing_credit: 1.1}", 5, "policy.routing_credit"),
        ("policy: {rho_target: 0.9}\naxes: {routing_credit: [1, 1.1]}", 6, "axes.routing_credit"),
        (
            "policy: {rho_target: 0.9, routing: least_tokens, routing_credit: 1.1}\n"
            "scenarios:\n  nominal: {}\n  split: {routing: random}",
            8,
            "scenarios.split.routing",
        ),
    ],
)
def test_a_random_split_gains_nothing(text: str, line: int, key: str) -> None:
    found_line, _, found_key, message = problem(text)
    assert (found_line, found_key) == (line, key)
    assert "routing_credit 1.1" in message
    assert "name the routing, or leave routing_credit out" in message


def test_an_unknown_routing_has_a_near_one() -> None:
    assert "least_tokens" in problem("policy: {rho_target: 0.9, routing: least_token}")[3]
