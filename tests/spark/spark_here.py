"""Apache Spark in this process: whether it can run, what happens where it cannot, and a session of it."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
}
"""A quiet Spark that listens to this machine alone, refuses what it cannot convert, and keeps no catalog."""


def missing_spark() -> str | None:
    """What Spark lacks here, in words; None where it can run. Asks for no more than file names."""
    if find_spec("pyspark") is None:
        return "pyspark is not installed: pip install --group spark, or bash .ci/spark"
    home = os.environ.get("JAVA_HOME")
    if shutil.which(str(Path(home, "bin", "java")) if home else "java") is None:
        where = f"in JAVA_HOME={home}" if home else "on PATH"
        return f"no java {where}: Spark runs on Java 17 or newer; install default-jre-headless, or bash .ci/spark"
    return None


def require_spark() -> None:
    """Skip a test where Spark cannot run; fail it where GRIDPLAN_TEST_REQUIRE_SPARK is 1."""
    reason = missing_spark()
    if reason is None:
        return
    if os.environ.get("GRIDPLAN_TEST_REQUIRE_SPARK") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def started(folder: Path) -> Iterator[SparkSession]:
    """A session on two threads that keeps what it writes in `folder`, stopped when the block ends."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # or Spark warns of the name of the machine
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("gridplan")
    own = {"spark.sql.warehouse.dir": folder / "warehouse", "spark.local.dir": folder / "local"}
    for name, value in {**SETTINGS, **own}.items():
        builder = builder.config(name, str(value))
    with warnings.catch_warnings():
        # From Python 3.12 on; pyspark starts its Java with a function to run after the fork.
        warnings.filterwarnings("ignore", "This process .* is multi-threaded, use of fork", DeprecationWarning)
        session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
