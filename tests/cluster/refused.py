"""What a refused command says, and what it leaves: shared by the tests of a store that refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from faulty_store import CREDENTIALS, SECRET

from gridplan.store.place import place_of

BUCKET = "cubes"
PARTS = 4
ASKED = 5
"""Requests that s3fs sends before it gives up what is throttled, over two seconds."""

SAID = {
    "AccessDenied": "access denied (403 AccessDenied: Access Denied); check which credentials",
    "SlowDown": "the store asks to slow down (503 SlowDown: Please reduce your request rate); ",
    "InternalError": "the store itself failed (500 InternalError: We encountered an internal error. Please try again);",
    "ExpiredToken": "the credentials have expired (400 ExpiredToken: The provided token has expired); renew them",
}
RESUME = "the same command with --resume finishes this run"


def hashes(address: str) -> dict[str, str]:
    """The MD5 of every file there: S3 tells it in a listing, for what was sent in one piece."""
    place = place_of(address)
    found = place.fs.find(place.path, detail=True)
    return {name.removeprefix(f"{place.path}/"): about["ETag"].strip('"') for name, about in found.items()}


def the_error(code: int, out: str, err: str) -> str:
    """The one line that a refused command says."""
    assert code == 3, (out, err)
    lines = [line for line in err.splitlines() if line]
    assert len(lines) == 1, err
    assert SECRET not in out + err
    assert CREDENTIALS["AWS_ACCESS_KEY_ID"] not in out + err
    return lines[0]


def own_process(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`gridplan` with these words as a process of its own."""
    command = [sys.executable, "-m", "gridplan", *map(str, words)]
    own = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=own, timeout=120)


def left_behind(scratch: Path) -> list[str]:
    return [path.name for path in scratch.iterdir() if path.name.startswith("gridplan-")]
