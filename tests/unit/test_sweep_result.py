"""The rate of a sweep: three-valued limits, going up from the lowest rate, neighbours, repeats, interpolation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gridplan.measured import Least, read_sweep, sweep_result
from gridplan.measured.sweep import sweep_of_text

LESSON = Path(__file__).parents[2] / "docs" / "lesson-sweep.csv"
LIMITS = "ttft_p95=1s,tpot_p95=25ms,e2e_p99=5s"
CLASSES = [(0.7, 64.0), (0.2, 256.0), (0.1, 256.0)]
LEAST = Least(step_peak_s=14.90 * 2**30 / 2039e9, step_stated_s=14.90 * 2**30 / 1550e9)


def judged(table: str, slos: str = "ttft_p95=1s", **options):
    return sweep_result(sweep_of_text(table), slos, **options)


def ids(result):
    return {check.id for check in result.checks}


def rows(result, name, severity=None):
    found = [c.rows for c in result.checks if c.id == name and severity in (None, c.severity)]
    return sorted({row for some in found for row in some})


def test_the_lesson():
    found = sweep_result(read_sweep(LESSON), LIMITS)
    assert found.lambda_instance_per_s == 10.0
    assert found.bracket_per_s == found.interval_per_s == (10.0, 12.0)
    assert found.binding == "e2e_p99"
    assert found.breaks_first == ("e2e_p99", "ttft_p95", "tpot_p95")
    margins = [round(verdict.binding.margin, 4) for verdict in found.points]
    assert margins == [1.0661, 0.8657, 0.6447, 0.4045, 0.0753, -0.359, -0.7368]
    assert found.interpolated_per_s is None
    assert sweep_result(read_sweep(LESSON), LIMITS.replace("1s", "400ms")).lambda_instance_per_s == 8.0


def test_the_lesson_contradicts_itself_as_the_errata_say():
    """E18: rows 2 to 8 against Little's law, row 2 impossible at peak, row 4 at 76% alone, 12 and 14 not steady."""
    found = sweep_result(read_sweep(LESSON), LIMITS, least=LEAST, output_lengths=CLASSES)
    assert rows(found, "littles_law") == [0, 1, 2, 3]
    means = [c.numbers["tpot_mean_s"] * 1e3 for c in found.checks if "tpot_mean_s" in c.numbers]
    assert (round(min(means), 1), round(max(means), 1)) == (16.7, 18.9)
    assert rows(found, "below_least_possible", "error") == [0]
    assert rows(found, "below_least_possible", "warning") == [1]
    least = {c.rows: c.numbers["least_s"] for c in found.checks if c.id == "below_least_possible"}
    assert (round(least[(0,)], 2), round(least[(1,)], 2)) == (2.01, 2.64)
    assert rows(found, "not_steady") == rows(found, "tokens_short") == [5, 6]
    assert found.points[0].unused == "below_least_possible"
    assert (found.lambda_instance_per_s, found.bracket_per_s) == (10.0, (10.0, 12.0))


def test_interpolation_is_asked_for_and_between_neighbours():
    found = sweep_result(read_sweep(LESSON), LIMITS, interpolate=True)
    assert found.lambda_instance_per_s == 10.0
    assert found.interpolated_per_s == pytest.approx(10 + 2 * (5 - 4.65) / (7.8 - 4.65))
    assert sweep_result(read_sweep(LESSON), "ttft_p95=9s", interpolate=True).interpolated_per_s is None
    assert sweep_result(read_sweep(LESSON), "ttft_p95=1ms", interpolate=True).interpolated_per_s is None


def test_not_known_is_no_pass_and_says_what_is_missing():
    found = judged("rate_rps,ttft_p50_ms\n2,100\n4,120\n8,1200\n")
    assert found.lambda_instance_per_s is None
    assert found.bracket_per_s == (0.0, 8.0)
    (check,) = [check for check in found.checks if check.id == "not_known"]
    assert check.sentence == "ttft_p95 is not stated: that is no pass"
    assert check.rows == (0, 1)
    assert "no rate below is known" in next(c.sentence for c in found.checks if c.id == "nothing_holds")


def test_a_higher_percentile_proves_and_has_no_margin():
    found = judged("rate_rps,ttft_p99_ms\n2,100\n4,1200\n")
    assert [verdict.holds for verdict in found.points] == [True, None]
    assert found.points[0].limits[0].why == "by another percentile"
    assert found.points[0].binding is None


def test_rates_that_are_not_known_are_passed_over():
    found = judged("rate_rps,ttft_p95_ms,ttft_mean_ms\n2,,50\n4,100,50\n6,,60\n8,1500,90\n")
    assert (found.lambda_instance_per_s, found.bracket_per_s) == (4.0, (4.0, 8.0))


def test_a_pass_above_a_failure_is_named_and_not_used():
    found = judged("rate_rps,ttft_p95_ms\n2,100\n4,1500\n6,500\n8,2000\n")
    assert (found.lambda_instance_per_s, rows(found, "non_monotone")) == (2.0, [2])


def test_reach():
    assert "still_passing" in ids(judged("rate_rps,ttft_p95_ms\n2,100\n4,200\n"))
    assert judged("rate_rps,ttft_p95_ms\n2,100\n4,200\n").bracket_per_s == (4.0, None)
    assert {"one_point_only", "still_passing"} <= ids(judged("rate_rps,ttft_p95_ms\n2,100\n"))
    below = judged("rate_rps,ttft_p95_ms\n2,1100\n4,1200\n")
    assert (below.lambda_instance_per_s, below.bracket_per_s) == (None, (0.0, 2.0))
    assert "nothing_holds" in ids(below)


def test_open_loops_alone_count():
    table = "rate_rps,concurrency_limit,ttft_p95_ms\n2,,100\n,16,50\ninf,,60\n4,,1100\n"
    found = judged(table)
    assert [verdict.unused for verdict in found.points] == ["", "closed loop", "everything sent at once", ""]
    assert found.lambda_instance_per_s == 2.0
    assert {"closed_loop", "rate_infinite"} <= ids(found)
    alone = judged("concurrency_limit,ttft_p95_ms\n16,50\n")
    assert alone.lambda_instance_per_s is None
    assert "no_rate" in ids(alone)


def test_repeats_count_by_their_median_and_spread():
    table = "rate_rps,seed,ttft_p95_ms\n8,1,500\n10,1,900\n12,1,1500\n"
    table += "8,2,520\n10,2,1100\n12,2,1400\n8,3,510\n10,3,950\n12,3,1600\n"
    found = judged(table)
    assert found.lambda_instance_per_s == 10.0
    assert found.rates[1].rows == (1, 4, 7)
    assert found.rates[1].limits[0].value == 0.95
    assert found.repeats_per_s == (10.0, 8.0, 10.0)
    assert (found.repeats_median_per_s, found.repeats_mad_per_s) == (10.0, 0.0)
    assert found.interval_per_s == (8.0, 12.0)


def test_a_row_that_is_given_twice_is_one_run():
    table = "rate_rps,ttft_p95_ms\n8,500\n10,900\n10,900\n12,1500\n"
    found = judged(table)
    assert rows(found, "copied_rows") == [2]
    assert (found.lambda_instance_per_s, found.repeats_per_s) == (10.0, ())


def test_the_interval_is_wider_than_the_neighbours_where_chance_may_have_decided():
    head = "rate_rps,requests_completed,ttft_p50_ms,ttft_p95_ms\n"
    table = head + "8,1000,100,500\n10,1000,150,950\n12,1000,300,1050\n14,1000,900,4000\n"
    assert judged(table).bracket_per_s == (10.0, 12.0)
    assert judged(table).interval_per_s == (8.0, 14.0)
    assert judged(table.replace("1000", "1000000")).interval_per_s == (10.0, 12.0)


def test_goodput_is_stated_or_follows():
    table = "rate_rps,achieved_rate_rps,goodput_rps,ttft_p95_ms\n8,8,7.8,500\n10,10,9.2,900\n"
    found = judged(table, "goodput=95%")
    assert (found.lambda_instance_per_s, found.goodput) == (8.0, pytest.approx(0.975))
    assert found.points[1].limits[0].value == pytest.approx(0.92)
    marginals = judged("rate_rps,ttft_p95_ms,tpot_p95_ms\n8,500,20\n", "ttft_p95=1s,tpot_p95=25ms,goodput=0.9")
    assert marginals.points[0].limits[2].why == "at least 90.0% by the other limits"
    unknown = judged("rate_rps,ttft_p95_ms,tpot_p95_ms\n8,500,20\n", "ttft_p95=1s,tpot_p95=25ms,goodput=0.95")
    assert unknown.points[0].holds is None


def test_arguments_that_are_wrong():
    points = sweep_of_text("rate_rps,ttft_p95_ms\n2,100\n")
    for bad in (([], "ttft_p95=1s", 0.01), (points, (), 0.01), (points, "ttft_p95=1s", 1.5)):
        with pytest.raises(ValueError, match="expected"):
            sweep_result(bad[0], bad[1], error_budget=bad[2])


TABLE = "rate_rps,achieved_rps,ttft_p95_ms,tpot_p95_ms,e2e_p99_s\n"


def test_several_servers_are_no_sweep() -> None:
    """Three runs of two models: no rate is taken from them."""
    points = sweep_of_text("rate_rps,ttft_p95_ms\n4,100\n8,200\n12,300\n")
    mixed = [replace(point, model=model) for point, model in zip(points, ("a", "b", "a"), strict=True)]
    found = sweep_result(mixed, "ttft_p95=1s")
    assert found.lambda_instance_per_s is None
    assert next((check.id, check.severity) for check in found.checks) == ("mixed_settings", "error")
    assert sweep_result(points, "ttft_p95=1s").lambda_instance_per_s == 12.0
    apart = [replace(point, settings={"max_num_seqs": n}) for point, n in zip(points, (64, 128, 64), strict=True)]
    assert "max_num_seqs is 64, 128" in sweep_result(apart, "ttft_p95=1s").checks[0].sentence


def test_more_served_than_offered_is_an_error() -> None:
    found = sweep_result(sweep_of_text(TABLE + "4,4,100,15,2\n8,80,100,15,2\n"), "ttft_p95=1s")
    assert ("served_more", (1,)) in [(check.id, check.rows) for check in found.checks]
    assert found.lambda_instance_per_s == 4.0


def test_a_first_token_later_than_the_last_is_an_error() -> None:
    """p95 TTFT 3 s above p99 E2E 2 s; 110 us and 13.4 us are those of no server."""
    for row in ("4,4,3000,15,2", "4,4,0.110,0.0134,2.15"):
        found = sweep_result(sweep_of_text(TABLE + row + "\n"), "ttft_p95=5s")
        assert ("swapped_units", "error") in [(check.id, check.severity) for check in found.checks]
        assert found.lambda_instance_per_s is None


def test_runs_of_one_rate_that_disagree_are_named() -> None:
    points = sweep_of_text("rate_rps,ttft_p95_ms\n4,100\n8,200\n8,1790\n")
    found = sweep_result(points, "ttft_p95=1s")
    assert "repeats_disagree" in [check.id for check in found.checks]
