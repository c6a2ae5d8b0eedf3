"""Regret and the value of information: against loops over states and choices, and by hand."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import xarray as xr
from choice_cubes import LEVERS, WORLD, cells, random_cube, reason
from hypothesis import given
from hypothesis import strategies as st

import gridplan
from gridplan.errors import ContractError


def quantile(pairs: list[tuple[float, float]], share: float) -> float:
    total = 0.0
    for value, weight in sorted(pairs):
        total += weight
        if total >= share - 1e-12:
            return value
    raise AssertionError


@pytest.mark.parametrize("penalty", [None, 7.0])
@pytest.mark.parametrize("seed", range(200))
def test_regret_is_what_loops_over_states_and_choices_find(seed: int, penalty: float | None) -> None:
    cube = random_cube(seed)
    levers = [str(name) for name in cube.coords if name in LEVERS]
    across = [str(name) for name in cube.coords if name in WORLD]
    rng = np.random.default_rng(seed)
    weights = {name: rng.integers(1, 4, cube.sizes[name]).tolist() for name in across if rng.random() < 0.7}
    found = gridplan.regret(cube, "usd_per_hour", weights=weights, penalty=penalty)
    assert tuple(map(str, found.usd_per_hour_regret_max.dims)) == tuple(levers)
    table: dict[tuple[Any, ...], dict[tuple[Any, ...], float | str]] = {}
    for labels, values in cells(cube):
        why = reason(values, ("usd_per_hour",))
        value = float(values["usd_per_hour"]) if why is None else "unknown" if why.endswith("null") else "fails"
        state = tuple(labels[name] for name in across)
        table.setdefault(state, {})[tuple(labels[name] for name in levers)] = value
    served = {state: row for state, row in table.items() if any(not isinstance(v, str) for v in row.values())}
    assert int(found.states_unserved) == len(table) - len(served)
    weight = {state: 1.0 for state in served}
    for name, own in weights.items():
        labels_of = cube[name].values.tolist()
        for state in served:
            weight[state] *= own[labels_of.index(state[across.index(name)])]
    total = sum(weight.values())
    choices = list(itertools.product(*(cube[name].values.tolist() for name in levers)))

    def valued(value: float | str) -> float | None:
        return value if not isinstance(value, str) else penalty if value == "fails" else None

    best = {state: min(v for v in map(valued, row.values()) if v is not None) for state, row in served.items()}
    expected, greatest = {}, {}
    for choice in choices:
        own_row = found.sel(dict(zip(levers, choice, strict=True)))
        assert int(own_row.fails) == sum(row[choice] == "fails" for row in served.values())
        assert int(own_row.unknown) == sum(row[choice] == "unknown" for row in served.values())
        own = {state: valued(row[choice]) for state, row in served.items()}
        if not served or any(value is None for value in own.values()):
            assert np.isnan(own_row.usd_per_hour_regret_max)
            assert np.isnan(own_row.usd_per_hour_expected)
            continue
        regrets = {state: value - best[state] for state, value in own.items() if value is not None}
        greatest[choice] = max(regrets.values())
        expected[choice] = sum(v * weight[s] / total for s, v in own.items() if v is not None)
        assert float(own_row.usd_per_hour_regret_max) == pytest.approx(greatest[choice])
        mean = sum(regrets[state] * weight[state] / total for state in regrets)
        assert float(own_row.usd_per_hour_regret_expected) == pytest.approx(mean, abs=1e-12)
        high = quantile([(regrets[state], weight[state] / total) for state in regrets], 0.95)
        assert float(own_row.usd_per_hour_regret_p95) == pytest.approx(high)
        assert float(own_row.usd_per_hour_expected) == pytest.approx(expected[choice], abs=1e-12)
    assert int(found.choices_compared) == len(expected)
    assert int(found.choices) == len(choices)
    if not expected:
        assert found.best_choice.values.tolist() == [None] * 3
        assert np.isnan(found.usd_per_hour_evpi)
        return
    perfect = sum(best[state] * weight[state] / total for state in served)
    assert float(found.usd_per_hour_evpi) == pytest.approx(min(expected.values()) - perfect, abs=1e-12)
    least = float(found.usd_per_hour_regret_expected.min())
    assert float(found.usd_per_hour_evpi) == pytest.approx(least, abs=1e-12)
    among = {s: min(v for c in expected if (v := valued(row[c])) is not None) for s, row in served.items()}
    robust = sum(among[state] * weight[state] / total for state in served)
    assert float(found.usd_per_hour_evpi_compared) == pytest.approx(min(expected.values()) - robust, abs=1e-12)
    first = next(choice for choice in choices if greatest.get(choice) == min(greatest.values()))
    minimax = found.sel(criterion="minimax")
    assert tuple(minimax[f"best_{name}"].item() for name in levers) == first
    assert float(minimax.best_usd_per_hour_regret) == min(greatest.values())


def two_by_two(values: Any, status: Any = None) -> xr.Dataset:
    """Two GPUs (rows) by two loads."""
    ok = np.full((2, 2), "ok", dtype=object) if status is None else np.array(status, dtype=object)
    labels = {"gpu": np.array(["a", "b"], dtype=object), "arrival_rate": [1.0, 10.0]}
    dims = ("gpu", "arrival_rate")
    return xr.Dataset({"status": (dims, ok), "usd_per_hour": (dims, np.array(values, np.float64))}, labels)


def test_regret_by_hand() -> None:
    # a costs 4 or 9, b costs 6 or 5: regrets 0 and 4 against 2 and 0; b costs 5.5 on average, the best of each 4.5.
    found = gridplan.regret(two_by_two([[4, 9], [6, 5]]), "usd_per_hour")
    assert found.usd_per_hour_regret_max.values.tolist() == [4.0, 2.0]
    assert found.usd_per_hour_regret_expected.values.tolist() == [2.0, 1.0]
    assert found.best_gpu.values.tolist() == ["b", "b", "b"]
    assert float(found.usd_per_hour_evpi) == 1.0
    often = gridplan.regret(two_by_two([[4, 9], [6, 5]]), "usd_per_hour", weights={"arrival_rate": {1.0: 3, 10.0: 1}})
    # 0.75 x 4 + 0.25 x 9 = 5.25 against 5.75; the best of each is 4.25.
    assert often.usd_per_hour_expected.values.tolist() == [5.25, 5.75]
    assert often.best_gpu.values.tolist() == ["b", "a", "b"]
    assert float(often.usd_per_hour_evpi) == 1.0


def test_a_choice_that_fails_somewhere_is_compared_by_a_penalty_alone() -> None:
    cube = two_by_two([[4, np.nan], [6, 5]], [["ok", "infeasible"], ["ok", "ok"]])
    found = gridplan.regret(cube, "usd_per_hour")
    assert found.fails.values.tolist() == [1, 0]
    assert found.best_choice.values.tolist() == ["gpu=b"] * 3
    assert np.isnan(found.usd_per_hour_regret_max.values[0])
    # Whoever knows the load takes a at the low one: (4 + 5) / 2 against 5.5; among choices that always serve, nothing.
    assert float(found.usd_per_hour_evpi) == 1.0
    assert float(found.usd_per_hour_evpi_compared) == 0.0
    paid = gridplan.regret(cube, "usd_per_hour", penalty=5.5)
    assert paid.usd_per_hour_regret_max.values.tolist() == [0.5, 2.0]
    assert paid.best_gpu.values.tolist() == ["a"] * 3


def test_no_choice_serves_everywhere() -> None:
    cube = two_by_two([[4, np.nan], [np.nan, 5]], [["ok", "infeasible"], ["infeasible", "ok"]])
    found = gridplan.regret(cube, "usd_per_hour")
    assert (int(found.choices_compared), int(found.fewest_fails)) == (0, 1)
    assert found.best_choice.values.tolist() == [None, None, None]
    assert np.isnan(found.usd_per_hour_evpi)


def test_groups_are_regretted_apart() -> None:
    cube = two_by_two([[4, 9], [6, 5]])
    both = xr.concat([cube, cube.assign(usd_per_hour=cube.usd_per_hour * 10)], "model", data_vars="all")
    both = both.assign_coords(model=np.array(["m", "n"], dtype=object))
    found = gridplan.regret(both, "usd_per_hour", by="model")
    assert found.usd_per_hour_evpi.values.tolist() == [1.0, 10.0]
    assert found.usd_per_hour_regret_max.sel(model="n").values.tolist() == [40.0, 20.0]


def test_wrong_weights_are_refused() -> None:
    cube = two_by_two([[4, 9], [6, 5]])
    for weights in (
        {"arrival_rate": [1.0]},
        {"arrival_rate": [-1.0, 2.0]},
        {"arrival_rate": [0.0, 0.0]},
        {"gpu": [1, 1]},
    ):
        with pytest.raises(ContractError, match="weights"):
            gridplan.regret(cube, "usd_per_hour", weights=weights)
    with pytest.raises(ContractError, match="3 is not on the axis"):
        gridplan.regret(cube, "usd_per_hour", weights={"arrival_rate": {3: 1.0, 1.0: 1.0}})
    with pytest.raises(ContractError, match="foo is not an axis"):
        gridplan.regret(cube, "usd_per_hour", by="foo")


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_laws_of_regret(states: int, options: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(1, 50, (options, states)).astype(np.float64)
    labels = {"gpu": np.array([f"g{i}" for i in range(options)], dtype=object), "arrival_rate": 1.0 + np.arange(states)}
    ok = np.full(values.shape, "ok", dtype=object)
    dims = ("gpu", "arrival_rate")
    cube = xr.Dataset({"status": (dims, ok), "usd_per_hour": (dims, values)}, labels)
    found = gridplan.regret(cube, "usd_per_hour")
    greatest, mean = found.usd_per_hour_regret_max, found.usd_per_hour_regret_expected
    assert bool((greatest >= found.usd_per_hour_regret_p95 - 1e-9).all())
    assert bool((greatest >= mean - 1e-9).all())
    assert 0 <= float(found.usd_per_hour_evpi) <= float(greatest.min()) + 1e-9
    # What every choice pays alike in a state changes no regret.
    dearer = cube.assign(usd_per_hour=cube.usd_per_hour + 100.0 * cube.arrival_rate)
    again = gridplan.regret(dearer, "usd_per_hour").usd_per_hour_regret_max
    assert np.allclose(again, greatest)
