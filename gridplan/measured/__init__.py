"""What was measured: start-up logs of engines, read into one form and checked."""

from gridplan.measured.engine_log import EngineLog, Reading
from gridplan.measured.read_log import last_complete, logs_of, read_log, read_logs

__all__ = ["EngineLog", "Reading", "last_complete", "logs_of", "read_log", "read_logs"]
