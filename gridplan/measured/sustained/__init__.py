"""The rate that one replica sustains, from the load points of a sweep: checks, verdicts, the rate and its interval."""

from gridplan.measured.sustained.check import Least, SweepCheck
from gridplan.measured.sustained.result import SweepResult, sweep_result
from gridplan.measured.sustained.slo import Slo, parse_slos
from gridplan.measured.sustained.verdict import PointVerdict, RateVerdict, SloVerdict

__all__ = [
    "Least",
    "PointVerdict",
    "RateVerdict",
    "Slo",
    "SloVerdict",
    "SweepCheck",
    "SweepResult",
    "parse_slos",
    "sweep_result",
]
