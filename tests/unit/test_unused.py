"""Nothing that a contract states is ignored in silence."""

from __future__ import annotations

import pytest

import gridplan

BASE = """
schema: 1
workload: {{prompt_tokens: 2000, output_tokens: 300, arrival_rate: 20}}
slo: {{tpot_slo_s: 0.05}}
deployment: {{model: llama-3.3-70b, gpu: h100-sxm, weight_dtype: fp8, tensor_parallel: 4, {0}}}
policy: {{rho_target: 0.65}}
"""


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("e2e_latency_s: 4", "no cell has capacity_model littles_law"),
        ("lambda_instance_given: 6.5", "no cell has capacity_model measured"),
        ("decode_tokens_at_concurrency: 8", "decode_tokens_per_s is not given"),
        ("ttft_slo_percentile: 95", "ttft_slo_s is not given"),
        (
            "zones: 3",
            "no failure_domain, lost_domain or maintenance_domain is zone (measures of a lost zone, such as "
            "survives_zone_loss_slo, do read it)",
        ),
    ],
)
def test_an_input_that_nothing_reads_is_said(stated: str, said: str) -> None:
    warnings = gridplan.evaluate(gridplan.loads_grid(BASE.format(stated))).attrs["warnings"]
    assert warnings == f"{stated.partition(':')[0]} is not used: {said}"


@pytest.mark.parametrize(
    ("gpu", "price", "said"),
    [
        ("h200-nvl", "", "users is not used: no cell has a price"),  # the catalog has nothing to rent with it
        ("h200-nvl", "usd_per_gpu_hour: 2", None),
        ("h200-nvl", "usd_per_node_hour: 20, gpus_per_node: 8", None),
        ("h100-sxm", "", None),
    ],
)
def test_users_divide_a_bill(gpu: str, price: str, said: str | None) -> None:
    text = BASE.replace("arrival_rate: 20", "arrival_rate: 20, users: 500").replace("h100-sxm", gpu)
    assert gridplan.evaluate(gridplan.loads_grid(text.format(price))).attrs.get("warnings") == said


def test_what_is_read_raises_no_warning() -> None:
    stated = "capacity_model: measured, lambda_instance_given: 6.5, failure_domain: zone, zones: 3"
    text = BASE.replace("rho_target", "margin_forecast").format(stated)
    assert "warnings" not in gridplan.evaluate(gridplan.loads_grid(text)).attrs


def test_a_tensor_parallel_group_must_fit_a_stated_fabric() -> None:
    cube = gridplan.evaluate(gridplan.loads_grid(BASE.format("scale_up_gpus: 2")))
    assert cube["infeasible_reason"].item() == "tensor_parallel_illegal"
