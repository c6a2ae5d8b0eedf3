"""The normal form of a load test: one point of a sweep, whatever tool measured it, in SI units.

A missing figure is None or absent: it is never borrowed from another statistic, interpolated or taken as zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Latency", "Loop", "Setting", "SweepPoint", "TpotDefinition", "holds"]

Loop = Literal["open", "closed", "drain", "unknown"]
"""What sets the pace of arrivals: a rate (`open`), a fixed number of clients (`closed`), nothing at all (`drain`: every
request is sent at once, and the run empties the queue)."""

TpotDefinition = Literal["excludes_first_token", "includes_first_token", "per_event", "unknown"]
"""What a time per output token of n tokens is: (e2e - ttft)/(n - 1), e2e/n, or a time per event of the stream where a
client counted events that carry no token; `per_event` times are too small and not those of tokens."""

Setting = str | int | float | bool
"""A setting as the file states it."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Statistics of one latency over the requests that completed [s].

    `percentiles_s` maps a percentile (50, 95, 99.9) to seconds; the least and the largest value, where a tool prints
    them, are percentiles 0 and 100. Only what the file states is there.
    """

    mean_s: float | None = None
    percentiles_s: Mapping[float, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint:
    """One run of a load generator at one load."""

    file: str
    """The file as it was given."""
    place: str
    """Where in it: `line 3`, `benchmarks[2]`, `stage 0`; empty where the file is one point."""
    tool: str
    """`vllm`, `sglang`, `guidellm`, `aiperf`, `genai-perf`, `inference-perf`, `llmperf`, `trtllm-bench` or `csv`."""
    tool_version: str | None = None
    """Version of the tool, where the file states it."""
    format: str
    """Id of the format, as `gridplan.measured.sweep.FORMATS` names it."""

    loop: Loop
    offered_rate_per_s: float | None = None
    """Requests a second that were asked for; None in a closed loop, in a drain and for arrivals of a trace."""
    sent_rate_per_s: float | None = None
    """Requests a second that the client managed to send, where the tool measures it."""
    achieved_rate_per_s: float | None = None
    """Requests a second that completed, over the whole duration with its tail."""
    concurrency_limit: float | None = None
    """Most requests that the client keeps in flight; None where it sets no limit or states none."""
    concurrency_mean: float | None = None
    """Requests in flight on average, where the tool measures it."""

    requests_offered: int | None = None
    requests_completed: int | None = None
    requests_failed: int | None = None
    """Requests that ended in an error; None (not 0) where the tool does not count them."""
    requests_cancelled: int | None = None
    """Requests that the end of the run cut off: neither completed nor failed."""
    duration_s: float | None = None
    """Wall time of the measured part."""
    warmup_s: float | None = None
    """Time at the start that the figures leave out, where stated."""
    warmup_requests: int | None = None
    """Requests at the start that the figures leave out, where stated."""

    input_tokens_mean: float | None = None
    """Prompt tokens of a completed request, measured."""
    output_tokens_mean: float | None = None
    """Output tokens of a completed request, measured."""
    output_tokens_requested: float | None = None
    """Mean of the output tokens that the workload asks for, where the file states it."""
    input_tokens_per_s: float | None = None
    output_tokens_per_s: float | None = None
    total_tokens_per_s: float | None = None
    """Prompt and output tokens together, of completed requests, over the whole duration."""
    prefix_hit_share: float | None = None
    """Share of prompt tokens that the engine took from its prefix cache, 0 to 1, where stated."""
    goodput_rate_per_s: float | None = None
    """Requests a second that met the limits given to the tool, where stated."""

    ttft: Latency | None = None
    """Time to first token."""
    tpot: Latency | None = None
    """Time per output token, one value a request; `tpot_definition` says which."""
    tpot_definition: TpotDefinition = "unknown"
    itl: Latency | None = None
    """Gaps between tokens pooled over all requests, so that long answers weigh more."""
    e2e: Latency | None = None
    """From sending a request to its last token."""
    e2e_per_token: Latency | None = None
    """End-to-end latency over output tokens, the first token's wait included, where the tool prints it."""

    model: str | None = None
    backend: str | None = None
    settings: Mapping[str, Setting] = field(default_factory=dict, hash=False)
    """What else the file states of the run: burstiness, seed, dataset, peak figures, swept parameters."""
    notes: tuple[str, ...] = ()
    """What was read but is not what it seems, one sentence each."""

    @property
    def tpot_derived_mean_s(self) -> float | None:
        """(mean e2e - mean ttft)/(mean output tokens - 1) [s]: what a mean TPOT without the first token should be.

        It is a ratio of means: with unequal answers it is the mean TPOT weighted by their lengths.

        >>> point = SweepPoint(file="", place="", tool="csv", format="csv", loop="open", output_tokens_mean=128.0,
        ...     ttft=Latency(0.0743), e2e=Latency(1.9158))
        >>> round(point.tpot_derived_mean_s, 4)
        0.0145
        """
        e2e_s = None if self.e2e is None else self.e2e.mean_s
        ttft_s = None if self.ttft is None else self.ttft.mean_s
        tokens = self.output_tokens_mean
        if e2e_s is None or ttft_s is None or tokens is None or tokens <= 1:
            return None
        return (e2e_s - ttft_s) / (tokens - 1)


def holds(latency: Latency | None, statistic: float | Literal["mean"], limit_s: float) -> bool | None:
    """Whether a statistic of a latency is within a limit: True, False, or None where the file does not prove either.

    A percentile that is at least the one asked for and within the limit proves that it holds; one that is at most the
    one asked for and above the limit proves that it does not. A mean proves nothing about percentiles, nor they of it.

    Parameters
    ----------
    latency
        The latency; None is unknown.
    statistic
        A percentile (0 to 100) or "mean".
    limit_s
        The limit, itself allowed [s].

    >>> ttft = Latency(0.07, {50.0: 0.06, 99.0: 0.21})
    >>> holds(ttft, 95, 0.25), holds(ttft, 95, 0.05), holds(ttft, 95, 0.15), holds(ttft, "mean", 0.07)
    (True, False, None, True)
    """
    if latency is None:
        return None
    if statistic == "mean":
        return None if latency.mean_s is None else latency.mean_s <= limit_s
    stated = latency.percentiles_s.get(statistic)
    if stated is not None:
        return stated <= limit_s
    if any(percentile >= statistic and value <= limit_s for percentile, value in latency.percentiles_s.items()):
        return True
    if any(percentile <= statistic and value > limit_s for percentile, value in latency.percentiles_s.items()):
        return False
    return None
