"""A plan says which of its prices are old and which entries lack a value, and never by the day it is made on."""

from __future__ import annotations

import pytest

import gridplan
from gridplan.engine.inputs import build_inputs

GRID = """\
schema: 1
{head}
workload: {{prompt_tokens: 500, output_tokens: 500, arrival_rate: 10}}
deployment: {{{deployment}}}
slo: {{tpot: {{limit: 50 ms}}}}
policy: {{rho_target: 0.7}}
"""


def warnings(deployment: str, head: str = "") -> list[str]:
    text = GRID.format(deployment=deployment, head=head)
    return [item for item in build_inputs(gridplan.loads_grid(text)).warnings if "price" in item or "lacks" in item]


LAMBDA = "instance: lambda-gpu-8x-h100-sxm, model: llama-3.1-8b"  # its price is of 2026-09-20


def test_without_priced_on_no_price_is_old() -> None:
    assert warnings("instance: lambda-gpu-8x-h100-sxm, model: llama-3.1-8b") == []
    assert warnings("gpu: v100-sxm2-32gb, model: qwen2.5-0.5b, kv_dtype: fp16, weight_dtype: fp16") == []


@pytest.mark.parametrize(("day", "old"), [("2026-09-20", False), ("2027-03-19", False), ("2027-03-20", True)])
def test_a_price_is_old_180_days_before_priced_on(day: str, old: bool) -> None:
    said = f"prices older than 180 days on {day} (priced_on): lambda-gpu-8x-h100-sxm (2026-09-20)"
    assert warnings(LAMBDA, f"priced_on: {day}") == ([said] if old else [])


def test_a_price_after_priced_on_is_named() -> None:
    assert warnings(LAMBDA, "priced_on: 2026-09-19") == [
        "prices of a day after 2026-09-19 (priced_on): lambda-gpu-8x-h100-sxm (2026-09-20)"
    ]


def test_a_stated_price_is_judged_by_its_own_date() -> None:
    own = "gpu: h100-sxm, model: llama-3.1-8b, usd_per_gpu_hour: {{value: 2, as_of: {}}}"
    day = "priced_on: 2026-11-30"
    assert warnings(own.format("2026-10-01"), day) == []
    assert warnings(own.format("2026-01-01"), day) == [
        "prices older than 180 days on 2026-11-30 (priced_on): usd_per_gpu_hour (2026-01-01)"
    ]
    assert warnings("gpu: h100-sxm, model: llama-3.1-8b, usd_per_gpu_hour: 2", day) == [
        "prices without a date, so their age on 2026-11-30 (priced_on) is not known: usd_per_gpu_hour"
    ]


def test_the_cube_carries_the_warning() -> None:
    cube = gridplan.evaluate(gridplan.loads_grid(GRID.format(deployment=LAMBDA, head="priced_on: 2027-06-01")))
    assert "prices older than 180 days on 2027-06-01" in cube.attrs["warnings"]


def test_entries_that_lack_a_value_are_named() -> None:
    said = "cells that need a value the catalog lacks have no plan (catalog_value_missing)"
    assert warnings("gpu: mi325x, model: llama-3.1-8b") == [f"{said}: gpu mi325x lacks memory_bytes"]
    both = "gpu: mi325x, model: gemma-4-e2b"
    assert warnings(both) == [
        f"{said}: gpu mi325x lacks memory_bytes; model gemma-4-e2b lacks params_total, params_active"
    ]


def test_a_value_that_the_contract_states_is_not_lacking() -> None:
    assert warnings("gpu: mi325x, model: llama-3.1-8b, gpu_memory_bytes: 255 GiB") == []


def test_a_long_list_is_counted() -> None:
    text = GRID.format(deployment="model: llama-3.1-8b", head="") + "axes: {gpu: {catalog: gpus}}\n"
    (said,) = [item for item in build_inputs(gridplan.loads_grid(text)).warnings if "lacks" in item]
    assert said.endswith("and 3 more")  # 11 of the 46 GPUs
