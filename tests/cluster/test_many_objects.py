"""A cube of more than 10,000 parts in an object store: how often the store is asked, and for what.

Listings come by the thousand, so eleven of them show what grows with the parts; what a folder of more than 100,000 does
is in `tests/contract/test_many_parts.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from many_parts import ROWS, many_layout, many_objects, usd_of

import gridplan
from gridplan.engine.stored_summary import stored_summary
from gridplan.errors import StoreError, VerifyError
from gridplan.store import manifest as manifests
from gridplan.store import read_manifest, verify_cube, write_manifest
from gridplan.store.folder import claimed_folder
from gridplan.store.intent import finished_parts
from gridplan.store.manifest import Manifest
from gridplan.store.place import place_of
from gridplan.store.sizes import NAMES_LISTED, check_sizes

pytest.importorskip("upath")

from fsspec.implementations.memory import MemoryFileSystem

Cli = Callable[..., Any]

PARTS = 10_100
ADDRESS = "memory://many/cube"
AT = {"gpu": "gpu-9", "context_tokens": 10240.0, "arrival_rate": 92.0}
WHERE = "gpu = 'gpu-9' and context_tokens = 10240 and arrival_rate"
OWN = range(10_088, 10_092)
"""Parts with rows of their own, at the arrival rates 90 to 93 of `WHERE`."""


@pytest.fixture(scope="module")
def made() -> Iterator[Manifest]:
    """The cube in memory. Tests leave it as it was."""
    place = place_of(ADDRESS)
    manifest = many_objects(place, MemoryFileSystem.store, many_layout(PARTS), OWN)
    write_manifest(place, manifest)
    yield manifest
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    manifests._known.clear()


class Requests:
    """What the store is asked by gridplan, Arrow and DuckDB; what it asks itself to answer is not counted."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self._inside = False

    def of(self, kind: str) -> list[str]:
        """The names of the objects, or of what is above them, that one kind of request was about."""
        return [path.removeprefix("/many/cube/") for asked, path in self.asked if asked == kind]

    def count(self, patch: pytest.MonkeyPatch, kind: str, tagged: bool = False) -> None:
        """Note every call of a method of the file system; `tagged` tells of content as S3 does."""
        method = getattr(MemoryFileSystem, kind)

        def noted(store: MemoryFileSystem, path: str, *rest: Any, **named: Any) -> Any:
            if self._inside:
                return method(store, path, *rest, **named)
            self.asked.append((kind, store._strip_protocol(path)))
            self._inside = True
            try:
                answer = method(store, path, *rest, **named)
            finally:
                self._inside = False
            if tagged:
                content = store.store[store._strip_protocol(path)].getbuffer()
                answer = {**answer, "ETag": hashlib.md5(content).hexdigest()}
            return answer

        patch.setattr(MemoryFileSystem, kind, noted)


LISTINGS = ("ls", "find")
"""Requests that name what is in a place; `glob` and `walk` make these, or ask for one name (`exists`)."""


@pytest.fixture
def requests(made: Manifest, monkeypatch: pytest.MonkeyPatch) -> Requests:
    """Requests from here on."""
    found = Requests()
    for kind in (*LISTINGS, "info", "exists", "isfile", "isdir", "cat_file", "open"):
        found.count(monkeypatch, kind)
    return found


def listed(requests: Requests) -> list[str]:
    return [path for kind in LISTINGS for path in requests.of(kind)]


@contextmanager
def without(name: str) -> Iterator[None]:
    """The store without one object."""
    path = f"/many/cube/{name}"
    kept = MemoryFileSystem.store.pop(path)
    try:
        yield
    finally:
        MemoryFileSystem.store[path] = kept


def test_sizes_of_all_are_one_listing(made: Manifest, requests: Requests, cli: Cli) -> None:
    assert cli("verify", ADDRESS, "--sizes").out == f"{ADDRESS}: ok, 10,100 part(s), 40,400 rows\n"
    assert sorted(listed(requests)) == ["dims", "facts"]
    assert set(requests.of("info")) == {"manifest.json"}
    assert requests.of("open") == []
    with without("facts/part-07000.parquet"), pytest.raises(VerifyError, match=r"part-07000\.parquet is missing"):
        verify_cube(ADDRESS, sizes_only=True)


def test_a_cell_takes_no_listing(made: Manifest, requests: Requests) -> None:
    cube = gridplan.open_cube(ADDRESS, ["usd_per_mtok_output"], AT)
    assert cube["usd_per_mtok_output"].values.ravel().tolist() == usd_of(10_090)
    assert listed(requests) == []
    assert {path for _, path in requests.asked} == {
        f"/many/cube/{of}" for of in ("manifest.json", made.parts[10_090].file)
    }
    assert len(requests.asked) <= 12
    with without("facts/part-10090.parquet"), pytest.raises(StoreError, match=r"part-10090\.parquet is missing"):
        gridplan.open_cube(ADDRESS, at=AT)


def test_a_slice_takes_no_listing(made: Manifest, requests: Requests) -> None:
    frame = gridplan.slice_cube(ADDRESS, f"{WHERE} = 92")
    assert frame["usd_per_mtok_output"].tolist() == usd_of(10_090)
    frame = gridplan.slice_cube(ADDRESS, f"{WHERE} between 90 and 93")
    assert frame["usd_per_mtok_output"].tolist() == [usd for number in OWN for usd in usd_of(number)]
    assert listed(requests) == []
    assert {path.removeprefix("/many/cube/") for _, path in requests.asked} == {
        "manifest.json",
        *(made.parts[number].file for number in OWN),
    }
    assert stored_summary(ADDRESS, AT).cells == ROWS
    assert listed(requests) == []


@pytest.mark.parametrize(("files", "listings"), [(1, 0), (11, 0), (12, 1)])
def test_what_takes_fewer_requests_is_asked(made: Manifest, requests: Requests, files: int, listings: int) -> None:
    """A listing of all parts is eleven answers of a thousand names."""
    assert -(-PARTS // NAMES_LISTED) == 11
    assert check_sizes(place_of(ADDRESS), made.receipts[:files], among=PARTS) == []
    assert (len(listed(requests)), len(requests.of("info"))) == (listings, 0 if listings else files)


def test_a_resumed_run_looks_at_what_there_is(made: Manifest, requests: Requests) -> None:
    with claimed_folder(ADDRESS, resume=True) as place:
        found = finished_parts(place, made.parts)
    assert sorted(found) == [0, *OWN]  # the others have no receipt
    assert len(listed(requests)) == 3  # of all before the run, and of the two kinds of files
    assert requests.of("info") == []
    assert len(requests.of("cat_file")) + len(requests.of("open")) == 2 * len(found)


def test_a_manifest_is_fetched_once_where_the_store_tells_contents_apart(
    made: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Requests()
    counted.count(monkeypatch, "info", tagged=True)
    counted.count(monkeypatch, "cat_file")
    counted.count(monkeypatch, "open")
    manifests._known.clear()
    assert read_manifest(ADDRESS) is read_manifest(ADDRESS)
    assert (len(counted.of("info")), len(counted.of("cat_file")) + len(counted.of("open"))) == (2, 1)
    path = place_of(ADDRESS) / "manifest.json"
    text = path.read_bytes()
    path.write_bytes(text.replace(b'"grid": "test"', b'"grid": "text"'))
    assert read_manifest(ADDRESS).attrs == {"grid": "text"}
    path.write_bytes(text)
    assert read_manifest(ADDRESS).attrs == {"grid": "test"}
