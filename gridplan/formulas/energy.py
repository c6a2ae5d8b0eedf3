"""What a fleet draws and what its energy costs, per month and per token.

A fleet that serves at any hour is on at every hour, so its energy is power times the hours of a month, whatever the
load. IT power is that of GPUs and of what stands beside them in a node; the facility takes PUE times as much. Source:
the request for power budgets of a public planner (llm-d-planner, issue 70) for power = GPUs x TDP x utilisation x PUE;
the identity J/token x USD/kWh / 3.6 of public benchmarks (InferenceX, pull request 2323).
"""

from __future__ import annotations

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value

__all__ = [
    "energy_j_per_token",
    "energy_kwh_per_month",
    "energy_kwh_per_mtok",
    "energy_usd_per_mtok",
    "facility_power_kw",
    "it_power_kw",
    "usd_energy_per_month",
]

TOKENS_PER_MTOK = 1e6
JOULES_PER_KWH = 3.6e6
WATTS_PER_KW = 1e3


@formula
def it_power_kw(
    gpus: Value, power_w_per_gpu: Value, power_utilization: Value, nodes: Value, power_w_per_node: Value
) -> Value:
    """Power of GPUs and of the nodes around them: (gpus W u + nodes W_node) / 1000 [kW].

    power_w_per_gpu [W] is the nameplate (TDP), power_utilization [1] the share of it that is drawn, power_w_per_node
    [W] what a node takes beside its GPUs. Eight GPUs of 700 W in a node that takes 2 kW for itself:

    >>> it_power_kw(8, 700, 1.0, 1, 2000)
    7.6
    """
    return (gpus * power_w_per_gpu * power_utilization + nodes * power_w_per_node) / WATTS_PER_KW


@formula
def facility_power_kw(it_power_kw: Value, pue: Value) -> Value:
    """Power of the facility: IT power times PUE [kW].

    >>> round(facility_power_kw(5.6, 1.3), 9)
    7.28
    """
    return it_power_kw * pue


@formula
def energy_kwh_per_month(facility_power_kw: Value, hours_per_month: Value) -> Value:
    """Energy of a month, always on: power times hours [kWh/month].

    >>> round(energy_kwh_per_month(7.28, 730), 6)
    5314.4
    """
    return facility_power_kw * hours_per_month


@formula
def usd_energy_per_month(energy_kwh_per_month: Value, usd_per_kwh: Value) -> Value:
    """Bill of that energy [USD/month].

    >>> round(usd_energy_per_month(5314.4, 0.12), 3)
    637.728
    """
    return energy_kwh_per_month * usd_per_kwh


@formula
def energy_j_per_token(energy_kwh_per_month: Value, tokens_per_month: Value) -> Value:
    """Energy behind one token: that of a month over its tokens [J/token].

    >>> energy_j_per_token(10, 3.6e6)
    10.0
    """
    return energy_kwh_per_month * JOULES_PER_KWH / tokens_per_month


@formula
def energy_kwh_per_mtok(joules_per_token: Value) -> Value:
    """Energy of a million tokens [kWh/Mtok].

    >>> round(energy_kwh_per_mtok(0.58799), 5)
    0.16333
    """
    return joules_per_token * (TOKENS_PER_MTOK / JOULES_PER_KWH)


@formula
def energy_usd_per_mtok(joules_per_token: Value, usd_per_kwh: Value) -> Value:
    """Cost of the energy of a million tokens [USD/Mtok].

    >>> round(energy_usd_per_mtok(0.58799, 0.1), 6)
    0.016333
    """
    return joules_per_token * usd_per_kwh * (TOKENS_PER_MTOK / JOULES_PER_KWH)
