"""Power and energy of a planned fleet: counted by node or by GPU, null where something of it is not known."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import gridplan

FLEET = """
schema: 1
workload: {{prompt_tokens: 100, output_tokens: 100, arrival_rate: 56, {par}}}
slo: {{e2e: {{limit: 5 s}}}}
deployment: {{model: llama-3-8b, {deployment}}}
capacity: {{capacity_model: measured, lambda_instance_given: 10}}
policy: {{rho_target: 0.7, redundancy: 0}}
"""
"""Eight replicas of one GPU."""

ENERGY = (
    *("it_power_kw", "facility_power_kw", "energy_kwh_per_month", "usd_energy_per_month"),
    *("energy_j_per_output_token", "energy_kwh_per_mtok_output", "usd_energy_per_mtok_output"),
)
NODE = "gpu: h100-sxm, gpus_per_node: 8, usd_per_node_hour: 20"


def cube(deployment: str, par: str = "peak_to_average: 2") -> xr.Dataset:
    return gridplan.evaluate(gridplan.loads_grid(FLEET.format(deployment=deployment, par=par)), ["default", *ENERGY])


def test_case_e12_a_node_of_eight() -> None:
    """llm-d-planner issue 70: 8 H100 of 700 W at PUE 1.3 are 7.28 kW; 730 h at 0.12 USD/kWh are 637.73 USD."""
    found = cube(f"{NODE}, pue: 1.3, usd_per_kwh: 0.12")
    assert found.gpus_deployed.item() == 8
    assert found.it_power_kw.item() == pytest.approx(5.6)
    assert found.facility_power_kw.item() == pytest.approx(7.28, abs=1e-3)
    assert found.energy_kwh_per_month.item() == pytest.approx(7.28 * 730)
    assert found.usd_energy_per_month.item() == pytest.approx(637.73, abs=0.01)
    # 28 req/s of 100 tokens on average: 2,800 tok/s for 7,280 J/s, and the identity of case E05.
    joules = found.energy_j_per_output_token.item()
    assert joules == pytest.approx(2.6)
    assert found.energy_kwh_per_mtok_output.item() == pytest.approx(joules / 3.6)
    assert found.usd_energy_per_mtok_output.item() == pytest.approx(joules * 0.12 / 3.6)
    assert found.usd_energy_per_mtok_output.item() == pytest.approx(
        found.usd_energy_per_month.item() / found.output_tokens_per_month.item() * 1e6
    )


def test_stranded_gpus_and_the_node_itself_draw_power() -> None:
    """Replicas of two GPUs: 16 GPUs in two nodes; 2 kW a node on top, and 80% of the nameplate drawn."""
    found = cube(f"{NODE}, tensor_parallel: 2, power_utilization: 0.8, power_w_per_node: 2 kW, pue: 1.1")
    assert found.it_power_kw.item() == pytest.approx(16 * 0.56 + 2 * 2)
    assert found.usd_energy_per_month.isnull()


def test_without_a_node_size_gpus_count_and_nodes_are_not_guessed() -> None:
    by_gpu = "gpu: h100-sxm, usd_per_gpu_hour: 2.5, pue: 1.3"
    assert cube(by_gpu).facility_power_kw.item() == pytest.approx(7.28)
    assert np.isnan(cube(f"{by_gpu}, power_w_per_node: 500 W").it_power_kw)


def test_without_pue_or_average_load_nothing_is_claimed() -> None:
    found = cube(NODE)
    assert found.it_power_kw.item() == pytest.approx(5.6)
    assert all(found[name].isnull() for name in ENERGY[1:])
    found = cube(f"{NODE}, pue: 1.3, usd_per_kwh: 0.12", par="")
    assert found.usd_energy_per_month.notnull()
    assert all(found[name].isnull() for name in ENERGY[4:])


def test_explain_prints_power_where_the_facility_is_known() -> None:
    grids = [gridplan.loads_grid(FLEET.format(deployment=f"{NODE}{more}", par="")) for more in ("", ", pue: 1.3")]
    without, known = (str(gridplan.explain(grid)) for grid in grids)
    assert "it_power_kw" not in without
    assert "facility_power_kw = 7.28 kW" in known
    assert "= (8 * 700 W * 1 + 1 * 0 W) / 1000" in known
