"""vLLM `bench serve` and `bench sweep serve`: one flat object a run, times in ms, throughput over the whole run.

The keys are those of vllm/benchmarks/serve.py (0.33) and of benchmark_serving.py before it (from 2024), where `failed`
is missing and goodput stands at `request_goodput:`. TPOT is (latency - ttft)/(n - 1), requests of one token left out;
ITL is pooled over all gaps. The token totals are those of completed requests.
"""

from __future__ import annotations

import re

from gridplan.measured.sweep.fields import Fields, settings_of
from gridplan.measured.sweep.figures import (
    Statistic,
    check_order,
    latency,
    loop_of,
    per_request,
    rate_of,
    streamed,
    token_rates,
)
from gridplan.measured.sweep.point import Latency, Loop, SweepPoint

__all__ = ["MARKS", "statistics", "vllm_point"]

MARKS = ("median_ttft_ms", "request_throughput", "total_token_throughput", "num_prompts", "tokenizer_id")
"""Keys that every file of the format has, for recognising it."""

_STATISTIC = re.compile(r"(mean|median|std|p\d{1,2}(?:\.\d+)?)_(ttft|tpot|itl|e2el|e2e_latency)_ms")
_RESULTS = (
    *("duration", "completed", "failed", "total_input_tokens", "total_output_tokens", "request_throughput"),
    *("output_throughput", "total_token_throughput", "request_goodput", "request_goodput:", "model_id", "backend"),
    *("num_prompts", "input_throughput"),
)


def vllm_point(fields: Fields, place: str, form: str = "vllm-bench-serve") -> SweepPoint:
    """The point of one run."""
    duration_s = fields.positive("duration")
    completed = fields.need_count("completed")
    offered, failed = fields.count("num_prompts"), fields.count("failed")
    if offered is not None:
        if completed + (failed or 0) > offered:
            raise fields.error("completed", f"{completed} and {failed or 0} failed are more than num_prompts {offered}")
        failed = offered - completed if failed is None else failed
    inputs, outputs = fields.need("total_input_tokens"), fields.need("total_output_tokens")
    over = f"/ duration {duration_s:g} s"
    achieved = fields.number("request_throughput")
    fields.agree("request_throughput", achieved, completed / duration_s, f"completed {completed} {over}")
    made = fields.number("output_throughput")
    fields.agree("output_throughput", made, outputs / duration_s, f"total_output_tokens {outputs:.0f} {over}")
    total = fields.number("total_token_throughput")
    fields.agree(
        "total_token_throughput", total, (inputs + outputs) / duration_s, f"all tokens {inputs + outputs:.0f} {over}"
    )
    rate, unlimited = rate_of(fields, "request_rate")
    limit = fields.number("max_concurrency")
    loop: Loop = loop_of(rate, unlimited, limit)
    notes: list[str] = []
    if fields.has("ramp_up_strategy"):
        rate, loop = None, "open"
        notes.append("the rate ramps up during the run, so no rate is offered")
    found = statistics(fields)
    ttft, tpot = streamed("TTFT", found.get("ttft"), notes), streamed("TPOT", found.get("tpot"), notes)
    e2e = found.get("e2el")
    check_order(fields, ttft, e2e)
    read = {match[0] for match in map(_STATISTIC.fullmatch, fields.values) if match}
    return SweepPoint(
        file=fields.file,
        place=place,
        tool="vllm",
        format=form,
        loop=loop,
        offered_rate_per_s=rate,
        achieved_rate_per_s=completed / duration_s,
        concurrency_limit=limit,
        requests_offered=offered,
        requests_completed=completed,
        requests_failed=failed,
        duration_s=duration_s,
        input_tokens_mean=per_request(inputs, completed),
        output_tokens_mean=per_request(outputs, completed),
        **token_rates(inputs, outputs, duration_s),
        goodput_rate_per_s=fields.number("request_goodput" if fields.has("request_goodput") else "request_goodput:"),
        ttft=ttft,
        tpot=tpot,
        tpot_definition="excludes_first_token" if tpot else "unknown",
        itl=found.get("itl"),
        e2e=e2e,
        model=fields.text("model_id"),
        backend=fields.text("backend"),
        settings=settings_of(fields.values, *_RESULTS, *read),
        notes=tuple(notes),
    )


def statistics(fields: Fields) -> dict[str, Latency]:
    """Every latency that keys like `p99_ttft_ms` state, by its name in them."""
    keys: dict[str, list[tuple[Statistic, str]]] = {}
    for key in fields.values:
        match = _STATISTIC.fullmatch(key)
        if match is None or match[1] == "std":
            continue
        named = {"mean": "mean", "median": 50.0}.get(match[1])
        statistic: Statistic = float(match[1][1:]) if named is None else named  # type: ignore[assignment]
        keys.setdefault(match[2], []).append((statistic, key))
    found = {name: latency(fields, listed, -3) for name, listed in keys.items()}
    return {name: value for name, value in found.items() if value is not None}
