"""What a stream of blocks is folded into: one small state per group of cells, which adds blocks and merges."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gridplan.chain.graph import Array
from gridplan.engine.places import Place
from gridplan.engine.sketch import QuantileSketch
from gridplan.store.layout import Layout

if TYPE_CHECKING:
    from gridplan.engine.blocks import BlockEvaluator

__all__ = ["Fold", "add_block", "folds_of", "make_fold"]

Results = dict[str, tuple[Array, Mapping[str, Sequence[str]]]]
"""Values by variable name, groups first, with the labels of any further dimension."""


class Fold(ABC):
    """One aggregate of one measure; groups are the combinations of the labels of `by`, in axis order."""

    def __init__(self, layout: Layout, measure: str, kind: str, by: Sequence[str]) -> None:
        self.layout, self.measure, self.kind = layout, measure, kind
        names = layout.dims
        self.folded = tuple(position for position, name in enumerate(names) if name not in by)
        self.groups = math.prod(size for name, size in zip(names, layout.shape, strict=True) if name in by)

    def forget_layout(self) -> None:
        """Let go of what only `add` and `results` need: what is left travels, to be merged elsewhere."""
        del self.layout

    @abstractmethod
    def add(self, place: Place, values: Array) -> None:
        """Fold the values of one block, which may be of size 1 along dimensions they do not depend on."""

    @abstractmethod
    def merge(self, other: Fold) -> None:
        """Add what another fold of the same kind holds."""

    @abstractmethod
    def results(self) -> Results:
        """The aggregate of every group."""


class _Extreme(Fold):
    """The smallest or largest value of a group."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.pick = np.fmin if self.kind == "min" else np.fmax
        self.state = np.full(self.groups, np.nan)

    def add(self, place: Place, values: Array) -> None:
        table, _ = place.table(values)
        self.state[place.groups] = self.pick(self.state[place.groups], self.pick.reduce(table, axis=1))

    def merge(self, other: Fold) -> None:
        assert isinstance(other, _Extreme)
        self.state = self.pick(self.state, other.state)

    def results(self) -> Results:
        return {f"{self.measure}_{self.kind}": (self.state, {})}


class _Moments(Fold):
    """Count, sum or mean of the values of a group."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.total, self.count = np.zeros(self.groups), np.zeros(self.groups, dtype=np.int64)

    def add(self, place: Place, values: Array) -> None:
        table, repeat = place.table(values)
        self.count[place.groups] += np.count_nonzero(~np.isnan(table), axis=1) * repeat
        if self.kind != "count":
            self.total[place.groups] += np.nansum(table, axis=1) * repeat

    def merge(self, other: Fold) -> None:
        assert isinstance(other, _Moments)
        self.total += other.total
        self.count += other.count

    def results(self) -> Results:
        name = f"{self.measure}_{self.kind}"
        if self.kind == "count":
            return {name: (self.count, {})}
        known = np.where(self.count == 0, np.nan, self.count)
        return {name: (self.total * (known / known) if self.kind == "sum" else self.total / known, {})}


class _Labels(Fold):
    """Cells of each label of a text measure."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.labels = self.layout.column(self.measure).categories
        self.state = np.zeros((self.groups, len(self.labels)), dtype=np.int64)

    def add(self, place: Place, values: Array) -> None:
        table, repeat = place.table(values)
        groups, width = len(place.groups), len(self.labels) + 1
        flat = table + 1 + np.arange(groups)[:, np.newaxis] * width
        counts = np.bincount(flat.ravel(), minlength=groups * width).reshape(groups, width)
        self.state[place.groups] += counts[:, 1:] * repeat

    def merge(self, other: Fold) -> None:
        assert isinstance(other, _Labels)
        self.state += other.state

    def results(self) -> Results:
        return {f"{self.measure}_count": (self.state, {self.measure: self.labels})}


class _Quantile(Fold):
    """A quantile of a group, from a sketch."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.sketch = QuantileSketch(self.groups)

    def add(self, place: Place, values: Array) -> None:
        table, repeat = place.table(values)
        self.sketch.add(np.broadcast_to(place.groups[:, np.newaxis], table.shape), table, repeat)

    def merge(self, other: Fold) -> None:
        assert isinstance(other, _Quantile)
        self.sketch.merge(other.sketch)

    def results(self) -> Results:
        return {f"{self.measure}_{self.kind}": (self.sketch.quantile(float(self.kind[1:]) / 100), {})}


class _Winner(Fold):
    """The cell of a group with the smallest or largest value; the first in declared order where several tie."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.sign = 1.0 if self.kind == "argmin" else -1.0
        self.best = np.full(self.groups, np.inf)
        self.row = np.full(self.groups, -1, dtype=np.int64)

    def add(self, place: Place, values: Array) -> None:
        table, _ = place.table(values)
        signed = np.where(np.isnan(table), np.inf, table * self.sign)
        winner = signed.argmin(axis=1)
        groups = len(winner)
        within = [values.shape[axis] for axis in self.folded]
        row = np.zeros(groups, dtype=np.int64)
        for axis, position in zip(self.folded, np.unravel_index(winner, within) if within else (), strict=True):
            row = row * self.layout.shape[axis] + place.block.start[axis] + position
        self._keep(place.groups, signed[np.arange(groups), winner], row)

    def _keep(self, groups: Array, value: Array, row: Array) -> None:
        known, at = self.best[groups], self.row[groups]
        better = np.isfinite(value) & ((value < known) | ((value == known) & ((at < 0) | (row < at))))
        self.best[groups] = np.where(better, value, known)
        self.row[groups] = np.where(better, row, at)

    def merge(self, other: Fold) -> None:
        assert isinstance(other, _Winner)
        self._keep(np.arange(self.groups), other.best, other.row)

    def results(self) -> Results:
        none = self.row < 0
        results: Results = {}
        sizes = [self.layout.shape[axis] for axis in self.folded]
        places = np.unravel_index(np.maximum(self.row, 0), sizes) if sizes else ()
        for axis, position in zip(self.folded, places, strict=True):
            spec = self.layout.axes[axis]
            labels = np.array(spec.labels, dtype=object if spec.is_text else np.float64)[position]
            missing: object = None if spec.is_text else np.nan
            chosen = np.where(none, np.array(missing, dtype=labels.dtype), labels)
            results[f"{self.measure}_{self.kind}_{spec.name}"] = (chosen, {})
        return results


def make_fold(layout: Layout, measure: str, kind: str, by: Sequence[str]) -> Fold:
    """The fold of that kind: min, max, mean, sum, count, argmin, argmax or a quantile such as p95."""
    if layout.column(measure).dtype == "string":
        return _Labels(layout, measure, kind, by)
    kinds: Mapping[str, type[Fold]] = {
        "min": _Extreme,
        "max": _Extreme,
        "mean": _Moments,
        "sum": _Moments,
        "count": _Moments,
        "argmin": _Winner,
        "argmax": _Winner,
    }
    return kinds.get(kind, _Quantile)(layout, measure, kind, by)


def folds_of(layout: Layout, wanted: Mapping[str, Sequence[str]], by: Sequence[str]) -> dict[str, list[Fold]]:
    """Empty folds of each measure, one for each of its kinds."""
    return {name: [make_fold(layout, name, kind, by) for kind in kinds] for name, kinds in wanted.items()}


def add_block(evaluator: BlockEvaluator, place: Place, folds: Mapping[str, Iterable[Fold]]) -> None:
    """Fold every array as soon as it is there, so that none is kept longer than the chain needs it."""
    for name, values in evaluator.stream(place.block):
        for fold in folds.get(name, ()):
            fold.add(place, values)
