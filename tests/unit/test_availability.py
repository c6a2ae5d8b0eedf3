"""Availability of many units against exact binomial sums, and the plans that ask for it."""

from __future__ import annotations

import random
from fractions import Fraction
from math import ceil, comb
from pathlib import Path

import numpy as np
import pytest

import gridplan
from gridplan import formulas as f
from gridplan.errors import ContractError


def exact(units: int, needed: int, up: Fraction) -> Fraction:
    """P(at least `needed` of `units` are up), term by term."""
    return sum(
        (comb(units, k) * up**k * (1 - up) ** (units - k) for k in range(max(needed, 0), units + 1)), Fraction(0)
    )


def test_probabilities_are_the_binomial_sums() -> None:
    rng = random.Random(1)
    for _ in range(300):
        units, needed = rng.randint(0, 40), rng.randint(0, 42)
        up = Fraction(rng.randint(1, 9999), 10000)
        found = f.enough_up(units, needed, float(up))
        assert found == pytest.approx(float(exact(units, needed, up)), rel=1e-11, abs=1e-15)


def test_the_least_number_of_units_and_its_inverse() -> None:
    rng = random.Random(2)
    for _ in range(100):
        needed, up = rng.randint(1, 12), Fraction(rng.randint(80, 99), 100)
        goal = Fraction(rng.choice(["0.9", "0.99", "0.999", "0.99999"]))
        least = next(n for n in range(needed, 10**4) if exact(n, needed, up) >= goal)
        assert f.units_for_availability(needed, float(up), float(goal)) == least
        assert f.most_needed(least, float(up), float(goal)) >= needed > f.most_needed(least - 1, float(up), float(goal))


def test_nothing_needed_needs_nothing_and_unknown_stays_unknown() -> None:
    assert f.units_for_availability(0, 0.9, 0.99) == 0
    nan = float("nan")
    values = f.units_for_availability(np.array([9.0, nan, 9.0]), np.array([0.99, 0.99, nan]), 0.99)
    np.testing.assert_array_equal(values, [10, nan, nan])


def contract(tmp_path: Path, policy: str, deployment: str = "gpus_per_node: 8") -> Path:
    path = tmp_path / "fleet.yaml"
    path.write_text(f"""schema: 1
workload: {{arrival_rate: 60}}
deployment: {{{deployment}}}
capacity: {{capacity_model: measured, lambda_instance_given: 10, applies_to: any}}
policy: {{rho_target: 0.7, {policy}}}
""")
    return path


UP = "availability_target: 0.9999, mtbf_h: 990, mttr_h: 10"
NAMES = ["replicas_active", "replicas", "nodes", "availability_headroom", "availability_slo"]


@pytest.mark.parametrize(
    ("domain", "deployment", "up", "in_unit"),
    [
        ("gpu", "gpus_per_node: 8", Fraction(99, 100), 1),
        ("gpu", "gpus_per_node: 8, tensor_parallel: 4", Fraction(99, 100) ** 4, 1),
        ("replica", "gpus_per_node: 8, tensor_parallel: 4", Fraction(99, 100), 1),
        ("node", "gpus_per_node: 8, tensor_parallel: 4", Fraction(99, 100), 2),
        ("node", "gpus_per_node: 8, tensor_parallel: 8, pipeline_parallel: 2", Fraction(99, 100) ** 2, 1),
    ],
)
def test_a_plan_by_availability(tmp_path: Path, domain: str, deployment: str, up: Fraction, in_unit: int) -> None:
    path = contract(tmp_path, f"{UP}, failure_domain: {domain}", deployment)
    cube = gridplan.evaluate(gridplan.load_grid(path), NAMES)
    needed = ceil(9 / in_unit)
    least = next(n for n in range(needed, 100) if exact(n, needed, up) >= Fraction("0.9999"))
    assert (int(cube.replicas_active), int(cube.replicas)) == (9, least * in_unit)
    assert float(cube.availability_headroom) >= 0.9999
    assert float(cube.availability_slo) >= float(cube.availability_headroom)


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("availability_target: 0.99", "mtbf_h is needed: availability_target counts units that fail"),
        (f"{UP}, redundancy: 1", "availability_target takes the place of redundancy: give one of them"),
        (f"{UP}, failure_domain: zone, zones: 3", "failure_domain zone has too few"),
        ("availability_target: 1.0, mtbf_h: 9, mttr_h: 1", "availability_target must be > 0 and < 1; 1.0 is not"),
        (
            "redundancy: 1, failure_domain: zone, zones: 2, maintenance_units: 1, maintenance_domain: zone",
            "needs more zones",
        ),
    ],
)
def test_contradictions_are_said(tmp_path: Path, policy: str, said: str) -> None:
    with pytest.raises(ContractError, match=said):
        gridplan.evaluate(gridplan.load_grid(contract(tmp_path, policy)))


def test_limits_can_be_kept_only_where_they_are_known(tmp_path: Path) -> None:
    path = tmp_path / "slots.yaml"
    path.write_text("""schema: 1
workload: {arrival_rate: 5000}
deployment: {max_num_seqs: 50}
capacity: {capacity_model: littles_law, e2e_latency_s: 80 ms}
policy: {rho_target: 0.7, redundancy_basis: slo}
""")
    with pytest.raises(ContractError, match="redundancy_basis slo needs a rate at which limits hold"):
        gridplan.evaluate(gridplan.load_grid(path))
