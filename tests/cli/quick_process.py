"""Programs in processes of their own, without a second each to load NumPy, pandas, xarray and SciPy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

__all__ = ["Run", "quick_processes"]

Said: TypeAlias = "subprocess.CompletedProcess[str]"
Run: TypeAlias = Callable[..., Said]
"""`run("print(1)", folder=path)` is `python -c "print(1)"` there; `run(arguments=["run", "x.yaml"], folder=path)` is
`python -m gridplan run x.yaml`."""


@contextmanager
def quick_processes() -> Iterator[Run]:
    """A fork for each program where the system has them; elsewhere a new interpreter."""
    if not hasattr(os, "fork"):
        yield _new
        return
    # As `-c`, so that the folder of a program is where it looks for modules first.
    code = (Path(__file__).parent / "forking.py").read_text(encoding="utf-8")
    with (
        TemporaryDirectory() as place,
        subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server,
    ):
        assert server.stdin is not None
        assert server.stdout is not None
        files = [Path(place) / name for name in ("out", "err")]

        def run(program: str | None = None, *, folder: Path, arguments: list[str] | None = None) -> Said:
            assert server.stdin is not None
            assert server.stdout is not None
            ask = {"program": program, "arguments": arguments, "folder": str(folder)}
            for file in files:
                file.unlink(missing_ok=True)
            print(json.dumps({**ask, "out": str(files[0]), "err": str(files[1])}), file=server.stdin, flush=True)
            code = int(server.stdout.readline())
            out, err = (file.read_text(encoding="utf-8") for file in files)
            return subprocess.CompletedProcess(program or arguments or [], code, out, err)

        yield run
        server.stdin.close()


def _new(program: str | None = None, *, folder: Path, arguments: list[str] | None = None) -> Said:
    command = ["-m", "gridplan", *(arguments or [])] if program is None else ["-c", program]
    return subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False)
