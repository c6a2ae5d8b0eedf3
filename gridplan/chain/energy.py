"""Power of the fleet and the energy of a month: a fleet that serves at any hour is on at every hour."""

from __future__ import annotations

import numpy as np

from gridplan.chain.graph import Array, Step, step
from gridplan.chain.kernels import kernels

__all__ = ["ENERGY"]


def it_power_kw(
    gpus: Array,
    nodes: Array,
    gpus_per_node: Array,
    power_w_per_gpu: Array,
    power_utilization: Array,
    power_w_per_node: Array,
) -> Array:
    """Power of all GPUs in the nodes and of the nodes [kW]; without a node size of the GPUs, where nodes add nothing.

    Power of nodes that nobody can count would be left out in silence, so it is null then.
    """
    sized = ~np.isnan(gpus_per_node)
    powered = np.where(sized, nodes * gpus_per_node, gpus)
    counted = np.where(sized, nodes, np.where(power_w_per_node == 0.0, 0.0, np.nan))
    result: Array = kernels.it_power_kw(powered, power_w_per_gpu, power_utilization, counted, power_w_per_node)
    return result


ENERGY: tuple[Step, ...] = (
    step("it_power_kw", it_power_kw),
    step("facility_power_kw", kernels.facility_power_kw),
    step("energy_kwh_per_month", kernels.energy_kwh_per_month),
    step("usd_energy_per_month", kernels.usd_energy_per_month),
    step("energy_j_per_output_token", kernels.energy_j_per_token, tokens_per_month="output_tokens_per_month"),
    step("energy_kwh_per_mtok_output", kernels.energy_kwh_per_mtok, joules_per_token="energy_j_per_output_token"),
    step("usd_energy_per_mtok_output", kernels.energy_usd_per_mtok, joules_per_token="energy_j_per_output_token"),
)
"""Power and energy, on request."""
