"""The chain as data: what a step reads, what is needed for a result, and which dimensions a result has."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from gridplan.chain import STEPS
from gridplan.chain.graph import Step, evaluate, needed, propagate, step
from gridplan.dictionary import dictionary, measures
from gridplan.engine.columns import CHAIN_NAMES


def area(width: np.ndarray, height: np.ndarray) -> np.ndarray:
    return width * height


def split(area: np.ndarray, parts: np.ndarray, spare: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    return area / parts + spare, parts


def unused(colour: np.ndarray) -> np.ndarray:
    return colour


CHAIN = (
    step("area", area),
    step("paint", unused),
    step("piece count", split),
    step("price", area, width="piece", height="rate"),
)


def test_a_step_reads_what_its_parameters_name() -> None:
    assert CHAIN[0] == Step(("area",), area, ("width", "height"))
    assert CHAIN[2].outputs == ("piece", "count")
    assert CHAIN[2].inputs == ("area", "parts")  # a parameter with a default is left alone
    assert CHAIN[3].inputs == ("piece", "rate")
    assert step("piece count", split, spare="extra").inputs == ("area", "parts", "extra")


def test_renaming_a_parameter_that_is_not_there_is_an_error() -> None:
    with pytest.raises(TypeError, match="area has no parameter depth, length"):
        step("volume", area, length="x", depth="y")


def test_only_what_is_needed_is_kept_in_order() -> None:
    assert needed(CHAIN, ["price"]) == (CHAIN[0], CHAIN[2], CHAIN[3])
    assert needed(CHAIN, ["count"]) == (CHAIN[0], CHAIN[2])
    assert needed(CHAIN, ["paint", "area"]) == CHAIN[:2]
    assert needed(CHAIN, []) == ()
    assert needed(CHAIN, ["not there"]) == ()


def test_a_result_has_the_dimensions_of_what_it_reads_and_no_more() -> None:
    dims = {
        "width": frozenset({"gpu"}),
        "height": frozenset({"model"}),
        "parts": frozenset[str](),
        "colour": frozenset({"zone"}),
        "rate": frozenset({"arrival_rate"}),
    }
    found = propagate(CHAIN, dims)
    assert found["area"] == {"gpu", "model"}
    assert found["piece"] == found["count"] == {"gpu", "model"}
    assert found["price"] == {"gpu", "model", "arrival_rate"}
    assert found["paint"] == {"zone"}
    assert dims.keys() <= found.keys()
    assert "area" not in dims  # the caller's mapping is left alone


def test_an_input_that_nobody_provides_is_an_error() -> None:
    with pytest.raises(KeyError, match="parts"):
        propagate(CHAIN[2:], {"area": frozenset()})


def test_evaluate_runs_in_order_and_broadcasts() -> None:
    values = {
        "width": np.array([[1.0], [2.0]]),
        "height": np.array([[10.0, 20.0, 30.0]]),
        "parts": np.array([[2.0]]),
        "rate": np.array([[3.0]]),
        "colour": np.array([[0.0]]),
    }
    found = evaluate(CHAIN, values)
    assert found is values
    assert found["price"].tolist() == [[15.0, 30.0, 45.0], [30.0, 60.0, 90.0]]
    assert found["count"].shape == (1, 1)


def test_division_by_zero_is_a_value_and_not_a_warning() -> None:
    values = {"area": np.array([1.0, 0.0]), "parts": np.array([0.0, 0.0])}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = evaluate((CHAIN[2],), values)
    assert np.isinf(found["piece"][0])
    assert np.isnan(found["piece"][1])


def test_a_step_with_too_few_results_is_an_error() -> None:
    with pytest.raises(ValueError, match="shorter"):
        evaluate((step("one two three", split),), {"area": np.ones(1), "parts": np.ones(1)})


def test_the_plan_makes_every_measure_once_and_reads_nothing_that_comes_later() -> None:
    made: dict[str, int] = {}
    for position, item in enumerate(STEPS):
        for name in item.outputs:
            assert name not in made, f"{name} is made twice"
            made[name] = position
    for position, item in enumerate(STEPS):
        later = [name for name in item.inputs if made.get(name, -1) >= position]
        assert not later, f"{item.outputs} reads {later} before it is made"
    passed = {"gpu_memory_source", "priced_by", "price_as_of", "price_kind"}
    missing = [name for name in measures() if CHAIN_NAMES.get(name, name) not in made and name not in passed]
    assert missing == []


def test_no_input_of_the_plan_has_the_name_of_a_measure() -> None:
    """An axis named like a variable would replace it."""
    made = {name for item in STEPS for name in item.outputs}
    read = {name for item in STEPS for name in item.inputs} - made
    rows = dictionary()
    assert not [name for name in read if name in rows and rows[name].role == "measure"]


def test_capacity_never_sees_the_arrival_rate_nor_the_target() -> None:
    """The first half of the chain joins the second by one number, lambda_instance."""
    read = {name for item in needed(STEPS, ["lambda_instance"]) for name in item.inputs}
    assert not {"arrival_rate", "rho_target", "redundancy", "usd_per_node_hour", "gpus_per_node"} & read
