"""A program of the system that some tests need: found, or else they are skipped with the reason, or fail."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

import pytest

__all__ = ["SystemProgram"]


@dataclass(frozen=True)
class SystemProgram:
    """A program, the executables that it usually is, and the package it comes in.

    The environment variable `variable` names an executable in place of these; where `required` is 1 no test is skipped.
    """

    name: str
    executables: tuple[str, ...]
    package: str
    variable: str
    required: str

    def find(self) -> str | None:
        """The executable that the variable names or, where that is not set, the first of the usual ones."""
        named = os.environ.get(self.variable)
        return next(filter(None, map(shutil.which, [named] if named else self.executables)), None)

    def require(self) -> str:
        """The executable; without one the test is skipped, or fails where it is required."""
        found = self.find()
        if found is not None:
            return found
        named = os.environ.get(self.variable)
        missing = f"{self.variable}={named} is no executable" if named else f"no {self.name} on PATH"
        reason = f"{missing}: install the package {self.package}, or name an executable in {self.variable}"
        if os.environ.get(self.required) == "1":
            pytest.fail(reason)
        pytest.skip(reason)
