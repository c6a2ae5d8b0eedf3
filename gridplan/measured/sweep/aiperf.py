"""NVIDIA AIPerf, JSON and CSV export: 0.1 with `input_config.loadgen`, later releases with `input_config.phases`.

The CSV states neither the load nor the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gridplan.measured.sweep.fields import Fields, settings_of
from gridplan.measured.sweep.figures import loop_of, token_rates
from gridplan.measured.sweep.metric_objects import Metrics, latencies
from gridplan.measured.sweep.point import Loop, SweepPoint

__all__ = ["MARKS", "aiperf_point"]

MARKS = ("benchmark_duration", "request_latency", "request_throughput", "request_count", "input_config")
"""Keys that files of the format have, for recognising it."""

_RATED = ("poisson", "gamma", "constant", "request_rate")


def aiperf_point(fields: Fields, place: str, form: str, step: float = 0.0) -> SweepPoint:
    """The point of one run."""
    metrics = Metrics(fields, step)
    completed = metrics.count("request_count")
    if completed is None:
        raise fields.error("request_count", "is missing")
    duration_s = metrics.seconds("benchmark_duration")
    if not duration_s:
        raise fields.error("benchmark_duration", "is missing or 0")
    achieved = metrics.average("request_throughput")
    over = f"/ benchmark_duration {duration_s:g} s"
    fields.agree("request_throughput", achieved, completed / duration_s, f"request_count {completed} {over}", step)
    inputs = _total(metrics, "total_isl", "input_sequence_length", completed)
    outputs = _total(metrics, "total_osl", "output_sequence_length", completed)
    rates = token_rates(inputs, outputs, duration_s)
    made, total = metrics.average("output_token_throughput"), metrics.average("total_token_throughput")
    fields.agree("output_token_throughput", made, rates.get("output_tokens_per_s"), f"output tokens {over}", step)
    fields.agree("total_token_throughput", total, rates.get("total_tokens_per_s"), f"all tokens {over}", step)
    notes: list[str] = []
    config = fields.child("input_config")
    load = _load(config, notes)
    times = latencies(metrics, notes)
    return SweepPoint(
        file=fields.file,
        place=place,
        tool="aiperf",
        tool_version=fields.text("aiperf_version"),
        format=form,
        **load,
        achieved_rate_per_s=completed / duration_s,
        concurrency_mean=metrics.average("effective_concurrency")
        if _is_count(fields, "effective_concurrency")
        else None,
        requests_completed=completed,
        requests_failed=_failed(fields, metrics),
        duration_s=duration_s,
        input_tokens_mean=metrics.average("input_sequence_length"),
        output_tokens_mean=metrics.average("output_sequence_length"),
        output_tokens_requested=_requested(config),
        **rates,
        goodput_rate_per_s=metrics.average("goodput"),
        **times,
        tpot_definition="excludes_first_token" if times["tpot"] else "unknown",
        model=_model(config),
        settings=_settings(fields, config),
        notes=tuple(notes),
    )


def _total(metrics: Metrics, total: str, mean: str, completed: int) -> float | None:
    """Tokens of all completed requests; a total that is stated must be the mean times their number."""
    each, stated = metrics.average(mean), metrics.average(total)
    reckoned = None if each is None else each * completed
    metrics.fields.agree(total, stated, reckoned, f"{mean} x request_count {completed}", metrics.step * completed)
    return reckoned if stated is None else stated


def _load(config: Fields, notes: list[str]) -> dict[str, Any]:
    """The load, by the names of the normal form; None and `unknown` where several phases were measured together."""
    if isinstance(config.values.get("loadgen"), Mapping):
        given = config.child("loadgen")
        rate, limit = given.number("request_rate") or None, given.number("concurrency") or None
        return {
            "loop": loop_of(rate, False, limit),
            "offered_rate_per_s": rate,
            "concurrency_limit": limit,
            "requests_offered": given.count("request_count"),
            "warmup_requests": given.count("warmup_request_count"),
        }
    phases = config.items("phases") if isinstance(config.values.get("phases"), list) else []
    warmups = [phase for phase in phases if _warms_up(phase)]
    measured = [phase for phase in phases if not _warms_up(phase)]
    if len(measured) > 1:
        notes.append(f"{len(measured)} phases of load were measured together, so no rate is offered")
    if len(measured) != 1:
        return {"loop": "unknown"}
    phase = measured[0]
    kind = phase.text("type") or ""
    limit = phase.number("concurrency") or None
    rate = phase.positive("rate") if kind in _RATED else None
    loop: Loop = "open" if rate is not None else "closed" if kind == "concurrency" else "unknown"
    requests = [found.count("requests") for found in warmups]
    return {
        "loop": loop,
        "offered_rate_per_s": rate,
        "concurrency_limit": limit,
        "requests_offered": phase.count("requests"),
        "warmup_requests": sum(n or 0 for n in requests) if requests and None not in requests else None,
    }


def _warms_up(phase: Fields) -> bool:
    said = f"{phase.text('name')} {phase.text('type')}".lower().replace("-", "").replace("_", "")
    return "warmup" in said or phase.values.get("exclude_from_results") is True


def _is_count(fields: Fields, name: str) -> bool:
    return isinstance(fields.values.get(name), Mapping) and fields.child(name).text("unit") in ("requests", "count")


def _failed(fields: Fields, metrics: Metrics) -> int | None:
    """Requests that failed: counted, or summed over the summary of errors, which lists all of them."""
    counted = metrics.count("error_request_count")
    if counted is not None or not isinstance(fields.values.get("error_summary"), list):
        return counted
    return sum(item.count("count") or 0 for item in fields.items("error_summary"))


def _requested(config: Fields) -> float | None:
    prompt: Any = config.values.get("input")
    for key in ("prompt", "output_tokens"):
        prompt = prompt.get(key) if isinstance(prompt, Mapping) else None
    return Fields(prompt, config.file, "input_config.input.prompt.output_tokens").number("mean") if prompt else None


def _model(config: Fields) -> str | None:
    endpoint = config.values.get("endpoint")
    names = endpoint.get("model_names") if isinstance(endpoint, Mapping) else None
    names = names if names is not None else config.values.get("models", config.values.get("model_names"))
    if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
        return ", ".join(names)
    return names if isinstance(names, str) and names else None


def _settings(fields: Fields, config: Fields) -> dict[str, Any]:
    found = settings_of({key: fields.values[key] for key in ("was_cancelled", "is_complete") if key in fields.values})
    for key in ("endpoint", "loadgen"):
        if isinstance(config.values.get(key), Mapping):
            found |= settings_of({key: config.values[key]})
    for index, phase in enumerate(config.values.get("phases") or []):
        if isinstance(phase, Mapping):
            found |= settings_of({f"phases[{index}]": phase})
    return found
