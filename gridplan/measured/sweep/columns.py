"""Column names of a plain CSV table of load points: what is measured, its statistic and its unit, in the name.

A latency is `ttft`, `tpot`, `itl`, `e2e` (or `e2el`, `e2e_latency`) or `e2e_per_token`, a statistic (`mean` or `avg`,
`median`, `min`, `max`, `p95`, `p99.9`) and a unit (`s`, `ms`, `us`): `ttft_p95_ms`, or `p95_ttft_ms`. A rate ends in
`_per_s` (or `_rps`) or `_per_min` (or `_rpm`), a time in `_s`, `_ms` or `_min`. Case, spaces, hyphens and parentheses
do not matter: `TTFT p95 (ms)` is `ttft_p95_ms`. A concurrency says which: `concurrency_limit` or `concurrency_mean`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from gridplan.errors import suggestion

__all__ = ["Column", "accepted", "column"]

Kind = Literal["latency", "number", "count", "text", "rate", "setting"]

_TIMES = {"s": Fraction(1), "ms": Fraction(1, 1000), "us": Fraction(1, 10**6)}
_RATES = {"per_s": Fraction(1), "rps": Fraction(1), "per_min": Fraction(1, 60), "rpm": Fraction(1, 60)}
_LATENCIES = {name: name for name in ("ttft", "tpot", "itl", "e2e_per_token", "e2e")}
_LATENCIES |= {"e2el": "e2e", "e2e_latency": "e2e"}
_STATISTICS: dict[str, float | str] = {"mean": "mean", "avg": "mean", "median": 50.0, "min": 0.0, "max": 100.0}
_STATISTIC = r"mean|avg|median|min|max|p\d{1,2}(?:\.\d{1,4})?"
_NAME = "|".join(sorted(_LATENCIES, key=len, reverse=True))
_LATENCY = re.compile(rf"(?:({_NAME})_({_STATISTIC})|({_STATISTIC})_({_NAME}))(?:_(\w+))?")
_RATED = {
    **dict.fromkeys(("rate", "offered_rate", "offered", "arrival_rate", "request_rate"), "offered_rate_per_s"),
    **dict.fromkeys(("achieved_rate", "achieved", "request_throughput"), "achieved_rate_per_s"),
    **dict.fromkeys(("sent_rate", "sent"), "sent_rate_per_s"),
    **dict.fromkeys(("goodput", "goodput_rate"), "goodput_rate_per_s"),
    **{f"{name}_tokens": f"{name}_tokens_per_s" for name in ("input", "output", "total")},
}
_TIMED = {"duration": "duration_s", "warmup": "warmup_s"}
_SPANS = {**_TIMES, "min": Fraction(60), "h": Fraction(3600)}
_NUMBERS = {
    **dict.fromkeys(("concurrency_limit", "max_concurrency"), "concurrency_limit"),
    **dict.fromkeys(("concurrency_mean", "mean_concurrency", "batch_mean"), "concurrency_mean"),
    **dict.fromkeys(("input_tokens_mean", "isl_mean"), "input_tokens_mean"),
    **dict.fromkeys(("output_tokens_mean", "osl_mean"), "output_tokens_mean"),
    "output_tokens_requested": "output_tokens_requested",
    "prefix_hit_share": "prefix_hit_share",
}
_COUNTS = {
    **dict.fromkeys(("requests_offered", "num_prompts", "num_requests"), "requests_offered"),
    **dict.fromkeys(("requests_completed", "completed"), "requests_completed"),
    **dict.fromkeys(("requests_failed", "failed"), "requests_failed"),
    **dict.fromkeys(("requests_cancelled", "cancelled"), "requests_cancelled"),
    "warmup_requests": "warmup_requests",
}
_TEXTS = ("model", "backend", "loop", "tpot_definition")
_SETTINGS = ("seed", "burstiness", "dataset", "label", "note", "gpu", "engine", "engine_version", "run_number")


@dataclass(frozen=True, slots=True)
class Column:
    """What a column holds: the field of the normal form, for a latency its statistic, and what a 1 in it is in SI."""

    name: str
    kind: Kind
    field: str
    statistic: float | str | None = None
    factor: Fraction = Fraction(1)


def column(name: str, hint: bool = True) -> Column:
    """The column of a header cell. Raises ValueError that says what is wrong and, with a hint, the nearest name.

    >>> column("TTFT p95 (ms)").field, column("p99_e2el_s").statistic, column("rate_rps").field
    ('ttft', 99.0, 'offered_rate_per_s')
    """
    plain = re.sub(r"[\s\-()]+", "_", name.strip().lower()).strip("_")
    match = _LATENCY.fullmatch(plain)
    if match is not None:
        return _latency(name, match)
    for table, units, kind in ((_RATED, _RATES, "rate"), (_TIMED, _SPANS, "number")):
        if plain in table:
            raise ValueError(f"has no unit: write {' or '.join(f'{plain}_{unit}' for unit in units)}")
        for unit, factor in units.items():
            stem = plain.removesuffix(f"_{unit}")
            if stem != plain and stem in table:
                # Offered rates alone may be `inf`.
                own: Kind = "rate" if kind == "rate" and table[stem] == "offered_rate_per_s" else "number"
                return Column(name, own, table[stem], None, factor)
    if plain in _NUMBERS:
        return Column(name, "number", _NUMBERS[plain])
    if plain in _COUNTS:
        return Column(name, "count", _COUNTS[plain])
    if plain in _TEXTS:
        return Column(name, "text", plain)
    if plain in _SETTINGS or re.fullmatch(r"setting_\w{1,60}", plain):
        return Column(name, "setting", plain.removeprefix("setting_"))
    if plain in ("concurrency", "batch"):
        raise ValueError("does not say which concurrency: write concurrency_limit (a setting) or concurrency_mean")
    nearest = suggestion(plain[:60], accepted()) if hint else ""
    raise ValueError(f"is no column that is known{nearest}")


def _latency(name: str, match: re.Match[str]) -> Column:
    latency, statistic, unit = match[1] or match[4], match[2] or match[3], match[5]
    stem = f"{latency}_{statistic}"
    if unit is None:
        raise ValueError(f"has no unit: write {' or '.join(f'{stem}_{known}' for known in _TIMES)}")
    if unit not in _TIMES:
        raise ValueError(f"has no unit of time: write {' or '.join(f'{stem}_{known}' for known in _TIMES)}")
    which: float | str = _STATISTICS[statistic] if statistic in _STATISTICS else float(statistic[1:])
    return Column(name, "latency", _LATENCIES[latency], which, _TIMES[unit])


def accepted() -> list[str]:
    """Names that are accepted, with the usual percentiles, for suggestions."""
    statistics = ("mean", "median", "p50", "p90", "p95", "p99")
    names = [f"{name}_{stat}_{unit}" for name in _LATENCIES for stat in statistics for unit in _TIMES]
    names += [f"{name}_{unit}" for name in _RATED for unit in _RATES]
    names += [f"{name}_{unit}" for name in _TIMED for unit in _SPANS]
    return [*names, *_NUMBERS, *_COUNTS, *_TEXTS, *_SETTINGS]
