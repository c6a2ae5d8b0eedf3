"""A run that is stopped loses nothing: what it had finished stays, the rest is written, the bytes are the same."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import gridplan
from gridplan.engine.blocks import BlockEvaluator
from gridplan.errors import StoreError, VerifyError
from gridplan.store.lock import LOCK, folder_lock
from gridplan.store.verify import verify_cube

ROWS = 4_000
"""Rows of a part here, so that the quickstart has 24 of them."""

CHILD = f"""
import sys, gridplan, gridplan.store.layout as layout
layout.ROWS_PER_PART = {ROWS}
gridplan.run(gridplan.load_grid(sys.argv[1]), sys.argv[2], resume="resume" in sys.argv, workers=2)
"""


def hashes(folder: Path) -> dict[str, str]:
    """Every file below `folder` with its SHA-256."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridplan.store.layout.ROWS_PER_PART", ROWS)


@pytest.fixture(scope="module")
def grid() -> gridplan.contract.grid.Grid:  # type: ignore[name-defined]
    return gridplan.load_grid(Path(__file__).parents[2] / "grids" / "quickstart.yaml")


@pytest.fixture(scope="module")
def whole(grid: object, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The cube of an uninterrupted run on one thread."""
    folder = tmp_path_factory.mktemp("whole") / "cube"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gridplan.store.layout.ROWS_PER_PART", ROWS)
        result = gridplan.run(grid, folder, workers=1)
    assert (result.parts, result.resumed, result.rows) == (24, 0, 72_000)
    return folder, hashes(folder)


@pytest.fixture
def finished(whole: tuple[Path, dict[str, str]], tmp_path: Path) -> Path:
    """A finished cube to damage: that of the uninterrupted run, copied."""
    return shutil.copytree(whole[0], tmp_path / "cube")


@pytest.mark.parametrize("workers", [2, 5])
def test_the_bytes_do_not_depend_on_the_workers(
    grid: object, whole: tuple[Path, dict[str, str]], tmp_path: Path, workers: int
) -> None:
    gridplan.run(grid, tmp_path / "cube", workers=workers)
    assert hashes(tmp_path / "cube") == whole[1]


def test_a_finished_folder_holds_no_lock_and_no_intent(whole: tuple[Path, dict[str, str]]) -> None:
    assert {path.name for path in whole[0].iterdir()} == {"facts", "dims", "receipts", "manifest.json"}


@pytest.mark.parametrize("seed", range(2))
def test_killed_at_any_moment_and_resumed_is_the_same(
    grid: object, whole: tuple[Path, dict[str, str]], tmp_path: Path, seed: int
) -> None:
    folder = tmp_path / "cube"
    path = Path(__file__).parents[2] / "grids" / "quickstart.yaml"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path), str(folder)], env=dict(os.environ))
    # From the first part on, so that something is there to lose.
    while child.poll() is None and not list(folder.glob("receipts/part-*.json")):
        time.sleep(0.005)
    time.sleep(random.Random(seed).uniform(0.0, 0.5))
    child.send_signal(signal.SIGKILL)
    child.wait()
    stood = len(list(folder.glob("receipts/part-*.json")))
    result = gridplan.run(grid, folder, resume=True)
    assert 1 <= result.resumed <= stood
    assert hashes(folder) == whole[1]
    verify_cube(folder)


def test_what_a_resumed_run_says_is_what_a_whole_run_says(
    grid: object, whole: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    first = gridplan.run(grid, tmp_path / "cube").to_dict()
    for part in ("00003", "00011"):
        (tmp_path / "cube" / "facts" / f"part-{part}.parquet").unlink()
    again = gridplan.run(grid, tmp_path / "cube", resume=True).to_dict()
    assert again.pop("parts_resumed") == 22
    assert first.pop("parts_resumed") == 0
    assert again == first


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [truncated, flipped, emptied, Path.unlink])
@pytest.mark.parametrize("name", ["facts/part-00002.parquet", "receipts/part-00002.json"])
def test_a_damaged_part_is_found_and_written_again(
    grid: object, whole: tuple[Path, dict[str, str]], finished: Path, damage: object, name: str
) -> None:
    folder = finished
    damage(folder / name)  # type: ignore[operator]
    if name.startswith("facts"):
        with pytest.raises((VerifyError, StoreError), match="part-00002"):
            verify_cube(folder)
    assert gridplan.run(grid, folder, resume=True).resumed == 23
    assert hashes(folder) == whole[1]


def test_another_grid_is_not_mixed_in(grid: object, finished: Path) -> None:
    text = grid.text.replace("max_num_seqs: 256", "max_num_seqs: 128")  # type: ignore[attr-defined]
    before = hashes(finished)
    with pytest.raises(StoreError, match="differs in the grid"):
        gridplan.run(gridplan.loads_grid(text), finished, resume=True)
    with pytest.raises(StoreError, match="differs in outputs"):
        gridplan.run(grid, finished, resume=True, outputs=["replicas"])
    assert hashes(finished) == before


def test_force_and_resume_contradict_each_other(grid: object, finished: Path) -> None:
    before = hashes(finished)
    with pytest.raises(StoreError, match="give one of them"):
        gridplan.run(grid, finished, force=True, resume=True)
    assert hashes(finished) == before


def test_one_output_needs_no_list(grid: object, tmp_path: Path) -> None:
    gridplan.run(grid, tmp_path / "bare", outputs="replicas")
    gridplan.run(grid, tmp_path / "list", outputs=["replicas"])
    assert hashes(tmp_path / "bare") == hashes(tmp_path / "list")


@pytest.mark.parametrize(("key", "said"), [("package_version", "the version"), ("catalog_sha256", "the catalog")])
def test_another_version_or_catalog_is_not_mixed_in(grid: object, finished: Path, key: str, said: str) -> None:
    manifest = finished / "manifest.json"
    content = json.loads(manifest.read_bytes())
    content[key] = "another"
    manifest.write_text(json.dumps(content))
    with pytest.raises(StoreError, match=f"differs in {said}"):
        gridplan.run(grid, finished, resume=True)


def test_resume_in_an_empty_folder_is_a_run(grid: object, whole: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    gridplan.run(grid, tmp_path / "cube", resume=True)
    assert hashes(tmp_path / "cube") == whole[1]


def test_two_runs_do_not_share_a_folder(grid: object, tmp_path: Path) -> None:
    (tmp_path / "cube").mkdir()
    with folder_lock(tmp_path / "cube"):
        for options in ({}, {"force": True}, {"resume": True}):
            with pytest.raises(StoreError, match="another run is writing"):
                gridplan.run(grid, tmp_path / "cube", **options)
    assert not (tmp_path / "cube" / LOCK).exists()
    gridplan.run(grid, tmp_path / "cube", outputs=["gpus"])


def test_a_lock_left_behind_by_a_dead_process_does_not_count(grid: object, tmp_path: Path) -> None:
    (tmp_path / "cube").mkdir()
    (tmp_path / "cube" / LOCK).touch()
    gridplan.run(grid, tmp_path / "cube", outputs=["gpus"])


def test_an_unfinished_folder_says_how_to_go_on(grid: object, finished: Path) -> None:
    (finished / "manifest.json").unlink()
    with pytest.raises(StoreError, match="finish it with --resume"):
        gridplan.run(grid, finished)
    with pytest.raises(StoreError, match="did not finish"):
        gridplan.open_cube(finished)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("number", "code", "last"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "run")]
)
def test_an_interrupt_ends_with_its_code_and_leaves_a_folder_to_resume(
    grid: object, whole: tuple[Path, dict[str, str]], tmp_path: Path, number: signal.Signals, code: int, last: str
) -> None:
    folder = tmp_path / "cube"
    program = f"""
import gridplan.store.layout as layout
layout.ROWS_PER_PART = {ROWS}
from gridplan.cli import main
main(["run", {str(Path(__file__).parents[2] / "grids" / "quickstart.yaml")!r}, "-o", {str(folder)!r}])
"""
    child = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    while child.poll() is None and not list(folder.glob("receipts/part-*.json")):
        time.sleep(0.005)
    child.send_signal(number)
    began = time.monotonic()
    _, said = child.communicate(timeout=30)
    if child.returncode == 0:
        pytest.skip("the run was done before the interrupt came")
    assert child.returncode == code
    lines = said.decode().strip().splitlines()
    assert f"{folder}: the same command with --resume finishes this run" in lines
    assert lines[-1].endswith(last)
    assert time.monotonic() - began < 10
    assert not list(folder.rglob("*.tmp"))
    gridplan.run(grid, folder, resume=True)
    assert hashes(folder) == whole[1]


def test_rows_without_a_plan_may_be_left_out(grid: object, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    result = gridplan.run(grid, tmp_path / "cube", drop_infeasible=True)
    table = pq.read_table(tmp_path / "cube" / "facts")
    assert result.rows == table.num_rows == 42_500
    assert set(table["status"].to_pylist()) == {"ok"}
    manifest = json.loads((tmp_path / "cube" / "manifest.json").read_bytes())
    assert manifest["options"]["drop_infeasible"] is True
    assert (manifest["cells"], manifest["rows"]) == (72_000, 42_500)
    verify_cube(tmp_path / "cube")
    with pytest.raises(StoreError, match="leaves out the rows"):
        gridplan.open_cube(tmp_path / "cube")
    for file in sorted((tmp_path / "cube" / "facts").iterdir()):
        stored = pq.ParquetFile(file)
        for group in range(stored.num_row_groups):
            assert len(set(stored.read_row_group(group, ["gpu"])["gpu"].to_pylist())) == 1


def test_outputs_compute_only_what_they_need(grid: object, tmp_path: Path) -> None:
    from gridplan.engine.columns import plan_columns
    from gridplan.engine.inputs import build_inputs

    plan = plan_columns(build_inputs(grid), ["kv_bytes_per_token"])
    assert [step.outputs for step in plan.steps] == [("kv_bytes_per_token",)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB, where this machine lets us mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("no right to mount a file system here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_one_clear_error_and_the_folder_can_be_resumed(
    grid: object, whole: tuple[Path, dict[str, str]], small_disk: Path
) -> None:
    folder = small_disk / "cube"
    with pytest.raises(StoreError, match="the disk is full"):
        gridplan.run(grid, folder)
    assert not (folder / "manifest.json").exists()
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    gridplan.run(grid, folder, resume=True)
    assert hashes(folder) == whole[1]


def test_a_folder_that_vanishes_is_one_clear_error(grid: object, tmp_path: Path) -> None:
    folder = tmp_path / "cube"

    def vanish(_: int) -> None:
        if folder.exists():
            shutil.rmtree(folder, ignore_errors=True)

    with pytest.raises(StoreError, match="cannot"):
        gridplan.run(grid, folder, progress=vanish)


def test_a_part_taken_away_meanwhile_is_noticed(grid: object, tmp_path: Path) -> None:
    folder = tmp_path / "cube"

    def take(_: int) -> None:
        (folder / "facts" / "part-00000.parquet").unlink(missing_ok=True)

    with pytest.raises(StoreError, match=r"part-00000.parquet is missing\nsomebody else changed the folder"):
        gridplan.run(grid, folder, workers=1, progress=take, outputs=["gpus"])
    gridplan.run(grid, folder, resume=True, outputs=["gpus"])
    verify_cube(folder)


def test_a_disk_that_fails_late_leaves_no_temporary_file(
    grid: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gridplan.store.parquet import Receipt, Unlanded

    real = Unlanded.land

    def land(self: Unlanded) -> Receipt:
        if self.receipt.number == 3:
            self.discard()
            raise StoreError("cannot write: the disk is full")
        return real(self)

    monkeypatch.setattr(Unlanded, "land", land)
    with pytest.raises(StoreError, match="the disk is full"):
        gridplan.run(grid, tmp_path / "cube", workers=1)
    assert list((tmp_path / "cube" / "facts").glob(".*")) == []


def test_a_part_that_stands_is_counted_in_its_file(
    grid: object, finished: Path, whole: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (finished / "facts" / "part-00007.parquet").unlink()
    planned: list[int] = []
    real = BlockEvaluator.columns
    monkeypatch.setattr(BlockEvaluator, "columns", lambda own, block: (planned.append(block.rows), real(own, block))[1])
    result = gridplan.run(grid, finished, resume=True, workers=1)
    assert sum(planned) == json.loads((finished / "manifest.json").read_text())["parts"][7]["rows"] < 72_000
    assert result.resumed == 23
    assert hashes(finished) == whole[1]


ALTERED: dict[str, Callable[[Any], object]] = {
    "a part named twice": lambda parts: parts[2].update(
        {name: parts[0][name] for name in ("number", "file", "sha256")}
    ),
    "a box twice": lambda parts: parts[0].update(start=parts[1]["start"], stop=parts[1]["stop"]),
    "a box outside": lambda parts: parts[-1].update(start=[50, 0, 0, 0, 0, 0], stop=[51, 10, 3, 6, 5, 10]),
    "a box turned": lambda parts: parts[0].update(start=parts[0]["stop"], stop=parts[0]["start"]),
    "a number with a point": lambda parts: parts[1].update(start=[float(label) for label in parts[1]["start"]]),
    "another order": lambda parts: parts.reverse(),
    "rows of nobody": lambda parts: parts[3].update(rows=-4),
    "an endless number": lambda parts: parts[3].update(start=[10**30] * 6),
}


@pytest.mark.parametrize("kind", ALTERED)
def test_a_manifest_whose_parts_are_not_the_cube_is_refused(finished: Path, kind: str) -> None:
    path = finished / "manifest.json"
    content = json.loads(path.read_text())
    ALTERED[kind](content["parts"])
    path.write_text(json.dumps(content, indent=1))
    with pytest.raises(StoreError, match=r"do not make up the 72000 rows|is damaged"):
        gridplan.open_cube(finished)


@pytest.mark.parametrize(("key", "value"), [("options", None), ("row_group_rows", -1), ("row_group_rows", "x")])
def test_a_damaged_manifest_is_said(finished: Path, key: str, value: object) -> None:
    path = finished / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(StoreError, match="is damaged"):
        gridplan.open_cube(finished)
    path.write_text("[" * 100_000)
    with pytest.raises(StoreError, match="is damaged"):
        gridplan.open_cube(finished)


@pytest.mark.parametrize("drop", [False, True])
def test_a_receipt_of_other_rows_does_not_count(grid: object, tmp_path: Path, drop: bool) -> None:
    folder = tmp_path / "cube"
    gridplan.run(grid, folder, drop_infeasible=drop, outputs=["gpus"])
    written = hashes(folder)
    receipt = folder / "receipts" / "part-00002.json"
    receipt.write_text(json.dumps({**json.loads(receipt.read_text()), "rows": 5}))
    assert gridplan.run(grid, folder, drop_infeasible=drop, outputs=["gpus"], resume=True).resumed == 23
    assert hashes(folder) == written
