"""The weight read of a step by its batch: a constant in a dense model, growing with the experts that are touched."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridplan.chain.graph import Array, spread
from gridplan.chain.kernels import kernels

__all__ = ["Reads"]


class Reads(NamedTuple):
    """t_w(n) = fixed + experts (1 - (1 - K/E)^n) [s]."""

    step_fixed_s: Array
    step_experts_s: Array
    num_experts: Array
    experts_per_token: Array

    @property
    def grow(self) -> bool:
        """Whether the batch matters anywhere."""
        return bool(np.any(self.step_experts_s))

    def at(self, batch: Array) -> Array:
        """t_w at a mean batch [s], at least that of one sequence: a step that runs has one. Unknown without a batch."""
        if not self.grow:
            return spread(self.step_fixed_s, self.step_experts_s)
        result: Array = kernels.step_weights_at_batch_s(*self, np.maximum(batch, 1.0))
        return result

    def batch_at_step_time(self, step_time_s: Array, per_sequence_s: Array) -> Array:
        """Batch at which a step takes that long [sequences, not rounded]."""
        result: Array = kernels.batch_at_step_time(step_time_s, *self, per_sequence_s)
        return result

    def at_step_time(self, step_time_s: Array, per_sequence_s: Array) -> Array:
        """t_w at the batch at which a step takes that long [s]."""
        return self.at(self.batch_at_step_time(step_time_s, per_sequence_s) if self.grow else step_time_s)
