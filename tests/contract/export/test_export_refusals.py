"""What is refused, with which exit code, and that nothing is written then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FORMS = {
    **{"star": "out", "wide": "out.parquet", "csv": "out.csv", "excel": "out.xlsx"},
    **{"duckdb": "out.duckdb", "delta": "out"},
}
FEW = ("--where", "gpu = 'h100'")
Outcome = Any


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file below a folder, with what is in it and when it was written."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.fixture
def refused(cli: Callable[..., Outcome], stored: Path, tmp_path: Path) -> Callable[..., Outcome]:
    """`refused(code, said, "--to", ...)`: an export that must not happen."""

    def asked(code: int, said: str, *arguments: str | Path, cube: Path = stored) -> None:
        before = contents(tmp_path), sorted(tmp_path.rglob("*"))
        found = cli("export", cube, *arguments)
        assert (found.code, found.out) == (code, "")
        assert said in found.err
        assert (contents(tmp_path), sorted(tmp_path.rglob("*"))) == before

    return asked


@pytest.mark.parametrize("form", FORMS)
def test_what_is_there_is_replaced_with_force_alone(
    form: str, refused: Callable[..., None], cli: Callable[..., Outcome], stored: Path, tmp_path: Path
) -> None:
    out = tmp_path / FORMS[form]
    assert cli("export", stored, "--to", form, "-o", out, *FEW).code == 0
    refused(3, "is already there; replace it with --force or give another name", "--to", form, "-o", out)
    made = contents(tmp_path)
    assert cli("export", stored, "--to", form, "-o", out, "--force", "--where", "gpu = 'H100'").code == 0
    again = contents(tmp_path)
    if form == "delta":
        assert made.items() <= again.items()
    else:
        assert made.keys() == again.keys()
        assert not {name for name in again if name.startswith(".")}
    assert made != again


@pytest.mark.parametrize("form", FORMS)
def test_what_is_no_export_is_never_replaced(form: str, refused: Callable[..., None], tmp_path: Path) -> None:
    out = tmp_path / FORMS[form]
    out.mkdir()
    (out / "thesis.txt").write_text("years of work", encoding="utf-8")
    refused(3, "is not an export of this kind; give another name", "--to", form, "-o", out, "--force")


@pytest.mark.parametrize("form", FORMS)
def test_a_link_is_not_followed(form: str, refused: Callable[..., None], tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / FORMS[form]).symlink_to(tmp_path / "elsewhere")
    refused(3, "is not an export of this kind", "--to", form, "-o", tmp_path / FORMS[form], "--force")


@pytest.mark.parametrize("form", ["star", "delta"])
def test_a_file_is_in_the_way_of_a_folder(form: str, refused: Callable[..., None], tmp_path: Path) -> None:
    (tmp_path / "out").write_text("years of work", encoding="utf-8")
    refused(3, "is not an export of this kind", "--to", form, "-o", tmp_path / "out", "--force")


@pytest.mark.parametrize("form", ["star", "delta"])
def test_a_cube_is_no_export_of_itself(form: str, refused: Callable[..., None], stored: Path) -> None:
    before = contents(stored)
    refused(3, "is not an export of this kind", "--to", form, "-o", stored, "--force")
    assert contents(stored) == before


@pytest.mark.parametrize(
    ("form", "beside"),
    [
        ("csv", "out_schema.json"),
        ("csv", "out_best.csv"),
        ("csv", "out_best_schema.json"),
        ("wide", "out_best.parquet"),
    ],
)
def test_files_beside_it_are_not_replaced_either(
    form: str, beside: str, refused: Callable[..., None], tmp_path: Path
) -> None:
    (tmp_path / beside).write_text("years of work", encoding="utf-8")
    refused(3, f"{beside} is already there", "--to", form, "-o", tmp_path / FORMS[form], "--best", "gpu")


@pytest.mark.parametrize(
    ("form", "name"), [("wide", "out.csv"), ("csv", "out"), ("excel", "out.xls"), ("duckdb", "o.db")]
)
def test_a_file_has_the_ending_of_its_form(form: str, name: str, refused: Callable[..., None], tmp_path: Path) -> None:
    refused(2, f"{form} is written to a file that ends in .", "--to", form, "-o", tmp_path / name)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--to", "widee"), "widee is none of star, wide, csv, excel, duckdb, delta (did you mean wide?)"),
        (("--to", "wide", "--no-cells"), "the cells are left out of a workbook alone"),
        (("--to", "wide", "--compression", "gzip"), "gzip is none of zstd, snappy, none"),
        (("--to", "wide", "--measure", "usd_per_mont"), "usd_per_mont is no column of"),
        (("--to", "wide", "--best", "gpuu,modl"), "modl is no column of"),
        (("--to", "wide", "--best", "gpu", "--best-measure", "note"), "note has no order"),
        (("--to", "wide", "--best", "gpu", "--best-measure", "slo_held"), "slo_held has no order"),
        (("--to", "wide", "--where", "gpuu = 'h100'"), "gpuu"),
        (("--to", "wide", "--where", "gpu = 'h1000'"), "h1000"),
        (("--to", "wide", "--where", "gpu = "), "where"),
        (("--to", "wide", "--where", "1=1; DROP TABLE x"), "where"),
    ],
)
def test_a_wrong_question_is_answered_by_what_is_wrong(
    asked: tuple[str, ...], said: str, refused: Callable[..., None], tmp_path: Path
) -> None:
    refused(2, said, *asked, "-o", tmp_path / "out.parquet")


def test_all_that_is_wrong_is_said_at_once(cli: Callable[..., Outcome], stored: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    found = cli("export", stored, "--to", "wide", "-o", out, "--compression", "gzip", "--no-cells")
    assert found.code == 2
    assert all(f"{option}: " in found.err for option in ("-o", "--compression", "--no-cells"))


def test_there_must_be_a_cube_and_a_place(refused: Callable[..., None], tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    refused(3, str(tmp_path), "--to", "wide", "-o", out, cube=tmp_path)
    refused(3, "there is no folder", "--to", "wide", "-o", tmp_path / "none" / "out.parquet")
