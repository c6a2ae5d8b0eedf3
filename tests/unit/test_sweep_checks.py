"""Each check of a sweep, with a table that it names and one that it does not."""

from __future__ import annotations

import dataclasses

import pytest

from gridplan.measured import Least, sweep_result
from gridplan.measured.sweep import Latency, SweepPoint, sweep_of_text

SLO = "ttft_p95=1s,e2e_p99=9s"


def point(**changes) -> SweepPoint:
    """A clean run: 8 requests/s, 128 tokens, E2E 1.9158 s = 74.3 ms + 127 x 14.5 ms, 15.33 in flight."""
    plain = SweepPoint(
        file="a.json", place="", tool="vllm", format="vllm", loop="open", offered_rate_per_s=8.0,
        achieved_rate_per_s=8.0, concurrency_mean=15.33, requests_completed=4000, duration_s=500.0,
        input_tokens_mean=512.0, output_tokens_mean=128.0, ttft=Latency(0.0743, {50.0: 0.062, 95.0: 0.15, 99.0: 0.21}),
        tpot=Latency(0.0145, {50.0: 0.0143, 95.0: 0.017, 99.0: 0.018}),
        tpot_definition="excludes_first_token", e2e=Latency(1.9158, {50.0: 1.9, 95.0: 2.3, 99.0: 2.5}),
    )  # fmt: skip
    return dataclasses.replace(plain, **changes)


def found(*points, slo=SLO, **options):
    result = sweep_result(points, slo, **options)
    return {(check.id, check.severity): check for check in result.checks if check.severity != "info"}


TRUE_OF_ONE = {("one_point_only", "warning"), ("still_passing", "warning")}


def test_a_clean_point_has_no_finding():
    assert set(found(point())) == TRUE_OF_ONE


HEAVY = {"offered_rate_per_s": 14.0, "duration_s": 400.0, "achieved_rate_per_s": 10.0, "concurrency_mean": None}
LATE = Latency(60.0, {50.0: 60.0, 95.0: 110.0, 99.0: 114.0})
SLOW = Latency(58.1, {50.0: 58.0, 95.0: 108.0, 99.0: 112.0})

CASES = [
    ("swapped_units", "error", point(tpot=Latency(14.5, {50.0: 14.3}))),
    ("swapped_units", "error", point(tpot=Latency(14.5e-6, {50.0: 14.3e-6}))),
    ("swapped_units", "error", point(ttft=Latency(74.3e-6, {50.0: 62e-6}))),
    ("swapped_units", "error", point(ttft=Latency(74.3, {50.0: 62.0}))),
    ("swapped_units", "error", point(e2e=Latency(1915.8, {50.0: 1900.0}))),
    ("swapped_units", "error", point(e2e=Latency(1.9158e-3, {50.0: 1.9e-3}))),
    ("percentiles_fall", "error", point(e2e=Latency(1.9158, {95.0: 2.5, 99.0: 2.3}))),
    ("littles_law", "error", point(tpot=Latency(0.00725, {50.0: 0.007}))),
    ("littles_law", "error", point(tpot=Latency(0.029, {50.0: 0.028}))),
    ("littles_law", "error", point(concurrency_mean=30.0)),
    ("littles_law", "error", point(concurrency_mean=7.0)),
    ("littles_law", "warning", point(e2e=Latency(None, {99.0: 1.2}))),
    ("littles_law", "warning", point(e2e=None, tpot=Latency(None, {95.0: 0.012}))),
    ("tpot_includes_ttft", "warning", point(tpot_definition="includes_first_token", tpot=Latency(0.01497))),
    ("tpot_includes_ttft", "warning", point(tpot_definition="unknown", tpot=Latency(0.0233), e2e=Latency(2.98),
                                            ttft=Latency(1.1385), concurrency_mean=None)),
    ("tpot_per_event", "error", point(tpot_definition="per_event", tpot=Latency(0.007))),
    ("over_saturated", "warning", point(**HEAVY, e2e=LATE, ttft=SLOW)),
    ("not_steady", "warning", point(**HEAVY, e2e=LATE, ttft=SLOW)),
    ("tokens_short", "warning", point(achieved_rate_per_s=None, requests_completed=None, output_tokens_per_s=900.0)),
    ("tokens_short", "warning", point(output_tokens_requested=256.0)),
    ("errors_over_budget", "warning", point(requests_failed=100)),
    ("closed_as_open", "error", point(concurrency_limit=16.0)),
    ("closed_as_open", "warning", point(concurrency_limit=16.0, achieved_rate_per_s=7.0, concurrency_mean=15.9)),
    ("client_limited", "warning", point(**HEAVY, e2e=LATE, ttft=SLOW, sent_rate_per_s=11.0)),
    ("run_too_short", "warning", point(duration_s=15.0, requests_completed=120)),
    ("too_few_requests", "warning", point(duration_s=62.5, requests_completed=500)),
    ("warm_cache", "warning", point(prefix_hit_share=0.9)),
    ("rate_unknown", "warning", point(offered_rate_per_s=None)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "severity", "wrong"), CASES)
def test_what_is_wrong_is_named(name, severity, wrong):
    lighter = point(offered_rate_per_s=4.0, achieved_rate_per_s=4.0, duration_s=1000.0, concurrency_mean=7.66)
    check = found(lighter, wrong)[(name, severity)]
    assert 1 in check.rows
    assert check.sentence


def test_the_lightest_point_is_never_blamed_for_a_heavier_one():
    lighter = point(offered_rate_per_s=4.0, achieved_rate_per_s=4.0, duration_s=1000.0, concurrency_mean=7.66)
    for name, _, wrong in CASES:
        checks = sweep_result([lighter, wrong], SLO).checks
        blamed = {check.id for check in checks if 0 in check.rows and check.severity == "error"}
        assert blamed <= {"swapped_units"}, name


LEAST = Least(step_peak_s=0.008, step_stated_s=0.0105, prefill_peak_s=50e-6, prefill_stated_s=110e-6)
CLASSES = {"output_lengths": [(0.7, 64.0), (0.3, 277.333)], "prompt_lengths": [(1.0, 512.0)]}


@pytest.mark.parametrize(
    ("figure", "latency", "severity"),
    [
        ("tpot", Latency(0.0145, {50.0: 0.0079}), "error"),
        ("tpot", Latency(0.0145, {50.0: 0.0081}), "warning"),
        ("tpot", Latency(0.0145, {50.0: 0.0106}), None),
        ("e2e", Latency(1.9158, {99.0: 2.2}), "error"),  # 277 steps of 8 ms
        ("e2e", Latency(1.9158, {99.0: 2.5}), "warning"),
        ("e2e", Latency(1.9158, {99.0: 3.0}), None),
        ("ttft", Latency(0.020, {99.0: 0.2}), "error"),  # 512 tokens of 50 us are 25.6 ms
        ("ttft", Latency(0.050, {99.0: 0.2}), "warning"),
        ("ttft", Latency(0.060, {99.0: 0.2}), None),
    ],
)
def test_less_than_the_machine_can_do(figure, latency, severity):
    long = Latency(1.9158, {99.0: 3.0})
    changed = point(**{"e2e": long, figure: latency}, concurrency_mean=None)
    checks = found(changed, least=LEAST, **CLASSES)
    named = {kind for (name, kind), check in checks.items() if name == "below_least_possible"}
    assert named == (set() if severity is None else {severity})
    assert (("warm_cache", "warning") in checks) == (figure == "ttft" and latency.mean_s == 0.020)


def test_a_cache_that_the_plan_has_is_not_warm():
    long = Latency(1.9158, {99.0: 3.0})
    cached = point(prefix_hit_share=0.9, ttft=Latency(0.020, {99.0: 0.2}), e2e=long)
    assert set(found(cached, least=dataclasses.replace(LEAST, uncached_share=0.1), **CLASSES)) == TRUE_OF_ONE


def test_requests_of_another_workload():
    checks = found(point(), output_lengths=[(1.0, 256.0)], prompt_lengths=[(1.0, 512.0)], least=LEAST)
    assert ("other_workload", "warning") in checks
    assert "128 output tokens" in checks[("other_workload", "warning")].sentence


def test_a_limit_on_another_figure_is_judged_though_tpot_is_wrong():
    halved = point(tpot=Latency(0.00725, {95.0: 0.0085}))
    assert sweep_result([halved], SLO).lambda_instance_per_s == 8.0
    wrong = sweep_result([halved], "tpot_p95=25ms")
    assert (wrong.lambda_instance_per_s, wrong.points[0].unused) == (None, "littles_law")


def test_too_many_errors_do_not_hold_and_close_the_interval():
    failed = point(offered_rate_per_s=12.0, achieved_rate_per_s=12.0, requests_failed=400, concurrency_mean=None)
    result = sweep_result([point(), failed], SLO)
    assert (result.lambda_instance_per_s, result.bracket_per_s) == (8.0, (8.0, 12.0))
    assert result.breaks_first == ("errors_over_budget",)
    assert sweep_result([point(), failed], SLO, error_budget=0.2).lambda_instance_per_s == 12.0


def test_a_short_tail_is_no_saturation():
    """60 requests at 1/s whose last answer takes 3 s complete 0.95 a second, though nothing queues."""
    light = point(offered_rate_per_s=1.0, achieved_rate_per_s=60 / 63, requests_completed=60, duration_s=63.0,
                  concurrency_mean=None)  # fmt: skip
    assert ("over_saturated", "warning") not in found(light)


def test_gaps_that_are_all_alike_leave_nothing_to_chance():
    slow = Latency(5.0, {50.0: 5.0, 95.0: 9.0, 99.0: 9.9})
    base = {"offered_rate_per_s": 10.0, "achieved_rate_per_s": 9.4, "requests_completed": 2000, "duration_s": 212.8,
            "concurrency_mean": None, "e2e": slow, "ttft": Latency(3.1, {95.0: 7.0})}  # fmt: skip
    assert ("over_saturated", "warning") not in found(point(), point(**base))
    constant = point(**base, settings={"strategy.type_": "constant"})
    assert ("over_saturated", "warning") in found(point(), constant)


def test_pinned_loads_without_a_stated_limit():
    table = "rate_rps,achieved_rate_rps,e2e_mean_s\n4,4,1.0\n10,8,2.0\n14,8.1,2.0\n20,8.05,1.98\n"
    checks = sweep_result(sweep_of_text(table), "e2e_mean=10s").checks
    assert [check.rows for check in checks if check.id == "closed_as_open"] == [(1, 2, 3)]
    queue = "rate_rps,achieved_rate_rps,e2e_mean_s\n4,4,1.0\n10,8,12.0\n14,8.1,26.0\n20,8.05,36\n"
    assert "closed_as_open" not in {check.id for check in sweep_result(sweep_of_text(queue), "e2e_mean=10s").checks}


def test_a_lighter_load_that_is_far_slower_is_named():
    table = "rate_rps,ttft_p95_ms\n2,85000\n4,110\n8,280\n"
    checks = sweep_result(sweep_of_text(table), "ttft_p95=1s").checks
    assert [check.rows for check in checks if check.id == "swapped_units"] == [(0, 1)]
