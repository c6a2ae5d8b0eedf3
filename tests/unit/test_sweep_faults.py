"""Files that are no results, or whose figures cannot be: one clear error each, with its place."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from gridplan.errors import ContractError
from gridplan.measured.sweep import read_sweep, sweep_of_text
from gridplan.measured.sweep.source import MAX_BYTES

FILES = Path(__file__).parent / "sweep_files"
RUN = json.loads((FILES / "vllm_bench_serve.json").read_text())


def fault(text: str, file: str = "run.json") -> str:
    with pytest.raises(ContractError) as caught:
        sweep_of_text(text, file)
    assert len(caught.value.problems) == 1
    return str(caught.value)


def of_bytes(folder: Path, content: bytes) -> str:
    path = folder / "result.json"
    path.write_bytes(content)
    with pytest.raises(ContractError) as caught:
        read_sweep(path)
    assert len(caught.value.problems) == 1
    return str(caught.value).removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is a PNG image, not a result"),
        (b"\x1f\x8b\x08\0", "is compressed with gzip; unpack it"),
        (b"PAR1\x15\x04", "is a Parquet file"),
        (b"<!DOCTYPE html><html><body>vLLM</body></html>", "is a web page"),
        (b'{"a": "\xff"}', "is not text in UTF-8: byte 0xff at position 7"),
        (b'{"a": 1}\0\0', "holds zero bytes"),
        (b"[]", "it is an empty list"),
        (b"3.5", "its first line is neither JSON nor a header"),
        (b'{"name": "gridplan", "dependencies": {}}', "it has no key of any"),
        (b"[1, 2, 3]", "it holds int where an object is due"),
        (b"INFO 01-15 10:15:00 Starting vLLM API server\n", "its first line is neither JSON"),
        (b'{"benchmarks": []}', "GuideLLM 0.1 or an empty report"),
        (b'{"median_ttft": 0.06, "p99_tpot": 0.02}', "lack the unit, as in raw files of InferenceX"),
        (b'{"median_ttft_ms": 62, "num_prompts": 482}', "nearest to vLLM bench serve, but lacks request_throughput"),
        (b'{"metadata": {"benchmark_phase": "profiling"}, "metrics": {}}', "single requests or an aggregate of AIPerf"),
        (b'[{"ttft_s": 0.1, "end_to_end_latency_s": 2.0}]', "single requests of llmperf"),
        (b'{"a": ' + b"[" * 200_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "a number of thousands of digits"),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' stands twice in one object"),
        (b"benchmarks:\n- metrics: &a [*a\n", "is not YAML"),
        (b"benchmarks:\n  a: 1\n  a: 2\n", "the key 'a' stands twice"),
        (b"benchmarks: !!python/object:os.system {}\n", "is not YAML"),
        (b"benchmarks: " + b"[" * 100_000, "is not YAML"),
        (b"benchmarks: " + b"x" * (33 * 2**20), "is YAML of 34,603,020 characters"),
        (b"args: 1\nother: 2\n", "it is YAML, but not a report of GuideLLM"),
        (b'a,"b\n1,2\n', "is not CSV"),
    ],
)
def test_what_is_no_result(tmp_path, content, said):
    assert said in of_bytes(tmp_path, content)


def test_utf16_of_powershell_is_read(tmp_path):
    path = tmp_path / "run.json"
    path.write_bytes(json.dumps(RUN).encode("utf-16"))
    assert read_sweep(path)[0].requests_completed == 480


def test_a_gigabyte_is_refused_by_its_size(tmp_path):
    path = tmp_path / "run.json"
    with path.open("wb") as stream:
        stream.truncate(2**30)  # a sparse file
    with pytest.raises(ContractError, match=rf"has 1,073,741,824 bytes; {MAX_BYTES:,} are read at most"):
        read_sweep(path)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(ContractError) as caught:
        read_sweep([tmp_path / "a.json", tmp_path / "b.json", "c\0.json", FILES / "aiperf.csv"])
    assert [problem.message for problem in caught.value.problems] == [
        "no such file",
        "no such file",
        "cannot be read: embedded null byte",
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_without_leave(tmp_path):
    path = tmp_path / "run.json"
    path.write_text("{}")
    path.chmod(0)
    with pytest.raises(ContractError, match="cannot be read: Permission denied"):
        read_sweep(path)


def test_json_that_is_cut_off_says_where():
    text = json.dumps(RUN, indent=1)
    assert fault(text[: len(text) // 2]).startswith("run.json:18:21: ")
    assert "it is cut off" in fault(text[: len(text) // 2])
    lines = (FILES / "vllm_bench_serve_append.jsonl").read_text()
    assert fault(lines[:-40]).startswith("run.json:2:")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"duration": None}, "duration: is missing"),
        ({"duration": 0}, "duration: is 0"),
        ({"duration": -61.4}, "duration: -61.4 is negative"),
        ({"duration": float("nan")}, "duration: nan is not a finite number"),
        ({"duration": "61.4 s"}, "duration: '61.4 s' is not a number"),
        ({"duration": True}, "duration: True is not a number"),
        ({"duration": 10**400}, "duration: 1000"),
        ({"duration": [61.4]}, "duration: a list is not a number"),
        ({"completed": 480.5}, "completed: 480.5 is not a whole number"),
        ({"completed": 481, "failed": 2}, "completed: 481 and 2 failed are more than num_prompts 482"),
        ({"request_rate": "fast"}, "request_rate: 'fast' is not a rate"),
        ({"request_rate": 0}, "request_rate: is 0: no requests are offered"),
        ({"request_rate": float("nan")}, "request_rate: nan is not a finite number"),
        ({"request_throughput": 8.5}, "request_throughput: is 8.5, but completed 480 / duration 61.4 s is 7.81759"),
        ({"output_throughput": 2001.3}, "output_throughput: is 2,001.3, but total_output_tokens 61440 / duration"),
        ({"total_token_throughput": 1000.65}, "total_token_throughput: is 1,000.65, but all tokens 307200"),
        ({"p99_ttft_ms": float("inf")}, "p99_ttft_ms: inf is not a finite number"),
        ({"p99_ttft_ms": 50.0}, "p99_ttft_ms: is 0.05 s, less than median_ttft_ms with 0.062 s: percentiles cannot"),
        ({"p99_ttft_ms": 4e12}, "p99_ttft_ms: is 4,000,000,000 s, longer than any latency: is its unit right?"),
        ({"p50_ttft_ms": 70.0}, "p50_ttft_ms: is 0.07, but median_ttft_ms is 0.062"),
        ({"mean_e2el_ms": 1.9158}, "mean TTFT is 0.0743 s, but mean end-to-end latency is 0.0019158 s"),
    ],
)
def test_figures_that_cannot_be(values, said):
    found = fault(json.dumps(RUN | values))
    assert found.startswith("run.json: ")
    assert said in found


def test_two_percent_are_allowed():
    assert sweep_of_text(json.dumps(RUN | {"request_throughput": 7.8176 * 1.019}))
    assert "more than 2% apart" in fault(json.dumps(RUN | {"request_throughput": 7.8176 * 1.021}))


def test_every_line_with_a_problem_is_named():
    lines = [json.dumps(RUN | {"duration": bad}) for bad in (None, 61.4, -1.0)]
    with pytest.raises(ContractError) as caught:
        sweep_of_text("\n".join(lines), "runs.jsonl")
    assert [(problem.line, problem.key) for problem in caught.value.problems] == [(1, "duration"), (3, "duration")]


def test_not_a_thousand_problems():
    with pytest.raises(ContractError) as caught:
        sweep_of_text("\n".join([json.dumps(RUN | {"duration": 0})] * 1000))
    assert len(caught.value.problems) == 21
    assert caught.value.problems[-1].message == "980 more problems"


def test_places_in_deep_objects():
    report = json.loads((FILES / "guidellm_v0.7plus.json").read_text())
    report["benchmarks"][1]["metrics"]["request_latency"]["successful"]["percentiles"]["p99"] = "slow"
    key = re.escape("benchmarks[1].metrics.request_latency.successful.p99")
    assert re.search(rf"{key}: 'slow' is not a number", fault(json.dumps(report)))
    report["benchmarks"][1] = 7
    assert "benchmarks[1]: 7 is not an object" in fault(json.dumps(report))


def test_milliseconds_where_seconds_are_due():
    report = json.loads((FILES / "guidellm_v0.7plus.json").read_text())
    found = report["benchmarks"][0]["metrics"]["prompt_token_count"]["successful"]
    found["total_sum"] = 1000
    assert "total_sum: is 1,000, but mean 512 x count 480 is 245,760" in fault(json.dumps(report))


def test_a_table_whose_rows_are_cut_off():
    text = (FILES / "vllm_sweep_summary.csv").read_text()
    assert "the row has" in fault(text[:-60], "summary.csv")
    twice = text.replace(",rtfx,", ",duration,")
    assert "the column 'duration' stands twice" in fault(twice, "summary.csv")
    with pytest.raises(ContractError, match=r"aiperf.csv:2: 'Time to First Token' has no unit"):
        sweep_of_text((FILES / "aiperf.csv").read_text().replace("Token (ms)", "Token"), "aiperf.csv")


def test_counts_that_cannot_be_together():
    assert "goodput is 9 requests a second, but only 7.81759 completed" in fault(
        json.dumps(RUN | {"request_goodput": 9})
    )
    text = "requests_offered,completed,failed,duration_s\n480,480,2,60\n480,480,20,60\n"
    assert "500 requests completed, failed or were cut off, but 480 were sent" in fault(text)


def test_yaml_that_multiplies_is_read_in_no_time():
    lines = ["benchmarks:", "- metrics: {}", "  duration: *z"]
    bomb = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    bomb += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    text = "\n".join([*bomb, *lines]).replace("*z", "*a29")
    assert "successful: is missing" in fault(text)
    totals = "\n  request_totals: {successful: *a29}"
    assert "successful: a list is not a number" in fault(text + totals)


def test_a_header_of_many_unknown_columns_takes_no_time():
    with pytest.raises(ContractError) as caught:
        sweep_of_text("rate_rps," + ",".join(f"column{n}" for n in range(20_000)) + "\n1\n")
    assert len(caught.value.problems) == 20
