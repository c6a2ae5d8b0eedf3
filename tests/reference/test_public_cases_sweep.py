"""F: load sweeps. The lesson's table, a run that was stopped early, and a load beyond capacity."""

from __future__ import annotations

from pathlib import Path

from public_cases import verify

from gridplan.measured import read_sweep, sweep_result
from gridplan.measured.sweep import sweep_of_text

LESSON = Path(__file__).parents[2] / "docs" / "lesson-sweep.csv"


def test_f01_the_last_step_at_which_every_limit_holds() -> None:
    points = read_sweep(LESSON)
    found = sweep_result(points, "ttft_p95=1000ms,tpot_p95=25ms,e2e_p99=5s")
    tight = sweep_result(points, "ttft_p95=400ms,tpot_p95=25ms,e2e_p99=5s")
    first = next(rate for rate in found.rates if rate.holds is False)
    broken = ",".join(item.slo.figure for item in first.limits if item.holds is False)
    verify(
        "F01",
        lambda_star=found.lambda_instance_per_s,
        lambda_star_ttft_400=tight.lambda_instance_per_s,
        first_slo_to_break=f"{broken} all at {first.rate_per_s:g}",
    )


def test_f03_a_sweep_that_was_stopped_early() -> None:
    """Two runs of one command: https://github.com/vllm-project/guidellm/issues/88."""
    table = "loop,concurrency_limit,achieved_rate_rps,duration_s,e2e_mean_s\n"
    points = sweep_of_text(table + "closed,64,0.53,30,24\nclosed,64,2.43,600,26\n")
    found = {check.id: check for check in sweep_result(points, "e2e_p99=60s").checks}
    verify(
        "F03",
        under_estimate=found["repeats_differ"].numbers["under_estimate"],
        flag_short_run=found["run_too_short"].rows == (0,),
    )


def test_f05_a_load_that_is_not_served() -> None:
    points = sweep_of_text("rate_rps,achieved_rate_rps,ttft_p95_ms\n8,8,100\n14,13,200\n")
    found = sweep_result(points, "ttft_p95=1s")
    (check,) = [check for check in found.checks if check.id == "over_saturated"]
    assert found.lambda_instance_per_s == 8.0  # though the latency holds at 14
    verify("F05", saturated=check.rows == (1,), efficiency=check.numbers["efficiency"])
