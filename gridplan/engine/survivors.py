"""The cheapest plan of each load that survives the loss of a node, gathered block by block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridplan.chain.graph import Array
from gridplan.store.blocks import Block
from gridplan.store.layout import Layout

__all__ = ["NEEDED", "QUESTIONS", "WITHOUT_SPOT", "Survivor", "Survivors"]

QUESTIONS = ("survives_node_loss_slo", "survives_node_loss_headroom")
"""Columns that say whether a plan survives: limits still hold, or the headroom is kept as well."""

WITHOUT_SPOT = "slo_held_without_spot"
"""Where a cube has it, plans that fall with their spot nodes survive nothing."""

NEEDED = ("status", "usd_per_hour", "replicas", "nodes")
"""Columns without which no plan can be named."""

_LOADS = ("workload", "arrival_rate")
"""Axes that say how much must be carried: plans of other loads are no alternatives."""

Key = tuple[str, ...]


@dataclass(frozen=True)
class Survivor:
    """The cheapest plan of one model and load: its price, nodes and labels."""

    row: int
    usd_per_hour: float
    replicas: float
    nodes: float
    labels: Mapping[str, str | float]


class Survivors:
    """The cheapest plans by question, model and load; the order of the blocks does not matter.

    Of plans at one price the one with most replicas counts: spares that cost nothing.
    """

    def __init__(self, layout: Layout) -> None:
        names = {column.name for column in layout.columns}
        axes = [axis.name for axis in layout.axes]
        self.layout = layout
        known = names.issuperset(NEEDED)
        self.questions = tuple(name for name in QUESTIONS if known and name in names)
        self.loads = tuple(place for place, name in enumerate(axes) if name in _LOADS)
        bought = [axis.labels for axis in layout.axes if axis.name == "purchase"]
        self.without_spot = WITHOUT_SPOT in names
        self.ignores_spot = bool(self.questions and bought and "spot" in bought[0]) and not self.without_spot
        self.found: dict[str, dict[Key, Survivor]] = {name: {} for name in self.questions}

    def merge(self, other: Survivors) -> None:
        """Add what another one of the same cube found."""
        for question, theirs in other.found.items():
            for key, survivor in theirs.items():
                self._offer(question, key, survivor)

    def add(
        self, block: Block, arrays: Mapping[str, Array], ranked: Array, models: tuple[tuple[str, ...], Array]
    ) -> None:
        """Look at one block; `ranked` says which plans may be compared, `models` are labels and codes of its cells."""
        if not self.questions:
            return
        names, codes = models
        standing = ranked & (arrays["status"] == 0)
        if WITHOUT_SPOT in arrays:
            standing = standing & (arrays[WITHOUT_SPOT] != 0)
        for question in self.questions:
            lives = standing & (arrays[question] == 1)
            price = np.broadcast_to(np.where(lives, arrays["usd_per_hour"], np.nan), block.shape)
            for code in np.unique(codes):
                own = price if codes.size == 1 else np.where(np.broadcast_to(codes, price.shape) == code, price, np.nan)
                self._cheapest(block, arrays, question, names[int(code)] if code >= 0 else "", own)

    def _cheapest(self, block: Block, arrays: Mapping[str, Array], question: str, model: str, price: Array) -> None:
        others = tuple(axis for axis in range(price.ndim) if axis not in self.loads)
        lowest = np.fmin.reduce(price, axis=others, keepdims=True) if others else price
        for load in map(tuple, np.argwhere(~np.isnan(lowest)).tolist()):
            of_load = tuple(slice(at, at + 1) if axis in self.loads else slice(None) for axis, at in enumerate(load))
            spares = np.broadcast_to(arrays["replicas"], price.shape)[of_load]
            most = np.argmax(np.where(price[of_load] == lowest[load], spares, -1.0))
            best = np.unravel_index(int(most), spares.shape)
            inner = tuple(at if axis in self.loads else int(best[axis]) for axis, at in enumerate(load))
            index = tuple(start + at for start, at in zip(block.start, inner, strict=True))
            labels = {axis.name: axis.labels[at] for axis, at in zip(self.layout.axes, index, strict=True)}
            key = (model, *(str(labels[self.layout.axes[axis].name]) for axis in self.loads))
            row = int(np.ravel_multi_index(index, self.layout.shape)) if index else 0
            replicas, nodes = (
                float(np.broadcast_to(arrays[name], block.shape)[inner]) for name in ("replicas", "nodes")
            )
            self._offer(question, key, Survivor(row, float(lowest[load]), replicas, nodes, labels))

    def _offer(self, question: str, key: Key, survivor: Survivor) -> None:
        known = self.found[question].get(key)
        if known is None or _rank(survivor) < _rank(known):
            self.found[question][key] = survivor

    def to_dict(self) -> dict[str, list[dict[str, Any]]]:
        """Plain data for JSON, by question; models and loads in declared order."""
        return {
            question: [
                {"model": key[0], "usd_per_hour": item.usd_per_hour, "nodes": item.nodes, "labels": dict(item.labels)}
                for key, item in sorted(found.items(), key=lambda pair: self._order(pair[0], pair[1]))
            ]
            for question, found in self.found.items()
        }

    def _order(self, key: Key, item: Survivor) -> tuple[int, ...]:
        models = {column.name: column.categories for column in self.layout.columns}.get("model", ())
        axes = [axis for axis in self.layout.axes if axis.name == "model"]
        names = tuple(str(label) for label in axes[0].labels) if axes else models
        of_load = (self.layout.axes[axis] for axis in self.loads)
        return (
            names.index(key[0]) if key[0] in names else -1,
            *(axis.labels.index(item.labels[axis.name]) for axis in of_load),
        )


def _rank(survivor: Survivor) -> tuple[float, float, int]:
    return survivor.usd_per_hour, -survivor.replicas, survivor.row
