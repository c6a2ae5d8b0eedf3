"""A fleet of one's own against an API: hand-worked bills, break-even, verdicts, and prices that do not go together."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

import gridplan
from gridplan import formulas as f
from gridplan.chain.codes import choices
from gridplan.errors import ContractError

NUMBERS = (
    *("api_usd_per_request", "api_usd_per_month", "api_saving_usd_per_month", "api_break_even_rate"),
    *("api_break_even_requests_per_month", "api_break_even_tokens_per_month", "api_break_even_utilization"),
    "api_break_even_utilization_released",
)
VERDICTS = ("api_verdict", "api_verdict_released")

CONTRACT = """
schema: 1
workload: {{prompt_tokens: 2000, output_tokens: 300, arrival_rate: 60, prefix_hit_ratio: 0.75, {workload}}}
deployment: {{usd_per_node_hour: 40, gpus_per_node: 8, {prices}}}
capacity: {{capacity_model: measured, lambda_instance_given: 10, applies_to: any}}
policy: {{rho_target: 0.7, hours_per_month: 730, redundancy: 1, {policy}}}
"""
LIST = "api_usd_per_mtok_input: 3, api_usd_per_mtok_cached: 0.3, api_usd_per_mtok_output: 15"


def compared(prices: str = LIST, workload: str = "peak_to_average: 3", policy: str = "", axes: str = "") -> xr.Dataset:
    text = CONTRACT.format(prices=prices, workload=workload, policy=policy) + axes
    return gridplan.evaluate(gridplan.loads_grid(text, "contract.yaml"), ["default", *NUMBERS, *VERDICTS])


def test_both_bills_by_hand() -> None:
    # Ten replicas in 2 nodes: $80 an hour, $58,400 a month. A request: 500 x $3 + 1,500 x $0.30 + 300 x $15 a million
    # tokens are $0.00645; 20 req/s for 730 h are 52,560,000 requests.
    ds = compared()
    assert float(ds.usd_per_month) == 58400
    assert float(ds.api_usd_per_request) == pytest.approx(0.00645, rel=1e-12)
    assert float(ds.api_usd_per_month) == pytest.approx(339012, rel=1e-12)
    assert float(ds.api_saving_usd_per_month) == pytest.approx(339012 - 58400, rel=1e-12)
    # $80 an hour buy 12,403.1 requests: 3.445306 req/s, of 16 x 10 that two nodes sustain
    assert float(ds.api_break_even_rate) == pytest.approx(80 / 3600 / 0.00645, rel=1e-12)
    assert float(ds.api_break_even_requests_per_month) == pytest.approx(58400 / 0.00645, rel=1e-12)
    assert float(ds.api_break_even_tokens_per_month) == pytest.approx(58400 / 0.00645 * 2300, rel=1e-12)
    assert float(ds.api_break_even_utilization) == pytest.approx(80 / 3600 / 0.00645 / 160, rel=1e-12)
    # a replica is one of 16 GPUs: $5 an hour, against 36,000 requests at its limits
    assert float(ds.api_break_even_utilization_released) == pytest.approx(5 / (36000 * 0.00645), rel=1e-12)
    assert (ds.api_verdict.item(), ds.api_verdict_released.item()) == ("self_host", "self_host")


@pytest.mark.parametrize(
    ("usd_per_request", "always_on", "released"),
    [
        # The bill is 80/3600 USD a second: equal at 20 req/s for 0.0011111 USD a request. Two nodes carry 112 req/s,
        # 37.33 on average: equal there at 0.00059524. A busy replica at 7 req/s costs 5/3600/7 = 0.00019841.
        (0.00112, "self_host", "self_host"),
        (0.00110, "api", "self_host"),
        (0.00060, "api", "self_host"),
        (0.00059, "never", "self_host"),
        (0.00019, "never", "never"),
        (0.0, "never", "never"),
    ],
)
def test_verdicts(usd_per_request: float, always_on: str, released: str) -> None:
    ds = compared(f"api_usd_per_mtok_input: 0, api_usd_per_mtok_output: {usd_per_request * 1e6 / 300}")
    assert float(ds.api_usd_per_request) == pytest.approx(usd_per_request, rel=1e-12)
    assert (ds.api_verdict.item(), ds.api_verdict_released.item()) == (always_on, released)
    assert (float(ds.api_saving_usd_per_month) >= 0) == (always_on == "self_host")
    assert (float(ds.api_break_even_utilization_released) <= 0.7) == (released == "self_host")


def test_equal_bills_are_no_reason_to_leave() -> None:
    price = 80 / 3600 / 20 * 1e6 / 300
    ds = compared(f"api_usd_per_mtok_input: 0, api_usd_per_mtok_output: {price}")
    assert float(ds.api_break_even_rate) == pytest.approx(20, rel=1e-12)
    assert ds.api_verdict.item() == "self_host"


def test_a_free_api_has_no_break_even() -> None:
    ds = compared("api_usd_per_mtok_input: 0, api_usd_per_mtok_output: 0")
    assert float(ds.api_usd_per_month) == 0
    assert float(ds.api_saving_usd_per_month) == -58400
    assert all(np.isnan(ds[name]) for name in NUMBERS if "break_even" in name)


def test_cached_tokens_cost_as_much_as_others_unless_said_otherwise() -> None:
    ds = compared("api_usd_per_mtok_input: 3, api_usd_per_mtok_output: 15")
    assert float(ds.api_usd_per_request) == pytest.approx((2000 * 3 + 300 * 15) / 1e6, rel=1e-12)


def test_a_fleet_that_does_not_carry_the_peak_saves_nothing() -> None:
    # One node of 8 carries 56 req/s of 60: cheap, and not the same service. What is dearer all the same is still said.
    ds = compared(policy="nodes_given: 1")
    assert np.isnan(ds.api_saving_usd_per_month)
    assert ds.api_verdict.item() is None
    dear = compared("api_usd_per_mtok_input: 0, api_usd_per_mtok_output: 0.1", policy="nodes_given: 1")
    assert dear.api_verdict.item() == "never"


def test_what_is_known_without_an_average_load() -> None:
    ds = compared(workload="")
    unknown = {"api_usd_per_month", "api_saving_usd_per_month"}
    assert {name for name in NUMBERS if np.isnan(ds[name])} == unknown
    assert (ds.api_verdict.item(), ds.api_verdict_released.item()) == (None, "self_host")


def test_without_prices_of_an_api_there_is_nothing_to_compare() -> None:
    ds = compared("max_num_seqs: 8")
    assert all(np.isnan(ds[name]) for name in NUMBERS)
    assert [ds[name].item() for name in VERDICTS] == [None, None]


@pytest.mark.parametrize(
    ("prices", "said"),
    [
        (
            "api_usd_per_mtok_input: 3",
            "deployment.api_usd_per_mtok_input: api_usd_per_mtok_input needs api_usd_per_mtok_output beside it",
        ),
        (
            "api_usd_per_mtok_output: 3",
            "deployment.api_usd_per_mtok_output: api_usd_per_mtok_output needs api_usd_per_mtok_input beside it",
        ),
        (
            "api_usd_per_mtok_cached: 3",
            "deployment.api_usd_per_mtok_cached: api_usd_per_mtok_cached needs api_usd_per_mtok_input beside it",
        ),
        ("api_usd_per_mtok_input: -3, api_usd_per_mtok_output: 15", "api_usd_per_mtok_input must be >= 0; -3 is not"),
    ],
)
def test_prices_that_stand_alone(prices: str, said: str) -> None:
    with pytest.raises(ContractError, match=r"contract\.yaml:4") as caught:
        compared(prices)
    assert said in str(caught.value)


def test_a_scenario_may_not_leave_a_price_alone() -> None:
    axes = "scenarios: {nominal: {}, api: {api_usd_per_mtok_input: 3}}\n"
    with pytest.raises(ContractError, match="api_usd_per_mtok_input needs api_usd_per_mtok_output beside it"):
        compared("max_num_seqs: 8", axes=axes)


def test_a_price_of_cached_tokens_that_nothing_reads_is_said() -> None:
    text = CONTRACT.format(prices=LIST, workload="", policy="").replace("prefix_hit_ratio: 0.75, ", "")
    said = gridplan.evaluate(gridplan.loads_grid(text)).attrs["warnings"]
    assert said == "api_usd_per_mtok_cached is not used: no prompt token is cached (prefix_hit_ratio)"


def test_labels_are_those_of_the_formulas() -> None:
    assert choices("api_verdict") == f.API_VERDICTS
    assert choices("api_verdict_released") == f.API_VERDICTS_RELEASED


def test_an_explanation_shows_the_comparison() -> None:
    text = CONTRACT.format(prices=LIST, workload="peak_to_average: 3", policy="")
    page = str(gridplan.explain(gridplan.loads_grid(text)))
    assert "api_verdict       self_host" in page
    assert "(500 tokens * 3.00 USD/Mtok + 1,500 tokens * 0.30 USD/Mtok + 300 tokens * 15.00 USD/Mtok) / 1e6" in page
    plain = str(gridplan.explain(gridplan.loads_grid(text.replace("prefix_hit_ratio: 0.75, ", ""))))
    assert "(2,000 tokens * 3.00 USD/Mtok + 300 tokens * 15.00 USD/Mtok) / 1e6" in plain
    same = str(gridplan.explain(gridplan.loads_grid(text.replace("api_usd_per_mtok_cached: 0.3, ", ""))))
    assert "(500 tokens * 3.00 USD/Mtok + 1,500 tokens * 3.00 USD/Mtok + 300 tokens * 15.00 USD/Mtok) / 1e6" in same
    values = json.loads(json.dumps(gridplan.explain(gridplan.loads_grid(text)).to_dict()))["values"]
    assert values["usd_per_month_stranded"] == pytest.approx(58400 * 6 / 16)
