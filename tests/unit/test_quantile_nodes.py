"""Nodes of lengths that are known by quantiles, against a lognormal distribution and a fine grid."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from gridplan.formulas.quantile_nodes import quantile_nodes
from gridplan.formulas.replica.length_nodes import length_nodes, length_nodes_scv


def test_quantiles_of_a_lognormal_give_its_nodes() -> None:
    scv, mean, normal = 2.0, 500.0, NormalDist()
    sigma = math.sqrt(math.log1p(scv))
    shares = [10.0, 50.0, 75.0, 95.0, 99.9]
    quantiles = [mean * math.exp(sigma * normal.inv_cdf(q / 100) - sigma * sigma / 2) for q in shares]
    _, nodes, within = quantile_nodes(shares, quantiles, 16)
    np.testing.assert_allclose(nodes, length_nodes(mean, scv, "lognormal", 16)[1])
    np.testing.assert_allclose(within, length_nodes_scv(mean, scv, "lognormal", 16), rtol=1e-6, atol=1e-9)


def test_nodes_of_quantiles_lie_between_them() -> None:
    _, nodes, _ = quantile_nodes([50.0, 90.0, 99.0], [120.0, 800.0, 4000.0], 10)
    assert (nodes[:5] < 120).all()
    assert ((nodes[5:9] > 120) & (nodes[5:9] < 800)).all()
    assert nodes[9] > 800


def test_the_longest_length_cuts_the_tail() -> None:
    """Against the mean of the quantile function on a fine grid, cut at 2,000 tokens."""
    shares, lengths, count = [50.0, 90.0, 99.0], [120.0, 800.0, 4000.0], 4
    _, nodes, within = quantile_nodes(shares, lengths, count, 5000.0)
    middle = (np.arange(400_000) + 0.5) / 400_000
    scores = stats.norm.ppf(middle)
    known = stats.norm.ppf(np.array(shares) / 100)
    slopes = np.diff(np.log(lengths)) / np.diff(known)
    line = np.where(scores < known[1], 0, 1)
    expected = np.minimum(np.exp(np.log(lengths)[line] + slopes[line] * (scores - known[line])), 5000.0)
    slices = expected.reshape(count, -1)
    np.testing.assert_allclose(nodes, slices.mean(axis=1), rtol=1e-4)
    np.testing.assert_allclose(within, slices.var(axis=1) / slices.mean(axis=1) ** 2, rtol=1e-3)
    assert quantile_nodes(shares, lengths, count)[1][-1] > nodes[-1]


def test_steep_quantiles_need_a_longest_length() -> None:
    """A line of slope 460 on lognormal paper: exp(slope^2 / 2) is beyond any float, and its slices are not."""
    with pytest.raises(ValueError, match="no finite mean: state a longest length"):
        quantile_nodes([50.0, 51.0], [1.0, 1e5], 4)
    _, nodes, _ = quantile_nodes([50.0, 51.0, 90.0], [1.0, 1e5, 2e5], 4, 3e5)
    assert (nodes[:2] < 1).all()
    assert 9e4 < nodes[2] < nodes[3] < 3e5
    assert quantile_nodes([50.0, 51.0], [1.0, 1e5], 4, 1e5)[1][3] == pytest.approx(1e5, rel=1e-12)


def test_quantiles_must_rise() -> None:
    for shares, lengths in (([50.0], [9.0]), ([50.0, 90.0], [9.0, 9.0]), ([90.0, 50.0], [8.0, 9.0])):
        with pytest.raises(ValueError, match="rise together"):
            quantile_nodes(shares, lengths, 4)
