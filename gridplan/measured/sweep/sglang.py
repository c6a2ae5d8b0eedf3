"""SGLang `bench_serving`: JSON lines, one object a run, times in ms; a file may mix runs of several models.

The keys are those of sglang/benchmark/serving.py (0.5.23) and of bench_serving.py before it, which lacks p90, p95,
`total_throughput` and goodput. Neither failures nor requests sent are counted. `concurrency` is measured,
`max_concurrency` is the setting. Lengths are uniform between `random_range_ratio` times the nominal length and it, so a
ratio of 0 halves the mean: measured means come from the token totals, never from the nominal length.
"""

from __future__ import annotations

from gridplan.measured.sweep.fields import Fields, settings_of
from gridplan.measured.sweep.figures import check_order, loop_of, per_request, rate_of, streamed, token_rates
from gridplan.measured.sweep.point import Loop, SweepPoint
from gridplan.measured.sweep.vllm import statistics

__all__ = ["MARKS", "sglang_point"]

MARKS = ("total_output_tokens_retokenized", "mean_e2e_latency_ms", "input_throughput", "request_throughput")
"""Keys that every file of the format has, for recognising it."""

_RESULTS = (
    *("duration", "completed", "total_input_tokens", "total_output_tokens", "request_throughput", "input_throughput"),
    *("output_throughput", "total_throughput", "request_goodput", "concurrency", "backend", "server_info"),
)
_GAP = 0.1


def sglang_point(fields: Fields, place: str) -> SweepPoint:
    """The point of one run."""
    duration_s = fields.positive("duration")
    completed = fields.need_count("completed")
    inputs, outputs = fields.need("total_input_tokens"), fields.need("total_output_tokens")
    rates = token_rates(inputs, outputs, duration_s)
    over = f"/ duration {duration_s:g} s"
    achieved = fields.number("request_throughput")
    fields.agree("request_throughput", achieved, completed / duration_s, f"completed {completed} {over}")
    for key, name, total in (
        ("input_throughput", "input_tokens_per_s", inputs),
        ("output_throughput", "output_tokens_per_s", outputs),
        ("total_throughput", "total_tokens_per_s", inputs + outputs),
    ):
        fields.agree(key, fields.number(key), rates[name], f"{total:.0f} tokens {over}")
    limit = fields.number("max_concurrency")
    rate, loop = _load(fields, limit)
    notes: list[str] = []
    found = statistics(fields)
    ttft, tpot = streamed("TTFT", found.get("ttft"), notes), streamed("TPOT", found.get("tpot"), notes)
    e2e = found.get("e2e_latency")
    check_order(fields, ttft, e2e)
    running = fields.number("concurrency")
    if e2e is not None and e2e.mean_s is not None:
        fields.agree("concurrency", running, completed * e2e.mean_s / duration_s, "completed x mean latency / duration")
    again = fields.number("total_output_tokens_retokenized")
    if again is not None and outputs and abs(again - outputs) > _GAP * outputs:
        notes.append(f"the answers hold {again:,.0f} tokens when counted again, not {outputs:,.0f}")
    server = fields.values.get("server_info")
    server = server if isinstance(server, dict) else {}
    read = [key for key in fields.values if key.endswith(("_ttft_ms", "_tpot_ms", "_itl_ms", "_e2e_latency_ms"))]
    return SweepPoint(
        file=fields.file,
        place=place,
        tool="sglang",
        format="sglang-bench-serving",
        loop=loop,
        offered_rate_per_s=rate,
        achieved_rate_per_s=completed / duration_s,
        concurrency_limit=limit,
        concurrency_mean=running,
        requests_completed=completed,
        duration_s=duration_s,
        input_tokens_mean=per_request(inputs, completed),
        output_tokens_mean=per_request(outputs, completed),
        output_tokens_requested=_requested(fields),
        **rates,
        goodput_rate_per_s=fields.number("request_goodput"),
        ttft=ttft,
        tpot=tpot,
        tpot_definition="excludes_first_token" if tpot else "unknown",
        itl=found.get("itl"),
        e2e=e2e,
        model=Fields(server, fields.file).text("model_path"),
        backend=fields.text("backend"),
        settings=settings_of(fields.values, *_RESULTS, *read),
        notes=tuple(notes),
    )


def _load(fields: Fields, limit: float | None) -> tuple[float | None, Loop]:
    """The offered rate and the loop; arrivals of a trace are open, at no one rate."""
    if fields.values.get("request_rate") == "trace":
        return None, "open"
    rate, unlimited = rate_of(fields, "request_rate")
    return rate, loop_of(rate, unlimited, limit)


def _requested(fields: Fields) -> float | None:
    """Mean of the uniform output lengths that the random data set asks for; None for other data sets."""
    dataset = fields.text("dataset_name") or ""
    longest, ratio = fields.count("random_output_len"), fields.number("random_range_ratio")
    if not dataset.startswith("random") or longest is None or ratio is None or ratio > 1:
        return None
    return (max(int(longest * ratio), 1) + longest) / 2
