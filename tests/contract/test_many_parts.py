"""A folder of more than 100,000 parts is written, verified, opened, asked and resumed as one of a few is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from many_parts import ROWS, many_files, many_layout, usd_of

import gridplan
from gridplan.engine.stored_summary import stored_summary
from gridplan.errors import StoreError, VerifyError
from gridplan.query.slice import open_slice
from gridplan.store import manifest as manifests
from gridplan.store import read_manifest, reader, verify, verify_cube, write_manifest
from gridplan.store.blocks import pieces
from gridplan.store.folder import claimed_folder
from gridplan.store.intent import finished_parts
from gridplan.store.manifest import Manifest
from gridplan.store.open import open_cube

Cli = Callable[..., Any]

PARTS = 100_100
"""More than five digits number: names no longer sort as parts do."""

AT = {"gpu": "gpu-9", "context_tokens": 10240.0}
"""Where the parts from 99,099 on lie, one for each arrival rate."""

OWN = range(99_998, 100_002)
"""Parts that hold rows of their own, on both sides of the sixth digit; their arrival rates are 900 to 903."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Manifest]]:
    """The folder, and what its manifest was made from. Tests leave it as it was."""
    folder = tmp_path_factory.mktemp("many") / "cube"
    manifest = many_files(folder, many_layout(PARTS), OWN)
    write_manifest(folder, manifest)
    yield folder, manifest
    shutil.rmtree(folder)
    manifests._known.clear()


@pytest.fixture
def many(made: tuple[Path, Manifest]) -> Path:
    return made[0]


@contextmanager
def instead(path: Path, content: bytes | None) -> Iterator[None]:
    """Another file in place of one, or none; a name is moved, since its file has many."""
    kept = path.parents[2] / path.name
    path.rename(kept)
    if content is not None:
        path.write_bytes(content)
    try:
        yield
    finally:
        kept.replace(path)


def flipped(path: Path) -> bytes:
    """The bytes of a file with one of them changed."""
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    return bytes(content)


def part(folder: Path, number: int) -> Path:
    return folder / "facts" / f"part-{number:05d}.parquet"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files of parts as they are opened to be read."""
    found: list[str] = []
    stored_part = reader.stored_part

    def noted(folder: Path, layout: Any, part: Any) -> Any:
        found.append(Path(part.file).name)
        return stored_part(folder, layout, part)

    monkeypatch.setattr("gridplan.store.reader.stored_part", noted)
    monkeypatch.setattr("gridplan.store.stream.stored_part", noted)
    return found


def test_the_manifest_says_what_it_was_made_from(made: tuple[Path, Manifest]) -> None:
    folder, manifest = made
    manifests._known.clear()
    assert read_manifest(folder) == manifest
    assert read_manifest(folder) is read_manifest(folder)
    assert len(manifest.parts) == pieces(manifest.layout.block, ROWS) == PARTS


def test_its_text_is_that_of_json(made: tuple[Path, Manifest]) -> None:
    text = (made[0] / "manifest.json").read_text(encoding="utf-8")
    content = json.loads(text)
    content["parts"] = content["parts"][-2:]
    head, _, rest = text.partition('\n "parts": [\n')
    tail = rest[rest.index('  {\n   "number": 100098,') :]
    assert f'{head}\n "parts": [\n{tail}' == json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def test_sizes_are_checked_without_reading(many: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "hashed", None)
    assert cli("verify", many, "--sizes").out == f"{many}: ok, 100,100 part(s), 400,400 rows\n"
    with instead(part(many, 70_000), None), instead(part(many, 100_099), b"short"):
        outcome = cli("verify", many, "--sizes", "--json")
        with pytest.raises(StoreError, match=r"part-70000.parquet is missing\n.*part-100099.parquet has 5 bytes"):
            gridplan.open_cube(many)
    assert outcome.code == 1
    said = json.loads(outcome.out)["problems"]
    assert [Path(line.split()[0]).name for line in said[:-1]] == ["part-70000.parquet", "part-100099.parquet"]


def test_one_altered_file_is_named(many: Path) -> None:
    with instead(part(many, 70_000), flipped(part(many, 70_000))), pytest.raises(VerifyError) as error:
        verify_cube(many, deep=False)
    altered, mend = str(error.value).splitlines()
    assert altered == f"{part(many, 70_000)} has another SHA-256 than the manifest says: it was altered"
    assert "--resume" in mend


def test_a_cell_is_read_from_its_file(many: Path, opened: list[str]) -> None:
    with instead(part(many, 70_000), None):  # of which nothing is asked
        cube = open_cube(many, ["usd_per_mtok_output"], {**AT, "arrival_rate": 902.0})
    assert cube["usd_per_mtok_output"].values.ravel().tolist() == usd_of(100_000)
    assert opened == ["part-100000.parquet"]
    with instead(part(many, 100_000), None), pytest.raises(StoreError, match=r"part-100000\.parquet is missing"):
        open_cube(many, at={**AT, "arrival_rate": 902.0})


def test_a_slice_reads_the_files_that_hold_it(many: Path, cli: Cli) -> None:
    where = "gpu = 'gpu-9' and context_tokens = 10240 and arrival_rate"
    asked = open_slice(many, f"{where} = 902")
    assert asked.sql.count(".parquet") == asked.sql.count("part-100000.parquet") == 1
    rows = json.loads(cli("slice", many, "--where", f"{where} = 902", "--json").out)
    assert [row["usd_per_mtok_output"] for row in rows] == usd_of(100_000)
    # In the order of the cube, which is not that of the names.
    frame = gridplan.slice_cube(many, f"{where} between 900 and 903")
    assert frame["usd_per_mtok_output"].tolist() == [usd for number in OWN for usd in usd_of(number)]
    with instead(part(many, 100_000), None), pytest.raises(StoreError, match=r"part-100000\.parquet is missing"):
        open_slice(many, f"{where} = 902")


def test_footers_of_very_many_files_are_not_kept(many: Path) -> None:
    def kept(where: str) -> bool:
        db = open_slice(many, where)._source.db
        return bool(db.execute("SELECT current_setting('parquet_metadata_cache')").fetchall()[0][0])

    assert kept("arrival_rate = 902")
    assert not kept("arrival_rate > 1")


def test_what_a_run_says_is_counted_in_the_files_of_a_slice(many: Path, opened: list[str]) -> None:
    found = stored_summary(many, {**AT, "arrival_rate": 900.0})
    assert (found.cells, found.feasible, opened) == (ROWS, ROWS, ["part-99998.parquet"])


def test_resuming_keeps_what_stands(made: tuple[Path, Manifest]) -> None:
    folder, manifest = made
    receipt = folder / "receipts" / "part-00007.json"
    with (
        instead(part(folder, 70_000), flipped(part(folder, 70_000))),
        instead(receipt, receipt.read_bytes()[:-9]),
        instead(part(folder, 100_099), None),
        claimed_folder(folder, resume=True) as claimed,
    ):
        found = finished_parts(claimed, manifest.parts)
    lost = {7, 70_000, 100_099}
    assert found == {own.number: own for own in manifest.receipts if own.number not in lost}


def test_a_file_of_somebody_else_among_them_is_named(many: Path) -> None:
    other = many / "facts" / "part-200000.parquet"
    other.write_bytes(b"mine")
    try:
        refused = pytest.raises(StoreError, match=r"did not write \(facts/part-200000\.parquet\)")
        with refused, claimed_folder(many, force=True):
            pass
    finally:
        other.unlink()
    assert (many / "manifest.json").is_file()
