"""Results of load generators, read into one form: points of a sweep."""

from gridplan.measured.sweep.point import Latency, Loop, Setting, SweepPoint, TpotDefinition, holds

__all__ = ["Latency", "Loop", "Setting", "SweepPoint", "TpotDefinition", "holds"]
