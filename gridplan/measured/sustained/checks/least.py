"""Figures below the least that the machine can do, and prompts that were not computed at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gridplan.measured.sustained.check import Load, SweepCheck
from gridplan.measured.sweep import Latency, SweepPoint
from gridplan.quantities import format_quantity

__all__ = ["below_least_possible", "other_workload", "warm_cache"]

_TAIL = 2.0
"""Times the tail of a percentile that a class must hold for its length to be that percentile's (policy): a run of some
thousand requests has as many long ones by chance."""

_ROUNDING = 0.005
"""Share by which a printed figure may be rounded below a limit (policy)."""

SAME_LENGTH = 0.10
"""Share by which mean tokens of a run may differ from those of the classes (policy): a run is a sample."""

NOT_COMPUTED = 0.7
"""Share of the planned prefill below which a TTFT says that prompts were not computed (policy): a plan may be slow."""

HITS = 0.05
"""Hits beyond the plan's from which a cache counts as warm (policy)."""


def below_least_possible(load: Load) -> Iterator[SweepCheck]:
    """Statistics below the least possible: an error at the hardware's peak, a warning at the planned share of it."""
    least = load.least
    for row, point in load.rows():
        for figure, needed in _needed(load, point):
            at_peak = _worst(point, figure, needed, least.step_peak_s, least.prefill_peak_s)
            at_stated = _worst(point, figure, needed, least.step_stated_s, least.prefill_stated_s)
            if at_peak is not None:
                yield _found(row, figure, at_peak, "error", "at peak bandwidth and FLOP/s")
            elif at_stated is not None:
                yield _found(row, figure, at_stated, "warning", "at the planned share of the peak")


Worst = tuple[str, float, float]


def _found(row: int, figure: str, worst: Worst, severity: str, where: str) -> SweepCheck:
    name, value_s, least_s = worst
    return SweepCheck(
        "below_least_possible",
        "error" if severity == "error" else "warning",
        f"{name} {figure.upper()} {_s(value_s)} is below the least possible {where}, {_s(least_s)}",
        (row,),
        (figure,),
        {"value_s": value_s, "least_s": least_s},
    )


Needs = list[tuple[str, float, float, float]]
"""Statistics of a figure: name, value [s], decode steps and prompt tokens that it takes at least."""


def _needed(load: Load, point: SweepPoint) -> Iterator[tuple[str, Needs]]:
    tokens, prompt = load.output_tokens(point), load.prompt_tokens(point)
    uncached = load.least.uncached_share * (1.0 - (point.prefix_hit_share or 0.0))
    if point.tpot_definition != "per_event":
        yield "tpot", [(name, value, 1.0, 0.0) for name, _, value in _statistics(point.tpot)]
    same = not _others(load, point)
    found: Needs = []
    for name, percentile, value in _statistics(point.e2e):
        steps = tokens if percentile is None else _long(load.output_lengths, percentile) if same else None
        if steps is not None:
            found.append((name, value, steps, 0.0))
    yield "e2e", found
    found = []
    for name, percentile, value in _statistics(point.ttft):
        length = prompt if percentile is None else _long(load.prompt_lengths, percentile) if same else None
        if length is not None:
            found.append((name, value, 0.0, length * uncached))
    yield "ttft", found


def _worst(point: SweepPoint, figure: str, needed: Needs, step_s: float | None, token_s: float | None) -> Worst | None:
    """The statistic that lies furthest below its least."""
    worst: Worst | None = None
    for name, value_s, steps, tokens in needed:
        least_s = steps * (step_s or 0.0) + tokens * (token_s or 0.0)
        if value_s < least_s * (1 - _ROUNDING) and (worst is None or value_s / least_s < worst[1] / worst[2]):
            worst = (name, value_s, least_s)
    return worst


def _statistics(latency: Latency | None) -> list[tuple[str, float | None, float]]:
    if latency is None:
        return []
    found: list[tuple[str, float | None, float]] = []
    if latency.mean_s is not None:
        found.append(("mean", None, latency.mean_s))
    return found + [(f"p{p:g}", p, value) for p, value in latency.percentiles_s.items() if 0 < p < 100]


def _long(lengths: Sequence[tuple[float, float]], percentile: float) -> float | None:
    """A length that surely more requests have than lie above a percentile; None without classes [tokens].

    >>> _long([(0.7, 64), (0.2, 256), (0.1, 256)], 99.0), _long([(0.7, 64), (0.3, 256)], 50.0)
    (256, 64)
    """
    total = sum(weight for weight, _ in lengths)
    tail, seen = 1.0 - percentile / 100.0, 0.0
    for weight, tokens in sorted(lengths, key=lambda item: -item[1]):
        seen += weight / total
        if seen >= min(1.0 - 1e-9, _TAIL * tail):
            return tokens
    return None


def _others(load: Load, point: SweepPoint) -> list[str]:
    """What the run's requests have that those of the classes do not."""
    found = []
    for name, measured, lengths in (
        ("output", point.output_tokens_mean, load.output_lengths),
        ("prompt", point.input_tokens_mean, load.prompt_lengths),
    ):
        total = sum(weight for weight, _ in lengths)
        if measured is None or not total:
            continue
        planned = sum(weight * tokens for weight, tokens in lengths) / total
        if abs(measured - planned) > SAME_LENGTH * planned:
            found.append(f"{measured:.4g} {name} tokens on average, the contract {planned:.4g}")
    return found


def other_workload(load: Load) -> Iterator[SweepCheck]:
    """Points whose requests are not those of the contract."""
    rows: dict[str, list[int]] = {}
    for row, point in load.rows():
        for said in _others(load, point):
            rows.setdefault(said, []).append(row)
    for said, which in rows.items():
        yield SweepCheck(
            "other_workload", "warning", f"the run had {said}: its rate is not one of the contract's traffic",
            tuple(which),
        )  # fmt: skip


def warm_cache(load: Load) -> Iterator[SweepCheck]:
    """Points whose prompts came from the prefix cache: stated hits beyond the plan's, or a TTFT too short for them."""
    least, planned = load.least, 1.0 - load.least.uncached_share
    limits = [least.prefill_peak_s, None if least.prefill_stated_s is None else NOT_COMPUTED * least.prefill_stated_s]
    token_s = max((limit for limit in limits if limit is not None), default=None)
    for row, point in load.rows():
        hits = point.prefix_hit_share
        if hits is not None and hits > planned + HITS:
            yield SweepCheck(
                "warm_cache", "warning",
                f"{hits:.0%} of prompt tokens came from the prefix cache, {planned:.0%} are planned: a cold one "
                "sustains less", (row,), ("ttft",), {"prefix_hit_share": hits},
            )  # fmt: skip
            continue
        prompt = load.prompt_tokens(point)
        ttft_s = None if point.ttft is None else point.ttft.mean_s
        if token_s is None or prompt is None or ttft_s is None:
            continue
        least_s = prompt * least.uncached_share * (1.0 - (hits or 0.0)) * token_s
        if least_s > 0 and ttft_s < (1 - _ROUNDING) * least_s:
            yield SweepCheck(
                "warm_cache", "warning",
                f"mean TTFT {_s(ttft_s)} is {ttft_s / least_s:.2f} of a prefill of {prompt:.4g} tokens, {_s(least_s)}: "
                f"at least {1 - ttft_s / least_s:.0%} of it was not computed, as with repeated prompts",
                (row,), ("ttft",),
                {"not_computed_share": 1 - ttft_s / least_s},
            )  # fmt: skip


def _s(seconds: float) -> str:
    return format_quantity(seconds, "s")
