"""The LibreOffice of the system, found and started: files converted in one call, with a profile of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

__all__ = ["EXECUTABLES", "converted", "find_office", "require_office"]

EXECUTABLES = ("soffice", "libreoffice")
SECONDS = 120
"""Time for one call (policy): it takes two seconds where nothing else runs."""

CSV = "Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,0,true"
"""How a CSV file is read: comma, double quotes, UTF-8, numbers guessed and formulas run, as the careless do."""


def find_office() -> str | None:
    """The executable that GRIDPLAN_TEST_OFFICE names or, where that is not set, the first of the usual ones."""
    named = os.environ.get("GRIDPLAN_TEST_OFFICE")
    return next(filter(None, map(shutil.which, [named] if named else EXECUTABLES)), None)


def require_office() -> str:
    """The executable; without one the test is skipped, and fails where GRIDPLAN_TEST_REQUIRE_OFFICE is 1."""
    found = find_office()
    if found is not None:
        return found
    named = os.environ.get("GRIDPLAN_TEST_OFFICE")
    missing = f"GRIDPLAN_TEST_OFFICE={named} is no executable" if named else "no LibreOffice on PATH"
    reason = f"{missing}: install the package libreoffice-calc, or name an executable in GRIDPLAN_TEST_OFFICE"
    if os.environ.get("GRIDPLAN_TEST_REQUIRE_OFFICE") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def converted(executable: str, files: Sequence[Path], folder: Path, infilter: str = "") -> list[Path]:
    """The files as flat OpenDocument sheets in `folder`, by one start of LibreOffice; its profile is kept there."""
    command = [executable, f"-env:UserInstallation={(folder / 'profile').as_uri()}", "--headless", "--norestore"]
    command += [f"--infilter={infilter}"] if infilter else []
    command += ["--convert-to", "fods", "--outdir", str(folder), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    made = [folder / f"{file.stem}.fods" for file in files]
    assert all(path.is_file() for path in made), f"exit code {done.returncode}: {done.stdout}{done.stderr}"
    return made
