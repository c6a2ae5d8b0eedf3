"""The formats that are read, by id."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["FORMATS"]

FORMATS: Mapping[str, str] = {
    "vllm-bench-serve": "vLLM bench serve: one JSON object a run, or several in a file",
    "vllm-sweep-json": "vLLM bench sweep: a JSON list of runs of one combination",
    "vllm-sweep-csv": "vLLM bench sweep: the table of all runs",
    "sglang-bench-serving": "SGLang bench_serving: JSON lines, one object a run",
    "guidellm-0.2": "GuideLLM 0.2 and 0.3: JSON report",
    "guidellm-0.4": "GuideLLM 0.4 to 0.6: JSON report",
    "guidellm-0.7": "GuideLLM 0.7 on: JSON report",
    "guidellm-0.2-yaml": "GuideLLM 0.2 and 0.3: YAML report",
    "guidellm-0.4-yaml": "GuideLLM 0.4 to 0.6: YAML report",
    "guidellm-0.7-yaml": "GuideLLM 0.7 on: YAML report",
    "guidellm-0.2-csv": "GuideLLM 0.2 and 0.3: CSV with one header row",
    "guidellm-0.4-csv": "GuideLLM 0.4 on: CSV with three header rows; states no rate",
    "aiperf-0.1": "AIPerf with input_config.loadgen: JSON export",
    "aiperf-0.13": "AIPerf that states its version: JSON export",
    "aiperf-csv": "AIPerf: CSV export; states no load",
    "genai-perf-json": "genai-perf: JSON export",
    "genai-perf-csv": "genai-perf: CSV export; states no load",
    "inference-perf-stage": "inference-perf: the summary of one stage",
    "llmperf-summary": "llmperf: the summary of one run",
    "trtllm-bench-report": "trtllm-bench: the report of one run",
    "csv-table": "A CSV table of load points, its units in the names of its columns",
}
"""What each id of `SweepPoint.format` is."""
