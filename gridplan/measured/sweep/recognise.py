"""Which tool wrote a text, by what stands in it, and its points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gridplan.errors import ContractError, Problem
from gridplan.measured.sweep import aiperf, genai_perf, inference_perf, llmperf, sglang, trtllm, vllm
from gridplan.measured.sweep.documents import json_documents, looks_like_yaml, yaml_document
from gridplan.measured.sweep.fields import Fields
from gridplan.measured.sweep.figures import impossible
from gridplan.measured.sweep.guidellm import guidellm_format, guidellm_point, guidellm_points_of
from gridplan.measured.sweep.guidellm_csv import guidellm_csv_points, is_guidellm_csv
from gridplan.measured.sweep.nvidia_csv import is_nvidia_csv, nvidia_csv_points
from gridplan.measured.sweep.plain_csv import has_known_column, plain_csv_points
from gridplan.measured.sweep.point import SweepPoint
from gridplan.measured.sweep.source import SINGLE_REQUESTS, ForeignError, unlike
from gridplan.measured.sweep.tables import header_of, record, table

__all__ = ["points_of_text"]

_MARKS: Mapping[str, tuple[str, ...]] = {
    "vLLM bench serve": vllm.MARKS,
    "SGLang bench_serving": sglang.MARKS,
    "AIPerf": aiperf.MARKS,
    "genai-perf": genai_perf.MARKS,
    "inference-perf": inference_perf.MARKS,
    "llmperf": llmperf.MARKS,
    "trtllm-bench": trtllm.MARKS,
}
_LIKE = 0.5
"""Share of a format's marks that makes an object one of it (policy): a file that lacks a key is still told which."""

_MOST_PROBLEMS = 20
_AIPERF_REQUESTS = "it holds single requests or an aggregate of AIPerf; give profile_export_aiperf.json"


def points_of_text(text: str, file: str) -> list[SweepPoint]:
    """The points of a text, in its order; one error with every problem where it cannot be read."""
    points = _points(text, file)
    if not points:
        raise ContractError([Problem("holds no load point: it has a header but no rows", file)])
    problems = [problem for point in points for problem in impossible(point)]
    if problems:
        raise ContractError(problems[:_MOST_PROBLEMS])
    return points


def _points(text: str, file: str) -> list[SweepPoint]:
    if text.lstrip()[:1] in ("{", "["):
        if SINGLE_REQUESTS in text[:4096]:  # spares reading all of them
            raise unlike(file, _AIPERF_REQUESTS)
        return _of_documents(json_documents(text, file), file)
    if looks_like_yaml(text):
        value = yaml_document(text, file)
        if guidellm_points_of(value) is None:
            raise unlike(file, "it is YAML, but not a report of GuideLLM")
        return _report(Fields(value, file), "-yaml")
    return _of_table(text, file)


def _of_documents(documents: list[tuple[int, Any]], file: str) -> list[SweepPoint]:
    several = len(documents) > 1
    makers: list[Callable[[], list[SweepPoint]]] = []
    for line, value in documents:
        if isinstance(value, list) and not several:
            if not value:
                raise unlike(file, "it is an empty list")
            for index, item in enumerate(value):
                makers.append(_maker(item, file, f"[{index}]", None, True))
        else:
            makers.append(_maker(value, file, f"line {line}" if several else "", line if several else None, False))
    return _all(makers)


def _maker(value: Any, file: str, place: str, line: int | None, listed: bool) -> Callable[[], list[SweepPoint]]:
    return lambda: _of_value(value, file, place, line, listed)


def _all(makers: list[Callable[[], list[SweepPoint]]]) -> list[SweepPoint]:
    """Points of all parts, or the problems of all."""
    points: list[SweepPoint] = []
    errors: list[ContractError] = []
    for make in makers:
        try:
            points += make()
        except ContractError as error:
            errors.append(error)
    if errors and not points and all(isinstance(error, ForeignError) for error in errors):
        raise errors[0]
    problems = [problem for error in errors for problem in error.problems]
    if len(problems) > _MOST_PROBLEMS:
        more = Problem(f"{len(problems) - _MOST_PROBLEMS} more problems", problems[0].file)
        problems = [*problems[:_MOST_PROBLEMS], more]
    if problems:
        raise ContractError(problems)
    return points


def _of_value(value: Any, file: str, place: str, line: int | None, listed: bool) -> list[SweepPoint]:
    if not isinstance(value, dict):
        raise unlike(file, f"it holds {type(value).__name__} where an object is due", line)
    fields = Fields(value, file, place if listed else "", line)
    if guidellm_points_of(value) is not None:
        return _report(fields, "")
    if inference_perf.is_inference_perf(value):
        return [inference_perf.inference_perf_point(fields, place)]
    if "performance" in value and "request_info" in value:
        return [trtllm.trtllm_point(fields, place)]
    if any(isinstance(key, str) and key.startswith("results_ttft_s") for key in value):
        return [llmperf.llmperf_point(fields, place)]
    if any(
        isinstance(value.get(key), dict) and "unit" in value[key] for key in ("request_latency", "request_throughput")
    ):
        return [_nvidia(fields, place)]
    name, share = _nearest(value)
    if share >= _LIKE and name == "SGLang bench_serving":
        return [sglang.sglang_point(fields, place)]
    if share >= _LIKE and name == "vLLM bench serve":
        form = "vllm-sweep-json" if listed and "run_number" in value else "vllm-bench-serve"
        return [vllm.vllm_point(fields, place, form)]
    raise unlike(file, _detail(value, name, share), line)


def _nearest(value: dict[str, Any]) -> tuple[str, float]:
    """The format whose marks an object has most of, and their share; SGLang before vLLM, whose keys it shares."""
    shares = {name: sum(mark in value for mark in marks) / len(marks) for name, marks in _MARKS.items()}
    name = max(shares, key=lambda each: (shares[each], each == "SGLang bench_serving"))
    return name, shares[name]


def _detail(value: dict[str, Any], name: str, share: float) -> str:
    metrics = value.get("metrics")
    if isinstance(value.get("metadata"), dict) and isinstance(metrics, dict):
        return _AIPERF_REQUESTS
    if "ttft_s" in value and "end_to_end_latency_s" in value:
        return "it holds single requests of llmperf; give the file ..._summary.json"
    if isinstance(value.get("benchmarks"), list):
        return "its benchmarks have no metrics, as in GuideLLM 0.1 or an empty report"
    if "median_ttft" in value or "p99_tpot" in value:
        return "its keys lack the unit, as in raw files of InferenceX"
    lacking = [mark for mark in _MARKS[name] if mark not in value]
    return f"it is nearest to {name}, but lacks {', '.join(lacking)}" if share else "it has no key of any"


def _nvidia(fields: Fields, place: str) -> SweepPoint:
    config = fields.values.get("input_config")
    config = config if isinstance(config, dict) else {}
    count = fields.values.get("request_count")
    counted = isinstance(count, dict) and count.get("unit") == "count"
    if "benchmark_duration" not in fields.values and ("perf_analyzer" in config or counted):
        return genai_perf.genai_perf_point(fields, place, "genai-perf-json")
    new = fields.has("aiperf_version") or fields.has("schema_version")
    return aiperf.aiperf_point(fields, place, "aiperf-0.13" if new else "aiperf-0.1")


def _report(report: Fields, suffix: str) -> list[SweepPoint]:
    form, version = guidellm_format(report)
    benchmarks = report.items("benchmarks")
    return _all(
        [
            lambda item=item, index=index: [  # type: ignore[misc]
                guidellm_point(item, f"benchmarks[{index}]", f"{form}{suffix}", version)
            ]
            for index, item in enumerate(benchmarks)
        ]
    )


def _of_table(text: str, file: str) -> list[SweepPoint]:
    rows = table(text, file)
    start, header = header_of(rows)
    if is_nvidia_csv(header):
        return nvidia_csv_points(rows[start:], file)
    if is_guidellm_csv(header):
        return guidellm_csv_points(rows, start, file)
    if sum(mark in header for mark in vllm.MARKS) > len(vllm.MARKS) * _LIKE:
        return _vllm_rows(rows[start:], file)
    if not has_known_column(header):
        raise unlike(file, "its first line is neither JSON nor a header with a column that is known")
    return plain_csv_points(rows, start, file)


def _vllm_rows(rows: list[tuple[int, list[str]]], file: str) -> list[SweepPoint]:
    header = rows[0][1]
    doubled = sorted({name for name in header if header.count(name) > 1})
    if doubled:
        raise ContractError([Problem(f"the column {doubled[0][:60]!r} stands twice", file, rows[0][0])])

    def made(row: tuple[int, list[str]]) -> Callable[[], list[SweepPoint]]:
        def make() -> list[SweepPoint]:
            values = record(header, row, file)
            values.pop("", None)  # the index of pandas
            return [vllm.vllm_point(Fields(values, file, line=row[0]), f"line {row[0]}", "vllm-sweep-csv")]

        return make

    return _all([made(row) for row in rows[1:] if any(row[1])])
