"""Laws of margins: their product is the target, in any order, and less of one never needs fewer replicas."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import gridplan
from gridplan.contract.margins import MARGINS
from gridplan.engine.inputs import build_inputs

SLOTS = """
schema: 1
workload: {{arrival_rate: {rate}}}
deployment: {{kv_pool_bytes_given: 40 GB, kv_bytes_per_sequence_given: 500 MB}}
capacity: {{capacity_model: littles_law, e2e_latency_s: 4.0}}
policy: {{redundancy: 0, {policy}}}
{rest}
"""
FEW = settings(max_examples=25, deadline=None)
margin = st.decimals("0.3", "1", places=2).map(float)
chosen = st.dictionaries(st.sampled_from(MARGINS), margin, min_size=1)


def policy(margins: dict[str, float]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in margins.items())


@given(margins=chosen)
@FEW
def test_the_product_of_the_margins_is_the_target(margins: dict[str, float]) -> None:
    product = math.prod(margins.values())
    stated = f"{policy(margins)}, rho_target: {product!r}"
    for text in (policy(margins), policy(dict(reversed(margins.items()))), stated):
        inputs = build_inputs(gridplan.loads_grid(SLOTS.format(rate=500, policy=text, rest="")))
        np.testing.assert_allclose(inputs.values["rho_target"].data, product, rtol=1e-14)


@given(margins=chosen, name=st.sampled_from(MARGINS), rate=st.decimals("0.1", "5000", places=1))
@FEW
def test_replicas_never_fall_when_a_margin_falls(margins: dict[str, float], name: str, rate: float) -> None:
    rest = f"axes: {{{name}: {{linspace: [1, 0.3, 8]}}}}"
    others = policy({key: value for key, value in margins.items() if key != name})
    cube = gridplan.evaluate(gridplan.loads_grid(SLOTS.format(rate=rate, policy=others, rest=rest)))
    assert (np.diff(cube["replicas_active"].values) >= 0).all()
    assert (cube["utilization_safe"] <= 1 + 1e-9).all()
