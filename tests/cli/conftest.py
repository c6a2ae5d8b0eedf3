"""What the tests of the command line share: one day, so that no test fails by getting older."""

from __future__ import annotations

from datetime import date

import pytest

TODAY = date(2026, 11, 30)


@pytest.fixture(autouse=True)
def fixed_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridplan.cli.clock.today", lambda: TODAY)
