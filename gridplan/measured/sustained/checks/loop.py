"""What set the pace: closed loops in the place of open ones, and queues that were filled at once."""

from __future__ import annotations

from collections.abc import Iterator

from gridplan.measured.sustained.check import Load, SweepCheck, plural
from gridplan.measured.sustained.checks.length import LATENCIES_LONG
from gridplan.measured.sustained.checks.served import SERVED, served_share
from gridplan.measured.sweep import SweepPoint

__all__ = ["closed_as_open", "not_open"]

PINNED = 0.9
"""Share of a client's limit from which its mean concurrency counts as held by it (policy)."""

SAME, APART = 1.12, 1.15
"""Most that rates and concurrency differ where a loop is closed, while offered rates are that far apart (policy): of an
open loop beyond capacity the queue grows with the rate offered."""


def in_flight(point: SweepPoint) -> float | None:
    """Mean requests in flight: as stated, else completed rate times mean E2E."""
    if point.concurrency_mean is not None:
        return point.concurrency_mean
    e2e_s = None if point.e2e is None else point.e2e.mean_s
    return None if e2e_s is None or point.achieved_rate_per_s is None else point.achieved_rate_per_s * e2e_s


def closed_as_open(load: Load) -> Iterator[SweepCheck]:
    """Points that say a rate but were paced by a number of clients."""
    pinned: set[int] = set()
    for row, point in load.rows():
        n, limit = in_flight(point), point.concurrency_limit
        if point.loop == "open" and n is not None and limit is not None and n >= PINNED * limit:
            pinned.add(row)
            share = served_share(point)
            held = share is not None and share < SERVED
            yield SweepCheck(
                "closed_as_open",
                "warning" if held else "error",
                f"{n:.4g} requests in flight at a limit of {limit:.4g}: the client held arrivals back, as a closed "
                "loop does, and latencies leave that wait out",
                (row,),
                numbers={"in_flight": n, "limit": limit},
                overloaded=held,
            )
    yield from _alike(load, pinned)


def _alike(load: Load, pinned: set[int]) -> Iterator[SweepCheck]:
    """Points beyond capacity with one rate and one concurrency whatever was offered."""
    short: list[tuple[float, float, float, int]] = []
    for row, point in load.rows():
        n, share = in_flight(point), served_share(point)
        if point.loop != "open" or row in pinned or n is None or share is None or _is_short(point):
            continue
        if share < SERVED:
            short.append((point.offered_rate_per_s or 0.0, n, point.achieved_rate_per_s or 0.0, row))
    short.sort()
    # The heaviest loads first: a lighter one joins while all are alike.
    group = short[-1:]
    for item in reversed(short[:-1]):
        joined = [item, *group]
        if all(max(x[k] for x in joined) <= SAME * min(x[k] for x in joined) for k in (1, 2)):
            group = joined
    if len(group) > 1 and group[-1][0] >= APART * group[0][0]:
        yield SweepCheck(
            "closed_as_open",
            "warning",
            f"offered rates of {group[0][0]:.4g} to {group[-1][0]:.4g} a second all complete about {group[0][2]:.4g} "
            f"with {group[0][1]:.4g} in flight: the client held arrivals back, as a closed loop does",
            tuple(item[3] for item in group),
            numbers={"in_flight": group[0][1]},
            overloaded=True,
        )


def _is_short(point: SweepPoint) -> bool:
    """Whether a run is mostly start and tail, in which any load completes less than is offered."""
    e2e_s = None if point.e2e is None else point.e2e.mean_s
    return e2e_s is not None and point.duration_s is not None and point.duration_s < LATENCIES_LONG * e2e_s


def not_open(load: Load) -> Iterator[SweepCheck]:
    """Points without a rate: they are shown, and no rate is taken from them."""
    for loop, name, said in (
        ("drain", "rate_infinite", "everything was sent at once: such a run measures how fast a queue empties"),
        ("closed", "closed_loop", "paced by a number of clients, not by a rate: such a run never queues"),
        ("unknown", "pace_unknown", "the file does not say what set the pace"),
    ):
        rows = tuple(row for row, point in load.rows() if point.loop == loop)
        if rows:
            yield SweepCheck(name, "info", f"{plural(len(rows), 'point')} not used: {said}", rows)
    rows = tuple(row for row, point in load.rows() if point.loop == "open" and point.offered_rate_per_s is None)
    if rows:
        yield SweepCheck(
            "rate_unknown", "warning", f"{plural(len(rows), 'point')} not used: no offered rate is stated", rows
        )
