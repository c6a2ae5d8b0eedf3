"""What load generators write that is not what it seems."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gridplan.errors import ContractError
from gridplan.measured.sweep import holds, read_sweep, sweep_of_text

FILES = Path(__file__).parent / "sweep_files"


def sample(name: str) -> dict:
    return json.loads((FILES / name).read_text())


def read(value: object, file: str = "run.json"):
    return sweep_of_text(json.dumps(value), file)[0]


def changed(name: str, **values: object) -> dict:
    return sample(name) | values


def test_vllm_of_2025_counts_no_failures_but_knows_how_many_were_sent():
    old = sample("vllm_bench_serve.json")
    for key in ("failed", "max_output_tokens_per_s", "max_concurrent_requests", "rtfx"):
        del old[key]
    assert read(old).requests_failed == 482 - 480


def test_vllm_of_2024_misspells_goodput():
    old = sample("vllm_bench_serve.json")
    del old["request_goodput"]
    assert read(old | {"request_goodput:": 7.31}).goodput_rate_per_s == 7.31


def test_vllm_rate_without_limit_is_a_drain_and_with_a_cap_a_closed_loop():
    drain = read(changed("vllm_bench_serve.json", request_rate="inf"))
    assert (drain.loop, drain.offered_rate_per_s) == ("drain", None)
    capped = read(changed("vllm_bench_serve.json", max_concurrency=32))
    assert (capped.loop, capped.offered_rate_per_s, capped.concurrency_limit) == ("open", 8.0, 32.0)
    ramp = changed("vllm_bench_serve.json", request_rate="inf", ramp_up_strategy="linear", ramp_up_end_rps=20)
    assert (read(ramp).loop, read(ramp).offered_rate_per_s) == ("open", None)
    assert "ramps up" in read(ramp).notes[0]


def test_metadata_of_a_run_is_a_setting():
    point = read(changed("vllm_bench_serve.json", gpu="h100", seed=7))
    assert (point.settings["gpu"], point.settings["seed"]) == ("h100", 7)


def test_a_percentile_that_is_not_whole():
    point = read(changed("vllm_bench_serve.json", **{"p99.9_ttft_ms": 260.0}))
    assert point.ttft.percentiles_s == {50.0: 0.062, 99.0: 0.21, 99.9: 0.26}
    assert holds(point.ttft, 95, 0.2) is None  # p99 is above it, p50 below


def test_sglang_arrivals_of_a_trace_have_no_rate():
    line = (FILES / "sglang_bench_serving.jsonl").read_text().splitlines()[0]
    point = sweep_of_text(line.replace('"request_rate": 8.0', '"request_rate": "trace"'))[0]
    assert (point.loop, point.offered_rate_per_s) == ("open", None)


def test_sglang_lengths_asked_for():
    line = json.loads((FILES / "sglang_bench_serving.jsonl").read_text().splitlines()[0])
    assert read(line | {"random_range_ratio": 1.0}).output_tokens_requested == 256
    assert read(line | {"random_range_ratio": 0.5}).output_tokens_requested == 192
    assert read(line | {"dataset_name": "sharegpt"}).output_tokens_requested is None


def test_sglang_answers_counted_again():
    line = json.loads((FILES / "sglang_bench_serving.jsonl").read_text().splitlines()[0])
    assert "counted again" in read(line | {"total_output_tokens_retokenized": 30000}).notes[0]


def test_guidellm_tpot_with_the_first_token_is_marked():
    report = sample("guidellm_v0.4-v0.6.json")
    for benchmark in report["benchmarks"]:
        del benchmark["metrics"]["inter_token_latency_ms"]
    point = read(report)
    assert point.tpot_definition == "includes_first_token"
    assert point.tpot.mean_s == 0.01497  # 1.9158 s / 128


def test_guidellm_without_itl_up_to_03_has_no_tpot():
    report = sample("guidellm_v0.2-v0.3.json")
    del report["benchmarks"][0]["metrics"]["inter_token_latency_ms"]
    assert (read(report).tpot, read(report).tpot_definition) == (None, "unknown")


def test_tokens_that_a_parser_hides_leave_no_ttft():
    report = sample("guidellm_v0.7plus.json")
    ttft = report["benchmarks"][0]["metrics"]["time_to_first_token_ms"]["successful"]
    ttft["median"] = 0
    ttft["min"] = 0
    ttft["percentiles"] |= dict.fromkeys(("p001", "p01", "p05", "p10", "p25", "p50"), 0)
    point = read(report)
    assert point.ttft is None
    assert "did not see" in point.notes[0]


def test_guidellm_where_nothing_completed():
    report = sample("guidellm_v0.7plus.json")
    benchmark = report["benchmarks"][0]
    nothing = {"mean": 0, "median": 0, "min": 0, "max": 0, "count": 0, "total_sum": 0, "percentiles": {"p99": 0}}
    for metric in list(benchmark["metrics"]):
        benchmark["metrics"][metric] = {"successful": nothing}
    benchmark["metrics"]["request_totals"] = {"successful": 0, "incomplete": 60, "errored": 0, "total": 60}
    point = read(report)
    assert (point.requests_completed, point.requests_cancelled, point.achieved_rate_per_s) == (0, 60, 0)
    assert (point.ttft, point.e2e, point.output_tokens_mean) == (None, None, None)


@pytest.mark.parametrize(
    ("strategy", "loop", "rate", "limit"),
    [
        ({"type_": "synchronous"}, "closed", None, 1.0),
        ({"type_": "throughput", "max_concurrency": 64}, "closed", None, 64.0),
        ({"type_": "poisson", "rate": 2.5, "max_concurrency": 512}, "open", 2.5, 512.0),
        ({"type_": "trace"}, "open", None, None),
        ({"type_": "something new"}, "unknown", None, None),
    ],
)
def test_guidellm_strategies(strategy, loop, rate, limit):
    report = sample("guidellm_v0.7plus.json")
    report["benchmarks"][0]["config"]["strategy"] = strategy
    point = read(report)
    assert (point.loop, point.offered_rate_per_s, point.concurrency_limit) == (loop, rate, limit)


def test_aiperf_phases_of_warm_up_are_not_the_load():
    run = sample("aiperf_0.13.json")
    run["input_config"]["phases"].insert(0, {"name": "warmup", "type": "concurrency", "concurrency": 4, "requests": 50})
    point = read(run)
    assert (point.loop, point.offered_rate_per_s, point.warmup_requests) == ("open", 8.0, 50)
    run["input_config"]["phases"] = [{"name": "profiling", "type": "concurrency", "concurrency": 16}]
    assert (read(run).loop, read(run).concurrency_limit) == ("closed", 16.0)
    run["input_config"]["phases"] *= 2
    assert (read(run).loop, read(run).concurrency_limit) == ("unknown", None)
    assert "2 phases" in read(run).notes[0]


def test_aiperf_states_its_unit():
    run = sample("aiperf_0.13.json")
    ttft = run["time_to_first_token"]
    seconds = {key: value if key == "unit" else value / 1000 for key, value in ttft.items()} | {"unit": "sec"}
    assert read(run | {"time_to_first_token": seconds}).ttft.mean_s == pytest.approx(0.0743)
    with pytest.raises(ContractError, match=r"time_to_first_token.unit: 'fortnights' is not a unit of time"):
        read(run | {"time_to_first_token": ttft | {"unit": "fortnights"}})


def test_aiperf_errors_from_the_summary_where_they_are_not_counted():
    run = sample("aiperf_0.1.1-0.2.json")
    del run["error_request_count"]
    assert read(run).requests_failed == 2


def test_genai_perf_without_streaming():
    run = sample("genai_perf.json")
    for key in ("time_to_first_token", "inter_token_latency", "time_to_second_token"):
        del run[key]
    point = read(run)
    assert (point.ttft, point.tpot, point.tpot_definition) == (None, None, "unknown")
    assert point.e2e.percentiles_s[99] == 2.652


def test_genai_perf_at_a_concurrency():
    run = sample("genai_perf.json")
    run["input_config"]["perf_analyzer"]["stimulus"] = {"concurrency": 16}
    assert (read(run).loop, read(run).concurrency_limit, read(run).offered_rate_per_s) == ("closed", 16.0, None)


NAME = "inference_perf_stage_0_lifecycle_metrics.v0.2-0.3.json"


def stage(**times: dict) -> dict:
    value = sample(NAME)
    value["successes"]["latency"] |= times
    return value


def test_inference_perf_that_counted_blank_events():
    half = {"mean": 0.0145 / 2.08, "median": 0.0142 / 2.08, "p99": 0.0198 / 2.08}
    point = read(stage(time_per_output_token=half))
    assert point.tpot_definition == "per_event"
    assert point.tpot.mean_s == pytest.approx(0.0145 / 2.08)  # as printed: not corrected
    assert point.tpot_derived_mean_s == pytest.approx(0.0145)
    assert "events" in point.notes[0]


def test_inference_perf_blank_events_where_the_means_are_missing():
    value = stage(inter_token_latency={"mean": 0.006, "median": 0.00004, "p99": 0.02})
    value["successes"]["latency"]["time_to_first_token"] = None
    assert read(value).tpot_definition == "per_event"
    value["successes"]["latency"]["inter_token_latency"] = None
    assert read(value).tpot_definition == "unknown"


def test_inference_perf_of_01_has_few_percentiles():
    few = {"mean": 0.0743, "min": 0.038, "p10": 0.048, "p50": 0.062, "p90": 0.118, "max": 0.26}
    point = read(stage(time_to_first_token=few))
    assert point.ttft.percentiles_s == {0: 0.038, 10: 0.048, 50: 0.062, 90: 0.118, 100: 0.26}
    assert holds(point.ttft, 95, 0.2) is None


def test_inference_perf_summary_of_all_stages_is_no_point(tmp_path):
    value = sample(NAME)
    for key in ("requested_rate", "achieved_rate", "send_duration"):
        del value["load_summary"][key]
    with pytest.raises(ContractError, match="sums up all stages"):
        read(value, "summary_lifecycle_metrics.json")
    assert read(value, "stage_3_lifecycle_metrics.json").place == "stage 3"
    assert read(value, "stage_3_lifecycle_metrics.json").loop == "unknown"


def test_inference_perf_concurrent_stage_is_closed():
    value = sample(NAME)
    value["load_summary"]["concurrency"] = 16
    assert (read(value).loop, read(value).offered_rate_per_s, read(value).concurrency_limit) == ("closed", None, 16.0)


def test_inference_perf_cached_tokens():
    value = sample("inference_perf_stage_0_lifecycle_metrics.v0.6plus.json")
    assert read(value).prefix_hit_share is None  # 0 is also what a server that says nothing becomes
    value["successes"]["prompt_tokens"]["cached"] = 122880.0
    assert read(value).prefix_hit_share == 0.5
    value["successes"]["goodput_metrics"] = {"request_goodput": 7.31, "goodput_percentage": 93.5}
    assert read(value).goodput_rate_per_s == 7.31


def test_inference_perf_tokens_of_the_server_and_of_the_client():
    """Rates of tokens may follow the client's count where the mean is the server's: 140 against 128 a request."""
    value = sample("inference_perf_stage_0_lifecycle_metrics.v0.6plus.json")
    value["successes"]["output_tokens"] = {"total": 67200.0, "mean": 140.0}
    assert read(value).output_tokens_mean == 140
    value["successes"]["output_len"]["mean"] = 140.0
    with pytest.raises(ContractError, match=r"1,000\.7, but .* is 1,094\.46"):
        read(value)


@pytest.mark.parametrize("issued", [0.0, -1.0, 1.3e14, float("inf")])
def test_trtllm_issue_rate_that_is_none(issued):
    report = sample("trtllm_bench_report.json")
    report["world_info"]["issue_rate"] = issued
    point = read(report)
    assert (point.loop, point.offered_rate_per_s) == ("unknown", None)
    assert "issue_rate" in point.notes[0]


def test_trtllm_without_streaming():
    report = sample("trtllm_bench_report.json")
    del report["streaming_metrics"]
    assert (read(report).ttft, read(report).tpot, read(report).e2e.mean_s) == (None, None, 1.9158)


def test_tokens_that_are_nothing_are_no_latency():
    zeros = dict.fromkeys(("mean_tpot_ms", "median_tpot_ms", "std_tpot_ms", "p99_tpot_ms"), 0.0)
    point = read(changed("vllm_bench_serve.json", **zeros))  # answers of one token
    assert (point.tpot, point.tpot_definition) == (None, "unknown")


def test_lesson_table_of_a_sweep():
    rows = [
        (2, 85, 12.1, 1.82, 243),
        (4, 110, 13.4, 2.15, 486),
        (6, 165, 15.2, 2.68, 730),
        (8, 280, 17.8, 3.45, 973),
        (10, 620, 21.5, 4.65, 1216),
        (12, 1450, 28.2, 7.80, 1410),
        (14, 3800, 36.4, 14.20, 1480),
    ]
    text = "rate_rps,ttft_p95_ms,tpot_p95_ms,e2e_p99_s,output_tokens_per_s\n"
    points = sweep_of_text(text + "".join(",".join(map(str, row)) + "\n" for row in rows))
    good = [
        point.offered_rate_per_s
        for point in points
        if holds(point.ttft, 95, 1.0) and holds(point.tpot, 95, 0.025) and holds(point.e2e, 99, 5.0)
    ]
    assert max(good) == 10
    assert max(point.offered_rate_per_s for point in points if holds(point.ttft, 95, 0.4)) == 8
    assert all(point.tpot_definition == "unknown" for point in points)
    assert [point.place for point in points] == [f"line {n}" for n in range(2, 9)]


def test_same_file_twice_is_read_once():
    path = FILES / "vllm_bench_serve.json"
    assert len(read_sweep([path, FILES / ".." / "sweep_files" / path.name])) == 1


def test_genai_perf_csv_rounds_slow_rates():
    text = (FILES / "genai_perf.csv").read_text()
    slow = text.replace(",7.82", ",0.05").replace('"1,000.70"', "6.41")
    (point,) = sweep_of_text(slow)
    assert point.duration_s == 480 / 0.05
    assert "two decimals" in point.notes[0]
