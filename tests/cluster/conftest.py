"""A scheduler and workers as processes of their own, as on a cluster, that a test may kill."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytest.importorskip("distributed")

_SERVE = """
import asyncio, sys
from distributed import {kind}

async def main():
    async with {kind}({arguments}) as one:
        print("ready", flush=True)
        await one.finished()

asyncio.run(main())
"""


@dataclass
class Machines:
    """One scheduler with its workers."""

    port: int
    folder: Path
    processes: dict[str, subprocess.Popen[str]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Where the scheduler listens."""
        return f"tcp://127.0.0.1:{self.port}"

    def start(self, name: str) -> None:
        """Start the `scheduler`, or a worker of any other name, and wait until it says that it is ready."""
        if name == "scheduler":
            text = _SERVE.format(kind="Scheduler", arguments=f"host='127.0.0.1', port={self.port}, dashboard=False")
        else:
            place = str(self.folder / name)
            arguments = f"'{self.address}', nthreads=1, name='{name}', local_directory={place!r}, dashboard=False"
            text = _SERVE.format(kind="Worker", arguments=arguments)
        with (self.folder / f"{name}.log").open("w") as log:
            process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=log, text=True)
        self.processes[name] = process
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready", (self.folder / f"{name}.log").read_text()

    def kill(self, name: str) -> None:
        """End a process at once, as a machine that loses power."""
        process = self.processes.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()

    def close(self) -> None:
        """End all that still run."""
        for name in list(self.processes):
            self.kill(name)


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    """A scheduler and two workers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    folder = tmp_path / "machines"
    folder.mkdir()
    found = Machines(port, folder)
    try:
        for name in ("scheduler", "one", "two"):
            found.start(name)
        yield found
    finally:
        found.close()


def waited(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something to come true."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.02)


@pytest.fixture(name="until")
def until_fixture() -> Callable[..., None]:
    """`until(lambda: ..., seconds)`."""
    return waited
