"""The LibreOffice of the system, found and started: files converted in one call, with a profile of their own."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from system_program import SystemProgram

__all__ = ["EXECUTABLES", "converted", "find_office", "require_office"]

EXECUTABLES = ("soffice", "libreoffice")
SECONDS = 120
"""Time for one call (policy): it takes two seconds where nothing else runs."""

CSV = "Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,0,true"
"""How a CSV file is read: comma, double quotes, UTF-8, numbers guessed and formulas run, as the careless do."""


_PROGRAM = SystemProgram(
    "LibreOffice", EXECUTABLES, "libreoffice-calc", "GRIDPLAN_TEST_OFFICE", "GRIDPLAN_TEST_REQUIRE_OFFICE"
)
find_office, require_office = _PROGRAM.find, _PROGRAM.require


def converted(executable: str, files: Sequence[Path], folder: Path, infilter: str = "") -> list[Path]:
    """The files as flat OpenDocument sheets in `folder`, by one start of LibreOffice; its profile is kept there."""
    command = [executable, f"-env:UserInstallation={(folder / 'profile').as_uri()}", "--headless", "--norestore"]
    command += [f"--infilter={infilter}"] if infilter else []
    command += ["--convert-to", "fods", "--outdir", str(folder), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    made = [folder / f"{file.stem}.fods" for file in files]
    assert all(path.is_file() for path in made), f"exit code {done.returncode}: {done.stdout}{done.stderr}"
    return made
