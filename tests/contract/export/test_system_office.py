"""Where LibreOffice is looked for, and what happens where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from system_office import EXECUTABLES, find_office, require_office


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A PATH of one empty folder, and no variable that says anything of an office."""
    for name in ("GRIDPLAN_TEST_OFFICE", "GRIDPLAN_TEST_REQUIRE_OFFICE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def executable(path: Path) -> str:
    path.touch(mode=0o755)
    return str(path)


@pytest.mark.parametrize("name", EXECUTABLES)
def test_the_usual_names_are_found(bare: Path, name: str) -> None:
    assert find_office() is None
    assert executable(bare / name) == find_office() == require_office()


def test_the_variable_goes_before_the_usual_names(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(bare / "soffice")
    monkeypatch.setenv("GRIDPLAN_TEST_OFFICE", executable(bare / "other"))
    assert find_office() == str(bare / "other")
    monkeypatch.setenv("GRIDPLAN_TEST_OFFICE", str(bare / "missing"))
    assert find_office() is None


def test_without_an_office_a_test_is_skipped(bare: Path) -> None:
    with pytest.raises(pytest.skip.Exception, match="no LibreOffice on PATH: install the package libreoffice-calc"):
        require_office()


def test_an_office_that_is_required_is_not_skipped(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDPLAN_TEST_REQUIRE_OFFICE", "1")
    monkeypatch.setenv("GRIDPLAN_TEST_OFFICE", "/nowhere/soffice")
    with pytest.raises(pytest.fail.Exception, match="GRIDPLAN_TEST_OFFICE=/nowhere/soffice is no executable"):
        require_office()
