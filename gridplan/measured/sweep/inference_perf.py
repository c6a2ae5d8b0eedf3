"""inference-perf 0.1 to 0.6: one file a stage, all latencies in seconds.

Releases 0.1 and 0.2 counted every event of the stream, blank ones too, so that their TPOT and ITL are about half of the
time of a token; they are marked `per_event` where the file shows it. The file of all stages together is no load point.
A share of cached prompt tokens of 0 is also written where the server reports none, so 0 is not known.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from gridplan.errors import Problem
from gridplan.measured.sweep.fields import AGREE_WITHIN, Fields, settings_of
from gridplan.measured.sweep.figures import Statistic, check_order, latency, loop_of, streamed, token_rates
from gridplan.measured.sweep.point import Latency, SweepPoint, TpotDefinition
from gridplan.measured.sweep.source import ForeignError

__all__ = ["MARKS", "inference_perf_point", "is_inference_perf", "mixes_stages"]

MARKS = ("load_summary", "successes", "failures")
"""Keys that every file of the format has, for recognising it."""

_KEYS: list[tuple[Statistic, str]] = [("mean", "mean"), (50.0, "median"), (0.0, "min"), (100.0, "max")]
_KEYS += [(float(p), f"p{p:g}") for p in (0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9)]
_STAGE = re.compile(r"stage_(\d{1,6})_")

_EVENT_SHARE = 0.75
"""A mean TPOT below this share of (e2e - ttft)/(n - 1) counts events (measurement: 0.48 in published sweeps)."""

_BLANK_SHARE = 0.1
"""A median gap below this share of the mean gap comes of blank events (measurement: 0.04 ms against 6 ms)."""


def is_inference_perf(value: Any) -> bool:
    """Whether a value is a summary of requests."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("load_summary"), dict)
        and isinstance(value.get("successes"), dict)
        and "latency" in value["successes"]
    )


def mixes_stages(value: Any, file: str) -> bool:
    """Whether a summary is of all stages together: it states no load, and its name says no stage."""
    load = value["load_summary"]
    stated = load.get("requested_rate") is not None or load.get("concurrency") is not None
    return not stated and _STAGE.search(Path(file).name) is None


def inference_perf_point(fields: Fields, place: str) -> SweepPoint:
    """The point of one stage."""
    if mixes_stages(fields.values, fields.file):
        shown = "states no rate: it sums up all stages, which are several loads; give the files of the stages"
        raise ForeignError([Problem(shown, fields.file, fields.line, key="load_summary")])
    load, done = fields.child("load_summary"), fields.child("successes")
    completed = done.need_count("count")
    throughput, times = done.child("throughput"), done.child("latency")
    achieved = throughput.number("requests_per_sec")
    duration_s = fields.number("benchmark_time_seconds")
    if duration_s:
        how = f"count {completed} / benchmark_time_seconds {duration_s:g}"
        throughput.agree("requests_per_sec", achieved, completed / duration_s, how)
        achieved = completed / duration_s
    elif achieved:
        duration_s = completed / achieved
    tokens = {name: _tokens(done, name) for name in ("input", "output")}
    each_in, each_out = (None if t is None else t * completed for t in tokens.values())
    rates = token_rates(each_in, each_out, duration_s)
    _check_tokens(done, throughput, rates, completed, duration_s)
    notes: list[str] = []
    ttft = streamed("TTFT", _latency(times, "time_to_first_token"), notes)
    tpot, itl = _latency(times, "time_per_output_token"), _latency(times, "inter_token_latency")
    e2e = _latency(times, "request_latency")
    check_order(times, ttft, e2e)
    concurrency, rate = load.number("concurrency") or None, load.number("requested_rate") or None
    rate = None if concurrency is not None else rate
    definition = _definition(ttft, tpot, itl, e2e, tokens["output"])
    if definition == "per_event":
        notes.append("TPOT and ITL count events of the stream, blank ones too: they are not times of a token")
    prompt = done.child("prompt_tokens")
    cached, prompts = prompt.number("cached"), prompt.number("total")
    stage = _STAGE.search(Path(fields.file).name)
    return SweepPoint(
        file=fields.file,
        place=f"stage {stage[1]}" if stage else place,
        tool="inference-perf",
        format="inference-perf-stage",
        loop=loop_of(rate, False, concurrency),
        offered_rate_per_s=rate,
        sent_rate_per_s=load.number("achieved_rate") or None,
        achieved_rate_per_s=achieved,
        concurrency_limit=concurrency,
        requests_offered=load.count("count"),
        requests_completed=completed,
        requests_failed=fields.child("failures").count("count"),
        duration_s=duration_s,
        input_tokens_mean=tokens["input"],
        output_tokens_mean=tokens["output"],
        **rates,
        prefix_hit_share=min(cached / prompts, 1.0) if cached and prompts else None,
        goodput_rate_per_s=done.child("goodput_metrics").number("request_goodput"),
        ttft=ttft,
        tpot=tpot,
        tpot_definition=definition,
        itl=itl,
        e2e=e2e,
        e2e_per_token=_latency(times, "normalized_time_per_output_token"),
        settings=settings_of({"send_duration_s": load.number("send_duration")}),
        notes=tuple(notes),
    )


def _latency(times: Fields, name: str) -> Latency | None:
    return latency(times.child(name), _KEYS, 0)


def _tokens(done: Fields, name: str) -> float | None:
    """Tokens of a completed request: as the server counted them in later releases, else as the client did."""
    keys = ("prompt_tokens", "prompt_len") if name == "input" else ("output_tokens", "output_len")
    return next((mean for key in keys if (mean := done.child(key).number("mean")) is not None), None)


def _check_tokens(
    done: Fields, throughput: Fields, rates: dict[str, Any], completed: int, duration_s: float | None
) -> None:
    """Printed token rates are those of the client's count or of the server's; an error where they are neither's."""
    client = done.child("output_len").number("mean")
    for key, name in (("input_tokens_per_sec", "input_tokens_per_s"), ("output_tokens_per_sec", "output_tokens_per_s")):
        stated, reckoned = throughput.number(key), rates.get(name)
        if name.startswith("output") and stated is not None and client is not None and duration_s:
            ours = client * completed / duration_s
            if abs(stated - ours) <= AGREE_WITHIN * max(stated, ours):
                continue
        throughput.agree(key, stated, reckoned, "mean tokens x count / duration")


def _definition(
    ttft: Latency | None, tpot: Latency | None, itl: Latency | None, e2e: Latency | None, tokens: float | None
) -> TpotDefinition:
    """What the TPOT of this file is, by what it must be for its end-to-end latency."""
    if tpot is None:
        return "unknown"
    means = [found.mean_s if found is not None else None for found in (ttft, tpot, e2e)]
    if all(mean is not None for mean in means) and tokens is not None and tokens > 1:
        first_s, each_s, last_s = (mean or 0.0 for mean in means)
        return "per_event" if each_s < _EVENT_SHARE * (last_s - first_s) / (tokens - 1) else "excludes_first_token"
    # Tokens that come in chunks have short gaps too; only the means above tell them apart.
    blank = itl is not None and itl.mean_s and itl.percentiles_s.get(50.0, itl.mean_s) < _BLANK_SHARE * itl.mean_s
    return "per_event" if blank else "unknown"
