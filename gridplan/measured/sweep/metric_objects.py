"""What AIPerf and genai-perf share: metrics written as `{unit, avg, p50, ...}`, each with its own unit.

`inter_token_latency` is (latency - ttft)/(n - 1), one value a request, hence TPOT; there are no pooled gaps.
"""

from __future__ import annotations

from typing import Any

from gridplan.errors import suggestion
from gridplan.measured.sweep.fields import Fields
from gridplan.measured.sweep.figures import Statistic, check_order, latency, streamed
from gridplan.measured.sweep.point import Latency

__all__ = ["Metrics", "latencies"]

_TIMES = {"s": 0, "sec": 0, "seconds": 0, "ms": -3, "milliseconds": -3, "us": -6, "microseconds": -6, "ns": -9}
_TIMES |= {"nanoseconds": -9}
_COUNTS = ("requests", "count", "tokens")
_RATES = ("requests/sec", "per sec", "tokens/sec")

_PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99)
_KEYS: list[tuple[Statistic, str]] = [("mean", "avg"), (0.0, "min"), (100.0, "max")]
_KEYS += [(float(p), f"p{p}") for p in _PERCENTILES]


class Metrics:
    """The metrics of one run by name; `step` is half of the last digit where the file prints few of them."""

    def __init__(self, fields: Fields, step: float = 0.0) -> None:
        self.fields = fields
        self.step = step

    def time(self, name: str) -> Latency | None:
        """A latency [s]; None where the metric is missing."""
        metric = self.fields.child(name)
        return latency(metric, _KEYS, self._power(metric)) if metric.values else None

    def seconds(self, name: str) -> float | None:
        """The average of a time [s]."""
        metric = self.fields.child(name)
        return metric.need("avg", self._power(metric)) if metric.values else None

    def average(self, name: str) -> float | None:
        """The average of a count or a rate, in requests, tokens and seconds."""
        metric = self.fields.child(name)
        if not metric.values:
            return None
        unit = metric.text("unit")
        if unit not in (*_COUNTS, *_RATES):
            raise metric.error("unit", f"{unit!r} is not a unit of counts or rates: {', '.join((*_COUNTS, *_RATES))}")
        return metric.need("avg")

    def count(self, name: str) -> int | None:
        """The average of a count, which must be whole."""
        value = self.average(name)
        if value is not None and value != int(value):
            raise self.fields.child(name).error("avg", f"{value:g} is not a whole number")
        return None if value is None else int(value)

    @staticmethod
    def _power(metric: Fields) -> int:
        unit = metric.text("unit") or ""
        if unit not in _TIMES:
            raise metric.error("unit", f"{unit!r} is not a unit of time{suggestion(unit, _TIMES)}: {', '.join(_TIMES)}")
        return _TIMES[unit]


def latencies(metrics: Metrics, notes: list[str]) -> dict[str, Any]:
    """TTFT, TPOT and end-to-end latency by the names of the normal form."""
    ttft = streamed("TTFT", metrics.time("time_to_first_token"), notes)
    tpot = streamed("TPOT", metrics.time("inter_token_latency"), notes)
    e2e = metrics.time("request_latency")
    check_order(metrics.fields, ttft, e2e)
    return {"ttft": ttft, "tpot": tpot, "e2e": e2e}
