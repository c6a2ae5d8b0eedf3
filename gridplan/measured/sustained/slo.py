"""Limits that a load point is judged by: `ttft_p95=1s,tpot_p95=25ms,e2e_p99=5s,goodput=0.95`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gridplan.errors import ContractError, Problem, suggestion
from gridplan.quantities import accepted_units, format_quantity, parse_quantity

__all__ = ["FIGURES", "Figure", "Slo", "parse_slos", "proved_goodput"]

Figure = Literal["ttft", "tpot", "e2e", "itl", "goodput"]

FIGURES: tuple[Figure, ...] = ("ttft", "tpot", "e2e", "itl", "goodput")
_LATENCIES = FIGURES[:-1]
_NAME = re.compile(r"(ttft|tpot|e2e|itl)_(mean|median|p\d{1,2}(?:\.\d{1,4})?)")
_USUAL = [f"{name}_{statistic}" for name in _LATENCIES for statistic in ("mean", "p50", "p90", "p95", "p99", "p99.9")]


@dataclass(frozen=True, slots=True)
class Slo:
    """One limit: a figure, the statistic that it binds and the limit, itself allowed.

    `statistic` is a percentile (0 to 100) or "mean"; None for goodput. `limit` is in seconds; for goodput the least
    share of requests that meet all limits of the load generator.
    """

    figure: Figure
    statistic: float | Literal["mean"] | None
    limit: float

    @property
    def name(self) -> str:
        """`ttft_p95`, `e2e_mean`, `goodput`."""
        if self.statistic is None:
            return self.figure
        return f"{self.figure}_mean" if self.statistic == "mean" else f"{self.figure}_p{self.statistic:g}"

    def __str__(self) -> str:
        if self.figure == "goodput":
            return f"goodput >= {self.limit:.4g}"
        return f"{self.name} <= {format_quantity(self.limit, 's')}"


def parse_slos(text: str, place: str = "--slo") -> tuple[Slo, ...]:
    """The limits of a text, in its order: name, `=`, value with a unit (goodput: a share or a percentage).

    Raises
    ------
    ContractError
        With every part that is wrong, and the nearest name.

    >>> [str(slo) for slo in parse_slos("ttft_p95=1s,tpot_p95=25ms,goodput=95%")]
    ['ttft_p95 <= 1.00 s', 'tpot_p95 <= 25.00 ms', 'goodput >= 0.95']
    """
    found: list[Slo] = []
    problems: list[Problem] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        try:
            slo = _slo(part)
            if any(other.name == slo.name for other in found):
                raise ValueError("is given twice")
        except ValueError as error:
            problems.append(Problem(str(error), place, key=part.partition("=")[0].strip()[:60] or None))
            continue
        found.append(slo)
    if not found and not problems:
        problems.append(Problem("no limit is given: write for example ttft_p95=1s,tpot_p95=25ms,e2e_p99=5s", place))
    if problems:
        raise ContractError(problems)
    return tuple(found)


def _slo(part: str) -> Slo:
    name, equals, value = (piece.strip() for piece in part.partition("="))
    if not equals:
        raise ValueError(f"has no limit: write {name[:60]}=1s")
    if name == "goodput":
        return Slo("goodput", None, _share(value))
    match = _NAME.fullmatch(name)
    if match is None:
        if name in _LATENCIES:
            raise ValueError(f"does not say which statistic: write {name}_mean or {name}_p95")
        raise ValueError(f"is no figure that is known{suggestion(name[:60], [*_USUAL, 'goodput'])}")
    limit_s = parse_quantity(value, "s") if re.search(r"[a-zµμ]", value) else _unitless(value)
    if limit_s <= 0:
        raise ValueError(f"must be above 0; {value} is not")
    statistic: float | Literal["mean"] = "mean" if match[2] == "mean" else 50.0
    if match[2].startswith("p"):
        statistic = float(match[2][1:])
        if statistic <= 0:
            raise ValueError("a percentile lies above 0 and below 100")
    return Slo(match[1], statistic, limit_s)  # type: ignore[arg-type]


def _unitless(value: str) -> float:
    raise ValueError(f"{value[:40]!r} has no unit: write {value[:40] or '25'} with one of {accepted_units('s')}")


def _share(value: str) -> float:
    try:
        share = parse_quantity(value, "1") if value.endswith("%") else float(value)
    except ValueError:
        raise ValueError(f"{value[:40]!r} is not a share: write 0.95 or 95%") from None
    if not 0 < share <= 1:
        raise ValueError(f"must be above 0 and at most 1; {value[:40]} is not")
    return share


def proved_goodput(slos: Sequence[Slo]) -> float:
    """Least share of requests within all latency limits that hold at percentiles: 1 - sum (1 - q); 0 with none.

    However the misses overlap; limits on a mean prove nothing.

    >>> round(proved_goodput(parse_slos("ttft_p95=1s,tpot_p95=25ms,e2e_p99=5s")), 2)
    0.89
    """
    missed = [100.0 - slo.statistic for slo in slos if isinstance(slo.statistic, float)]
    return max(0.0, 100.0 - sum(missed)) / 100.0 if missed else 0.0
