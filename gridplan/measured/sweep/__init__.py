"""Results of load generators, read into one form: points of a sweep."""

from gridplan.measured.sweep.formats import FORMATS
from gridplan.measured.sweep.point import Latency, Loop, Setting, SweepPoint, TpotDefinition, holds
from gridplan.measured.sweep.read import read_sweep, sweep_of_text

__all__ = [
    "FORMATS",
    "Latency",
    "Loop",
    "Setting",
    "SweepPoint",
    "TpotDefinition",
    "holds",
    "read_sweep",
    "sweep_of_text",
]
