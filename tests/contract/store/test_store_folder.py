"""The target folder: what is replaced, what is never touched, and what a reader is told about an unfinished cube."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gridplan.errors import StoreError
from gridplan.spreadsheet import rows_warning
from gridplan.store import (
    Manifest,
    WriteOptions,
    open_cube,
    prepare_folder,
    read_manifest,
    verify,
    verify_cube,
    write_manifest,
    write_part,
)
from gridplan.store.files import sha256_of
from gridplan.store.parquet import PartWriter


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_a_new_or_empty_folder_is_taken(tmp_path: Path) -> None:
    assert prepare_folder(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    assert prepare_folder(tmp_path / "a" / "b").is_dir()
    assert names(tmp_path / "a" / "b") == set()


def test_a_cube_is_replaced_only_by_force(sample: Any, tmp_path: Path) -> None:
    sample.write(tmp_path)
    before = names(tmp_path)
    with pytest.raises(StoreError, match="already holds a cube; replace it with --force"):
        prepare_folder(tmp_path)
    assert names(tmp_path) == before
    prepare_folder(tmp_path, force=True)
    assert names(tmp_path) == set()


@pytest.mark.parametrize(
    "half", ["facts/.part-00001.parquet", "receipts/.part-00000.json", "dims/.gpu.parquet", ".manifest.json"]
)
@pytest.mark.parametrize("token", ["", ".0a1b2c3d"])
def test_an_unfinished_run_is_replaced_only_by_force(sample: Any, tmp_path: Path, half: str, token: str) -> None:
    write_part(tmp_path, sample.layout, sample.layout.parts(5)[0], sample.arrays | cut_to_first(sample))
    (tmp_path / "dims").mkdir()
    (tmp_path / f"{half}{token}.tmp").write_bytes(b"half")
    with pytest.raises(StoreError, match="unfinished run"):
        prepare_folder(tmp_path)
    prepare_folder(tmp_path, force=True)
    assert names(tmp_path) == set()


def test_a_worker_taken_for_lost_and_its_successor_share_no_name(sample: Any, tmp_path: Path) -> None:
    """Both write one part of a folder that machines share; whichever lands first or gives up, the part is whole."""
    part, options = sample.layout.parts(5)[0], WriteOptions()
    lost, successor = (PartWriter(sample.layout, options) for _ in range(2))
    early = lost.begin(tmp_path, part, sample.arrays | cut_to_first(sample))
    receipt = successor.write(tmp_path, part, sample.arrays | cut_to_first(sample))
    lost.begin(tmp_path, part, sample.arrays | cut_to_first(sample)).discard()
    assert sha256_of(tmp_path / part.file) == receipt.sha256
    assert early.land() == receipt
    assert sha256_of(tmp_path / part.file) == receipt.sha256
    assert [path.name for path in tmp_path.rglob("*.tmp")] == []


def cut_to_first(sample: Any) -> dict[str, np.ndarray]:
    block = sample.layout.parts(5)[0].block
    return {
        name: values[tuple(slice(0, min(size, stop)) for size, stop in zip(values.shape, block.stop, strict=True))]
        for name, values in sample.arrays.items()
    }


@pytest.mark.parametrize(
    "foreign",
    ["notes.txt", "facts/notes.txt", "facts/part-00000.csv", "receipts/x.json", "dims/notes.txt", "sub/a.parquet"],
)
@pytest.mark.parametrize("force", [False, True])
def test_foreign_files_are_never_touched(sample: Any, tmp_path: Path, foreign: str, force: bool) -> None:
    sample.write(tmp_path)
    (tmp_path / foreign).parent.mkdir(exist_ok=True)
    (tmp_path / foreign).write_text("mine")
    before = names(tmp_path)
    with pytest.raises(StoreError, match="did not write"):
        prepare_folder(tmp_path, force)
    assert names(tmp_path) == before


@pytest.mark.parametrize("place", ["dims/mine.parquet", "facts/part-00099.parquet"])
def test_parquet_files_of_others_are_foreign_even_with_our_names(sample: Any, tmp_path: Path, place: str) -> None:
    sample.write(tmp_path)
    pq.write_table(pa.table({"a": [1]}), tmp_path / place)
    with pytest.raises(StoreError, match=f"did not write \\({place}\\)"):
        prepare_folder(tmp_path, force=True)


def test_a_manifest_of_another_program_is_foreign(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "a web application"}')
    with pytest.raises(StoreError, match="did not write"):
        prepare_folder(tmp_path, force=True)


def test_links_are_foreign(sample: Any, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cube").mkdir()
    (tmp_path / "cube" / "facts").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="did not write"):
        prepare_folder(tmp_path / "cube", force=True)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="link to nothing"):
        prepare_folder(tmp_path / "dangling")


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreError, match="is a file"):
        prepare_folder(tmp_path / "file")
    with pytest.raises(StoreError, match="a file is in the way"):
        prepare_folder(tmp_path / "file" / "below")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_folder_is_refused_before_any_work(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="permission denied"):
        prepare_folder(tmp_path)
    tmp_path.chmod(0o700)


def test_a_spreadsheet_holds_a_header_and_1048575_rows() -> None:
    assert rows_warning(1_048_575) is None
    assert "1,048,575" in (rows_warning(1_048_576) or "")


def test_opening_says_what_is_missing(sample: Any, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        open_cube(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="is not a folder"):
        open_cube(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match="does not hold a cube"):
        open_cube(tmp_path / "empty")
    folder = sample.write(tmp_path / "cube")
    (folder / "manifest.json").unlink()
    with pytest.raises(StoreError, match="the run did not finish; finish it with --resume, or replace it with --force"):
        open_cube(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format_version": 2}, "format version 2, written by gridplan 0.1.0; this version reads 1: use a newer"),
        ({"format": "other"}, "does not describe a gridplan cube"),
        ({"axes": 7}, "is damaged"),
        ({"columns": [{"name": "x"}]}, "is damaged"),
        ({"parts": []}, "do not make up the 18 rows"),
    ],
)
def test_a_manifest_that_cannot_be_used_says_why(sample: Any, tmp_path: Path, change: Any, said: str) -> None:
    folder = sample.write(tmp_path)
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(StoreError, match=said):
        open_cube(folder)


def test_a_truncated_manifest_says_so_and_can_be_replaced(sample: Any, tmp_path: Path) -> None:
    folder = sample.write(tmp_path)
    path = folder / "manifest.json"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(StoreError, match=r"is damaged .*--force"):
        open_cube(folder)
    prepare_folder(folder, force=True)
    assert names(folder) == set()


def test_manifest_says_what_the_cube_is_made_of(sample: Any, tmp_path: Path) -> None:
    folder = sample.write(tmp_path)
    manifest = read_manifest(folder)
    assert manifest.layout == sample.layout
    assert manifest.parts == sample.layout.parts(5)
    assert manifest.attrs == sample.attrs
    assert manifest.options == {"compression": "zstd"}
    raw = json.loads((folder / "manifest.json").read_text())
    assert raw["rows"] == 18
    assert raw["grid_text"] == "schema: 1\n"
    assert [axis["labels"] for axis in raw["axes"]] == [["h100", "a100", "H100"], [0.5, 0.7, 1.0], ["16k", "128k"]]
    assert raw["parts"][2]["sha256"] == manifest.receipts[2].sha256
    assert raw["dims"][0]["file"] == "dims/metric.parquet"
    assert (folder / "manifest.json").read_text() == json.dumps(raw, indent=1, ensure_ascii=False) + "\n"


def test_an_incomplete_cube_is_never_announced(sample: Any, tmp_path: Path) -> None:
    whole = read_manifest(sample.write(tmp_path / "whole"))
    some = Manifest(whole.layout, whole.origin, whole.parts[:-1], whole.receipts[:-1], whole.dims, {}, {})
    with pytest.raises(StoreError, match="do not make up the 18 rows"):
        write_manifest(tmp_path, some)
    mixed = Manifest(whole.layout, whole.origin, whole.parts, whole.receipts[::-1], whole.dims, {}, {})
    with pytest.raises(StoreError, match="do not make up the 18 rows"):
        write_manifest(tmp_path, mixed)
    assert names(tmp_path) == {"whole"} | {f"whole/{name}" for name in names(tmp_path / "whole")}


def test_missing_and_resized_parts_are_named_together(sample: Any, tmp_path: Path) -> None:
    folder = sample.write(tmp_path)
    (folder / "facts" / "part-00001.parquet").unlink()
    with (folder / "facts" / "part-00003.parquet").open("ab") as file:
        file.write(b"x")
    with pytest.raises(
        StoreError, match=r"part-00001.parquet is missing\n.*part-00003.parquet has .* bytes, the manifest"
    ):
        open_cube(folder)


@pytest.mark.parametrize("length", [0, 3, 4, 100, -9, -8, -1])
def test_a_truncated_part_is_noticed(sample: Any, tmp_path: Path, length: int) -> None:
    folder = sample.write(tmp_path)
    path = folder / "facts" / "part-00000.parquet"
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(StoreError, match="it was altered"):
        open_cube(folder)


def test_a_part_of_the_same_size_with_other_bytes_is_noticed_by_verify(sample: Any, tmp_path: Path) -> None:
    folder = sample.write(tmp_path)
    assert verify_cube(folder) == read_manifest(folder)
    path = folder / "facts" / "part-00000.parquet"
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(bytes(raw))
    with pytest.raises(StoreError, match=r"part-00000\.parquet has another SHA-256"):
        verify_cube(folder)


def test_footers_are_read_where_another_version_wrote_them(
    sample: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []
    has_schema = verify._has_schema
    monkeypatch.setattr(verify, "_has_schema", lambda path, schema: asked.append(path) or has_schema(path, schema))
    own = sample.write(tmp_path / "own")
    verify_cube(own)
    assert asked == []
    other = sample.write(tmp_path / "other", options=WriteOptions(grid_name="test", package_version="0.0.9"))
    verify_cube(other)
    assert sorted(asked) == sorted((other / "facts").iterdir())
    content = json.loads((own / "manifest.json").read_text())
    next(column for column in content["columns"] if column["name"] == "replicas")["meta"]["unit"] = "GiB"
    (own / "manifest.json").write_text(json.dumps(content))
    with pytest.raises(StoreError, match=r"(part-0000\d\.parquet has another schema than the manifest says\n.*){4}"):
        verify_cube(own)


def test_the_sizes_alone_may_be_checked(sample: Any, tmp_path: Path) -> None:
    folder = sample.write(tmp_path)
    path = folder / "dims" / "metric.parquet"
    raw = path.read_bytes()
    path.write_bytes(raw[:-9] + b"x" + raw[-8:])
    verify_cube(folder, sizes_only=True)
    path.write_bytes(raw[:-1])
    with pytest.raises(StoreError, match=r"metric\.parquet has .* bytes"):
        verify_cube(folder, sizes_only=True)


def test_a_part_swapped_for_one_of_another_cube_is_a_store_error(sample: Any, tmp_path: Path) -> None:
    folder = sample.write(tmp_path)
    path, raw = folder / "facts" / "part-00000.parquet", json.loads((folder / "manifest.json").read_text())
    pq.write_table(pa.table({"a": [1, 2, 3]}), path)
    raw["parts"][0]["bytes"] = path.stat().st_size
    (folder / "manifest.json").write_text(json.dumps(raw))
    with pytest.raises(StoreError, match="other columns than the manifest says"):
        open_cube(folder)
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(StoreError, match=r"part-00000\.parquet is damaged"):
        open_cube(folder)


def test_damaged_pages_are_a_store_error(sample: Any, tmp_path: Path) -> None:
    folder = sample.write(tmp_path)
    path = folder / "facts" / "part-00000.parquet"
    raw = path.read_bytes()
    footer = int.from_bytes(raw[-8:-4], "little") + 8
    path.write_bytes(raw[:4] + b"\xff" * (len(raw) - footer - 4) + raw[-footer:])
    with pytest.raises(StoreError, match=r"part-00000\.parquet"):
        open_cube(folder)


def test_verify_notices_a_column_that_varies_where_it_should_not(sample: Any, tmp_path: Path) -> None:
    # Written along all axes, then declared to depend on gpu alone: the manifest no longer tells the truth.
    folder = sample.write(tmp_path)
    raw = json.loads((folder / "manifest.json").read_text())
    for column in raw["columns"]:
        if column["name"] == "usd_per_hour":
            column["dims"] = ["gpu"]
    (folder / "manifest.json").write_text(json.dumps(raw))
    with pytest.raises(
        StoreError, match="column usd_per_hour differs from the labels of its axis or along an axis outside"
    ):
        verify_cube(folder)


def test_verify_notices_labels_out_of_order(sample: Any, tmp_path: Path) -> None:
    folder = sample.write(tmp_path)
    raw = json.loads((folder / "manifest.json").read_text())
    raw["axes"][1]["labels"] = [0.7, 0.5, 1.0]
    (folder / "manifest.json").write_text(json.dumps(raw))
    with pytest.raises(StoreError, match="column rho_target differs"):
        verify_cube(folder)
