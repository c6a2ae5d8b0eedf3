"""The chain of formulas: what is computed from what, in `plan`, and its pieces by subject."""

from __future__ import annotations

from gridplan.chain.codes import LIMITS, NULL
from gridplan.chain.graph import Array, Step, evaluate, needed, propagate
from gridplan.chain.plan import STEPS
from gridplan.chain.variants import Features, steps_for

__all__ = ["LIMITS", "NULL", "STEPS", "Array", "Features", "Step", "evaluate", "needed", "propagate", "steps_for"]
