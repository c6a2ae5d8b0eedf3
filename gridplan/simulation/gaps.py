"""Gaps between tokens (ITL): a weighted histogram per lane, 256 bins to every doubling of the shortest gap.

Every decode step is one gap for each sequence that decodes. A lane advances over many equal steps at once whose
lengths grow by an even amount; their whole weight goes to one point between the first and the last, moved evenly over
that range from jump to jump, so that the shares come out right over a run.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["BINS", "GapHistogram", "bin_edges", "spread"]

Array: TypeAlias = npt.NDArray[Any]

_FINE = 8
"""Bits of the mantissa that tell bins apart: a bin is at most 1/256 of its edge wide."""

_OCTAVES = 12
BINS = _OCTAVES << _FINE
"""Bins of a lane; the last one collects all gaps above 4,096 times the shortest."""

_MANTISSA = 52
_ONE = np.int64(1023 << _FINE)
_GOLDEN = 0.6180339887498949


class GapHistogram:
    """Weights of gaps: (lanes, BINS), in multiples of each lane's shortest possible gap."""

    def __init__(self, shortest_s: Array) -> None:
        self.shortest_s = np.where(shortest_s > 0, shortest_s, 1.0)
        self.weight = np.zeros((shortest_s.size, BINS))
        self._flat = self.weight.reshape(-1)

    def add(self, lane: Array, gap_s: Array, inverse_shortest: Array, weight: Array) -> None:
        """Add one gap length to each of these lanes (no lane twice)."""
        ratio = gap_s * inverse_shortest
        index = (ratio.view(np.int64) >> (_MANTISSA - _FINE)) - _ONE
        np.maximum(index, 0, out=index)  # a shade below the shortest by rounding
        np.minimum(index, BINS - 1, out=index)
        index += lane * BINS
        self._flat[index] += weight


def spread(step: Array) -> Array:
    """A point of [0, 1) that fills the range evenly as the step number goes on."""
    point = step * _GOLDEN
    point -= np.floor(point)
    return point


def bin_edges() -> Array:
    """Edges of the bins in multiples of the shortest gap: (BINS + 1,)."""
    number = np.arange(BINS + 1)
    edges: Array = np.ldexp(1.0 + (number & ((1 << _FINE) - 1)) / (1 << _FINE), number >> _FINE)
    return edges
