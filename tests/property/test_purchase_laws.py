"""Laws of purchase: cheaper prices never cost more, the bill is linear in whole spot nodes, and a share that is called
safe is safe, by trying every share."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import gridplan
from gridplan.formulas import owned_usd_per_node_hour

FLEET = """
schema: 1
workload: {{prompt_tokens: 100, output_tokens: 100, arrival_rate: {rate}}}
slo: {{e2e: {{limit: 5 s}}}}
deployment: {{model: llama-3-8b, gpu: a100-sxm-80gb, gpus_per_node: {size}, usd_per_node_hour: 40,
  spot_usd_per_node_hour: {spot}, tensor_parallel: {tp}, {more}}}
capacity: {{capacity_model: measured, lambda_instance_given: {each}}}
policy: {{rho_target: {rho}, redundancy: {spares}, {policy}}}
axes: {{{axes}}}
"""
MEASURES = (
    *("nodes", "nodes_spot", "usd_per_hour", "replicas_deployed", "replicas_without_spot", "spot_share_max"),
    *("slo_held_without_spot", "headroom_kept_without_spot", "arrival_rate_safe_without_spot", "lambda_instance"),
)
SHARES = "spot_share: {linspace: [0, 1, 41]}"
FEW = settings(max_examples=30, deadline=None)

fleets = st.fixed_dictionaries(
    {
        "rate": st.decimals("1", "900", places=1).map(float),
        "each": st.decimals("0.5", "20", places=1).map(float),
        "rho": st.sampled_from([0.5, 0.7, 0.9, 1.0]),
        "spares": st.integers(0, 3),
        "size": st.sampled_from([1, 2, 8]),
        "tp": st.sampled_from([1, 2, 3, 8]),
        "spot": st.decimals("1", "39", places=2).map(float),
    }
)


def cube(fleet: dict[str, float], axes: str = SHARES, more: str = "", policy: str = "") -> dict[str, np.ndarray]:
    stated = {"more": more, "policy": policy, "axes": axes, **fleet}
    found = gridplan.evaluate(gridplan.loads_grid(FLEET.format(**stated)), MEASURES)
    return {name: np.asarray(found[name].values, dtype=float) for name in MEASURES}


@given(fleet=fleets)
@FEW
def test_the_bill_is_linear_in_whole_spot_nodes(fleet: dict[str, float]) -> None:
    found = cube(fleet)
    if np.isnan(found["nodes"]).all():
        return
    expected = found["nodes"] * 40 - found["nodes_spot"] * (40 - fleet["spot"])
    np.testing.assert_allclose(found["usd_per_hour"], expected, rtol=1e-12)
    assert (np.diff(found["usd_per_hour"]) <= 1e-9).all()
    assert (found["nodes_spot"] == np.round(found["nodes_spot"])).all()
    assert (found["nodes_spot"] <= np.linspace(0, 1, 41) * found["nodes"] + 1e-9).all()
    assert found["nodes_spot"][-1] == found["nodes"]


@given(fleet=fleets)
@FEW
def test_every_share_up_to_the_largest_holds_and_no_further_node_may_go(fleet: dict[str, float]) -> None:
    found = cube(fleet)
    most = float(found["spot_share_max"])
    if np.isnan(most):
        return
    shares, held, wide = np.linspace(0, 1, 41), found["slo_held_without_spot"], max(1, fleet["tp"] / fleet["size"])
    assert (held[shares <= most - 1e-9] == 1).all()
    # One group of nodes beyond the largest share breaks the limits; at least one group is on spot there.
    groups = found["nodes"] // np.ceil(wide)
    beyond = np.floor(shares * groups + 1e-9) > most * groups + 1e-6
    assert (held[beyond] == 0).all()
    # What is left, counted again by hand.
    left = found["replicas_deployed"] - found["replicas_without_spot"]
    per_node = max(1, fleet["size"] // fleet["tp"])
    np.testing.assert_allclose(left[:-1], found["nodes_spot"][:-1] // np.ceil(wide) * per_node)
    assert found["replicas_without_spot"][-1] == 0
    safe = found["arrival_rate_safe_without_spot"]
    np.testing.assert_array_equal(found["headroom_kept_without_spot"], fleet["rate"] <= safe * (1 + 1e-12))


@given(fleet=fleets, kind=st.sampled_from(["spot", "reserved", "owned"]), cut=st.floats(0.05, 1.0))
@FEW
def test_a_cheaper_price_never_costs_more(fleet: dict[str, float], kind: str, cut: float) -> None:
    prices = {"spot": fleet["spot"], "reserved": 30.0, "owned": 250_000.0}

    def bill(factor: float) -> float:
        stated = {name: price * (factor if name == kind else 1) for name, price in prices.items()}
        more = (
            f"reserved_usd_per_node_hour: {stated['reserved']!r}, capital_usd_per_node: {stated['owned']!r}, "
            "amortization_years: 4, pue: 1.3, usd_per_kwh: 0.1, commitment_years: 1"
        )
        changed = {**fleet, "spot": repr(stated["spot"])}
        return float(cube(changed, axes=f"purchase: [{kind}]", more=more)["usd_per_hour"].item())  # type: ignore[arg-type]

    full, less = bill(1.0), bill(cut)
    assert np.isnan(full) == np.isnan(less)
    assert not less > full * (1 + 1e-12)


@given(
    capital=st.floats(1e3, 1e6),
    years=st.floats(0.5, 10),
    residual=st.floats(0, 0.9),
    interest=st.floats(0, 0.5),
    power=st.floats(0, 100),
)
def test_own_hardware_costs_more_for_every_thing_that_costs(
    capital: float, years: float, residual: float, interest: float, power: float
) -> None:
    rest = (500.0, power, 1.3, 0.1, 730.0)
    price = owned_usd_per_node_hour(capital, years, residual, interest, *rest)
    assert np.isfinite(price)
    slack = 1 + 1e-9
    assert owned_usd_per_node_hour(capital * 1.5, years, residual, interest, *rest) * slack >= price
    assert owned_usd_per_node_hour(capital, years, residual, interest + 0.01, *rest) * slack >= price
    assert owned_usd_per_node_hour(capital, years, residual / 2, interest, *rest) * slack >= price
    # Never below the straight write-off, which pays no interest.
    assert price * slack >= owned_usd_per_node_hour(capital, years, residual, 0.0, *rest)
