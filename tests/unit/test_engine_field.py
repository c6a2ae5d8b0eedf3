"""Fields: arrays with one axis per dimension of the cube, which broadcast by position and lose no label."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridplan.engine.field import Field, Space, combine, lookup

SPACE = Space({"gpu": ("a", "b"), "rho_target": (0.5, 0.7, 0.9), "model": ("m", "n")})


def test_a_space_knows_its_dimensions_in_order() -> None:
    assert SPACE.names == ("gpu", "rho_target", "model")
    assert SPACE.shape == (2, 3, 2)
    assert SPACE.position({"model": "n", "rho_target": 0.9}) == {"model": 1, "rho_target": 2}
    with pytest.raises(ValueError, match="not in tuple"):
        SPACE.position({"rho_target": 0.6})


def test_along_lies_on_its_own_axis_only() -> None:
    rho = SPACE.along("rho_target", [0.5, 0.7, 0.9], np.float64)
    assert rho.data.shape == (1, 3, 1)
    assert rho.dims == {"rho_target"}
    names = SPACE.along("gpu", ["a", "b"], object)
    assert names.data.shape == (2, 1, 1)
    assert names.data.dtype == object


def test_text_along_an_axis_is_not_taken_apart() -> None:
    """A list of equal-length texts or tuples must stay one value per label."""
    pairs = SPACE.along("gpu", [("x", "y"), ("z", "w")], object)
    assert pairs.data.shape == (2, 1, 1)
    assert pairs.unique == (("x", "y"), ("z", "w"))


def test_a_constant_depends_on_nothing() -> None:
    one = SPACE.constant(1.0, np.float64)
    assert (one.data.shape, one.dims) == ((1, 1, 1), frozenset())
    absent = SPACE.constant(None, object)
    assert absent.unique == (None,)
    assert Space({}).constant(2.0, np.float64).data.shape == ()


def test_at_finds_the_value_of_a_cell() -> None:
    rho = SPACE.along("rho_target", [0.5, 0.7, 0.9], np.float64)
    for gpu in range(2):
        assert rho.at(SPACE, {"gpu": gpu, "rho_target": 1, "model": 0}) == 0.7
    assert SPACE.constant("x", object).at(SPACE, {"gpu": 1, "rho_target": 2, "model": 1}) == "x"


def test_unique_keeps_the_order_of_appearance() -> None:
    assert SPACE.along("rho_target", [0.9, 0.5, 0.9], np.float64).unique == (0.9, 0.5)


def test_stack_sets_fields_side_by_side() -> None:
    rho = SPACE.along("rho_target", [1.0, 2.0, 3.0], np.float64)
    stacked = SPACE.stack("gpu", [rho, SPACE.constant(9.0, np.float64)])
    assert stacked.dims == {"gpu", "rho_target"}
    assert stacked.data.shape == (2, 3, 1)
    assert stacked.data[:, :, 0].tolist() == [[1.0, 2.0, 3.0], [9.0, 9.0, 9.0]]
    labels = SPACE.stack("model", [SPACE.constant("fp8", object), SPACE.constant(None, object)])
    assert labels.data.ravel().tolist() == ["fp8", None]


def test_combine_unites_dimensions() -> None:
    rho = SPACE.along("rho_target", [1.0, 2.0, 3.0], np.float64)
    model = SPACE.along("model", [10.0, 20.0], np.float64)
    product = combine(
        np.multiply,
        rho,
        model,
    )
    assert product.dims == {"rho_target", "model"}
    assert product.data.shape == (1, 3, 2)
    assert product.data[0].tolist() == [[10.0, 20.0], [20.0, 40.0], [30.0, 60.0]]
    assert combine(np.negative, rho).dims == {"rho_target"}


def test_lookup_asks_once_per_combination_and_null_is_absent() -> None:
    calls: list[tuple[str, str]] = []

    def price(gpu: str, model: str) -> float | None:
        calls.append((gpu, model))
        return None if model == "n" else float(len(gpu) + 1)

    space = Space({"gpu": ("a", "a2", "a"), "model": ("m", "n")})
    found = lookup(price, space.along("gpu", ("a", "a2", "a"), object), space.along("model", ("m", "n"), object))
    assert found.dims == {"gpu", "model"}
    assert found.data[:, 0].tolist() == [2.0, 3.0, 2.0]
    assert np.isnan(found.data[:, 1]).all()
    assert sorted(calls) == [("a", "m"), ("a", "n"), ("a2", "m"), ("a2", "n")]


def test_lookup_of_labels_gives_none_for_absent() -> None:
    gpu = SPACE.along("gpu", ("a", "b"), object)
    found = lookup({"a": "x"}.get, gpu, dtype=object)
    assert found.data.ravel().tolist() == ["x", None]
    assert found.data.dtype == object


@given(st.permutations(["gpu", "rho_target", "model"]), st.integers(0, 2), st.integers(0, 1))
def test_fields_broadcast_to_the_cube_whatever_the_order_of_its_axes(order: list[str], rho: int, model: int) -> None:
    """The value in a cell follows from its labels, not from where its axis stands."""
    space = Space({name: SPACE.labels[name] for name in order})
    left = space.along("rho_target", [1.0, 2.0, 3.0], np.float64)
    right = space.along("model", [10.0, 20.0], np.float64)
    total = combine(np.add, left, right)
    whole = np.broadcast_to(total.data, space.shape)
    place = {"gpu": 0, "rho_target": rho, "model": model}
    expected = (rho + 1) + (model + 1) * 10
    assert whole[tuple(place[name] for name in order)] == total.at(space, place) == expected


def test_a_field_is_frozen() -> None:
    item = Field(np.ones((1, 1, 1)), frozenset())
    with pytest.raises(AttributeError):
        item.dims = frozenset({"gpu"})  # type: ignore[misc]
