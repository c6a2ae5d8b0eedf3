"""The figures of a pair: every two kinds of nodes tried in every cell, the cheapest fleet and the cheapest kind."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from gridplan.chain.codes import NULL, choices, code
from gridplan.chain.graph import Array
from gridplan.engine.bundle import Inputs
from gridplan.engine.field import Field
from gridplan.engine.fleets.dataset import Figure
from gridplan.errors import GridTooLargeError
from gridplan.formulas.two_kinds import Demand, NodeKind, cheapest_pair, nodes_of_one_kind

__all__ = ["READ", "left_out_texts", "pair_figures"]

READ = (
    *("lambda_safe", "lambda_instance", "slots_basis", "node_replicas", "replica_nodes", "infeasible_reason_code"),
    *("base_usd_per_node_hour", "arrival_rate", "redundancy", "failure_domain_code", "redundancy_basis_code"),
)
"""Quantities of the plan, and inputs, that a pair is made of."""

MOST_TRIALS = 2_000_000_000
"""Fleets that are tried in all (policy): some minutes."""

_TIE = 1e-12
"""Share of a bill below which two kinds save nothing (policy): rounding of prices."""


class _Kinds:
    """What each kind of node is in every cell, kinds first: replicas of one purchase, its nodes, price and rates.

    A purchase is one node, or the nodes that one wide replica spans. `reason` is the code of what leaves a kind out.
    """

    def __init__(self, inputs: Inputs, figures: Mapping[str, Field]) -> None:
        self.place, self.labels = inputs.space.names.index("instance"), inputs.space.labels["instance"]
        self.dims = frozenset[str]().union(*(figures[name].dims for name in READ)) - {"instance"}
        arrays = np.broadcast_arrays(*(figures[name].data for name in READ))
        read = {name: self._first(item) for name, item in zip(READ, arrays, strict=True)}
        self.arrival_rate, self.redundancy = read["arrival_rate"][0], read["redundancy"][0]
        self.by_node = read["failure_domain_code"][0] == code("failure_domain", "node")
        self.by_slo = read["redundancy_basis_code"][0] == code("redundancy_basis", "slo")
        self.replicas = np.maximum(read["node_replicas"], 1.0)
        self.nodes = read["replica_nodes"]
        self.usd = read["base_usd_per_node_hour"] * self.nodes
        self.safe, self.most = read["lambda_safe"], read["lambda_instance"]
        self.reason = self._reason(read)

    def _first(self, data: Array) -> Array:
        moved = np.moveaxis(data, self.place, 0)
        return np.broadcast_to(moved, (len(self.labels), *moved.shape[1:]))

    def _reason(self, read: Mapping[str, Array]) -> Array:
        name = choices("pair_left_out_reason")
        silent = self.by_slo & (self.redundancy > 0) & (read["slots_basis"] == 1.0)
        found = np.where(silent, name.index("no_limits"), NULL)
        found = np.where(np.isnan(self.usd), name.index("no_price"), found)
        found = np.where(np.isnan(self.nodes) | np.isnan(self.replicas), name.index("no_node_size"), found)
        found = np.where(np.isnan(self.safe), name.index("no_plan"), found)
        # The reasons of a cell come first in that list, in the order of their own codes.
        own = read["infeasible_reason_code"]
        return np.where(own != NULL, own, found)

    def of(self, kind: int) -> NodeKind:
        """Units of one purchase and its price, NaN where the kind is left out."""
        units = np.where(self.by_node, 1.0, self.replicas[kind])
        return NodeKind(units, np.where(self.reason[kind] == NULL, self.usd[kind], np.nan))

    def demands(self, first: int, second: int) -> list[Demand]:
        """What must hold: the safe rate after the loss; by limits alone, those after it and the safe rate before."""
        safe = self._rates(self.safe, first, second)
        lost = np.where(self.by_slo, 0.0, self.redundancy)
        found = [Demand(self.arrival_rate, lost, safe)]
        if self.by_slo.any():
            lost = np.where(self.by_slo, self.redundancy, 0.0)
            most = self._rates(self.most, first, second)
            rates = tuple(np.where(self.by_slo, a, b) for a, b in zip(most, safe, strict=True))
            found.append(Demand(self.arrival_rate, lost, (rates[0], rates[1])))
        return found

    def _rates(self, rate: Array, first: int, second: int) -> tuple[Array, Array]:
        """Rate of one unit of each kind: a replica, or all replicas of a node."""
        by_kind = [np.where(self.by_node, rate[kind] * self.replicas[kind], rate[kind]) for kind in (first, second)]
        return by_kind[0], by_kind[1]


def pair_figures(inputs: Inputs, figures: Mapping[str, Field]) -> dict[str, Figure]:
    """All figures of the cheapest fleets of one or two kinds."""
    kinds = _Kinds(inputs, figures)
    alone = np.stack([nodes_of_one_kind(kinds.of(kind), kinds.demands(kind, kind), 0) for kind in _all(kinds)])
    alone = np.where(kinds.reason == NULL, alone, np.nan)
    bills = np.where(np.isnan(alone), np.inf, alone * kinds.usd)
    single = np.argmin(bills, axis=0)
    least = np.take_along_axis(bills, single[np.newaxis], axis=0)[0]
    served = np.isfinite(least)
    first, second = single, np.full(single.shape, -1)
    numbers = [np.take_along_axis(alone, single[np.newaxis], axis=0)[0], np.zeros(single.shape)]
    bill = least.copy()
    _check_size(inputs, alone)
    for one, other in combinations(_all(kinds), 2):
        if not (np.isfinite(bills[one]) & np.isfinite(bills[other])).any():
            continue
        of_one, of_other, usd = cheapest_pair(kinds.of(one), kinds.of(other), kinds.demands(one, other))
        better = (usd < bill) & (usd < least * (1.0 - _TIE)) & (of_one > 0) & (of_other > 0)
        bill = np.where(better, usd, bill)
        first, second = np.where(better, one, first), np.where(better, other, second)
        numbers = [np.where(better, of_one, numbers[0]), np.where(better, of_other, numbers[1])]
    single_nodes = np.where(served, _at(alone * kinds.nodes, single), np.nan)
    found = _of_fleet(kinds, served, (first, second), numbers, np.where(served, bill, np.nan))
    least = np.where(served, least, np.nan)
    found |= {
        "pair_single_instance": _labels(kinds, np.where(served, single, -1)),
        "pair_single_nodes": single_nodes,
        "pair_single_usd_per_hour": least,
        "pair_saving_usd_per_hour": least - found["pair_usd_per_hour"],
    }
    found["pair_left_out"] = _left_out(kinds)
    result = {name: Figure(np.expand_dims(item, kinds.place), kinds.dims) for name, item in found.items()}
    left_out = np.moveaxis(kinds.reason, 0, kinds.place)
    return result | {"pair_left_out_reason": Figure(left_out, kinds.dims | {"instance"})}


def _all(kinds: _Kinds) -> range:
    return range(len(kinds.labels))


def _at(of_kinds: Array, place: Array) -> Array:
    """Of figures with the kinds first, those of the kind at `place`."""
    return np.asarray(np.take_along_axis(of_kinds, np.maximum(place, 0)[np.newaxis], axis=0)[0])


def _of_fleet(
    kinds: _Kinds, served: Array, chosen: tuple[Array, Array], numbers: list[Array], bill: Array
) -> dict[str, Array]:
    """Kinds, nodes and replicas of the cheapest fleet, and the share of requests that the first kind takes."""
    found: dict[str, Array] = {}
    carried = []
    for place, (kind, number) in enumerate(zip(chosen, numbers, strict=True)):
        replicas = np.where(kind < 0, 0.0, number * _at(kinds.replicas, kind))
        found[f"pair_instance_{place + 1}"] = _labels(kinds, np.where(served, kind, -1))
        found[f"pair_nodes_{place + 1}"] = np.where(
            served, np.where(kind < 0, 0.0, number * _at(kinds.nodes, kind)), np.nan
        )
        found[f"pair_replicas_{place + 1}"] = np.where(served, replicas, np.nan)
        carried.append(np.where(kind < 0, 0.0, replicas * _at(kinds.safe, kind)))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = carried[0] / (carried[0] + carried[1])
    found["pair_request_share_1"] = np.where(served, share, np.nan)
    found["pair_usd_per_hour"] = bill
    return found


def _labels(kinds: _Kinds, place: Array) -> Array:
    """Names of kinds, None where there is none."""
    return np.asarray(np.array([*kinds.labels, None], dtype=object)[place], dtype=object)


def _left_out(kinds: _Kinds) -> Array:
    """The kinds that are left out in each cell, by name with their reasons; None where there is none."""
    names = choices("pair_left_out_reason")
    texts = np.full(kinds.reason.shape[1:], None, dtype=object)
    for codes in np.unique(kinds.reason.reshape(len(kinds.labels), -1), axis=1).T:
        here = (kinds.reason == codes.reshape(-1, *[1] * texts.ndim)).all(axis=0)
        said = (f"{kinds.labels[kind]} ({names[each]})" for kind, each in enumerate(codes.tolist()) if each != NULL)
        texts[here] = ", ".join(said) or None
    return texts


def _check_size(inputs: Inputs, alone: Array) -> None:
    """Raise where so many fleets would be tried that no answer comes in time."""
    known = np.nan_to_num(alone)
    trials = sum(
        float(np.minimum(known[one], known[other]).max(initial=0.0)) * known[one].size
        for one, other in combinations(range(len(alone)), 2)
    )
    if trials > MOST_TRIALS:
        raise GridTooLargeError(
            f"{inputs.grid.path}: {trials:.3g} fleets of two kinds would be tried, {MOST_TRIALS:.3g} are the most: fix "
            "an axis with at, or leave out kinds"
        )


def left_out_texts(inputs: Inputs, reason: Figure) -> list[str]:
    """One sentence for each kind that is left out somewhere, by name, with its reasons."""
    names, place = choices("pair_left_out_reason"), inputs.space.names.index("instance")
    said = []
    for label, codes in zip(inputs.space.labels["instance"], np.moveaxis(reason.data, place, 0), strict=True):
        found = [names[int(each)] for each in np.unique(codes) if each != NULL]
        if found:
            where = "" if (codes != NULL).all() else f" in {np.count_nonzero(codes != NULL):,} of {codes.size:,} cells"
            said.append(f"{label} is left out{where}: {', '.join(found)}")
    return said
