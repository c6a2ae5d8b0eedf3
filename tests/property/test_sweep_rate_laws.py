"""Laws of judging a sweep: order, copies and units of rows change no answer; any points give one, or a complaint."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridplan.errors import ContractError
from gridplan.measured import SweepPoint, sweep_result
from gridplan.measured.sweep import Latency, sweep_of_text
from gridplan.report.charts import sweep
from gridplan.report.sweep_data import sweep_data
from gridplan.report.sweep_page import sweep_page

SLOS = "ttft_p95=1s,tpot_p95=40ms,e2e_p99=8s"
LATENCIES = (("ttft_p95", 3000), ("tpot_p95", 80), ("e2e_p99", 20000))
SCALE = {"s": -3, "ms": 0, "us": 3}


@st.composite
def sweeps(draw):
    """Rows of a rate and three latencies [ms]; rates may repeat."""
    row = st.tuples(
        st.integers(1, 8),
        *(st.one_of(st.none(), st.integers(1, most)) for _, most in LATENCIES),
    )
    return draw(st.lists(row.filter(lambda found: any(found[1:])), min_size=1, max_size=8))


def table(rows, unit="ms"):
    lines = [",".join(["rate_rps", *(f"{name}_{unit}" for name, _ in LATENCIES)])]
    for rate, *values in rows:
        cells = ["" if value is None else str(Decimal(value).scaleb(SCALE[unit])) for value in values]
        lines.append(",".join([str(rate), *cells]))
    return "\n".join(lines)


def answer(text):
    found = sweep_result(sweep_of_text(text), SLOS)
    rate, neighbours, interval = found.lambda_instance_per_s, found.bracket_per_s, found.interval_per_s
    return rate, neighbours, interval, found.breaks_first


@given(sweeps(), st.randoms())
@settings(max_examples=60, deadline=None)
def test_order_of_rows_changes_nothing_but_the_repeats(rows, random):
    rates = [rate for rate, *_ in rows]
    shuffled = list(rows)
    random.shuffle(shuffled)
    mine, theirs = answer(table(rows)), answer(table(shuffled))
    assert mine[:2] == theirs[:2]
    if len(set(rates)) == len(rates):
        assert mine == theirs


@given(sweeps())
@settings(max_examples=60, deadline=None)
def test_copies_of_rows_change_nothing_and_are_named(rows):
    distinct = list(dict.fromkeys(rows))
    copied = sweep_result(sweep_of_text(table([*distinct, *distinct])), SLOS)
    assert answer(table(distinct)) == answer(table([*distinct, *distinct]))
    assert "copied_rows" in {check.id for check in copied.checks}


@given(sweeps(), st.sampled_from(["s", "us"]))
@settings(max_examples=60, deadline=None)
def test_units_change_nothing(rows, unit):
    assert answer(table(rows, unit)) == answer(table(rows))


@given(sweeps())
@settings(max_examples=60, deadline=None)
def test_the_rate_was_measured_and_lies_in_its_intervals(rows):
    rate, (low, high), (least, most), _ = answer(table(rows))
    assert rate is None or rate in {float(rate) for rate, *_ in rows}
    assert low == (rate or 0.0)
    assert high is None or high > low
    assert least <= low
    assert most is None or high is None or most >= high


@given(sweeps())
@settings(max_examples=40, deadline=None)
def test_tighter_limits_never_raise_the_rate(rows):
    points = sweep_of_text(table(rows))
    loose, tight = sweep_result(points, "ttft_p95=1s"), sweep_result(points, "ttft_p95=500ms")
    assert (tight.lambda_instance_per_s or 0.0) <= (loose.lambda_instance_per_s or 0.0)


figure = st.one_of(st.none(), st.floats(1e-9, 1e9))
latency = st.one_of(
    st.none(), st.builds(Latency, figure, st.dictionaries(st.sampled_from([0.0, 50.0, 90.0, 95.0, 99.0, 100.0]),
                                                          st.floats(0, 1e9), max_size=3))
)  # fmt: skip
count = st.one_of(st.none(), st.integers(0, 10**9))
anything = st.builds(
    SweepPoint, file=st.text(max_size=5), place=st.text(max_size=3), tool=st.just("csv"), format=st.just("csv"),
    loop=st.sampled_from(["open", "closed", "drain", "unknown"]), offered_rate_per_s=figure,
    achieved_rate_per_s=st.one_of(figure, st.just(0.0)), sent_rate_per_s=figure, concurrency_limit=figure,
    concurrency_mean=figure, requests_completed=count, requests_failed=count, duration_s=figure,
    input_tokens_mean=figure, output_tokens_mean=figure, output_tokens_requested=figure, output_tokens_per_s=figure,
    prefix_hit_share=st.one_of(st.none(), st.floats(0, 1)), goodput_rate_per_s=figure, ttft=latency, tpot=latency,
    tpot_definition=st.sampled_from(["excludes_first_token", "includes_first_token", "per_event", "unknown"]),
    itl=latency, e2e=latency,
)  # fmt: skip


@given(st.lists(anything, min_size=1, max_size=5))
@settings(max_examples=300, deadline=None)
def test_any_points_give_an_answer_or_a_named_complaint(points):
    found = sweep_result(
        points, "ttft_p95=1s,tpot_mean=25ms,e2e_p99=5s,itl_p50=9ms,goodput=0.9", interpolate=True,
        output_lengths=[(0.5, 10.0), (0.5, 300.0)], prompt_lengths=[(1.0, 100.0)],
    )  # fmt: skip
    assert found.lambda_instance_per_s is not None or found.checks
    assert sweep_page(found)
    json.dumps(sweep_data(found), allow_nan=False)


def has_axis(points):
    """Whether there is a rate or a number of clients to draw over."""
    rates = any(point.offered_rate_per_s for point in points if point.loop == "open")
    return rates or any(point.concurrency_limit for point in points if point.loop == "closed")


@given(st.lists(anything, min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_any_points_are_drawn_or_refused(points):
    found = sweep_result(points, "ttft_p95=1s,tpot_mean=25ms,goodput=0.9")
    if not has_axis(points):
        with pytest.raises(ContractError, match="nothing to draw"):
            sweep(found)
        return
    chart = sweep(found)
    assert len(chart.data) == 3 * len(points)
    json.dumps(chart.spec(), allow_nan=False)
