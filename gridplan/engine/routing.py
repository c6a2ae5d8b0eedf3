"""The routing of a contract and the gain it counts on: what contradicts a random split, and what was never measured."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridplan import chain
from gridplan.catalog.routing_gains import routing_gains
from gridplan.chain.codes import choices
from gridplan.chain.graph import Array
from gridplan.engine.bundle import Inputs
from gridplan.engine.field import Field
from gridplan.engine.margins import changed_at, where
from gridplan.engine.resolve import Resolver

__all__ = ["MOST_CHECKED", "check_routing", "gain_warnings", "routing_warnings"]

MOST_CHECKED = 10_000
"""Cells up to which a credit is compared with the gain known for each of them (policy: a second or two)."""

_RANDOM = choices("routing").index("random")
_GAINS = ("routing_gain_low", "routing_gain_high")
_READ = ("binding_constraint_code", "replicas_active")


def check_routing(resolver: Resolver, values: Mapping[str, Field]) -> None:
    """Note a gain that is counted on where requests are split at random: there is none."""
    routing, credit = values["routing_code"], values["routing_credit"]
    wrong = (routing.data == _RANDOM) & (credit.data != 1.0)
    if not wrong.any():
        return
    index = dict(zip(resolver.space.names, (int(i) for i in np.argwhere(wrong)[0]), strict=True))
    resolver.problem(
        f"routing_credit {credit.at(resolver.space, index):.12g}{where(resolver, index, routing.dims | credit.dims)} "
        "counts on a gain over a random split, and routing is random: name the routing, or leave routing_credit out",
        "routing_credit",
        changed_at(resolver, index, ("routing_credit", "routing")),
    )


def routing_warnings(inputs: Inputs) -> list[str]:
    """Credits outside what is known for their cell, and losses that nothing charges; of cells with a plan."""
    codes, credit = inputs.values["routing_code"].data, inputs.values["routing_credit"].data
    if np.all(credit == 1.0) and not any(_may_lose(choices("routing")[code]) for code in np.unique(codes)):
        return []
    steps = chain.needed(inputs.steps, (*_GAINS, *_READ))
    dims = chain.propagate(steps, inputs.dims)[_GAINS[0]]
    cells = int(
        np.prod([size for name, size in zip(inputs.space.names, inputs.space.shape, strict=True) if name in dims])
    )
    if cells > MOST_CHECKED:
        return [
            f"routing_credit is not compared with what is known of each of {cells:,} cells: ask for routing_gain_low "
            "and routing_gain_high"
        ]
    found = chain.evaluate(steps, {name: item.data for name, item in inputs.values.items()})
    low, high, binds, active, routing, stated = np.broadcast_arrays(
        *(found[name] for name in (*_GAINS, *_READ)), codes, credit
    )
    planned = ~np.isnan(active) & (routing != _RANDOM)
    said = []
    for code, constraint in _pairs(routing[planned], binds[planned]):
        here = planned & (routing == code) & (binds == constraint)
        names = choices("routing")[code], (*chain.LIMITS, "balanced", "no limit")[constraint]
        said += gain_warnings(*names, low[here], high[here], stated[here])
    return said


def _may_lose(routing: str) -> bool:
    return any(gain.routing == routing and gain.low < 1.0 for gain in routing_gains())


def _pairs(routing: Array, binds: Array) -> list[tuple[int, int]]:
    return sorted({(int(a), int(b)) for a, b in zip(routing.ravel().tolist(), binds.ravel().tolist(), strict=True)})


def gain_warnings(routing: str, binds: str, low: Array, high: Array, credit: Array) -> list[str]:
    """What is wrong with the credits [1] of cells of one routing in which `binds` sets the rate.

    `low` and `high` are the gains known for each of them [1], NaN where none was measured.
    """
    credited, known = credit != 1.0, ~np.isnan(low)
    said = []
    unknown = credited & ~known
    if unknown.any():
        said.append(
            f"routing_credit {_span(credit[unknown])}: no gain of {routing} was measured where {binds} binds"
            f"{'' if not known.any() else ' at so many replicas'}; 1 counts on none"
        )
    lone = credited & (low == 1.0) & (high == 1.0)
    if lone.any():
        said.append(
            f"routing_credit {_span(credit[lone])}: a lone replica leaves {routing} nothing to choose, and gains 1"
        )
    outside = credited & known & ~lone & ((credit < low) | (credit > high))
    if outside.any():
        said.append(
            f"routing_credit {_span(credit[outside])} lies outside {np.min(low[outside]):g} to "
            f"{np.max(high[outside]):g}, the gain of {routing} that is known where {binds} binds"
        )
    loses = ~credited & (low < 1.0)
    if loses.any():
        said.append(
            f"routing {routing} can lose where {binds} binds (gain {np.min(low[loses]):g} to {np.max(high[loses]):g}), "
            f"and routing_credit 1 does not charge the loss: state routing_credit {np.min(low[loses]):g}, or route by "
            "least_tokens"
        )
    return said


def _span(values: Array) -> str:
    least, most = float(np.min(values)), float(np.max(values))
    return f"{least:g}" if least == most else f"{least:g} to {most:g}"
