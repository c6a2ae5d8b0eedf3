"""Classes with the same prompt see the same TTFT: it is worked out once for all of them.

Random lengths become many classes, most of them with the prompt of another one. TTFT has a term, and its law several
cases, for each pair of classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gridplan.formulas.replica.first_token import FirstToken
from gridplan.formulas.replica.traffic import Array, Traffic

__all__ = ["PromptGroups", "prompt_groups"]


@dataclass(frozen=True, eq=False)
class PromptGroups:
    """of: number of each class's group; first: the first class of each group."""

    of: npt.NDArray[np.intp]
    first: npt.NDArray[np.intp]

    def load(self, load: Traffic) -> Traffic:
        """A load of one class a group. What is not of the prompt is that of the first class: not for decoding."""
        if self.first.size == load.classes:
            return load
        weights = np.zeros((self.first.size, *load.weights.shape[1:]))
        np.add.at(weights, self.of, load.weights)
        return replace(
            load,
            classes=self.first.size,
            weights=weights,
            prompt=self.pick(load.prompt),
            uncached=self.pick(load.uncached),
            output=self.pick(load.output),
            prefill=self.pick(load.prefill),
            steps=self.pick(load.steps),
            context=self.pick(load.context),
        )

    def tokens(self, first: FirstToken) -> FirstToken:
        """TTFT by group, from TTFT by class."""
        return self._changed(first, self.pick)

    def spread(self, first: FirstToken) -> FirstToken:
        """TTFT by class, from TTFT by group."""
        return self._changed(first, lambda values: values[self.of] if values.shape[0] == self.first.size else values)

    def _changed(self, first: FirstToken, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> FirstToken:
        if self.first.size == self.of.size:
            return first
        return replace(
            first,
            own=change(first.own),
            queue=change(first.queue),
            mean=change(first.mean),
            chunked=change(first.chunked),
            chunk_work=change(first.chunk_work),
        )

    def pick(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """An array by class (or with one value for all) by group."""
        return values[self.first] if values.shape[0] == self.of.size else values


def prompt_groups(load: Traffic) -> PromptGroups:
    """Classes whose uncached tokens and prefill are the same in every cell of the load."""
    found: dict[tuple[bytes, bytes], int] = {}
    first: list[int] = []
    of = np.zeros(load.classes, dtype=np.intp)
    for index in range(load.classes):
        key = (_row(load.uncached, index), _row(load.prefill, index))
        of[index] = found.setdefault(key, len(found))
        if of[index] == len(first):
            first.append(index)
    return PromptGroups(of, np.array(first, dtype=np.intp))


def _row(values: Array, index: int) -> bytes:
    row: Array = values[index if values.shape[0] > 1 else 0]
    return row.tobytes()
