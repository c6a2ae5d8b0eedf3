"""A run on a cluster gives the bytes of a serial one, also when machines are lost, and ends in words otherwise."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gridplan
from gridplan.engine.cluster import connect as cluster_connect
from gridplan.engine.cluster import spread as cluster_spread
from gridplan.errors import ContractError, StoreError

distributed = pytest.importorskip("distributed")

GRID = Path(__file__).parents[2] / "grids" / "quickstart.yaml"
RATES = "arrival_rate: {geomspace: [0.1, 100, 10]}"
PARTS = 8


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The quickstart with 270 arrival rates: 1,944,000 cells in eight parts."""
    path = tmp_path_factory.mktemp("grid") / "wide.yaml"
    text = GRID.read_text(encoding="utf-8")
    assert text.count(RATES) == 1
    text += "\noutputs: [status, infeasible_reason, binding_constraint, gpus, usd_per_mtok_output]\n"
    path.write_text(text.replace(RATES, "arrival_rate: {geomspace: [0.1, 100, 270]}"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def serial(contract: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], dict[str, object]]:
    """The hash of every file that one thread writes, and what the run says."""
    folder = tmp_path_factory.mktemp("serial") / "cube"
    said = gridplan.run(gridplan.load_grid(contract), folder, workers=1)
    assert said.parts == PARTS
    return hashes(folder), said.summary.to_dict()


def hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def written(folder: Path) -> int:
    return len(list((folder / "receipts").glob("part-*.json"))) if (folder / "receipts").is_dir() else 0


def test_two_processes_write_what_one_thread_writes(
    contract: Path, serial: tuple[dict[str, str], dict[str, object]], tmp_path: Path
) -> None:
    cells = []
    said = gridplan.run(gridplan.load_grid(contract), tmp_path / "cube", scheduler="local:2", progress=cells.append)
    assert hashes(tmp_path / "cube") == serial[0]
    assert said.summary.to_dict() == serial[1]
    assert sum(cells) == said.cells
    gridplan.open_cube(tmp_path / "cube", ["gpus"])


def test_a_worker_and_then_the_scheduler_are_killed(
    contract: Path,
    serial: tuple[dict[str, str], dict[str, object]],
    machines: Any,
    scheduler: str,
    until: Callable[..., None],
    tmp_path: Path,
    cli: Callable[..., Any],
) -> None:
    """Two runs on the same machines, which take longer to start than to plan; one worker is left for the second."""
    folder, stood = tmp_path / "first", []

    def lose(_: int) -> None:
        if not stood:
            machines.kill("one")
            stood.append(written(folder))

    said = gridplan.run(gridplan.load_grid(contract), folder, scheduler=machines.address, progress=lose)
    assert 1 <= stood[0] < PARTS
    assert (said.cells, said.resumed) == (1_944_000, 0)
    assert hashes(folder) == serial[0]
    _scheduler_goes_away(contract, machines, until, tmp_path / "second")
    stands = written(tmp_path / "second")
    assert 2 <= stands < PARTS
    words = ("run", contract, "-o", tmp_path / "second", "--resume")
    again = cli(*words, "--scheduler", scheduler)  # another cluster
    assert again.code == 0, again.err
    assert f"resumed     {stands} part(s) stood already" in again.out
    assert hashes(tmp_path / "second") == serial[0]


def _scheduler_goes_away(contract: Path, machines: Any, until: Callable[..., None], folder: Path) -> None:
    """And its workers with it, as two parts stand: the run says so in one line and announces no cube."""
    words = [sys.executable, "-m", "gridplan", "run", str(contract), "-o", str(folder), "--scheduler", machines.address]
    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: written(folder) >= 2)
    machines.close()
    _, err = run.communicate(timeout=120)
    assert run.returncode == 3, err
    assert (folder / "run.json").is_file()
    assert not (folder / "manifest.json").exists()
    said = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(said) == 1
    assert machines.address in said[0]
    assert "--resume" in said[0]
    assert "Traceback" not in err


def test_what_a_lost_worker_was_writing_is_not_left(scheduler: str, tmp_path: Path) -> None:
    """Its part is written again under another name, so nobody else would take the file away. What is not ours stays."""
    facts = tmp_path / "cube" / "facts"
    half = facts / ".part-00000.parquet.0a1b2c3d.tmp"
    others = [facts / ".notes.part-00000.parquet.tmp", tmp_path / "cube" / ".notes.tmp"]
    folder = facts / ".part-00000.parquet.0a1b2c3e.tmp"
    link = facts / ".part-00000.parquet.0a1b2c3f.tmp"

    def meanwhile(_: int) -> None:
        for path in (half, *others):
            path.write_bytes(b"half")
        folder.mkdir()
        link.symlink_to(others[0])

    grid = gridplan.load_grid(GRID.with_name("lesson.yaml"))
    gridplan.run(grid, tmp_path / "cube", scheduler=scheduler, progress=meanwhile)
    assert {path.name for path in facts.iterdir()} == {"part-00000.parquet", others[0].name, folder.name, link.name}
    assert others[1].read_bytes() == b"half"


def test_without_workers_a_run_ends(
    contract: Path, no_workers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_spread, "NO_WORKERS_S", 2.0)
    begun = time.monotonic()
    with pytest.raises(StoreError, match=r"no worker of tcp://.* --resume"):
        gridplan.run(gridplan.load_grid(contract), tmp_path / "cube", scheduler=no_workers)
    assert time.monotonic() - begun < 30
    assert not (tmp_path / "cube" / "manifest.json").exists()


def test_a_scheduler_that_is_not_there_is_said(contract: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_connect, "CONNECT_S", 1)
    with pytest.raises(StoreError, match=r"no scheduler answers at tcp://127\.0\.0\.1:9 "):
        gridplan.run(gridplan.load_grid(contract), tmp_path / "cube", scheduler="tcp://127.0.0.1:9")
    assert not (tmp_path / "cube").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows freezes no process by a signal")
def test_a_frozen_process_of_this_machine_is_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Distributed itself takes ten heartbeats at least, so five seconds here; without a limit of ours five minutes."""
    monkeypatch.setattr(cluster_connect, "SILENT_S", 1.0)
    with cluster_connect.connected("local:1") as client:
        frozen = client.submit(os.getpid, pure=False).result()
        os.kill(frozen, signal.SIGSTOP)
        assert client.submit(os.getpid, pure=False).result(timeout=60) != frozen


@pytest.mark.skipif(os.name == "nt", reason="Windows sends no SIGINT to one process")
def test_a_cluster_that_is_interrupted_while_it_is_made_is_ended() -> None:
    ended = []

    def make() -> object:
        time.sleep(0.1)  # the main thread waits by then
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        return SimpleNamespace(close=lambda: ended.append(True))

    with pytest.raises(KeyboardInterrupt):
        cluster_connect._whole(make)
    assert ended == [True]


@pytest.mark.parametrize("text", ["", "local:0", "local:x", "127.0.0.1:8786", "http://127.0.0.1:8786", "tcp://"])
def test_what_is_no_address_is_refused_before_anything(contract: Path, tmp_path: Path, text: str) -> None:
    with pytest.raises(ContractError, match="tcp://HOST:8786 is due"):
        gridplan.run(gridplan.load_grid(contract), tmp_path / "cube", scheduler=text)
    assert not (tmp_path / "cube").exists()


def test_something_else_that_listens_is_no_scheduler(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_connect, "CONNECT_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(StoreError, match=f"no scheduler answers at {address}"), gridplan.cluster(address):
            pass
    with gridplan.cluster(scheduler), distributed.Client(scheduler, set_as_default=False) as client:
        worker = next(iter(client.scheduler_info()["workers"]))
    with pytest.raises(StoreError, match=f"answers at {worker}: it is that of a worker"), gridplan.cluster(worker):
        pass
    with pytest.raises(StoreError, match="no scheduler answers at tls://"), gridplan.cluster("tls://127.0.0.1:9"):
        pass
