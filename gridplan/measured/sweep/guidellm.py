"""GuideLLM 0.2 to 0.8: one report of several benchmarks, JSON or the same tree in YAML.

End-to-end latency is in seconds, all else in ms. Up to 0.3 a benchmark has `args` and `run_stats`, from 0.4 on `config`
and `scheduler_metrics`; the report's `metadata.version` is 1 up to 0.6 and 2 from 0.7 on. Only completed requests are
read, at `successful`; `incomplete` ones were cut off by the end of the run.

`inter_token_latency_ms` is (last - first)/(n - 1), one value a request, hence TPOT; there are no pooled gaps.
`time_per_output_token_ms` is e2e/n from 0.4 on; up to 0.3 it is (last - first)/n, which is neither and is not read.
Rates printed as means of a distribution over time differ by some per cent from totals over the duration, so totals are
used. Percentiles up to 0.3 lack p50, which is `median`.
"""

from __future__ import annotations

from typing import Any

from gridplan.measured.sweep.fields import Fields, settings_of
from gridplan.measured.sweep.figures import Statistic, check_order, latency, loop_of, streamed, token_rates
from gridplan.measured.sweep.point import Latency, Loop, SweepPoint, TpotDefinition

__all__ = ["guidellm_format", "guidellm_point", "guidellm_points_of"]

_KEYS: list[tuple[Statistic, str]] = [("mean", "mean"), (50.0, "median"), (0.0, "min"), (100.0, "max")]
_NAMES = {0.1: "p001", 1.0: "p01", 5.0: "p05", 10.0: "p10", 25.0: "p25", 50.0: "p50"}
_NAMES |= {75.0: "p75", 90.0: "p90", 95.0: "p95", 99.0: "p99", 99.9: "p999"}
_RATED = ("constant", "poisson", "async")
_OPEN = ("trace", "replay")


def guidellm_points_of(value: Any) -> list[Any] | None:
    """The benchmarks of a report; None where the value is none."""
    benchmarks = value.get("benchmarks") if isinstance(value, dict) else None
    known = isinstance(benchmarks, list) and any(isinstance(b, dict) and "metrics" in b for b in benchmarks)
    return benchmarks if known else None


def guidellm_format(report: Fields) -> tuple[str, str | None]:
    """Id of the format and version of the tool."""
    metadata = report.child("metadata")
    version = metadata.text("guidellm_version")
    if not metadata.values:
        return "guidellm-0.2", None
    return ("guidellm-0.7" if (metadata.count("version") or 1) >= 2 else "guidellm-0.4"), version


def guidellm_point(fields: Fields, place: str, form: str, version: str | None) -> SweepPoint:
    """The point of one benchmark."""
    old = form.startswith("guidellm-0.2")
    metrics, config = fields.child("metrics"), fields.child("args" if old else "config")
    totals = (fields if old else metrics).child("request_totals")
    completed = totals.need_count("successful")
    duration_s = fields.positive("duration")
    if fields.has("start_time") and fields.has("end_time"):
        window_s = fields.need("end_time") - fields.need("start_time")
        fields.agree("duration", duration_s, window_s, "end_time - start_time", step=0.05)
    inputs = _tokens(metrics, "prompt_token_count", completed)
    outputs = _tokens(metrics, "output_token_count", completed)
    rate, limit, loop = _load(config.child("strategy"))
    notes: list[str] = []
    ttft = streamed("TTFT", _latency(metrics, "time_to_first_token_ms", -3), notes)
    tpot = streamed("TPOT", _latency(metrics, "inter_token_latency_ms", -3), notes)
    definition: TpotDefinition = "excludes_first_token"
    per_token = None if old else _latency(metrics, "time_per_output_token_ms", -3)
    if tpot is None and not metrics.child("inter_token_latency_ms").child("successful").has("mean"):
        tpot, definition = per_token, "includes_first_token"
    e2e = _latency(metrics, "request_latency", 0)
    check_order(fields, ttft, e2e)
    running = metrics.child("request_concurrency").child("successful")
    return SweepPoint(
        file=fields.file,
        place=place,
        tool="guidellm",
        tool_version=version,
        format=form,
        loop=loop,
        offered_rate_per_s=rate,
        achieved_rate_per_s=completed / duration_s,
        concurrency_limit=limit,
        concurrency_mean=running.number("mean"),
        requests_offered=totals.count("total"),
        requests_completed=completed,
        requests_failed=totals.count("errored"),
        requests_cancelled=totals.count("incomplete"),
        duration_s=duration_s,
        warmup_s=(config if old else fields).number("warmup_duration"),
        warmup_requests=config.count("warmup_number") if old else None,
        input_tokens_mean=inputs[1],
        output_tokens_mean=outputs[1],
        **token_rates(inputs[0], outputs[0], duration_s),
        ttft=ttft,
        tpot=tpot,
        tpot_definition=definition if tpot else "unknown",
        e2e=e2e,
        e2e_per_token=per_token,
        model=_of(config, "backend").text("model"),
        backend=_of(config, "backend").text("type_"),
        settings=_settings(config, old),
        notes=tuple(notes),
    )


def _latency(metrics: Fields, name: str, power_of_ten: int) -> Latency | None:
    """The latency of completed requests; None where none has it."""
    found = metrics.child(name).child("successful")
    if found.number("count") == 0:
        return None
    percentiles = found.child("percentiles")
    merged = Fields({**found.values, **percentiles.values}, found.file, found.path, found.line)
    return latency(merged, [*_KEYS, *_NAMES.items()], power_of_ten)


def _tokens(metrics: Fields, name: str, completed: int) -> tuple[float | None, float | None]:
    """Tokens of all completed requests and of one; the total and the mean must multiply."""
    found = metrics.child(name).child("successful")
    mean, total = found.number("mean"), found.number("total_sum")
    if not completed or mean is None:
        return None, None
    of = found.count("count") or completed
    found.agree("total_sum", total, mean * of, f"mean {mean:g} x count {of}")
    return (mean * completed if total is None or of != completed else total), mean


def _load(strategy: Fields) -> tuple[float | None, float | None, Loop]:
    """Offered rate, most requests in flight, and the loop, by the kind of strategy."""
    kind = strategy.text("type_") or strategy.text("kind") or ""
    limit = strategy.number("max_concurrency")
    if kind == "synchronous":
        return None, 1.0, "closed"
    if kind == "concurrent":
        return None, strategy.number("streams") or None, "closed"
    if kind == "throughput":
        return None, limit, loop_of(None, True, limit)
    if kind in _RATED:
        return strategy.number("rate") or None, limit, "open"
    return None, limit, "open" if kind in _OPEN else "unknown"


def _of(config: Fields, key: str) -> Fields:
    """The object at a key, where it is one: some releases write a text there."""
    return config.child(key) if isinstance(config.values.get(key), dict) else Fields({}, config.file)


def _settings(config: Fields, old: bool) -> dict[str, Any]:
    strategy = settings_of({"strategy": _of(config, "strategy").values})
    rest = ("strategy", "backend", "environment", "requests", "id_", "run_id", "profile", "constraints")
    found = settings_of(config.values, *rest) | strategy
    kind = _of(config, "profile").text("type_")
    return found | ({"profile": kind} if kind else {})
