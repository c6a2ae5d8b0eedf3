"""The month's bill in parts, over several denominators, and between prompt and output."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import gridplan
from gridplan import formulas as f
from gridplan.dictionary import dictionary

GRIDS = Path(__file__).parents[2] / "grids"
PARTS = tuple(f"usd_per_month_{part}" for part in ("used", "idle", "headroom", "redundancy", "stranded"))

FLEET = """
schema: 1
workload: {{prompt_tokens: 1000, output_tokens: 500, arrival_rate: {rate}, {workload}}}
deployment: {{{deployment}}}
capacity: {{capacity_model: measured, lambda_instance_given: 10, applies_to: any}}
policy: {{rho_target: 0.7, hours_per_month: 730, {policy}}}
"""
"""Nine active replicas at 60 req/s, as in the lesson: ceil(60 / 7)."""


def fleet(
    deployment: str, policy: str = "redundancy: 1", rate: float = 60, workload: str = "peak_to_average: 3"
) -> xr.Dataset:
    text = FLEET.format(rate=rate, workload=workload, deployment=deployment, policy=policy)
    return gridplan.evaluate(gridplan.loads_grid(text), ["default", "gpus_paid", *PARTS])


def shares(ds: xr.Dataset) -> list[float]:
    """Parts over the bill, in GPUs of which the bill pays `gpus_paid`."""
    return [round(float(ds[name] / ds.usd_per_month * ds.gpus_paid), 9) for name in PARTS]


def test_the_bill_of_the_lesson() -> None:
    # 2 nodes of 8 GPUs at $40.96, 732 h: $59,965.44 for 16 GPUs, $3,747.84 each. 10 are planned, 9 active; they count
    # on 10 req/s each: 20 req/s on average fill 2, the peak of 60 fills 6 (Capacity Planning, section 5).
    ds = gridplan.evaluate(gridplan.load_grid(GRIDS / "lesson.yaml"), ["usd_per_month", "gpus_paid", *PARTS])
    aws = ds.sel(scenario="nominal", instance="aws-p4de")
    assert float(aws.usd_per_month) == pytest.approx(59965.44, rel=1e-12)
    parts = [float(aws[name]) for name in PARTS]
    assert parts == pytest.approx([2 * 3747.84, 4 * 3747.84, 3 * 3747.84, 3747.84, 6 * 3747.84], rel=1e-12)
    # One GPU a node at $2.49: nothing is stranded, and each of 10 GPUs is $1,822.68 a month.
    single = ds.sel(scenario="nominal", instance="fractional")
    assert shares(single) == [2, 4, 3, 1, 0]
    assert float(single.usd_per_month_redundancy) == pytest.approx(1822.68, rel=1e-12)


@pytest.mark.parametrize(
    ("deployment", "policy", "expected"),
    [
        # GPUs rented one by one are paid as planned, whatever the size of a node
        ("usd_per_gpu_hour: 2", "redundancy: 1", [2, 4, 3, 1, 0]),
        ("usd_per_gpu_hour: 2, gpus_per_node: 8", "redundancy: 1", [2, 4, 3, 1, 0]),
        # ... but nodes already bought are paid in whole
        ("usd_per_gpu_hour: 2, gpus_per_node: 8, nodes_given: 3", "redundancy: 1", [2, 4, 3, 1, 14]),
        ("usd_per_node_hour: 20, gpus_per_node: 8", "redundancy: 0", [2, 4, 3, 0, 7]),
        # a spare node is eight spares: 17 replicas in 3 nodes
        ("usd_per_node_hour: 20, gpus_per_node: 8", "redundancy: 1, failure_domain: node", [2, 4, 3, 8, 7]),
        # three replicas of 3 GPUs do not fit a node of 8: 5 nodes, 2 GPUs of each in no replica
        ("usd_per_node_hour: 20, gpus_per_node: 8, tensor_parallel: 3", "redundancy: 1", [6, 12, 9, 3, 10]),
        # a replica of 16 GPUs takes two nodes
        (
            "usd_per_node_hour: 20, gpus_per_node: 8, tensor_parallel: 8, pipeline_parallel: 2",
            "redundancy: 1",
            [32, 64, 48, 16, 0],
        ),
        # twice the nodes of the plan: all beyond its ten replicas is stranded
        ("usd_per_node_hour: 20, gpus_per_node: 8, nodes_given: 4", "redundancy: 1", [2, 4, 3, 1, 22]),
        # one node for ten replicas: the spare goes first, then an active one; 8 count on 80 req/s
        ("usd_per_node_hour: 20, gpus_per_node: 8, nodes_given: 1", "redundancy: 1", [2, 4, 2, 0, 0]),
        # a node that holds nine of ten: the spare alone is given up
        ("usd_per_node_hour: 20, gpus_per_node: 9, nodes_given: 1", "redundancy: 1", [2, 4, 3, 0, 0]),
        # 5 replicas count on 50 req/s: the peak of 60 takes them all, nothing is headroom
        ("usd_per_node_hour: 20, gpus_per_node: 5, nodes_given: 1", "redundancy: 1", [2, 3, 0, 0, 0]),
        # one replica counts on 10 req/s: the average of 20 alone is more
        ("usd_per_node_hour: 20, gpus_per_node: 1, nodes_given: 1", "redundancy: 1", [1, 0, 0, 0, 0]),
        # a node that holds no replica: every GPU is stranded
        (
            "usd_per_node_hour: 20, gpus_per_node: 8, tensor_parallel: 8, pipeline_parallel: 2, nodes_given: 1",
            "redundancy: 1",
            [0, 0, 0, 0, 8],
        ),
        # routing that counts on 1.25 of a random split: 12.5 req/s each, 60 / 8.75 are 7 replicas
        (
            "usd_per_gpu_hour: 2",
            "redundancy: 1, routing: join_shortest_queue, routing_credit: 1.25",
            [1.6, 3.2, 2.2, 1, 0],
        ),
    ],
)
def test_parts_in_gpus(deployment: str, policy: str, expected: list[float]) -> None:
    ds = fleet(deployment, policy)
    assert shares(ds) == expected
    assert float(ds.gpus_paid) == sum(expected)


def test_a_load_without_peaks_leaves_nothing_idle() -> None:
    ds = fleet("usd_per_gpu_hour: 2", workload="peak_to_average: 1")
    assert shares(ds) == [6, 0, 3, 1, 0]
    assert float(ds.usd_per_month_idle) == 0


def test_only_what_the_average_decides_waits_for_it() -> None:
    ds = fleet("usd_per_gpu_hour: 2", workload="")
    assert [float(ds[name]) for name in PARTS[2:]] == pytest.approx([3 * 1460, 1460, 0], rel=1e-12)
    assert np.isnan(ds.usd_per_month_used)
    assert np.isnan(ds.usd_per_month_idle)
    priceless = fleet("max_num_seqs: 8")
    assert all(np.isnan(priceless[name]) for name in PARTS)


def test_parts_carry_only_what_changes_them() -> None:
    text = FLEET.format(rate=60, workload="", deployment="usd_per_gpu_hour: 2", policy="redundancy: 1")
    ds = gridplan.evaluate(gridplan.loads_grid(f"{text}axes: {{peak_to_average: [1, 3]}}"), PARTS)
    assert [ds[name].dims for name in PARTS] == [("peak_to_average",)] * 2 + [()] * 3


# ------------------------------------------------------------------------------------------------------- denominators

REQUESTS = """
schema: 1
workload:
  {prompt_tokens: 2000, output_tokens: 300, arrival_rate: 60, peak_to_average: 3, prefix_hit_ratio: 0.75, users: 2400}
deployment: {usd_per_gpu_hour: 2, %s}
capacity: {capacity_model: measured, lambda_instance_given: 10, applies_to: any}
policy: {rho_target: 0.7, hours_per_month: 730, redundancy: 1}
"""
STEP = "step_weights_s: 7 ms, step_per_context_token_s: 30e-9, prefill_per_token_s: 36e-6"


def requests(deployment: str = STEP, hits: str = "0.75", more: tuple[str, ...] = ()) -> xr.Dataset:
    text = REQUESTS.replace("prefix_hit_ratio: 0.75", f"prefix_hit_ratio: {hits}") % deployment
    return gridplan.evaluate(gridplan.loads_grid(text), ["default", *DENOMINATED, *more])


DENOMINATED = (
    *("cached_tokens_mean", "usd_per_mtok_uncached", "usd_per_mtok_cached", "usd_per_user_month", "input_work_share"),
    *(f"usd_per_mtok_{kind}_allocated" for kind in ("input", "uncached_input", "output")),
    "quota_units_per_output_token",
)


def test_one_bill_over_several_denominators() -> None:
    # 10 GPUs at $2 for 730 h are $14,600; 20 req/s are 52,560,000 requests of 500 uncached, 1,500 cached, 300 output
    ds = requests()
    assert float(ds.usd_per_month) == 14600
    assert float(ds.cached_tokens_mean) == 1500
    millions = 52.56
    assert float(ds.usd_per_mtok_uncached) == pytest.approx(14600 / (millions * 800), rel=1e-12)
    assert float(ds.usd_per_mtok_cached) == pytest.approx(14600 / (millions * 1500), rel=1e-12)
    assert float(ds.usd_per_user_month) == pytest.approx(14600 / 2400, rel=1e-12)


def test_nothing_is_divided_by_tokens_that_are_not_there() -> None:
    ds = requests(hits="0")
    assert np.isnan(ds.usd_per_mtok_cached)
    assert float(ds.cached_tokens_mean) == 0
    assert float(ds.usd_per_mtok_uncached) == pytest.approx(float(ds.usd_per_mtok_total), rel=1e-12)


def test_the_pair_shares_the_bill_by_replica_time() -> None:
    # A request: 500 uncached tokens at 36 us are 18 ms of prefill; 300 output tokens that read 2,150 tokens of context
    # at 30 ns each are 19.35 ms of decode.
    ds = requests()
    share = 18 / (18 + 19.35)
    request = 14600 / 52.56e6
    assert float(ds.input_work_share) == pytest.approx(share, rel=1e-12)
    assert float(ds.usd_per_mtok_input_allocated) == pytest.approx(share * request * 1e6 / 2000, rel=1e-12)
    assert float(ds.usd_per_mtok_uncached_input_allocated) == pytest.approx(share * request * 1e6 / 500, rel=1e-12)
    assert float(ds.usd_per_mtok_output_allocated) == pytest.approx((1 - share) * request * 1e6 / 300, rel=1e-12)
    sold = 52.56 * (2000 * float(ds.usd_per_mtok_input_allocated) + 300 * float(ds.usd_per_mtok_output_allocated))
    assert sold == pytest.approx(14600, rel=1e-12)
    # 64.5 us an output token against 9 us a prompt token, cached ones among them
    assert float(ds.quota_units_per_output_token) == pytest.approx(64.5 / 9, rel=1e-12)


def test_without_a_machine_there_is_no_pair() -> None:
    ds = requests("max_num_seqs: 8")
    assert all(np.isnan(ds[name]) for name in DENOMINATED[4:])
    assert float(ds.usd_per_mtok_uncached) > 0


def test_a_prompt_that_takes_no_time_is_worth_no_quota() -> None:
    assert np.isnan(f.quota_units(0.0, 1000, 0.0, 100))
    assert np.isnan(f.input_work_share(0.0, 0.0))
    assert f.input_work_share(0.0, 1.0) == 0


def test_tokens_out_of_time_are_paid_by_those_within() -> None:
    text = (GRIDS / "chains-70b.yaml").read_text(encoding="utf-8")
    text = text.replace("arrival_rate: 200", "arrival_rate: 200, peak_to_average: 2")
    text = text.replace("percentile: mean}", "percentile: mean}, ttft: {limit: 0.2 s, percentile: 90}")
    text = text.replace("deployment:\n", "deployment:\n  usd_per_gpu_hour: 2\n")
    ds = gridplan.evaluate(gridplan.loads_grid(text), ["default", "goodput", "usd_per_mtok_output_goodput"])
    assert 0 < float(ds.goodput) < 1
    paid = float(ds.usd_per_mtok_output_goodput) * float(ds.goodput)
    assert paid == pytest.approx(float(ds.usd_per_mtok_output), rel=1e-12)


@pytest.mark.parametrize("name", ["quickstart", "lesson-exercises", "capacity", "latency"])
def test_of_any_cell_the_bill_is_whole_or_unknown(name: str) -> None:
    money = (*PARTS, *DENOMINATED, "gpus_paid", "usd_per_replica_hour")
    text = (GRIDS / f"{name}.yaml").read_text(encoding="utf-8")
    ds = gridplan.evaluate(gridplan.loads_grid(text), ["default", *money])
    for measure in money:
        values = ds[measure].values
        assert not np.isinf(values).any()
        assert not (values < 0).any()
        if dictionary()[measure].null_where.startswith("infeasible"):
            assert not (ds[measure].notnull() & (ds.status == "infeasible")).any()
    known = ds.usd_per_month_used.notnull()
    assert bool((known == ds.usd_per_request.notnull()).all())
    total = sum(ds[part] for part in PARTS)
    assert bool((np.abs(total - ds.usd_per_month) <= 1e-9 * ds.usd_per_month).where(known, True).all())


def test_an_explanation_shows_the_parts_of_a_bill_that_there_is() -> None:
    page = str(gridplan.explain(gridplan.load_grid(GRIDS / "lesson.yaml"), instance="aws-p4de"))
    assert "usd_per_month_idle = 14,991.36 USD/month" in page
    assert "5.12 USD/h * 732 h * (6.00 replicas - 2.00 replicas)" in page
    assert "usd_per_mtok_uncached" not in page  # no prompt token is cached: it is usd_per_mtok_total
    priceless = str(gridplan.explain(gridplan.loads_grid(REQUESTS.replace("usd_per_gpu_hour: 2, %s", STEP))))
    assert "usd_per_month" not in priceless
    assert "replicas_at_peak" not in priceless
    assert "quota_units_per_output_token = 7.17" in priceless
