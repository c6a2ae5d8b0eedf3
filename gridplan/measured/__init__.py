"""What was measured: start-up logs of engines and load tests, read into one form each and checked."""

from gridplan.measured.engine_log import EngineLog, Reading
from gridplan.measured.read_log import last_complete, logs_of, read_log, read_logs
from gridplan.measured.sustained import Least, Slo, SweepCheck, SweepResult, parse_slos, sweep_result
from gridplan.measured.sweep import SweepPoint, read_sweep

__all__ = [
    "EngineLog",
    "Least",
    "Reading",
    "Slo",
    "SweepCheck",
    "SweepPoint",
    "SweepResult",
    "last_complete",
    "logs_of",
    "parse_slos",
    "read_log",
    "read_logs",
    "read_sweep",
    "sweep_result",
]
