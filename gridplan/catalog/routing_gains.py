"""What a routing gains over a random split of requests, as intervals measured by routing and binding constraint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from gridplan.catalog.table import count, provenance, read_table

__all__ = ["RoutingGain", "routing_gains"]


@dataclass(frozen=True, slots=True)
class RoutingGain:
    """The interval of the factor on the rate of one replica [1] that a routing is known for.

    It holds where one of `constraints` sets the rate and `replicas_from` to `replicas_to` replicas are active (None:
    any number more).
    """

    routing: str
    constraints: tuple[str, ...]
    low: float
    high: float
    replicas_from: int
    replicas_to: int | None
    valid_where: str
    cls: str
    as_of: str
    source: str
    notes: str


@lru_cache(maxsize=1)
def routing_gains() -> tuple[RoutingGain, ...]:
    """All intervals, in the order of the file; what it does not list was not measured.

    >>> [(gain.low, gain.high) for gain in routing_gains() if "tpot" in gain.constraints]
    [(1.02, 1.16), (1.02, 1.16)]
    """
    return tuple(
        RoutingGain(
            routing=row["routing"],
            constraints=tuple(row["constraints"].split(";")),
            low=float(row["low"]),
            high=float(row["high"]),
            replicas_from=int(row["replicas_from"]),
            replicas_to=count(row["replicas_to"]),
            valid_where=row["valid_where"],
            **provenance(row),
        )
        for row in read_table("routing_gains.csv")
    )
