"""The day on which a command is called: the one place that reads it, for checks of age. No plan does."""

from __future__ import annotations

from datetime import date

__all__ = ["today"]


def today() -> date:
    """The day by this machine's clock."""
    return date.today()
