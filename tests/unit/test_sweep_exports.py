"""GuideLLM's YAML and CSV exports say what its JSON says, as far as they go."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
import yaml

from gridplan.errors import ContractError
from gridplan.measured.sweep import sweep_of_text

FILES = Path(__file__).parent / "sweep_files"
OLD = "guidellm_v0.2-v0.3.json"
NEW = "guidellm_v0.4-v0.6.json"
ORDER = ("p001", "p01", "p05", "p10", "p25", "p75", "p90", "p95", "p99")
COLUMNS = {
    "request_latency": ("Request Latency", "Sec"),
    "time_to_first_token_ms": ("Time to First Token", "ms"),
    "time_per_output_token_ms": ("Time per Output Token", "ms"),
    "inter_token_latency_ms": ("Inter Token Latency", "ms"),
    "requests_per_second": ("Server Throughput", "Requests/Sec"),
    "request_concurrency": ("Server Throughput", "Concurrency"),
    "prompt_token_count": ("Token Metrics", "Input Tokens"),
    "output_token_count": ("Token Metrics", "Output Tokens"),
}


def statistics(metric: dict) -> list:
    found = metric["successful"]
    listed = [found["min"], *(found["percentiles"][name] for name in ORDER), found["max"]]
    return [found["mean"], found["median"], found["std_dev"], str(listed)]


def new_csv(report: dict) -> str:
    """Three header rows: a group, a name, and a unit or a statistic; a strategy is named without its rate."""
    header: list[tuple[str, str, str]] = []
    rows = []
    for benchmark in report["benchmarks"]:
        cells: list[tuple[tuple[str, str, str], object]] = [
            (("Run Info", "Run ID", ""), "r1"),
            (("Benchmark", "Strategy", ""), benchmark["config"]["strategy"]["type_"]),
            (("Timings", "Start Time", ""), "2026-01-15 10:15:00"),
            (("Timings", "Duration", "Sec"), benchmark["duration"]),
            (("Timings", "Warmup", "Sec"), benchmark["warmup_duration"]),
        ]
        totals = benchmark["metrics"]["request_totals"]
        cells += [(("Request Counts", name.capitalize(), ""), count) for name, count in totals.items()]
        for metric, (group, unit) in COLUMNS.items():
            names = ("Mean", "Median", "Std Dev", "Percentiles")
            values = statistics(benchmark["metrics"][metric])
            cells += [((group, f"Successful {unit}", n), v) for n, v in zip(names, values, strict=True)]
        cells.append((("Runtime Info", "Metadata", ""), json.dumps(report["metadata"])))
        header = [place for place, _ in cells]
        rows.append([value for _, value in cells])
    return written([*zip(*header, strict=True), *rows])


def old_csv(report: dict) -> str:
    """One header row; the strategy's name has its rate or its streams."""
    header, rows = [], []
    for benchmark in report["benchmarks"]:
        strategy = benchmark["args"]["strategy"]
        at = f"{strategy['rate']:.2f}" if "rate" in strategy else strategy["streams"]
        cells: dict[str, object] = {"Type": "generative_benchmark", "Run Id": "r1", "Id": "b1"}
        cells |= {"Name": f"{strategy['type_']}@{at}", "Start Time": "-", "End Time": "-", "Duration": 61.4}
        for status, count in benchmark["request_totals"].items():
            cells[f"{status.capitalize()} Requests"] = count
        for metric in COLUMNS:
            said = f"Successful {metric.replace('_', ' ').capitalize()}"
            listed = "[min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]"
            cells |= zip(
                (f"{said} {name}" for name in ("mean", "median", "std dev", listed)),
                statistics(benchmark["metrics"][metric]),
                strict=True,
            )
        header = list(cells)
        rows.append(list(cells.values()))
    return written([header, *rows])


def written(rows: list) -> str:
    stream = io.StringIO()
    csv.writer(stream).writerows(rows)
    return stream.getvalue()


def report(name: str) -> dict:
    return json.loads((FILES / name).read_text())


def points(name: str):
    return sweep_of_text((FILES / name).read_text())


SAME = ("loop", "requests_offered", "requests_completed", "requests_failed", "requests_cancelled", "duration_s")
SAME += ("achieved_rate_per_s", "concurrency_mean", "input_tokens_mean", "output_tokens_mean", "output_tokens_per_s")
SAME += ("tpot_definition", "tool")


@pytest.mark.parametrize("name", [OLD, NEW])
def test_yaml_is_json(name):
    found = sweep_of_text(yaml.dump(report(name)))
    for ours, theirs in zip(found, points(name), strict=True):
        assert ours.format == f"{theirs.format}-yaml"
        for field in (*SAME, "offered_rate_per_s", "concurrency_limit", "ttft", "tpot", "e2e", "settings"):
            assert getattr(ours, field) == getattr(theirs, field)


@pytest.mark.parametrize(
    ("name", "made", "form"), [(OLD, old_csv, "guidellm-0.2-csv"), (NEW, new_csv, "guidellm-0.4-csv")]
)
def test_csv_is_json_without_p999(name, made, form):
    found = sweep_of_text(made(report(name)), "benchmarks.csv")
    for ours, theirs in zip(found, points(name), strict=True):
        assert ours.format == form
        for field in SAME:
            assert getattr(ours, field) == getattr(theirs, field), field
        for latency in ("ttft", "tpot", "e2e"):
            left = {p: s for p, s in getattr(theirs, latency).percentiles_s.items() if p != 99.9}
            assert getattr(ours, latency).mean_s == getattr(theirs, latency).mean_s
            assert getattr(ours, latency).percentiles_s == left
    rates = [point.offered_rate_per_s for point in found]
    assert rates == ([8.0, None] if form == "guidellm-0.2-csv" else [None, None])
    assert found[1].concurrency_limit == (16.0 if form == "guidellm-0.2-csv" else None)


def test_csv_of_04_knows_its_version_and_warm_up():
    point = sweep_of_text(new_csv(report(NEW)))[0]
    assert (point.tool_version, point.warmup_s) == ("0.6.0", 0.0)
    assert point.e2e_per_token.mean_s == 0.01497


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[0.038", "[[0.038", "is no list of 11 statistics"),
        ("[38, ", "[", "is no list of 11 statistics"),
        ("constant,", "constant,,", "the row has"),
        ("61.4,", ",", "duration: is missing"),
    ],
)
def test_csv_that_is_broken(old, new, said):
    text = new_csv(report(NEW))
    if old == "[0.038":
        old, new = "[38, ", "[[38, "
    with pytest.raises(ContractError, match=said):
        sweep_of_text(text.replace(old, new))


def test_csv_that_lacks_itl_has_tpot_with_the_first_token():
    """GuideLLM leaves out a metric that no request has."""
    found = report(NEW)
    text = new_csv(found)
    rows = list(csv.reader(io.StringIO(text)))
    kept = [n for n, group in enumerate(rows[0]) if group != "Inter Token Latency"]
    point = sweep_of_text(written([[row[n] for n in kept] for row in rows]))[0]
    assert (point.tpot_definition, point.tpot.mean_s) == ("includes_first_token", 0.01497)
