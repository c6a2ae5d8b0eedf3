"""NVIDIA genai-perf, JSON and CSV export. It counts no errors.

It states no duration, which is requests over their rate. Without streaming there is no TTFT and no ITL. The CSV states
neither the load nor the model.
"""

from __future__ import annotations

from collections.abc import Mapping

from gridplan.measured.sweep.fields import AGREE_WITHIN, Fields, settings_of
from gridplan.measured.sweep.figures import loop_of, token_rates
from gridplan.measured.sweep.metric_objects import Metrics, latencies
from gridplan.measured.sweep.point import SweepPoint

__all__ = ["MARKS", "genai_perf_point"]

MARKS = ("request_latency", "request_throughput", "request_count", "input_config", "output_token_throughput")
"""Keys that files of the format have, for recognising it."""


def genai_perf_point(fields: Fields, place: str, form: str, step: float = 0.0) -> SweepPoint:
    """The point of one run."""
    metrics = Metrics(fields, step)
    completed = metrics.count("request_count")
    achieved = metrics.average("request_throughput")
    if completed is None:
        raise fields.error("request_count", "is missing")
    if not achieved:
        raise fields.error("request_throughput", "is missing or 0")
    duration_s = completed / achieved
    each_in, each_out = metrics.average("input_sequence_length"), metrics.average("output_sequence_length")
    rates = token_rates(
        None if each_in is None else each_in * completed, None if each_out is None else each_out * completed, duration_s
    )
    how = "output_sequence_length x request_throughput"
    made = metrics.average("output_token_throughput")
    slack = step * (1 + (each_out or 0))
    fields.agree("output_token_throughput", made, rates.get("output_tokens_per_s"), how, slack)
    config = fields.child("input_config")
    stimulus = config.child("perf_analyzer").child("stimulus")
    rate, limit = stimulus.number("request_rate") or None, stimulus.number("concurrency") or None
    notes: list[str] = []
    if step > AGREE_WITHIN * achieved:
        notes.append(f"the rate {achieved:g} is printed with two decimals, so duration and token rates are rough")
    times = latencies(metrics, notes)
    endpoint = config.values.get("endpoint")
    names = config.values.get("model_names")
    return SweepPoint(
        file=fields.file,
        place=place,
        tool="genai-perf",
        format=form,
        loop=loop_of(rate, False, limit),
        offered_rate_per_s=rate,
        achieved_rate_per_s=achieved,
        concurrency_limit=limit,
        requests_completed=completed,
        duration_s=duration_s,
        input_tokens_mean=each_in,
        output_tokens_mean=each_out,
        **rates,
        goodput_rate_per_s=metrics.average("request_goodput"),
        **times,
        tpot_definition="excludes_first_token" if times["tpot"] else "unknown",
        model=", ".join(map(str, names)) if isinstance(names, list) and names else None,
        settings=settings_of({"endpoint": endpoint}) if isinstance(endpoint, Mapping) else {},
        notes=tuple(notes),
    )
