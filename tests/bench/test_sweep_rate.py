"""Judged sweeps against simulation: few false alarms, wrong ones caught, the true rate in its interval.

A fifth of what `reports/sweep.md` shows, so that it always runs; a share of 90% of so few has a standard error of 5%.
Limits are percentiles of as many requests as there, in twice as many runs of half the length, which take less time.
"""

from __future__ import annotations

import pytest
from sweep_cases import Sweep, sweeps
from sweep_corrupt import KINDS
from sweep_page import caught, clean_numbers

COUNT, SEED = 40, 7


@pytest.fixture(scope="module")
def clean() -> list[Sweep]:
    """Clean sweeps, simulated once."""
    return sweeps(COUNT, SEED, known=(4000, 4))


def test_clean_sweeps_raise_few_false_alarms_and_their_interval_has_the_true_rate(clean: list[Sweep]) -> None:
    numbers = clean_numbers(clean)
    assert numbers.sweeps == COUNT
    assert numbers.alarmed <= 0.05 * COUNT, numbers.untrue
    assert numbers.covered >= 0.9 * COUNT
    assert numbers.closed >= 0.9 * COUNT


def test_wrong_sweeps_are_caught(clean: list[Sweep]) -> None:
    counts = caught(clean, SEED)
    assert counts.keys() == KINDS.keys()
    for kind, (hits, count) in counts.items():
        assert count >= 10, kind
        assert hits >= 0.9 * count, (kind, hits, count)
