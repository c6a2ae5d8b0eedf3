"""trtllm-bench: one report, times in ms, inside the engine's process, so that TTFT has no network in it.

TTFT and TPOT are there only with `--streaming`. It counts no errors and does not state the limit of `--concurrency`.
`issue_rate` is a rate only where it is one of requests: releases that print the gap between arrivals in its place have
values no client reaches.
"""

from __future__ import annotations

from typing import Any

from gridplan.measured.sweep.fields import Fields, settings_of
from gridplan.measured.sweep.figures import Statistic, check_order, latency, streamed, token_rates
from gridplan.measured.sweep.point import Latency, SweepPoint

__all__ = ["MARKS", "trtllm_point"]

MARKS = ("world_info", "performance", "request_info", "engine")
"""Keys that every file of the format has, for recognising it."""

_MOST_RATE = 1e5
"""Larger issue rates are none (policy): no client sends as many requests a second."""

_KEYS: list[tuple[Statistic, str]] = [("mean", "average"), (0.0, "minimum"), (100.0, "maximum")]
_KEYS += [(float(p), f"p{p}") for p in (50, 90, 95, 99)]


def trtllm_point(fields: Fields, place: str) -> SweepPoint:
    """The point of one run."""
    info, performance = fields.child("request_info"), fields.child("performance")
    completed = info.need_count("num_requests")
    duration_s = performance.positive("total_latency_ms", -3)
    inputs, outputs = info.number("avg_input_length"), info.number("avg_output_length")
    rates = token_rates(
        None if inputs is None else inputs * completed, None if outputs is None else outputs * completed, duration_s
    )
    over = f"/ total_latency_ms {duration_s * 1000:g}"
    for key, reckoned, how in (
        ("request_throughput_req_s", completed / duration_s, "num_requests"),
        ("system_output_throughput_tok_s", rates.get("output_tokens_per_s"), "output tokens"),
        ("system_total_throughput_tok_s", rates.get("total_tokens_per_s"), "all tokens"),
    ):
        performance.agree(key, performance.number(key), reckoned, f"{how} {over}")
    notes: list[str] = []
    streaming = fields.child("streaming_metrics")
    ttft = streamed("TTFT", _latency(streaming, "ttft_percentiles"), notes)
    tpot = streamed("TPOT", _latency(streaming, "tpot_percentiles"), notes)
    e2e = _latency(performance, "request_latency_percentiles_ms")
    check_order(fields, ttft, e2e)
    world, engine = fields.child("world_info"), fields.child("engine")
    rate = _issue_rate(world, notes)
    return SweepPoint(
        file=fields.file,
        place=place,
        tool="trtllm-bench",
        tool_version=engine.text("version"),
        format="trtllm-bench-report",
        loop="unknown" if rate is None else "open",
        offered_rate_per_s=rate,
        achieved_rate_per_s=completed / duration_s,
        concurrency_mean=info.number("avg_num_concurrent_requests"),
        requests_completed=completed,
        duration_s=duration_s,
        input_tokens_mean=inputs,
        output_tokens_mean=outputs,
        **rates,
        ttft=ttft,
        tpot=tpot,
        tpot_definition="excludes_first_token" if tpot else "unknown",
        e2e=e2e,
        model=engine.text("model"),
        backend=engine.text("backend"),
        settings=_settings(fields, engine, world),
        notes=tuple(notes),
    )


def _issue_rate(world: Fields, notes: list[str]) -> float | None:
    value = world.values.get("issue_rate")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if 0 < value <= _MOST_RATE:
        return float(value)
    notes.append("issue_rate is no rate of requests, so no rate is offered")
    return None


def _latency(fields: Fields, name: str) -> Latency | None:
    return latency(fields.child(name), _KEYS, -3)


def _settings(fields: Fields, engine: Fields, world: Fields) -> dict[str, Any]:
    machine = fields.child("machine").text("name")
    found = settings_of(engine.values, "model", "version", "backend") | settings_of(world.values, "issue_rate")
    return found | ({"machine": machine} if machine else {})
