"""Parts: the same bytes every time, whole or not there, and nothing in them that must not be stored."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridplan.errors import StoreError
from gridplan.store import AxisSpec, Block, Column, WriteOptions, make_layout, open_cube, write_part
from gridplan.store.files import landing
from gridplan.store.parquet import Receipt
from gridplan.store.values import take_block


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_same_input_gives_same_bytes_whatever_the_workers(sample: Any, tmp_path: Path) -> None:
    first = content(sample.write(tmp_path / "one"))
    assert content(sample.write(tmp_path / "two")) == first
    assert content(sample.write(tmp_path / "three", workers=4)) == first
    assert [name for name in first if name.endswith(".tmp")] == []
    assert len([name for name in first if name.startswith("facts/")]) == 6


def test_receipt_describes_the_file(sample: Any, tmp_path: Path) -> None:
    part = sample.layout.parts(5)[2]
    receipt = write_part(tmp_path, sample.layout, part, take_block(sample.arrays, part.block))
    raw = (tmp_path / "facts" / "part-00002.parquet").read_bytes()
    assert receipt == Receipt(2, "facts/part-00002.parquet", 2, len(raw), hashlib.sha256(raw).hexdigest())
    assert Receipt(**json.loads((tmp_path / "receipts" / "part-00002.json").read_text())) == receipt


def test_a_function_of_blocks_writes_the_same_file_as_its_arrays(sample: Any, tmp_path: Path) -> None:
    options = WriteOptions(block_cells=2)
    part = sample.layout.parts(None)[0]
    seen: list[Block] = []

    def compute(block: Block) -> dict[str, np.ndarray]:
        seen.append(block)
        return dict(take_block(sample.arrays, block))

    streamed = write_part(tmp_path / "a", sample.layout, part, compute, options)
    whole = write_part(tmp_path / "b", sample.layout, part, sample.arrays, options)
    assert streamed.sha256 == whole.sha256
    assert [block.rows for block in seen] == [2] * 9
    assert [block.start for block in seen[:4]] == [(0, 0, 0), (0, 1, 0), (0, 2, 0), (1, 0, 0)]


def test_buffers_of_the_caller_may_be_used_again(sample: Any, tmp_path: Path) -> None:
    part = sample.layout.parts(None)[0]
    scratch = {name: np.empty((1, 1, 2)) for name in ("replicas", "usd_per_hour", "holds")}

    def compute(block: Block) -> dict[str, np.ndarray]:
        arrays = dict(take_block(sample.arrays, block))
        for name, own in scratch.items():
            own[...] = arrays[name]
            arrays[name] = own
        return arrays

    reused = write_part(tmp_path / "a", sample.layout, part, compute, WriteOptions(block_cells=2))
    plain = write_part(tmp_path / "b", sample.layout, part, sample.arrays, WriteOptions(block_cells=2))
    assert reused.sha256 == plain.sha256


AXES = [AxisSpec("gpu", ("h100", "a100"), True, "label"), AxisSpec("rho_target", (0.5, 0.7), False, "1")]
BOTH = ("gpu", "rho_target")


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        (
            Column("x", "measure", "float64", BOTH),
            [[1, 2], [math.inf, 3]],
            "gpu='a100', rho_target=0.5: an infinite value",
        ),
        (Column("x", "measure", "float64", BOTH), [[1, -math.inf], [2, 3]], "gpu='h100', rho_target=0.7: an infinite"),
        (
            Column("x", "measure", "int64", BOTH),
            [[1, math.nan], [1.5, 3]],
            "gpu='a100', rho_target=0.5: 1.5 is not a whole",
        ),
        (Column("x", "measure", "int64", BOTH), [[1, 3e18], [2, 3]], "rho_target=0.7: 3e+18 is above 2**53"),
        (Column("x", "measure", "int64", BOTH), [[1, math.inf], [2, 3]], "rho_target=0.7: an infinite value"),
        (Column("x", "measure", "bool", BOTH), [[1, 0], [math.nan, 0.5]], "rho_target=0.7: 0.5 is neither 0 nor 1"),
        (Column("x", "measure", "string", BOTH, ("a",)), [[0, -1], [1, 0]], "rho_target=0.5: code 1 has no label"),
        (Column("x", "measure", "string", BOTH, ("a",)), [[0, -2], [0, 0]], "code -2 has no label"),
        (Column("x", "measure", "string", BOTH, ("a",)), [[0.0, 0.0], [0.0, 0.0]], "type float64 do not fit string"),
        (Column("x", "measure", "float64", ("gpu",)), [[1, 2], [3, 4]], "shape (1, 2) do not fit a block of (1, 2)"),
        (Column("x", "measure", "float64", BOTH), [1, 2], "shape (2,) do not fit"),
        (Column("y", "measure", "float64", BOTH), [[1, 2], [3, 4]], "column y: no values were given"),
    ],
)
def test_what_must_not_be_stored_names_column_and_cell(
    tmp_path: Path, column: Column, values: list[Any], said: str
) -> None:
    layout = make_layout(AXES, [column])
    with pytest.raises(StoreError) as caught:
        write_part(tmp_path, layout, layout.parts(None)[0], {"x": np.array(values)})
    assert said in str(caught.value)
    assert f"column {column.name}" in str(caught.value)
    assert content(tmp_path) == {}  # neither half a file nor a receipt


def test_an_interrupt_leaves_nothing_behind(sample: Any, tmp_path: Path) -> None:
    calls = 0

    def stop(block: Block) -> dict[str, np.ndarray]:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return dict(take_block(sample.arrays, block))

    with pytest.raises(KeyboardInterrupt):
        write_part(tmp_path, sample.layout, sample.layout.parts(None)[0], stop, WriteOptions(block_cells=2))
    assert content(tmp_path) == {}


def test_a_failed_replacement_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "kept.json"
    target.write_text("old")

    def fail() -> None:
        with landing(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert content(tmp_path) == {"kept.json": b"old"}


def test_a_disk_that_refuses_is_a_store_error(sample: Any, tmp_path: Path) -> None:
    # A limit on the size of files stands for a full disk: the same write call fails part way.
    part = sample.layout.parts(None)[0]
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(StoreError) as caught:
            write_part(tmp_path, sample.layout, part, sample.arrays)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(caught.value).startswith(f"cannot write {tmp_path / part.file}: the file is too large")
    assert caught.value.exit_code == 3
    assert content(tmp_path) == {}


def test_a_file_in_the_way_is_a_store_error(sample: Any, tmp_path: Path) -> None:
    (tmp_path / "facts").write_text("mine")
    with pytest.raises(StoreError, match="a file is in the way"):
        write_part(tmp_path, sample.layout, sample.layout.parts(None)[0], sample.arrays)


def test_unknown_compression_is_refused() -> None:
    with pytest.raises(StoreError, match="did you mean zstd"):
        WriteOptions(compression="zst")  # type: ignore[arg-type]


def test_whole_numbers_up_to_the_limit_are_exact(cube_type: Any, tmp_path: Path) -> None:
    layout = make_layout([AxisSpec("a", (1.0, 2.0, 3.0), False, "1")], [Column("x", "measure", "int64", ("a",))])
    cube = cube_type(layout, {"x": np.array([2.0**53, -(2.0**53), math.nan])})
    folder = cube.write(tmp_path)
    assert open_cube(folder)["x"].values.tolist()[:2] == [9007199254740992.0, -9007199254740992.0]
