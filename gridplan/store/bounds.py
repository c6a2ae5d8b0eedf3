"""Where the parts of a cube begin and end, as arrays: which of very many hold something is told at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from gridplan.store.blocks import Block, Part

__all__ = ["Bounds"]


class Bounds:
    """The bounds of `parts` along each of `dims` axes."""

    def __init__(self, parts: Sequence[Part], dims: int) -> None:
        self._start = np.array([part.start for part in parts], dtype=np.int64).reshape(len(parts), dims)
        self._stop = np.array([part.stop for part in parts], dtype=np.int64).reshape(len(parts), dims)

    def meeting(self, box: Block) -> list[int]:
        """Places among the parts of those with cells of `box`, in order."""
        met = (np.maximum(self._start, box.start) < np.minimum(self._stop, box.stop)).all(axis=1)
        return [int(place) for place in np.flatnonzero(met)]

    def holding(self, positions: Mapping[int, Sequence[int]]) -> list[int]:
        """Places among the parts of those with cells at some of these positions of each axis named, in order."""
        held = np.ones(len(self._start), dtype=bool)
        for axis, wanted in positions.items():
            # How many of them lie before a label: more before the end of a part than before its start are in it.
            before = self._before(axis, wanted)
            held &= before[self._start[:, axis]] < before[self._stop[:, axis]]
        return [int(place) for place in np.flatnonzero(held)]

    def _before(self, axis: int, wanted: Sequence[int]) -> npt.NDArray[np.int64]:
        among = np.zeros(max(int(self._stop[:, axis].max(initial=0)), max(wanted, default=0)) + 2, dtype=np.int64)
        among[np.asarray(wanted, dtype=np.int64) + 1] = 1
        return np.cumsum(among)
