"""What a check of a sweep says, and what the checks are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gridplan.measured.sustained.slo import Slo
from gridplan.measured.sweep import Latency, SweepPoint

__all__ = ["LATENCIES", "Least", "Load", "Severity", "SweepCheck", "plural"]

Severity = Literal["error", "warning", "info"]

LATENCIES = ("ttft", "tpot", "itl", "e2e")


@dataclass(frozen=True, slots=True)
class SweepCheck:
    """One finding: `id`, how serious it is, a sentence, the points and figures that it concerns, numbers in SI units.

    `rows` are positions in the list of points. An `error` says that figures cannot be right, so they are not used:
    `figures` names which (`tpot`, `e2e`, ...), none of them meaning all. A `warning` says that a figure means
    something else than it seems; an `info` is to be known. `overloaded` marks points that did not serve what was
    asked of them: they do not hold, whatever their latencies are.
    """

    id: str
    severity: Severity
    sentence: str
    rows: tuple[int, ...] = ()
    figures: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict, hash=False)
    overloaded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Least:
    """The least that latencies can be, from what the machine can do; None where it is not known.

    `..._peak_...` is at the peak bandwidth and FLOP/s of the hardware, which nothing exceeds; `..._stated_...` at the
    share of the peak that somebody stated. Requests that generate several tokens a step must be counted in.
    """

    step_peak_s: float | None = None
    """A decode step: weights over bandwidth, over the tokens that a sequence gets in a step [s]."""
    step_stated_s: float | None = None
    prefill_peak_s: float | None = None
    """Prefill of one uncached prompt token: 2 FLOP a parameter over FLOP/s [s]."""
    prefill_stated_s: float | None = None
    uncached_share: float = 1.0
    """Share of prompt tokens that are not in the prefix cache by the plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A sweep as the checks see it: its points, the limits, what is known of requests and machine beside the files.

    `output_lengths` and `prompt_lengths` are pairs of a weight and tokens, where the lengths of classes are known.
    """

    points: Sequence[SweepPoint]
    slos: Sequence[Slo] = ()
    least: Least = field(default_factory=Least)
    output_lengths: Sequence[tuple[float, float]] = ()
    prompt_lengths: Sequence[tuple[float, float]] = ()
    error_budget: float = 0.01

    def rows(self) -> list[tuple[int, SweepPoint]]:
        """Points with their positions."""
        return list(enumerate(self.points))

    def output_tokens(self, point: SweepPoint) -> float | None:
        """Mean output tokens of a request: measured, else asked for, else by the classes [tokens]."""
        for stated in (point.output_tokens_mean, point.output_tokens_requested):
            if stated is not None:
                return stated
        return _mean(self.output_lengths)

    def prompt_tokens(self, point: SweepPoint) -> float | None:
        """Mean prompt tokens of a request: measured, else by the classes [tokens]."""
        return _mean(self.prompt_lengths) if point.input_tokens_mean is None else point.input_tokens_mean

    def latency(self, point: SweepPoint, name: str) -> Latency | None:
        """A latency by its name."""
        found: Latency | None = getattr(point, name)
        return found


def _mean(lengths: Sequence[tuple[float, float]]) -> float | None:
    total = sum(weight for weight, _ in lengths)
    return sum(weight * tokens for weight, tokens in lengths) / total if total else None


def plural(count: int, word: str) -> str:
    """A number with its noun.

    >>> plural(1, "point"), plural(2, "point")
    ('1 point', '2 points')
    """
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
