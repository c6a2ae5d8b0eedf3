"""Distributions of inputs: how they are written, their quantiles, and what leaves the bounds of an input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import gridplan
from gridplan.errors import ContractError
from gridplan.sensitivity.distribution_text import parse_distribution
from gridplan.sensitivity.uncertain_inputs import bounded_distributions

POINTS = np.array([1e-6, 0.05, 0.31, 0.5, 0.9, 1 - 1e-6])

SIGMA = np.sqrt(np.log(1.25))


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("normal(60, 6)", stats.norm(60, 6)),
        ("normal(sd=6, mean=60)", stats.norm(60, 6)),
        ("lognormal(60, 0.2)", stats.lognorm(0.2, scale=60)),
        ("lognormal(median=60, sigma=0.2)", stats.lognorm(0.2, scale=60)),
        ("lognormal(mean=60, scv=0.25)", stats.lognorm(SIGMA, scale=60 / np.sqrt(1.25))),
        ("uniform(50, 70)", stats.uniform(50, 20)),
        ("triangular(50, 60, 80)", stats.triang(1 / 3, 50, 30)),
        ("triangular(50, 50, 80)", stats.triang(0, 50, 30)),
        ("triangular(50, 80, 80)", stats.triang(1, 50, 30)),
        ("normal(60, 6) truncated(50, 1e9)", stats.truncnorm(-10 / 6, np.inf, 60, 6)),
        ("x Normal( 1 , .1 )", stats.norm(1, 0.1)),
    ],
)
def test_quantiles_are_those_of_scipy(text: str, reference: object) -> None:
    found = parse_distribution(text)
    np.testing.assert_allclose(found.quantile(POINTS), reference.ppf(POINTS), rtol=1e-9)  # type: ignore[attr-defined]
    assert found.multiplies == text.startswith("x")


def test_a_lognormal_of_a_mean_has_that_mean_and_scv() -> None:
    points = (np.arange(200_000) + 0.5) / 200_000
    values = parse_distribution("lognormal(mean=60, scv=0.25)").quantile(points)
    assert values.mean() == pytest.approx(60, rel=1e-3)
    assert (values.std() / values.mean()) ** 2 == pytest.approx(0.25, rel=1e-2)


def test_measured_values_are_all_alike() -> None:
    found = parse_distribution([31.0, 35.0, 33.0, 33.0])
    assert found.quantile(np.array([0.1, 0.26, 0.6, 0.99])).tolist() == [31, 33, 33, 35]
    assert found == parse_distribution("empirical(31, 35, 33, 33)")
    assert found == parse_distribution({"distribution": "empirical", "values": [31, 35, 33, 33]})


def test_a_mapping_says_what_a_text_says() -> None:
    mapping = {"distribution": "normal", "mean": 1, "sd": 0.1, "multiply": True, "truncate": [0.8, 1.2]}
    assert parse_distribution(mapping) == parse_distribution("x normal(1, 0.1) truncated(0.8, 1.2)")
    assert parse_distribution({**mapping, "truncate": True}) == parse_distribution("x normal(1, 0.1) truncated")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("nromal(1, 2)", "did you mean normal"),
        ("60", "is no distribution: write normal"),
        ("normal(60)", "normal needs mean, sd; 1 numbers are given"),
        ("normal(60, sd=6)", "all numbers by name, or none"),
        ("normal(mean=60, mean=6)", "gives a number twice"),
        ("normal(mean=60, scv=6)", "normal needs mean and sd; given: mean, scv"),
        ("normal(60, 0)", "sd must be > 0"),
        ("normal(60, six)", "'six' is not a number"),
        ("normal(nan, 1)", "must be finite"),
        ("lognormal(-1, 1)", "median must be > 0"),
        ("uniform(2, 1)", "low must be below high"),
        ("triangular(1, 9, 2)", "mode must lie from low to high"),
        ("empirical()", "at least one value"),
        ("empirical(mean=1)", "takes values alone"),
        ("uniform(0, 1) truncated(2, 3)", "nothing of uniform"),
        ("uniform(0, 1) truncated(2)", "a lower and a higher value"),
        ({"mean": 1}, "distribution must name one of"),
        ({"distribution": "normal", "mean": 1, "sd": 1, "multiply": "no"}, "multiply must be true or false"),
        ([], "at least one value"),
    ],
)
def test_what_is_no_distribution(wrong: object, said: str) -> None:
    with pytest.raises(ContractError, match=said) as caught:
        parse_distribution(wrong, "arrival_rate")  # type: ignore[arg-type]
    assert str(caught.value).startswith("arrival_rate:")


GRID = """schema: 1
workload: {prompt_tokens: 1000, output_tokens: 200, peak_to_average: 2, arrival_rate: 60}
slo: {tpot: {limit: 60 ms}}
deployment: {model: llama-3.1-8b, gpu: h100-sxm, gpus_per_node: 8, usd_per_node_hour: 30, mbu: 0.7}
policy: {rho_target: 0.65}
axes: {kv_dtype: [bf16, fp8]}
"""


@pytest.fixture
def grid() -> gridplan.Grid:
    return gridplan.loads_grid(GRID)


def test_every_problem_at_once(grid: gridplan.Grid) -> None:
    wrong = {
        "arrival_rat": "normal(60, 6)",
        "mbu": "normal(0.7, 0.2)",
        "rho_target": "x uniform(1, 2)",
        "gpu": "uniform(1, 2)",
        "redundancy": "uniform(0, 2)",
        "nodes_given": [1.5, 2],
        "e2e_latency_s": "x uniform(0.9, 1.1)",
        "peak_to_average": "uniform(0.5, 0.9)",
    }
    with pytest.raises(ContractError) as caught:
        bounded_distributions(grid, wrong)
    said = str(caught.value).splitlines()
    for line, text in zip(
        said,
        [
            "did you mean arrival_rate",
            "mbu must be > 0 and <= 1; 0.067 of normal",
            "factors of 0.65 to 0.65 from 0 to 1.53846",
            "is a label",
            "write empirical",
            "1.5 is not",
            "no value in the contract that could be multiplied",
            "peak_to_average must be >= 1; 1 of uniform",
        ],
        strict=True,
    ):
        assert text in line


def test_what_leaves_the_bounds_is_cut_off_only_where_asked(grid: gridplan.Grid) -> None:
    asked = {"mbu": "normal(0.7, 0.2) truncated", "rho_target": "x uniform(1, 2) truncated"}
    found = bounded_distributions(grid, asked)
    points = np.array([2.0**-54, 0.5, 1 - 2.0**-53])
    share = found["mbu"].quantile(points)
    assert (share > 0).all()
    assert (share <= 1).all()
    np.testing.assert_allclose(found["rho_target"].quantile(points)[-1], 1 / 0.65)
    np.testing.assert_allclose(share[1], stats.truncnorm(-3.5, 1.5, 0.7, 0.2).ppf(0.5))


def test_less_than_one_of_any_sample_is_cut_off_unasked(grid: gridplan.Grid) -> None:
    found = bounded_distributions(grid, {"arrival_rate": "normal(60, 6)"})["arrival_rate"]
    assert found.quantile(np.array([2.0**-54]))[0] > 0
    assert str(found) == "normal(mean=60, sd=6)"
    with pytest.raises(ContractError, match="write truncated after it"):
        bounded_distributions(grid, {"arrival_rate": "normal(60, 20)"})


def test_ends_of_bounds_count_for_single_values_alone(grid: gridplan.Grid) -> None:
    assert bounded_distributions(grid, {"prefix_hit_ratio": "uniform(0, 1)", "arrival_rate": "uniform(0, 1)"})
    with pytest.raises(ContractError, match=r"0\.5 of empirical"):
        bounded_distributions(grid, {"prefix_hit_ratio": [0.5, 1.0]})
    assert bounded_distributions(grid, {"redundancy": [0, 1, 1, 2]})
