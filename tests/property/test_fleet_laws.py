"""Laws of fleets: more load never costs less, more of a resource never more, and spares never make a loss worse."""

from __future__ import annotations

import numpy as np
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import gridplan

SOME = settings(max_examples=25, deadline=None)
LOADS = "arrival_rate: [0.3, 1, 2, 5.7, 11, 40, 41, 42, 100, 333]"
DOMAINS = st.sampled_from(["gpu", "replica", "node", "zone"])
LEFT = [f"survives_{lost}_loss_{kept}" for lost in ("gpu", "node", "zone") for kept in ("headroom", "slo")]


@st.composite
def policies(draw: st.DrawFn) -> str:
    """A failure policy with enough zones for the zones it may lose, up to two spares beside maintenance."""
    out = f"maintenance_units: {draw(st.integers(0, 1))}, maintenance_domain: {draw(DOMAINS)}"
    basis = f"redundancy_basis: {draw(st.sampled_from(['headroom', 'slo']))}"
    return f"failure_domain: {draw(DOMAINS)}, zones: {draw(st.integers(4, 6))}, {out}, {basis}"


@st.composite
def fleets(draw: st.DrawFn) -> str:
    """What one replica is and where it runs, priced by the node."""
    tp, pp = draw(st.sampled_from([(1, 1), (2, 1), (4, 1), (8, 1), (3, 1), (8, 2), (4, 3)]))
    return (
        f"tensor_parallel: {tp}, pipeline_parallel: {pp}, gpus_per_node: 8, scale_up_gpus: 8, usd_per_node_hour: "
        f"{draw(st.sampled_from([20, 31.92, 98.32]))}"
    )


def measured(deployment: str, policy: str, axes: str, names: list[str], scenarios: str = "{}") -> xr.Dataset:
    return gridplan.evaluate(
        gridplan.loads_grid(f"""schema: 1
workload: {{prompt_tokens: 500, output_tokens: 100, peak_to_average: 2}}
deployment: {{{deployment}}}
capacity: {{capacity_model: measured, lambda_instance_given: 7.5, applies_to: any}}
policy: {{rho_target: 0.65, {policy}}}
axes: {{{axes}}}
scenarios: {scenarios}
"""),
        names,
    )


def never_falls(values: xr.DataArray, dim: str) -> bool:
    """Along `dim`, in the order of its labels; nulls must stay nulls."""
    array = values.transpose(dim, ...).values.astype(float)
    assert (np.isnan(array) == np.isnan(array[:1])).all()
    return bool((np.diff(np.nan_to_num(array), axis=0) >= 0).all())


@given(fleets(), policies(), st.integers(0, 2))
@SOME
def test_more_load_never_costs_less(fleet: str, policy: str, redundancy: int) -> None:
    names = ["replicas_active", "replicas", "nodes", "usd_per_month"]
    cube = measured(fleet, f"{policy}, redundancy: {redundancy}", LOADS, names)
    for name in names:
        assert never_falls(cube[name], "arrival_rate"), name


@given(fleets(), policies())
@SOME
def test_more_spares_never_make_a_loss_worse(fleet: str, policy: str) -> None:
    cube = measured(fleet, policy, f"redundancy: [0, 1, 2], {LOADS}", ["replicas", "nodes", *LEFT])
    for name in ("replicas", "nodes", *LEFT):
        assert never_falls(cube[name], "redundancy"), name


@given(fleets(), policies(), st.integers(0, 2))
@SOME
def test_whoever_keeps_the_headroom_keeps_the_limits(fleet: str, policy: str, redundancy: int) -> None:
    cube = measured(fleet, f"{policy}, redundancy: {redundancy}", LOADS, LEFT)
    for headroom, slo in zip(LEFT[::2], LEFT[1::2], strict=True):
        assert (cube[headroom] <= cube[slo]).all()


@given(fleets(), policies(), st.integers(0, 2), st.floats(0.01, 1.0))
@SOME
def test_a_cut_of_the_price_never_costs_more(fleet: str, policy: str, redundancy: int, cut: float) -> None:
    scenarios = f"{{cut: {{usd_per_node_hour: {{multiply: {cut}}}}}}}"
    cube = measured(fleet, f"{policy}, redundancy: {redundancy}", LOADS, ["usd_per_month", "nodes"], scenarios)
    assert (cube.usd_per_month.sel(scenario="cut") <= cube.usd_per_month.sel(scenario="nominal")).all()
    assert cube.nodes.dims == ("arrival_rate",)


@given(
    st.sampled_from(["gpu_memory_bytes", "memory_bandwidth_bytes_per_s"]),
    st.floats(1.0, 3.0),
    st.sampled_from(["replica_seconds", "littles_law"]),
    st.sampled_from(["gpu", "node"]),
)
@SOME
def test_more_memory_or_bandwidth_never_needs_more(resource: str, factor: float, model: str, domain: str) -> None:
    cube = gridplan.evaluate(
        gridplan.loads_grid(f"""schema: 1
workload: {{prompt_tokens: 3000, output_tokens: 400, peak_to_average: 2}}
slo: {{tpot: {{limit: 60 ms}}}}
deployment: {{gpu: h100-sxm, model: llama-3.3-70b, weight_dtype: fp8, tensor_parallel: 4, workspace_bytes: 4 GiB}}
capacity: {{capacity_model: {model}}}
policy: {{rho_target: 0.7, failure_domain: {domain}}}
axes: {{{LOADS}}}
scenarios: {{more: {{{resource}: {{multiply: {factor}}}}}}}
"""),
        ["replicas", "nodes", "usd_per_month"],
    )
    for name in cube.data_vars:
        assert (cube[name].sel(scenario="more") <= cube[name].sel(scenario="nominal")).all(), name
