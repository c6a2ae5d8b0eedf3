"""A cube in an object store: the same bytes, resumed and read as from a folder, and clear errors where it refuses."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import xarray as xr

import gridplan
from gridplan.errors import MissingExtraError, StoreError
from gridplan.store import place as places
from gridplan.store import verify_cube
from gridplan.store.place import place_of, sizes_below

upath = pytest.importorskip("upath")

GRIDS = Path(__file__).parents[2] / "grids"


def hashes(place: Path) -> dict[str, str]:
    return {name: hashlib.sha256((place / name).read_bytes()).hexdigest() for name in sizes_below(place)}


@pytest.fixture(scope="module")
def local(folder: Callable[[str], Path]) -> dict[str, str]:
    """What a run writes to a folder."""
    place = folder("quickstart")
    files = [path for path in place.rglob("*") if path.is_file()]
    return {str(path.relative_to(place)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def memory() -> Iterator[str]:
    """A place in fsspec's store in memory, empty again afterwards."""
    from fsspec.implementations.memory import MemoryFileSystem

    yield "memory://cubes/quickstart"
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def test_a_run_puts_the_same_files(
    memory: str, local: dict[str, str], cube: Callable[[str], xr.Dataset], folder: Callable[[str], Path]
) -> None:
    grid = gridplan.load_grid(GRIDS / "quickstart.yaml")
    said = gridplan.run(grid, memory)
    assert str(said.folder) == memory
    assert hashes(place_of(memory)) == local
    verify_cube(memory)
    there = gridplan.open_cube(memory)
    assert there.identical(cube("quickstart").assign_attrs(there.attrs))
    _asked_where_it_lies(memory, folder("quickstart"))


def test_what_is_there_is_not_replaced_unasked(memory: str) -> None:
    grid = gridplan.load_grid(GRIDS / "lesson.yaml")
    gridplan.run(grid, memory)
    with pytest.raises(StoreError, match="already holds a cube"):
        gridplan.run(grid, memory)
    gridplan.run(grid, memory, force=True)
    (place_of(memory) / "notes.txt").write_bytes(b"mine")
    with pytest.raises(StoreError, match=r"did not write \(notes\.txt\)"):
        gridplan.run(grid, memory, force=True)
    assert (place_of(memory) / "notes.txt").read_bytes() == b"mine"


def test_a_stopped_run_is_resumed(memory: str, local: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    grid = gridplan.load_grid(GRIDS / "quickstart.yaml")
    with monkeypatch.context() as patch:
        patch.setattr("gridplan.engine.run.write_dims", _stopped)
        with pytest.raises(KeyboardInterrupt):
            gridplan.run(grid, memory)
    found = sizes_below(place_of(memory))
    assert "manifest.json" not in found
    assert {"run.json", "facts/part-00000.parquet"} <= set(found)
    with pytest.raises(StoreError, match="the run did not finish; finish it with --resume"):
        gridplan.open_cube(memory)
    with pytest.raises(StoreError, match="already holds an unfinished run"):
        gridplan.run(grid, memory)
    assert gridplan.run(grid, memory, resume=True).resumed == 1
    assert hashes(place_of(memory)) == local


def _stopped(*_: object) -> None:
    raise KeyboardInterrupt


def _asked_where_it_lies(memory: str, folder: Path) -> None:
    """Slices and choices are those of the same cube in a folder."""
    asked = {"where": "kv_dtype = 'fp8' and rho_target = 0.7", "by": "model", "agg": "argmin"}
    assert gridplan.slice_cube(memory, **asked).equals(gridplan.slice_cube(folder, **asked))
    at = {"model": "qwen3-14b", "context_tokens": 8192, "rho_target": 0.7, "arrival_rate": 10}
    here = gridplan.cheapest(folder, levers=("gpu", "kv_dtype"), at=at)
    assert gridplan.cheapest(memory, levers=("gpu", "kv_dtype"), at=at).identical(here)


def test_damage_is_found(memory: str) -> None:
    gridplan.run(gridplan.load_grid(GRIDS / "lesson.yaml"), memory)
    part = place_of(memory) / "facts" / "part-00000.parquet"
    content = part.read_bytes()
    part.write_bytes(content[:-1])
    with pytest.raises(StoreError, match="it was altered"):
        gridplan.open_cube(memory)
    part.write_bytes(content[:-9] + b"x" + content[-8:])
    with pytest.raises(StoreError, match="another SHA-256"):
        verify_cube(memory)
    part.unlink()
    with pytest.raises(StoreError, match="is missing"):
        gridplan.open_cube(memory)


def test_addresses() -> None:
    assert place_of("file:///tmp/cube") == Path("/tmp/cube")
    assert place_of("cubes/s3") == Path("cubes/s3")
    with pytest.raises(StoreError, match="nothing-such://x is no address"):
        place_of("nothing-such://x")
    for text in ("s3://", "s3:///cube", "gs://"):
        with pytest.raises(StoreError, match=r"names no bucket: (s3|gs)://bucket/cube is due"):
            place_of(text)


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"gridplan\[s3\]"):
        place_of("s3://bucket/cube")
    with pytest.raises(MissingExtraError, match=r"gridplan\[cloud\]"):
        place_of("memory://cube")
