"""Prices, months and replica time as money and quota."""

from __future__ import annotations

import pytest

from gridplan.formulas import (
    arrival_rate_average,
    energy_kwh_per_mtok,
    energy_usd_per_mtok,
    quota_context_per_unit,
    quota_units_per_output_token,
    requests_per_month,
    spill_threshold_s,
    tokens_per_month,
    usd_per_day,
    usd_per_hour_gpus,
    usd_per_hour_nodes,
    usd_per_month,
    usd_per_mtok,
    usd_per_mtok_at_rate,
    usd_per_mtok_full_rate,
    usd_per_request,
)


def test_bill_is_price_times_tokens_sold() -> None:
    bill = usd_per_month(usd_per_hour_nodes(2, 40.96), 732)
    requests = requests_per_month(arrival_rate_average(60, 3.0), 732)
    tokens = tokens_per_month(requests, 121.6)
    assert usd_per_mtok(bill, tokens) * tokens / 1e6 == pytest.approx(bill, rel=1e-14)
    assert usd_per_request(bill, requests) * requests == pytest.approx(bill, rel=1e-14)


def test_two_ways_to_the_price_of_a_busy_replica_agree() -> None:
    # a replica of 4 GPUs at $2.50 that makes 1,765 tok/s
    hourly = usd_per_hour_gpus(4, 2.5)
    assert usd_per_mtok_at_rate(hourly, 1765) == pytest.approx(usd_per_mtok_full_rate(2.5, 4, 1 / 1765), rel=1e-14)
    assert usd_per_mtok_at_rate(hourly, 1765) == pytest.approx(10 / (1765 * 3600 / 1e6), rel=1e-14)


def test_a_month_is_an_input() -> None:
    hourly = usd_per_hour_nodes(2, 40.96)
    assert usd_per_month(hourly, 744) / usd_per_month(hourly, 720) == pytest.approx(31 / 30)
    assert usd_per_month(hourly, 24) == usd_per_day(hourly)


def test_a_higher_peak_costs_more_per_token_sold() -> None:
    def price(ratio: float) -> float:
        sold = tokens_per_month(requests_per_month(arrival_rate_average(60, ratio), 730), 100)
        return float(usd_per_mtok(usd_per_month(81.92, 730), sold))

    assert price(3.0) == pytest.approx(3 * price(1.0))


def test_energy() -> None:
    # 1 J a token is 1e6 J a million tokens, 1/3.6 kWh
    assert energy_kwh_per_mtok(1.0) == pytest.approx(1 / 3.6)
    assert energy_usd_per_mtok(1.0, 0.36) == pytest.approx(0.1)


def test_quota_units_cross_one_at_the_context_per_unit() -> None:
    prefill, per_context = 35.649e-6, 32.605e-9
    context = quota_context_per_unit(prefill, per_context)
    assert quota_units_per_output_token(per_context, context, prefill) == pytest.approx(1.0)
    assert quota_units_per_output_token(per_context, 2 * context, prefill) == pytest.approx(2.0)
    assert spill_threshold_s(prefill, 0) == 0.0
