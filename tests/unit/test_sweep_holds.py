"""Limits on latencies of which a file states some statistics only: true, false or not known."""

from __future__ import annotations

import pytest

from gridplan.measured.sweep import Latency, SweepPoint, holds

TTFT = Latency(0.0743, {50.0: 0.062, 99.0: 0.21})


@pytest.mark.parametrize(
    ("statistic", "limit_s", "expected"),
    [
        (99, 0.21, True),  # the limit itself is allowed
        (99, 0.2, False),
        (95, 0.21, True),  # p99 within the limit
        (95, 0.062, None),  # p50 is at it, p99 above
        (95, 0.061, False),  # p50 above the limit
        (99.9, 0.5, None),  # nothing at or above p99.9
        (99.9, 0.2, False),
        (10, 0.062, True),
        (10, 0.05, None),
        ("mean", 0.08, True),
        ("mean", 0.07, False),
    ],
)
def test_a_percentile_proves_only_what_follows_from_order(statistic, limit_s, expected):
    assert holds(TTFT, statistic, limit_s) is expected


def test_means_and_percentiles_prove_nothing_of_each_other():
    assert holds(Latency(0.01), 50, 1.0) is None
    assert holds(Latency(2.0), 99, 1.0) is None
    assert holds(Latency(None, {99.0: 0.2}), "mean", 1.0) is None
    assert holds(None, 99, 1.0) is None


def test_least_and_largest_are_percentiles():
    assert holds(Latency(None, {0.0: 0.01, 100.0: 0.3}), 99, 0.3) is True
    assert holds(Latency(None, {0.0: 0.01, 100.0: 0.3}), 1, 0.005) is False


def test_derived_tpot_needs_both_means_and_two_tokens():
    common = {"file": "f", "place": "", "tool": "csv", "format": "csv", "loop": "open"}
    point = SweepPoint(**common, ttft=Latency(0.1), e2e=Latency(1.1), output_tokens_mean=101.0)
    assert point.tpot_derived_mean_s == pytest.approx(0.01)
    assert SweepPoint(**common, ttft=Latency(0.1), e2e=Latency(1.1)).tpot_derived_mean_s is None
    assert SweepPoint(**common, e2e=Latency(1.1), output_tokens_mean=9.0).tpot_derived_mean_s is None
    one = SweepPoint(**common, ttft=Latency(0.1), e2e=Latency(0.1), output_tokens_mean=1.0)
    assert one.tpot_derived_mean_s is None
