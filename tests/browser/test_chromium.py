"""Where the browser is looked for, and what happens where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from system_chromium import EXECUTABLES, find_chromium, require_chromium


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A PATH of one empty folder, and no variable that says anything of a browser."""
    for name in ("GRIDPLAN_TEST_CHROMIUM", "GRIDPLAN_TEST_REQUIRE_BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def executable(path: Path) -> str:
    path.touch(mode=0o755)
    return str(path)


@pytest.mark.parametrize("name", EXECUTABLES)
def test_the_usual_names_are_found(bare: Path, name: str) -> None:
    assert find_chromium() is None
    assert executable(bare / name) == find_chromium() == require_chromium()


def test_the_variable_goes_before_the_usual_names(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(bare / "chromium")
    monkeypatch.setenv("GRIDPLAN_TEST_CHROMIUM", executable(bare / "other"))
    assert find_chromium() == str(bare / "other")
    monkeypatch.setenv("GRIDPLAN_TEST_CHROMIUM", str(bare / "missing"))
    assert find_chromium() is None


def test_without_a_browser_a_test_is_skipped(bare: Path) -> None:
    with pytest.raises(pytest.skip.Exception, match="no Chromium on PATH: install the package chromium"):
        require_chromium()


def test_a_browser_that_is_required_is_not_skipped(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDPLAN_TEST_REQUIRE_BROWSER", "1")
    monkeypatch.setenv("GRIDPLAN_TEST_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(pytest.fail.Exception, match="GRIDPLAN_TEST_CHROMIUM=/nowhere/chromium is no executable"):
        require_chromium()
