"""A run to an S3 that denies, throttles or finds credentials expired: one line, nothing announced, and resumed."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from faulty_store import KEPT, FaultyStore
from refused import ASKED, PARTS, RESUME, SAID, hashes, left_behind, the_error

import gridplan
from gridplan.engine.cluster import spread as cluster_spread
from gridplan.engine.cluster.recipe import Recipe, plan_parts
from gridplan.errors import RefusedError, StoreError
from gridplan.store import verify_cube
from gridplan.store.blocks import Part
from gridplan.store.files import write_bytes
from gridplan.store.parquet import WriteOptions
from gridplan.store.place import place_of, sizes_below


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> int:
    """Have s3fs ask only so many times in this process."""
    monkeypatch.setattr("s3fs.S3FileSystem.retries", 2)
    return 2


WHERE = {
    "list": ("GET", "list-type=2", "cannot list {0}: "),
    "intent": ("PUT", r"/run\.json$", "cannot write {0}/run.json: "),
    "part": ("PUT", r"/part-00002\.parquet$", "cannot write {0}/facts/part-00002.parquet: "),
    "receipt": ("PUT", r"/part-00002\.json$", "cannot write {0}/receipts/part-00002.json: "),
    "dims": ("PUT", r"/dims/model\.parquet$", "cannot write {0}/dims/model.parquet: "),
    "manifest": ("PUT", r"/manifest\.json$", "cannot write {0}/manifest.json: "),
}
"""Requests of a run that are refused, and what names them in the error."""


@pytest.mark.parametrize(
    ("code", "where"),
    [
        ("AccessDenied", "list"),
        ("AccessDenied", "intent"),
        ("AccessDenied", "part"),
        ("AccessDenied", "manifest"),
        ("ExpiredToken", "part"),
        ("InternalError", "part"),
        ("SlowDown", "part"),
        ("SlowDown", "receipt"),
        ("SlowDown", "manifest"),
    ],
)
def test_a_run_that_is_refused_is_said_in_one_line_and_resumed(
    store: FaultyStore,
    four_parts: Path,
    local: dict[str, str],
    address: str,
    scratch: Path,
    cli: Callable[..., object],
    brief: int,
    code: str,
    where: str,
) -> None:
    method, path, named = WHERE[where]
    fault = store.refuse(code, method, path)
    said = cli("run", four_parts, "-o", address, "--workers", "1")
    line = the_error(said.code, said.out, said.err)
    assert line.startswith(f"error: {named.format(address)}{SAID[code]}"), line
    assert line.endswith(f"; {RESUME}") == (where != "list")  # before that there is nothing to resume
    assert fault.answered == (brief if code == "SlowDown" else 1)
    assert left_behind(scratch) == []
    store.relent()
    found = sizes_below(place_of(address))
    assert "manifest.json" not in found
    stood = sum(name.startswith("receipts/") for name in found)
    assert stood == {"part": 2, "receipt": 2, "manifest": PARTS}.get(where, 0)
    assert gridplan.run(gridplan.load_grid(four_parts), address, resume=True).resumed == stood
    assert hashes(address) == local


def test_a_store_that_is_busy_for_a_moment_is_asked_again(
    store: FaultyStore, four_parts: Path, local: dict[str, str], address: str
) -> None:
    moments = [store.refuse("SlowDown", *WHERE[where][:2], times=1) for where in WHERE]
    gridplan.run(gridplan.load_grid(four_parts), address)
    assert [fault.answered for fault in moments] == [1] * len(WHERE)
    assert not [request for request in store.heard if "%2Ffacts%2F" in request]  # a store has no folders to look at
    assert hashes(address) == local


def test_a_store_that_stays_busy_ends_the_run_once(
    store: FaultyStore, four_parts: Path, address: str, scratch: Path, cli: Callable[..., object]
) -> None:
    """Threads wait with parts of their own meanwhile; each of them would be refused as slowly."""
    fault = store.refuse("SlowDown", "PUT", r"/part-0000\d\.parquet$")
    begun = time.monotonic()
    said = cli("run", four_parts, "-o", address, "--workers", "3")
    line = the_error(said.code, said.out, said.err)
    assert re.match(rf"error: cannot write {address}/facts/part-0000\d\.parquet: {re.escape(SAID['SlowDown'])}", line)
    assert fault.answered == ASKED
    assert time.monotonic() - begun < 30
    assert left_behind(scratch) == []
    store.relent()
    assert list(sizes_below(place_of(address))) == ["run.json"]


@pytest.mark.parametrize(
    ("method", "path", "named"),
    [
        ("GET", r"/run\.json$", "run.json"),
        ("GET", r"/receipts/part-00000\.json$", "receipts/part-00000.json"),
        ("HEAD|GET", r"/facts/part-00001\.parquet$", "facts/part-00001.parquet"),
    ],
)
def test_a_resumed_run_that_may_not_read_writes_nothing_again(
    store: FaultyStore, four_parts: Path, local: dict[str, str], address: str, method: str, path: str, named: str
) -> None:
    grid = gridplan.load_grid(four_parts)
    store.refuse("AccessDenied", *WHERE["part"][:2])
    with pytest.raises(RefusedError):
        gridplan.run(grid, address, workers=1)
    store.relent()
    store.refuse("AccessDenied", method, path)
    with pytest.raises(RefusedError, match=f"cannot read {re.escape(f'{address}/{named}')}: access denied"):
        gridplan.run(grid, address, resume=True)
    assert [request for request in store.heard if request.startswith("PUT")] == []
    store.relent()
    assert gridplan.run(grid, address, resume=True).resumed == 2
    assert hashes(address) == local


def test_a_cube_that_may_not_be_removed_is_not_replaced(store: FaultyStore, four_parts: Path, address: str) -> None:
    """S3 answers a request for many files with 200 even where it keeps them all."""
    grid = gridplan.load_grid(four_parts)
    gridplan.run(grid, address)
    store.relent()
    store.refuse("AccessDenied", "DELETE", "manifest")
    with pytest.raises(RefusedError, match=r"cannot remove .*/manifest\.json: access denied"):
        gridplan.run(grid, address, force=True)
    assert [request for request in store.heard if request.startswith("PUT")] == []
    verify_cube(address)  # as it was
    store.relent()
    fault = store.refuse(KEPT, "POST", "delete")
    with pytest.raises(RefusedError, match=r"cannot remove .*/dims/engine\.parquet and \d+ more: the store kept it"):
        gridplan.run(grid, address, force=True)
    assert fault.answered == 1
    assert [request for request in store.heard if request.startswith("PUT")] == []
    with pytest.raises(StoreError, match="holds no finished cube"):
        gridplan.open_cube(address)


def test_a_finished_cube_whose_run_json_stays_is_whole(
    store: FaultyStore, four_parts: Path, local: dict[str, str], address: str
) -> None:
    store.refuse("AccessDenied", "DELETE", "run.json")
    with pytest.raises(RefusedError, match=rf"cannot remove .*/run\.json: access denied .*{RESUME}"):
        gridplan.run(gridplan.load_grid(four_parts), address)
    verify_cube(address)
    store.relent()
    assert gridplan.run(gridplan.load_grid(four_parts), address, resume=True).resumed == PARTS
    assert hashes(address) == local


def test_on_a_cluster_a_part_that_is_throttled_is_tried_again(
    store: FaultyStore, four_parts: Path, local: dict[str, str], address: str, scheduler: str
) -> None:
    fault = store.refuse("SlowDown", *WHERE["part"][:2], times=ASKED + 1)  # one more than s3fs asks for one try
    gridplan.run(gridplan.load_grid(four_parts), address, scheduler=scheduler)
    assert fault.answered == ASKED + 1
    assert hashes(address) == local


def test_on_a_cluster_a_store_that_stays_busy_ends_the_run(
    store: FaultyStore,
    four_parts: Path,
    local: dict[str, str],
    address: str,
    scratch: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(cluster_spread, "RETRIES", 0)
    fault = store.refuse("SlowDown", *WHERE["part"][:2])
    with pytest.raises(
        RefusedError,
        match=r"on a worker of local:1: cannot write .*part-00002\.parquet: the .* slow down .* --resume finishes",
    ):
        gridplan.run(gridplan.load_grid(four_parts), address, scheduler="local:1")
    assert fault.answered == ASKED
    assert capfd.readouterr() == ("", "")  # nor do the workers of this machine say anything of their own
    assert left_behind(scratch) == []
    store.relent()
    assert "manifest.json" not in sizes_below(place_of(address))
    gridplan.run(gridplan.load_grid(four_parts), address, resume=True)
    assert hashes(address) == local


LEFT_OPEN = """
import tempfile
from pathlib import Path
from gridplan.engine.cluster.connect import connected

if __name__ == "__main__":
    with connected("local:1") as client:
        place = Path(client.submit(tempfile.mkstemp, prefix="gridplan-").result(timeout=60)[1])
        print(place, place.is_file())
    print(place.exists())
"""


def test_what_a_process_of_this_machine_was_writing_goes_with_it(scratch: Path) -> None:
    """A worker in the middle of asking a store again is not waited for."""
    words = [sys.executable, "-c", LEFT_OPEN]
    said = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120).stdout.split()
    assert Path(said[0]).is_relative_to(scratch)
    assert said[1:] == ["True", "False"]
    assert left_behind(scratch) == []


def test_a_worker_that_may_not_read_says_so(store: FaultyStore, four_parts: Path, address: str) -> None:
    """It is not told that it does not see the folder."""
    recipe = Recipe("key", gridplan.load_grid(four_parts), None, False, WriteOptions(), address)
    store.refuse("AccessDenied", "GET", r"/run\.json$")
    with pytest.raises(RefusedError, match=r"/run\.json: access denied"):
        plan_parts(recipe, [Part(0, (), ())], False)
    store.relent()
    with pytest.raises(StoreError, match=f"a worker does not see {address}"):
        plan_parts(recipe, [Part(0, (), ())], False)


def test_a_large_file_is_one_request(store: FaultyStore, address: str) -> None:
    write_bytes(place_of(address) / "facts" / "part-00000.parquet", b"x" * (101 * 2**20))
    sent = [line for line in store.heard if line.startswith(("PUT", "POST"))]
    assert len(sent) == 1, sent
    assert sizes_below(place_of(address)) == {"facts/part-00000.parquet": 101 * 2**20}
