"""Every count of a plan is the least that survives: 2,000 random fleets against every way to lose their parts.

The oracle deals units (nodes full of replicas, or the nodes of a wide replica) out to zones one after the other, tries
each choice of zones to lose, and takes lost nodes and replicas from what stands; that must carry the peak. The
predicates:

* headroom: replicas left x lambda_safe >= arrival_rate
* slo: replicas left x lambda_instance >= arrival_rate, and without a loss replicas x lambda_safe >= arrival_rate
"""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from functools import cache
from math import ceil
from pathlib import Path

import pytest

import gridplan

GRIDS, RATES = 200, 10
DOMAINS = ("gpu", "replica", "node", "zone")


@cache
def worst(units: int, each: int, zones: int, lost_zones: int, lost_replicas: int) -> int:
    """Fewest replicas left of units of `each` replicas, over every choice of the zones that are lost."""
    zone_of = [unit % zones for unit in range(units)]
    standing = (sum(zone not in gone for zone in zone_of) for gone in itertools.combinations(range(zones), lost_zones))
    return max(min(standing) * each - lost_replicas, 0)


class Case:
    """One random fleet policy, and what it must survive."""

    def __init__(self, rng: random.Random) -> None:
        self.size = rng.choice([1, 2, 4, 8])
        self.tp = rng.choice([width for width in (1, 2, 3, 4) if width <= self.size])
        self.pp = rng.choice([1, 1, 2, 3])
        self.lam, self.rho = (
            Fraction(rng.choice(["10", "7.5", "2.1"])),
            Fraction(rng.choice(["0.7", "0.65", "1", "0.5"])),
        )
        self.basis, self.zones = rng.choice(["headroom", "slo"]), rng.randint(1, 4)
        self.domain, self.out_domain = rng.choice(DOMAINS), rng.choice(DOMAINS)
        self.redundancy, self.out = rng.randint(0, 2), rng.choice([0, 0, 1])
        if self.lost("zone") >= self.zones:
            self.zones = self.lost("zone") + rng.randint(1, 2)
        self.rates = [Fraction(rng.randint(1, 600), 10) for _ in range(RATES)]

    def lost(self, *domains: str) -> int:
        spared = self.redundancy if self.domain in domains else 0
        return spared + (self.out if self.out_domain in domains else 0)

    @property
    def in_unit(self) -> int:
        return max(self.size // (self.tp * self.pp), 1)

    @property
    def nodes_of_unit(self) -> int:
        """Tensor-parallel groups are placed one after the other, each whole in a node."""
        return 1 if self.tp * self.pp <= self.size else ceil(self.pp / (self.size // self.tp))

    def survives(self, units: int, each: int, rate: Fraction, node: int) -> bool:
        """The predicate of the case; `node` is what one lost node takes, in replicas."""
        outright = self.lost("gpu", "replica") + self.lost("node") * node
        left = worst(units, each, self.zones, self.lost("zone"), outright)
        of_headroom = units * each * self.lam * self.rho >= rate
        carried = self.lam * self.rho if self.basis == "headroom" else self.lam
        return of_headroom and left * carried >= rate

    def contract(self) -> str:
        policy = f"redundancy: {self.redundancy}, failure_domain: {self.domain}, zones: {self.zones}"
        policy += f", maintenance_units: {self.out}, maintenance_domain: {self.out_domain}"
        return f"""schema: 1
deployment: {{tensor_parallel: {self.tp}, pipeline_parallel: {self.pp}, gpus_per_node: {self.size}, scale_up_gpus: 8}}
capacity: {{capacity_model: measured, lambda_instance_given: {float(self.lam)}, applies_to: any}}
policy: {{rho_target: {float(self.rho)}, {policy}, redundancy_basis: {self.basis}}}
axes: {{arrival_rate: {sorted({float(rate) for rate in self.rates})}}}
"""


@pytest.mark.parametrize("seed", range(GRIDS))
def test_one_fewer_does_not_survive(seed: int, tmp_path: Path) -> None:
    case = Case(random.Random(seed))
    path = tmp_path / "fleet.yaml"
    path.write_text(case.contract())
    cube = gridplan.evaluate(
        gridplan.load_grid(path), ["replicas", "nodes", "replicas_deployed", "arrival_rate_next_step"]
    )
    for label in cube.arrival_rate.values:
        rate, cell = Fraction(str(label)), cube.sel(arrival_rate=label)
        n = int(cell.replicas)
        assert case.survives(n, 1, rate, case.in_unit), f"{n} replicas keep {case.basis} after the losses"
        assert not case.survives(n - 1, 1, rate, case.in_unit), f"{n - 1} replicas do not"
        units, rest = divmod(int(cell.nodes), case.nodes_of_unit)
        assert rest == 0
        assert case.survives(units, case.in_unit, rate, case.in_unit), f"{units} units keep {case.basis}"
        assert not case.survives(units - 1, case.in_unit, rate, case.in_unit), f"{units - 1} units do not"
        assert int(cell.replicas_deployed) == units * case.in_unit >= n
        edge = Fraction(float(cell.arrival_rate_next_step)).limit_denominator(10**6)
        assert case.survives(units, case.in_unit, edge, case.in_unit)
        assert not case.survives(units, case.in_unit, edge + Fraction(1, 1000), case.in_unit)
