"""llmperf: one flat object, times in seconds, a closed loop; `results_inter_token_latency_s` is e2e/n, TTFT included.

It states no duration, which is completed requests over their rate. Tokens are counted by a tokenizer of Llama 2,
whatever model answers.
"""

from __future__ import annotations

from gridplan.measured.sweep.fields import Fields, settings_of
from gridplan.measured.sweep.figures import Statistic, check_order, latency, streamed, token_rates
from gridplan.measured.sweep.point import Latency, SweepPoint

__all__ = ["MARKS", "llmperf_point"]

MARKS = ("results_ttft_s_mean", "results_end_to_end_latency_s_mean", "num_concurrent_requests", "results_error_rate")
"""Keys that every file of the format has, for recognising it."""

_PERCENTILES = (25, 50, 75, 90, 95, 99)


def llmperf_point(fields: Fields, place: str) -> SweepPoint:
    """The point of one run."""
    completed = fields.need_count("results_num_completed_requests")
    per_minute = fields.positive("results_num_completed_requests_per_min")
    duration_s = completed * 60 / per_minute
    inputs = fields.number("results_number_input_tokens_mean")
    outputs = fields.number("results_number_output_tokens_mean")
    rates = token_rates(
        None if inputs is None else inputs * completed, None if outputs is None else outputs * completed, duration_s
    )
    made = "results_mean_output_throughput_token_per_s"
    how = "output tokens x completed requests per minute / 60"
    fields.agree(made, fields.number(made), rates.get("output_tokens_per_s"), how)
    notes: list[str] = []
    ttft = streamed("TTFT", _latency(fields, "ttft_s"), notes)
    per_token, e2e = _latency(fields, "inter_token_latency_s"), _latency(fields, "end_to_end_latency_s")
    check_order(fields, ttft, e2e)
    return SweepPoint(
        file=fields.file,
        place=place,
        tool="llmperf",
        tool_version=fields.text("version"),
        format="llmperf-summary",
        loop="closed",
        achieved_rate_per_s=per_minute / 60,
        concurrency_limit=fields.positive("num_concurrent_requests"),
        requests_offered=fields.count("results_num_requests_started"),
        requests_completed=completed,
        requests_failed=fields.count("results_number_errors"),
        duration_s=duration_s,
        input_tokens_mean=inputs,
        output_tokens_mean=outputs,
        output_tokens_requested=fields.number("mean_output_tokens"),
        **rates,
        ttft=ttft,
        tpot=per_token,
        tpot_definition="includes_first_token" if per_token else "unknown",
        e2e=e2e,
        e2e_per_token=per_token,
        model=fields.text("model"),
        settings=settings_of(
            {key: value for key, value in fields.values.items() if not key.startswith("results_")},
            *("model", "version", "num_concurrent_requests", "mean_output_tokens"),
        ),
        notes=tuple(notes),
    )


def _latency(fields: Fields, name: str) -> Latency | None:
    at = f"results_{name}_"
    keys: list[tuple[Statistic, str]] = [("mean", f"{at}mean"), (0.0, f"{at}min"), (100.0, f"{at}max")]
    return latency(fields, [*keys, *((float(p), f"{at}quantiles_p{p}") for p in _PERCENTILES)], 0)
