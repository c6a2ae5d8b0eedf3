"""What the tests of the command line share: one day, so that no test fails by getting older."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

# `--import-mode=importlib` puts no test folder on sys.path.
sys.path.append(str(Path(__file__).parent))

from quick_process import Run, quick_processes

# A program, not a module of tests: it loads all libraries.
collect_ignore = ["forking.py"]

TODAY = date(2026, 11, 30)


@pytest.fixture(autouse=True)
def fixed_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridplan.cli.clock.today", lambda: TODAY)


@pytest.fixture(scope="session")
def process() -> Iterator[Run]:
    """A program or a command of gridplan in a process of its own; see `quick_process.Run`."""
    with quick_processes() as run:
        yield run
