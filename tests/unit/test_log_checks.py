"""Checks of printed figures against each other, with the public cases A09, B10 and B12."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridplan.measured.log_checks import (
    bytes_per_token,
    check_budget,
    check_concurrency,
    check_estimate,
    effective_tokens,
    explaining_fraction,
)

GIB = 2**30
A09 = {"weights": 64.38 * GIB, "activation": 7.38 * GIB, "non-torch": 0.13 * GIB}
"""https://github.com/llm-d-incubation/llm-d-planner, docs/empirical-vllm-memory-results.md: gpt-oss-120b on an H100."""


def test_a09_terms_that_do_not_add_up() -> None:
    found = check_budget(0.9 * 79.18 * GIB, A09, 3.33 * GIB, total_bytes=79.18 * GIB)
    assert found.severity == "error"
    assert found.numbers["expected_bytes"] / GIB == pytest.approx(-0.63, abs=0.02)
    assert found.numbers["fraction"] == pytest.approx(0.95, abs=0.0005)
    assert "a memory fraction of 0.9500 would explain it" in found.sentence


def test_a09_at_the_fraction_that_explains_it() -> None:
    usable = explaining_fraction(79.18 * GIB, A09, 3.33 * GIB) * 79.18 * GIB
    assert check_budget(usable, A09, 3.33 * GIB).severity == "info"


def test_b10_observed_bytes_of_a_token() -> None:
    """https://github.com/redhat-performance/configiq/issues/112: weights of 4 bits leave the KV cache as it is."""
    assert bytes_per_token(64.68 * GIB, 626949) / 1024 == pytest.approx(108.2, abs=0.1)
    assert bytes_per_token(103.92 * GIB, 1007303) / 1024 == pytest.approx(108.2, abs=0.1)


def test_b10_an_estimate_that_does_not_multiply() -> None:
    found = check_estimate(74.95 * GIB, 972134, 880 * 1024)
    assert found.severity == "error"
    assert found.numbers["implied_bytes"] / 1024 == pytest.approx(80.8, abs=0.1)
    assert check_estimate(64.68 * GIB, 626949, 108.2 * 1024).severity == "info"


def test_b12_concurrency_is_what_counts() -> None:
    """https://github.com/vllm-project/vllm/issues/40691"""
    tokens = effective_tokens(290864, 33.04, 32768)
    assert tokens == pytest.approx(1082655, abs=400)
    found = check_concurrency(290864, 33.04, 32768)
    assert found.severity == "warning"
    assert found.numbers["ratio"] == pytest.approx(3.72, abs=0.01)
    assert "one of several layer groups, 3.72 times too few" in found.sentence


@pytest.mark.parametrize(
    ("tokens", "concurrency", "length"),
    [(157648, 1.20, 131072), (62608, 61.14, 1024), (237040, 462.97, 512), (566016, 17.27, 32768), (8112, 0.5, 16384)],
)
def test_plain_models_agree(tokens: float, concurrency: float, length: float) -> None:
    assert check_concurrency(tokens, concurrency, length).severity == "info"
    assert effective_tokens(tokens, concurrency, length) == tokens


def test_the_smaller_of_two_figures_counts_too() -> None:
    """4 x RTX 2080 Ti, a public log: 1.21 sequences of 131,072 tokens, where one rank's pool would hold 177,800."""
    assert check_concurrency(177800, 1.21, 131072).severity == "warning"
    assert effective_tokens(177800, 1.21, 131072) == pytest.approx(158597, abs=1)


def test_without_concurrency_the_token_line_stands() -> None:
    assert effective_tokens(1000.0, None, 4096.0) == 1000.0
    assert effective_tokens(None, None, None) is None
    assert effective_tokens(None, 2.78, 131072) == pytest.approx(364380.16)


@given(
    st.floats(1e9, 3e11),
    st.floats(0.1, 1.0),
    st.lists(st.floats(0, 1e11), min_size=1, max_size=4),
    st.floats(-1e10, 1e10),
)
def test_a_budget_agrees_exactly_within_its_slack(
    total: float, fraction: float, terms: list[float], shift: float
) -> None:
    named = {str(index): term for index, term in enumerate(terms)}
    pool = total * fraction - sum(terms) + shift
    found = check_budget(total * fraction, named, pool, rounding_bytes=0.01 * GIB, total_bytes=total)
    assert found.numbers["difference_bytes"] == pytest.approx(shift, abs=1.0)
    if abs(abs(shift) - 0.04 * GIB) > 1.0:
        assert (found.severity == "error") == (abs(shift) > 0.04 * GIB)


@given(st.integers(1, 10**7), st.integers(16, 10**6))
def test_the_engines_own_arithmetic_agrees(blocks: int, length: int) -> None:
    """Tokens are blocks of 16; concurrency is blocks over those a sequence takes, printed with two decimals."""
    concurrency = round(blocks / -(-length // 16), 2)
    assert check_concurrency(blocks * 16.0, concurrency, length).severity == "info"


def test_a_total_of_zero_names_no_fraction() -> None:
    found = check_budget(0.0, {"weights": GIB}, GIB, total_bytes=0.0)
    assert found.severity == "error"
    assert "fraction" not in found.numbers
