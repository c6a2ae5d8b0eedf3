"""What a run says at the end, gathered block by block: feasible share, what binds how often, the cheapest per model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridplan.chain.graph import Array
from gridplan.engine import survivors
from gridplan.store.blocks import Block
from gridplan.store.columns import Column
from gridplan.store.layout import Layout

__all__ = ["READ", "Best", "Summary", "counted_columns"]

PRICE = "usd_per_mtok_output"

READ = frozenset(
    {"status", "binding_constraint", "infeasible_reason", PRICE, "anchor_ratio", "fleet_sufficient", "model"}
    | {"latency_flag", "latency_source", "lambda_basis", "batch_mean", "concurrency_compute", "slo_held"}
    | {*survivors.QUESTIONS, *survivors.NEEDED, survivors.WITHOUT_SPOT}
)
"""Columns that a summary looks at."""

RIDGE_SHARE = 0.5
"""Share of the ridge from which a decode step is no longer only read from memory, and takes longer than its sum of
reads (policy; measured error of the additive step there: 5 to 10%)."""

ANCHOR_RANGE = (0.5, 2.0)
"""Anchors outside say that first principles and the measurement disagree: such prices are not ranked (policy)."""


@dataclass(frozen=True)
class Best:
    """The cheapest feasible cell of one model: its row in declared order, its price and its labels."""

    row: int
    price: float
    labels: Mapping[str, str | float]


class Summary:
    """Counts over all blocks of a cube; the order of the blocks does not matter."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.cells = 0
        self.feasible: int | None = None
        self.binding: dict[str, int] = {}
        self.reasons: dict[str, int] = {}
        self.flags: dict[str, int] = {}
        self.sources: dict[str, int] = {}
        self.bases: dict[str, int] = {}
        self.missed = 0
        self.near_ridge = 0
        self.cheapest: dict[str, Best] = {}
        self.survivors = survivors.Survivors(layout)
        names = [axis.name for axis in layout.axes]
        self._scenario = names.index("scenario") if "scenario" in names else None
        self.unranked = self.short = False
        self._strides = np.append(np.cumprod(layout.shape[::-1])[::-1][1:], 1).astype(np.int64)

    def without_layout(self) -> Summary:
        """The same counts, to be merged elsewhere into a summary that knows the layout: light enough to travel."""
        light = copy(self)
        light.survivors = copy(self.survivors)
        del light.layout, light.survivors.layout
        return light

    def merge(self, other: Summary) -> None:
        """Add what another summary of the same cube counted."""
        self.cells += other.cells
        if other.feasible is not None:
            self.feasible = (self.feasible or 0) + other.feasible
        counts = ("binding", "reasons", "flags", "sources", "bases")
        for mine, theirs in ((getattr(self, name), getattr(other, name)) for name in counts):
            for label, count in theirs.items():
                mine[label] = mine.get(label, 0) + count
        self.near_ridge += other.near_ridge
        self.missed += other.missed
        self.unranked = self.unranked or other.unranked
        self.short = self.short or other.short
        self.survivors.merge(other.survivors)
        for model, best in other.cheapest.items():
            self._offer(model, best)

    def add(self, block: Block, arrays: Mapping[str, Array]) -> None:
        """Count one block."""
        self.cells += block.rows
        counted = {"binding_constraint": self.binding, "infeasible_reason": self.reasons}
        counted |= {"latency_flag": self.flags, "latency_source": self.sources, "lambda_basis": self.bases}
        for name, into in counted.items():
            if name in arrays:
                codes = arrays[name]
                if name == "binding_constraint" and "status" in arrays and arrays["status"].any():
                    codes = np.where(arrays["status"] == 0, codes, -1)  # a replica that runs may be no plan: budgets
                self._count(name, codes, block, into)
        if "batch_mean" in arrays and "concurrency_compute" in arrays:
            near = arrays["batch_mean"] > RIDGE_SHARE * arrays["concurrency_compute"]
            self.near_ridge += int(np.count_nonzero(near)) * (block.rows // near.size)
        if "status" in arrays:
            status = arrays["status"]
            self.feasible = (self.feasible or 0) + int(np.count_nonzero(status == 0)) * (block.rows // status.size)
        # Without the column that says how far a rate was scaled, measured prices cannot be told apart: no ranking then.
        ranked = "anchor_ratio" in arrays or not self._may_scale()
        if ranked and (PRICE in arrays or self.survivors.questions):
            may = self._may_be_ranked(block, arrays) & self._nominal(block)
            models = self._models(block, arrays)
            if PRICE in arrays:
                price = arrays[PRICE]
                self._cheapest(block, price if may.all() else np.where(may, price, np.nan), *models)
            self.survivors.add(block, arrays, may, models)

    def _count(self, name: str, codes: Array, block: Block, into: dict[str, int]) -> None:
        labels = self.layout.column(name).categories
        repeat = block.rows // codes.size
        counts = np.bincount(codes.ravel() + 1, minlength=len(labels) + 1)[1:]
        for label, count in zip(labels, counts.tolist(), strict=True):
            if count:
                into[label] = into.get(label, 0) + count * repeat

    def _cheapest(self, block: Block, price: Array, models: tuple[str, ...], codes: Array) -> None:
        for code in np.unique(codes):
            model = models[int(code)] if code >= 0 else ""
            own = price if codes.size == 1 else np.where(codes == code, price, np.nan)
            # fmin passes over nulls; most blocks hold nothing cheaper, and need no search for the place.
            lowest = float(np.fmin.reduce(own, axis=None))
            best = self.cheapest.get(model)
            if math.isnan(lowest) or (best is not None and lowest > best.price):
                continue
            place = np.unravel_index(int(np.argmax(own == lowest)), own.shape)
            at = tuple(start + int(offset) for start, offset in zip(block.start, place, strict=True))
            labels = {axis.name: axis.labels[position] for axis, position in zip(self.layout.axes, at, strict=True)}
            row = int(np.dot(np.asarray(at, dtype=np.int64), self._strides)) if at else 0
            self._offer(model, Best(row, lowest, labels))

    def _may_be_ranked(self, block: Block, arrays: Mapping[str, Array]) -> Array:
        """Whether prices may be compared: those of fleets that hold their plan, and are not scaled by a far anchor."""
        may = np.ones((1,) * len(block.shape), dtype=bool)
        if "fleet_sufficient" in arrays and (short := arrays["fleet_sufficient"] == 0).any():
            self.short = True
            may = may & ~short
        if "slo_held" in arrays and (missed := arrays["slo_held"] == 0).any():
            self.missed += int(np.count_nonzero(missed)) * (block.rows // missed.size)
            may = may & ~missed
        if "anchor_ratio" in arrays:
            anchor = arrays["anchor_ratio"]
            far = (anchor < ANCHOR_RANGE[0]) | (anchor > ANCHOR_RANGE[1])
            if far.any():
                self.unranked = True
                may = may & ~far
        return may

    def _nominal(self, block: Block) -> Array:
        """Where the scenario is `nominal`: what happens to a plan is no alternative to it."""
        rank = len(block.shape)
        if self._scenario is None:
            return np.ones((1,) * rank, dtype=bool)
        shape = [1] * rank
        shape[self._scenario] = -1
        places = np.arange(block.start[self._scenario], block.stop[self._scenario])
        return np.reshape(places == 0, shape)

    def _models(self, block: Block, arrays: Mapping[str, Array]) -> tuple[tuple[str, ...], Array]:
        """Labels of the models and the code of each cell's model."""
        if "model" in arrays:
            return self.layout.column("model").categories, arrays["model"]
        for position, axis in enumerate(self.layout.axes):
            if axis.name == "model":
                shape = [1] * len(self.layout.axes)
                shape[position] = -1
                codes = np.arange(block.start[position], block.stop[position]).reshape(shape)
                return tuple(str(label) for label in axis.labels), codes
        return ("",), np.zeros((1,) * len(self.layout.axes), dtype=np.int64)

    def _may_scale(self) -> bool:
        """Whether some cell takes its rate from a measurement."""
        labels = {column.name: column.categories for column in self.layout.columns}.get("capacity_model", ())
        return "measured" in labels

    def _model_order(self, model: str) -> int:
        """Position of a model among the labels of the cube."""
        names = {column.name: column.categories for column in self.layout.columns}.get("model", ())
        return names.index(model) if model in names else -1

    def _offer(self, model: str, best: Best) -> None:
        known = self.cheapest.get(model)
        if known is None or (best.price, best.row) < (known.price, known.row):
            self.cheapest[model] = best

    def warnings(self) -> list[str]:
        """What a reader of the cheapest plans must know."""
        said = []
        if self.unranked:
            said.append(
                "cells scaled by an anchor_ratio outside 0.5 to 2 are not ranked among the cheapest: there, first "
                "principles and the measurement disagree too far"
            )
        if self.near_ridge:
            said.append(
                f"in {self.near_ridge:,} cells the mean batch is above half of concurrency_compute: FLOPs lengthen a "
                "decode step there, and its latencies are too short"
            )
        if self.missed:
            said.append(f"{self.missed:,} cells whose planned point misses a limit (slo_held false) are not ranked")
        if self.survivors.ignores_spot:
            said.append(
                "plans on spot are among those that survive the loss of a node: with slo_held_without_spot among the "
                "outputs, those that fall when all spot goes are left out"
            )
        if self.short:
            said.append("cells whose nodes_given do not hold the plan (fleet_sufficient false) are not ranked")
        return said

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, models in declared order."""
        share = None if self.feasible is None else self.feasible / self.cells
        order = sorted(self.cheapest.items(), key=lambda item: self._model_order(item[0]))
        return {
            "cells": self.cells,
            "feasible": self.feasible,
            "feasible_share": share,
            "lambda_basis": dict(sorted(self.bases.items(), key=lambda item: (-item[1], item[0]))),
            "binding_constraint": dict(sorted(self.binding.items(), key=lambda item: (-item[1], item[0]))),
            "infeasible_reason": dict(sorted(self.reasons.items(), key=lambda item: (-item[1], item[0]))),
            "latency_source": dict(sorted(self.sources.items(), key=lambda item: (-item[1], item[0]))),
            "slo_missed": self.missed,
            "latency_flag": dict(sorted(self.flags.items(), key=lambda item: (-item[1], item[0]))),
            "cheapest_surviving": self.survivors.to_dict(),
            "cheapest": [{"model": model, PRICE: best.price, "labels": dict(best.labels)} for model, best in order],
        }


def counted_columns(layout: Layout) -> list[Column]:
    """Columns of a cube that its summary reads; what plans cost and take only where it is known which survive."""
    survivor_columns = {*survivors.NEEDED, survivors.WITHOUT_SPOT} - {"status"}
    unread = set() if Summary(layout).survivors.questions else survivor_columns
    return [column for column in layout.given if column.name in READ - unread]
