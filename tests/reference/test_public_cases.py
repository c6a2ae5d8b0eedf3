"""Public planner questions about price, the reference texts as cases, and which cases nothing here can answer yet.

Each test gives every quantity of its case; values and tolerances are those of `public_cases.py`. Questions about memory
and fleets are in `test_public_cases_memory.py` and `test_public_cases_fleet.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from public_cases import EXPECTED, Expected, plan, pool_gib, verify, within

from gridplan import formulas as f

Cube = Callable[[str], xr.Dataset]
CASES = Path(__file__).parents[2].parent / "shared" / "cases" / "public_cases.json"


# -------------------------------------------------------------------------------------------------------------- price


def test_e01_price_at_a_tenth_of_the_load() -> None:
    ds = plan("""
workload: {prompt_tokens: 1000, output_tokens: 1000, arrival_rate: 0.7}
deployment: {max_num_seqs: 8, usd_per_gpu_hour: 2.5}
axes: {peak_to_average: [1, 10]}
""")
    assert int(ds.gpus) == 1
    price = ds.usd_per_mtok_output.values
    assert price == pytest.approx(f.usd_per_mtok_at_rate(2.5, np.array([700, 70])), rel=1e-12)
    verify("E01", usd_per_1m=price[0], usd_per_1m_low=price[1])


def test_e03_output_only_and_blended() -> None:
    prompt = 85e6 / 3600 / 1.12 - 274  # tokens/s beside 274 of output, where all tokens cost 1.12 per million
    ds = plan(
        f"workload: {{prompt_tokens: {prompt}, output_tokens: 274, arrival_rate: 1, peak_to_average: 1}}\n"
        "deployment: {max_num_seqs: 8, usd_per_gpu_hour: 85}"
    )
    output, blended = float(ds.usd_per_mtok_output), float(ds.usd_per_mtok_total)
    assert blended == pytest.approx(1.12, rel=1e-9)
    verify("E03", usd_per_1m_output=output, output_over_blended=output / blended)


def test_e05_energy() -> None:
    verify("E05", usd_per_1m=f.energy_usd_per_mtok(0.58799, 0.1), kwh_per_1m=f.energy_kwh_per_mtok(0.58799))


def test_e07_hours_of_a_month() -> None:
    ds = plan("""
deployment: {max_num_seqs: 8, usd_per_node_hour: 40.96, gpus_per_node: 8, nodes_given: 2}
axes: {hours_per_month: [720, 730, 732, 744]}
""")
    bill = ds.usd_per_month
    verify("E07", **{f"usd_{hours}": float(bill.sel(hours_per_month=hours)) for hours in (720, 732, 744)})


def test_e08_price_of_the_opening(cube: Cube) -> None:
    ds = cube("lesson-opening").sel(scenario="given_1000_tok_s", rho_target=1.0)
    verify(
        "E08",
        monthly_output_tokens=float(ds.output_tokens_per_month),
        monthly_cost=float(ds.usd_per_month),
        usd_per_1m_output=float(ds.usd_per_mtok_output),
    )


def test_e09_prices_of_nodes_and_of_single_gpus(cube: Cube) -> None:
    nominal = cube("lesson").sel(scenario="nominal")
    aws, single = nominal.sel(instance="aws-p4de"), nominal.sel(instance="fractional")
    verify(
        "E09",
        monthly_output_tokens=float(nominal.output_tokens_per_month),
        aws_monthly=float(aws.usd_per_month),
        aws_usd_per_1m=float(aws.usd_per_mtok_output),
        frac_monthly=float(single.usd_per_month),
        frac_usd_per_1m=float(single.usd_per_mtok_output),
    )


def test_e10_price_of_exercise_3(cube: Cube) -> None:
    ds = cube("lesson-exercises").sel(scenario="nominal", instance="fractional")
    assert int(ds.gpus) == 9
    verify(
        "E10",
        monthly=float(ds.usd_per_month),
        tokens=float(ds.output_tokens_per_month),
        usd_per_1m=float(ds.usd_per_mtok_output),
    )


# ---------------------------------------------------------------------------------------------------- reference texts


def test_g01_coding_problem(cube: Cube) -> None:
    ds = cube("coding-problem")
    verify(
        "G01",
        concurrency=int(ds.concurrency),
        compute_ceiling=float(ds.concurrency_compute),
        replicas=int(ds.replicas),
        binding_constraint=ds.binding_constraint.item(),
    )


def test_g02_theory_and_its_variants(cube: Cube) -> None:
    ds = cube("theory")
    nominal = ds.sel(scenario="nominal", rho_target=0.7)
    verify(
        "G02",
        concurrency=int(nominal.concurrency),
        replica_rps=float(nominal.lambda_safe),
        replicas=int(nominal.replicas),
        replicas_fp8=int(ds.replicas.sel(scenario="kv_halved", rho_target=0.7)),
        replicas_rho09=int(ds.replicas.sel(scenario="nominal", rho_target=0.9)),
        queue_ratio=f.queue_growth(0.7, 0.9),
    )


def test_g03_pool_and_ceilings_of_the_lesson(cube: Cube) -> None:
    ds = cube("lesson").sel(scenario="nominal", instance="aws-p4de")
    verify(
        "G03",
        kv_pool_gib=pool_gib(ds),
        kv_tokens=int(ds.kv_pool_tokens),
        c_avg=int(ds.concurrency_memory),
        c_worst=int(ds.concurrency_memory_worst),
    )


def test_g04_exercise_1(cube: Cube) -> None:
    ds = cube("lesson-exercises").sel(scenario="exercise_1", instance="aws-p4de")
    verify("G04", kv_pool_gib=pool_gib(ds), kv_tokens=int(ds.kv_pool_tokens), c_avg=int(ds.concurrency_memory))


def test_g05_opening(cube: Cube) -> None:
    ds = cube("lesson-opening").sel(scenario="given_1000_tok_s")
    full = ds.sel(rho_target=1.0)
    verify(
        "G05",
        c_slo=int(full.concurrency_slo),
        in_flight=float(full.in_flight),
        active=int(full.replicas_active),
        resilient=int(full.replicas),
        nodes=int(full.nodes),
        usd_per_hour=float(full.usd_per_hour),
        active_with_rho_0_7=int(ds.replicas_active.sel(rho_target=0.7)),
    )


def test_g06_70b_fleet(cube: Cube) -> None:
    ds = cube("chains-70b")
    verify(
        "G06",
        prefill_us_per_token=float(ds.prefill_compute_per_token_s) * 1e6,
        prefill_demand=float(ds.prefill_demand),
        decode_demand=float(ds.decode_demand),
        replicas=int(ds.replicas),
        gpus=int(ds.gpus),
    )


def test_g07_tighter_ttft(cube: Cube) -> None:
    ds = cube("lesson").sel(scenario="ttft_400ms", instance="aws-p4de")
    verify("G07", active=int(ds.replicas_active), resilient_n_plus_1=int(ds.replicas))


def test_g08_bursts() -> None:
    verify("G08", multiplier_at_0_7=f.burst_ratio(0.7, 1.1), multiplier_at_0_9=f.burst_ratio(0.9, 1.1))


WAITING = {
    "C03": "reading request traces: rates, ratios and percentiles of total length",
    "C05": "reading request traces: prefix hits of an unbounded cache",
}
"""Cases that nothing here can answer yet, and what they wait for."""


def test_every_case_is_tested_or_waits() -> None:
    if not CASES.exists():
        pytest.skip("the collected cases are not beside this checkout")
    cases = json.loads(CASES.read_text(encoding="utf-8"))["cases"]
    assert {case["id"] for case in cases} == {case_id for case_id, _ in EXPECTED} | WAITING.keys()
    stated = {(case["id"], row["quantity"]): _expected(row) for case in cases for row in case["expected"]}
    assert {key: row for key, row in stated.items() if key[0] not in WAITING} == EXPECTED


def test_every_expected_case_has_a_test_and_none_waits() -> None:
    files = Path(__file__).parent.glob("test_public_cases*.py")
    called = set(re.findall(r'"([A-G][0-9]{2})"', "".join(file.read_text(encoding="utf-8") for file in files)))
    assert called == {case_id for case_id, _ in EXPECTED} | WAITING.keys()
    assert not {case_id for case_id, _ in EXPECTED} & WAITING.keys()


def _expected(row: dict[str, Any]) -> Expected:
    if "min" in row:
        return within(row["min"], row["max"])
    if "equals" in row:
        return Expected(row["equals"])
    return Expected(row["value"], row.get("tol_abs", 0.0), row.get("tol_rel", 0.0))
