"""Fronts against every pair of options, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from choice_cubes import LEVERS, WORLD, cells, random_cube, reason
from hypothesis import given
from hypothesis import strategies as st

import gridplan
from gridplan.errors import ContractError
from gridplan.sensitivity.front import dominators
from gridplan.sensitivity.pareto import directions


def beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True)) and one != other


def check(costs: list[tuple[float, ...]], groups: list[int], found: list[int]) -> None:
    for row, (cost, group) in enumerate(zip(costs, groups, strict=True)):
        rivals = [at for at, own in enumerate(groups) if own == group and beats(costs[at], cost)]
        assert (found[row] == -1) == (not rivals)
        if rivals:
            assert found[row] in rivals
            assert found[found[row]] == -1


@pytest.mark.parametrize("seed", range(200))
def test_the_front_is_what_a_loop_over_all_pairs_finds(seed: int) -> None:
    cube = random_cube(seed)
    objectives = ["usd_per_hour", "tpot_s:max", "nodes"][: 2 + seed % 2]
    by = [str(name) for name in cube.coords if name in WORLD]
    order = [*by, *(str(name) for name in cube.coords if name in LEVERS)]
    found = gridplan.pareto(cube, objectives)
    names = tuple(item.partition(":")[0] for item in objectives)
    signs = [-1.0 if item.endswith(":max") else 1.0 for item in objectives]
    may = [(labels, values) for labels, values in cells(cube.transpose(*order)[[*order, *cube.data_vars]])]
    ordered = sorted(may, key=lambda pair: [cube[name].values.tolist().index(pair[0][name]) for name in order])
    may = [(labels, values) for labels, values in ordered if reason(values, names) is None]
    assert found.sizes["row"] == found.attrs["candidates"] == len(may)
    assert found.attrs["cells"] == len(ordered)
    for name in order:
        assert found[name].values.tolist() == [labels[name] for labels, _ in may]
    for name in names:
        assert found[name].values.tolist() == [values[name] for _, values in may]
    costs = [tuple(float(v[name]) * sign for name, sign in zip(names, signs, strict=True)) for _, v in may]
    points = [tuple(labels[name] for name in by) for labels, _ in may]
    groups = [points.index(point) for point in points]
    by_row = np.where(np.isnan(found.dominated_by.values), -1, found.dominated_by.values).astype(int)
    check(costs, groups, by_row.tolist())
    assert found.on_front.values.tolist() == [1.0 if at < 0 else 0.0 for at in by_row]
    front = gridplan.pareto(cube, objectives, dominated=False)
    assert front.row.values.tolist() == np.flatnonzero(by_row < 0).tolist()
    assert front.attrs["dominated"] == int(np.count_nonzero(by_row >= 0))


@given(st.integers(1, 4), st.integers(0, 400), st.integers(0, 2**32 - 1))
def test_dominators_of_any_width_with_ties_and_groups(width: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.integers(0, 5 if seed % 2 else 1000, (count, width)).astype(np.float64)
    groups = rng.integers(0, 3, count)
    found = dominators(costs, groups)
    same = groups[:, None] == groups[None, :]
    no_greater = (costs[:, None, :] <= costs[None, :, :]).all(axis=2)
    beaten = no_greater & (costs[:, None, :] != costs[None, :, :]).any(axis=2) & same
    assert ((found >= 0) == beaten.any(axis=0)).all()
    rows = np.flatnonzero(found >= 0)
    assert beaten[found[rows], rows].all()
    assert (found[found[rows]] == -1).all()


@given(st.integers(2, 4), st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_a_front_does_not_depend_on_units_or_order(width: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.integers(0, 20, (count, width)).astype(np.float64)
    order = rng.permutation(count)
    assert ((dominators(costs) < 0)[order] == (dominators(costs[order] * 8.0) < 0)).all()


def test_directions_by_name_and_as_stated() -> None:
    assert directions("lambda_safe,goodput,ttft_s:max") == {"lambda_safe": "max", "goodput": "max", "ttft_s": "max"}
    with pytest.raises(ContractError, match=r"(?s)neither min nor max.*named twice"):
        directions("ttft_s:least,ttft_s")
    with pytest.raises(ContractError, match="no measure"):
        directions("")
