"""Where Spark is looked for, and what happens where it cannot run; the one file that is read wherever tests run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import spark_here
from spark_here import SETTINGS, missing_spark, require_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A PATH of one empty folder, pyspark as if installed, and no variable that says anything of Spark."""
    for name in ("JAVA_HOME", "GRIDPLAN_TEST_REQUIRE_SPARK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(spark_here, "find_spec", lambda name: name)
    return tmp_path


def test_spark_runs_with_the_settings_of_these_tests(spark: SparkSession) -> None:
    assert {name: spark.conf.get(name) for name in SETTINGS} == SETTINGS
    assert [tuple(row) for row in spark.sql("SELECT 1, current_timezone()").collect()] == [(1, "UTC")]


def test_java_is_looked_for_on_the_path_and_in_java_home(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no java on PATH" in (missing_spark() or "")
    (bare / "java").touch(mode=0o755)
    assert missing_spark() is None
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert "no java in JAVA_HOME=/nowhere" in (missing_spark() or "")


def test_without_pyspark_a_test_is_skipped(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_here, "find_spec", lambda name: None)
    with pytest.raises(pytest.skip.Exception, match="pyspark is not installed"):
        require_spark()


def test_a_spark_that_is_required_is_not_skipped(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDPLAN_TEST_REQUIRE_SPARK", "1")
    with pytest.raises(pytest.fail.Exception, match="no java on PATH"):
        require_spark()
