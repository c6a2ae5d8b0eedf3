"""What is known of the gain of a routing over the random split that every rate of a replica is computed for."""

from __future__ import annotations

import numpy as np

from gridplan.catalog.routing_gains import routing_gains
from gridplan.chain.codes import LIMITS, choices
from gridplan.chain.graph import Array

__all__ = ["gain_interval"]

_CONSTRAINTS = (*LIMITS, "balanced", "")
"""Labels behind the codes of `binding_constraint`; the last stands for null, whose code is -1."""

_ROUTINGS = choices("routing")
_RANDOM = _ROUTINGS.index("random")


def _table() -> tuple[Array, Array, Array, Array]:
    """Low and high end, and the least and largest number of replicas, by routing and constraint; NaN: not measured."""
    table = np.full((4, len(_ROUTINGS), len(_CONSTRAINTS)), np.nan)
    for gain in routing_gains():
        most = np.inf if gain.replicas_to is None else gain.replicas_to
        for name in gain.constraints:
            if name in _CONSTRAINTS:
                place = (slice(None), _ROUTINGS.index(gain.routing), _CONSTRAINTS.index(name))
                table[place] = (gain.low, gain.high, gain.replicas_from, most)
    return table[0], table[1], table[2], table[3]


_LOW, _HIGH, _LEAST, _MOST = _table()


def gain_interval(
    routing_code: Array,
    binding_constraint_code: Array,
    binding_next_code: Array,
    margin_to_next: Array,
    replicas_active: Array,
) -> tuple[Array, Array]:
    """Least and largest gain on the rate of a replica [1]; NaN without a plan and where nothing was measured.

    1 and 1 for a random split, and for a lone replica, which leaves a router nothing to choose. Whatever is gained on
    the limit that binds, the next one lets through what lies between them and its own gain.
    """
    at = (routing_code, binding_constraint_code)
    inside = (replicas_active >= _LEAST[at]) & (replicas_active <= _MOST[at])
    same = (replicas_active == 1.0) | ((routing_code == _RANDOM) & ~np.isnan(replicas_active))

    def end(known: Array, where: tuple[Array, Array]) -> Array:
        return np.where(same, 1.0, np.where(inside, known[where], np.nan))

    through = (1.0 + margin_to_next) * end(_HIGH, (routing_code, binding_next_code))
    low, high = end(_LOW, at), end(_HIGH, at)
    high = np.where(
        np.isnan(high), np.nan, np.where(np.isnan(through), high, np.minimum(high, np.maximum(through, low)))
    )
    return low, high
