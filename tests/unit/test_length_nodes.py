"""Random lengths as classes: means by hand and by SciPy's distributions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import stats

from gridplan.formulas import length_nodes, length_nodes_scv

KINDS = [
    ("lognormal", 1.0),
    ("lognormal", 3.0),
    ("gamma", 0.5),
    ("gamma", 2.0),
    ("exponential", None),
    ("geometric", None),
]


@pytest.mark.parametrize(("kind", "scv"), KINDS)
@pytest.mark.parametrize("count", [1, 16, 37])
def test_the_mean_is_exact_and_the_variance_adds_up(kind: str, scv: float | None, count: int) -> None:
    weights, lengths = length_nodes(300.0, scv, kind, count)
    assert weights.tolist() == [1.0 / count] * count
    assert weights @ lengths == pytest.approx(300.0, rel=1e-12)
    assert np.all(np.diff(lengths) > 0)
    true = {"exponential": 1.0, "geometric": 1.0 - 1.0 / 300.0}.get(kind, scv)
    within = length_nodes_scv(300.0, scv, kind, count) * lengths**2
    between = weights @ (lengths - 300.0) ** 2
    assert (between + weights @ within) / 300.0**2 == pytest.approx(true, rel=1e-9)


@pytest.mark.parametrize(("kind", "scv"), KINDS[:5])
def test_strata_by_scipy(kind: str, scv: float | None) -> None:
    law = {
        "lognormal": lambda c: stats.lognorm(np.sqrt(np.log1p(c)), scale=300.0 / np.sqrt(1.0 + c)),
        "gamma": lambda c: stats.gamma(1.0 / c, scale=300.0 * c),
        "exponential": lambda _: stats.expon(scale=300.0),
    }[kind](scv)
    edges = law.ppf(np.linspace(0.0, 1.0, 9))
    means = [law.expect(lb=a, ub=b, conditional=True) for a, b in itertools.pairwise(edges)]
    assert length_nodes(300.0, scv, kind, 8)[1] == pytest.approx(means, rel=1e-6)


def test_geometric_by_counting() -> None:
    # Success at 1/2: half of the answers have 1 token, a quarter 2; the last quarter has 3 and one mean more, less 1.
    _, lengths = length_nodes(2.0, None, "geometric", 4)
    assert lengths == pytest.approx([1.0, 1.0, 2.0, 4.0])
    assert length_nodes_scv(2.0, None, "geometric", 4) == pytest.approx([0.0, 0.0, 0.0, 2.0 / 16.0])


def test_empirical_by_hand() -> None:
    # Even between 0 and 100 below the median, between 100 and 300 above.
    weights, lengths = length_nodes(None, None, "empirical", 4, quantiles=([0, 0.5, 1], [0, 100, 300]))
    assert weights.tolist() == [0.25] * 4
    assert lengths.tolist() == [25.0, 75.0, 150.0, 250.0]
    scv = length_nodes_scv(None, None, "empirical", 4, quantiles=([0, 0.5, 1], [0, 100, 300]))
    assert scv == pytest.approx([50**2 / 12 / 25**2, 50**2 / 12 / 75**2, 100**2 / 12 / 150**2, 100**2 / 12 / 250**2])


def test_deterministic_is_one_node() -> None:
    weights, lengths = length_nodes([100.0, 200.0], 0.0, "deterministic", 16)
    assert weights.tolist() == [1.0]
    assert lengths.tolist() == [[100.0], [200.0]]


def test_arrays_of_means() -> None:
    weights, lengths = length_nodes([100.0, 200.0], [[0.5], [1.0], [2.0]], "lognormal", 16)
    assert lengths.shape == (3, 2, 16)
    assert lengths @ weights == pytest.approx(np.tile([100.0, 200.0], (3, 1)), rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((300.0, 1.0, "normal", 16), "kind must be one of"),
        ((300.0, 1.0, "lognormal", 0), "count must be at least 1"),
        ((300.0, None, "lognormal", 16), "needs an scv"),
        ((300.0, 0.0, "lognormal", 16), "scv must be finite and above 0"),
        ((300.0, 0.5, "exponential", 16), "scv of the kind 'exponential' is fixed"),
        ((0.0, 1.0, "gamma", 16), "mean must be finite and above 0"),
        ((None, 1.0, "gamma", 16), "needs a mean"),
        ((1.0, None, "geometric", 16), "above 1"),
        ((None, None, "empirical", 16), "quantiles belong"),
        ((300.0, None, "empirical", 16, ([0, 1], [0, 1])), "pass None for both"),
        ((None, None, "empirical", 16, ([0, 0.9], [0, 1])), "rising from 0 to 1"),
        ((None, None, "empirical", 16, ([0, 0.5, 1], [0, 2, 1])), "must not fall"),
    ],
)
def test_bad_input(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        length_nodes(*arguments)
