"""Machines that a test may kill, as on a cluster; an object store that refuses what a test tells it to."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import gridplan

pytest.importorskip("distributed")

# `--import-mode=importlib` puts no test folder on sys.path; the tests of this one share modules.
sys.path.append(str(Path(__file__).parent))

from faulty_store import FaultyStore, known, moto_server
from refused import BUCKET, PARTS

GRID = Path(__file__).parents[2] / "grids" / "quickstart.yaml"
RATES = "arrival_rate: {geomspace: [0.1, 100, 10]}"

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


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """A scheduler with two workers as threads of this process, which talk as over a network. Nobody stops them.

    They end with the module: their heartbeats draw from `random`, which Hypothesis takes for a draw of its strategies.
    """
    with threads(2) as address:
        yield address


@contextlib.contextmanager
def threads(workers: int) -> Iterator[str]:
    """The address of a scheduler with so many workers, all of them threads of this process."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",
        dashboard_address=None,
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # the usual port may be another test's
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def no_workers() -> Iterator[str]:
    """A scheduler to which no worker came."""
    with threads(0) as address:
        yield address


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


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    """The address of moto's S3, started once: each module has a bucket of its own there."""
    for needed in ("s3fs", "moto.server"):
        pytest.importorskip(needed)
    with moto_server() as address:
        yield address


@pytest.fixture(scope="module")
def served(moto: str) -> Iterator[FaultyStore]:
    """The way to moto's S3; programs find it by their environment and do not ask twice of their own."""
    with FaultyStore(moto).listening() as store, known(store.address, BUCKET, attempts=1):
        yield store


@pytest.fixture
def store(served: FaultyStore) -> Iterator[FaultyStore]:
    """The same with nothing refused yet."""
    served.relent()
    yield served
    served.relent()


@pytest.fixture(scope="module")
def four_parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The quickstart with 100 arrival rates and few measures: four parts."""
    path = tmp_path_factory.mktemp("grid") / "wide.yaml"
    text = GRID.read_text(encoding="utf-8").replace(RATES, "arrival_rate: {geomspace: [0.1, 100, 100]}")
    path.write_text(f"{text}\noutputs: [status, gpus, usd_per_mtok_output, priced_by]\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def local(four_parts: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The MD5 of every file that a run writes to a folder."""
    folder = tmp_path_factory.mktemp("local") / "cube"
    assert gridplan.run(gridplan.load_grid(four_parts), folder).parts == PARTS
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.md5(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def address(tmp_path: Path) -> str:
    """A place of the test's own."""
    return f"s3://{BUCKET}/{tmp_path.name}"


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files of this process go, and of those that it starts."""
    path = tmp_path / "scratch"
    path.mkdir()
    monkeypatch.setenv("TMPDIR", str(path))
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    return path
