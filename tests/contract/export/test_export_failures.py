"""Where writing fails in the middle nothing is left of it, and what was there before is as it was."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from gridplan.export.rows import Rows
from gridplan.query.database import duckdb_errors

FORMS = {
    **{"star": "out", "wide": "out.parquet", "csv": "out.csv", "excel": "out.xlsx"},
    **{"duckdb": "out.duckdb", "delta": "out"},
}
FAULTS = {"full": OSError(errno.ENOSPC, "No space left on device"), "stopped": KeyboardInterrupt()}
CODES = {"full": 3, "stopped": 130}


@pytest.fixture(params=FAULTS)
def fault(request: pytest.FixtureRequest) -> str:
    """A disk that is full, and a person who presses Ctrl-C."""
    found: str = request.param
    return found


@pytest.fixture
def failing(fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], None]:
    """Call it, and the third batch of rows never comes; temporary files are made in a folder of this test."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr("gridplan.export.forms.ROW_GROUP_ROWS", 500)
    monkeypatch.setattr("gridplan.query.database.ROWS_PER_BATCH", 700)
    whole = Rows.batches

    def broken(self: Rows, query: Any) -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(whole(self, query)):
            if number == 2:
                raise FAULTS[fault]
            yield batch

    return lambda: monkeypatch.setattr(Rows, "batches", broken)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_left_of_a_new_export(
    form: str, fault: str, failing: Callable[[], None], cli: Callable[..., Any], stored: Path, tmp_path: Path
) -> None:
    failing()
    found = cli("export", stored, "--to", form, "-o", tmp_path / FORMS[form], "--best", "context")
    assert (found.code, found.out) == (CODES[fault], "")
    assert fault == "stopped" or "the disk is full" in found.err
    assert [path.name for path in tmp_path.rglob("*")] == ["temporary"]


@pytest.mark.parametrize("fault", ["stopped"], indirect=True)
@pytest.mark.parametrize("form", FORMS)
def test_an_earlier_export_is_as_it_was(
    form: str, fault: str, failing: Callable[[], None], cli: Callable[..., Any], stored: Path, tmp_path: Path
) -> None:
    asked = ("export", stored, "--to", form, "-o", tmp_path / FORMS[form], "--best", "context")
    assert cli(*asked, "--where", "gpu = 'h100'").code == 0
    before = contents(tmp_path)
    failing()
    assert cli(*asked, "--force").code == CODES[fault]
    if form != "delta":
        assert contents(tmp_path) == before
        return
    for name in ("about", "best", "cube", "metric"):
        assert DeltaTable(tmp_path / "out" / name).version() == 0
    assert DeltaTable(tmp_path / "out" / "cube").to_pyarrow_table().num_rows == 12


@pytest.mark.parametrize("form", FORMS)
def test_a_file_that_may_not_grow_is_removed(
    form: str, cli: Callable[..., Any], stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource", reason="a limit on the size of files is set as POSIX does")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, before[1]))
    try:
        found = cli("export", stored, "--to", form, "-o", tmp_path / FORMS[form])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (found.code, found.out) == (3, "")
    assert str(tmp_path) in found.err
    assert "cannot write" in found.err or "cannot be written" in found.err
    assert [path.name for path in tmp_path.rglob("*")] == ["temporary"]


def test_what_duckdb_makes_of_an_interrupt_is_one_again() -> None:
    with pytest.raises(KeyboardInterrupt), duckdb_errors(Path("cube")):
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="another"), duckdb_errors(Path("cube")):
        raise RuntimeError("another")
