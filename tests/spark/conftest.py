"""One Spark a session, two cubes, and each of them in the forms that Spark reads.

Where Spark cannot run, one test says why and the other files are not so much as imported.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

# `--import-mode=importlib` puts no test folder on sys.path; the tests of this one share modules.
sys.path.append(str(Path(__file__).parent))

from spark_here import missing_spark, require_spark, started

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from spark_forms import Source

HERE = ("test_spark_here.py", "spark_here.py")
if missing_spark() is not None:  # files without tests are looked through for doctests
    collect_ignore = [path.name for path in Path(__file__).parent.glob("*.py") if path.name not in HERE]

MODELS = (
    *("Model-A", "model-a", "MODEL-A", "model-a ", " model-a"),
    *("7", "007", "7.0", "1e3", "1E3", "0x10", "NaN", "Infinity", "null", "NULL", "true", "2024-01-01"),
    *('say "hi"', '"', '""', "a,b", "a;b", "line\nbreak", "carriage\r\nreturn", "tab\tin"),
    *("=1+1", "+1", "-1", "@sum", "\t=1", "'quoted", "#comment", "back\\slash", "ends\\", '\\"', '{"a": 1}', "a=b"),
    *("\u00e9", "e\u0301", "集群", "\N{ROCKET}", "\uff41"),
    *("x" * 200 + "1", "x" * 200 + "2"),
)
"""Some differ in nothing but case, blanks, composition or their last sign, some are anything but text to a reader."""

GPUS = tuple(f"gpu-{place:03}" for place in range(130))
RATES = (0.1, 100.0)


def _write_hostile(folder: Path) -> Path:
    """A cube of 22,880 cells in parts of one model each, some of them without a plan throughout, some with ties.

    The store takes labels that no contract may have.
    """
    from gridplan.store import (
        AxisSpec,
        Column,
        Manifest,
        Origin,
        WriteOptions,
        dictionary_meta,
        make_layout,
        write_dims,
        write_manifest,
        write_part,
    )
    from gridplan.store.values import take_block

    dims, some = ("model", "gpu", "arrival_rate", "tensor_parallel"), np.random.default_rng(7)
    sizes = (len(MODELS), len(GPUS), len(RATES), 2)
    axes = [
        AxisSpec("model", MODELS, True, "label"),
        AxisSpec("gpu", GPUS, True, "label"),
        AxisSpec("arrival_rate", RATES, False, "req/s"),
        AxisSpec("tensor_parallel", (1.0, 2.0), False, "count"),
    ]
    usd = np.round(some.uniform(0.5, 0.6, sizes), 3)  # few values: ties are many
    usd[4:6] = np.nan
    usd[some.random(sizes) < 0.2] = np.nan
    usd[-1] = 1 / 3
    none = np.isnan(usd)
    arrays = {
        "status": np.where(none, 1, 0),
        "infeasible_reason": np.where(none, some.integers(0, 2, sizes), -1),
        "usd_per_mtok_output": usd,
        "replicas": np.where(none, np.nan, some.integers(0, 2**31, sizes)),
        "fleet_sufficient": np.where(none, np.nan, some.random(sizes) < 0.9),
        "vendor": np.where(np.arange(len(GPUS)) % 7 == 0, -1, np.arange(len(GPUS)) % 6).reshape(1, -1, 1, 1),
        "never_text": np.full((1, 1, 1, 1), -1),
        **{f"never_{kind}": np.full((1, 1, 1, 1), np.nan) for kind in ("real", "whole", "flag")},
        "extreme": some.choice([5e-324, 1.7976931348623157e308, -0.1, 1e22, 0.1 + 0.2, np.nan], sizes),
        "exact": np.where(np.arange(len(GPUS)) < 3, 2.0**53, -1.0).reshape(1, -1, 1, 1),
    }
    arrays["replicas"][0, 0] = 2**53
    kinds = {"status": ("ok", "infeasible"), "infeasible_reason": ("too, big", 'no "fit"\n')}
    kinds |= {"vendor": ("NVIDIA", "nvidia", "=AMD", "", "007", "null"), "never_text": ()}
    numbers = {name: "int64" for name in ("replicas", "never_whole", "exact")}
    numbers |= {name: "bool" for name in ("fleet_sufficient", "never_flag")}
    columns = [
        Column(
            name,
            "coord" if name == "vendor" else "measure",
            "string" if name in kinds else numbers.get(name, "float64"),
            tuple(dim for dim, size in zip(dims, values.shape, strict=True) if size > 1),
            kinds.get(name, ()),
            dictionary_meta(name),
        )
        for name, values in sorted(arrays.items(), key=lambda pair: pair[0] != "vendor")
    ]
    layout = make_layout(axes, columns, ranked=["vendor"])
    options = WriteOptions(grid_name="hostile", package_version="0.1.0", block_cells=100)
    parts = layout.parts(rows_per_part=int(np.prod(sizes[1:])))
    receipts = [write_part(folder, layout, part, take_block(arrays, part.block), options) for part in parts]
    text = "schema: 1\n"
    origin = Origin("0.1.0", "hostile", text, hashlib.sha256(text.encode()).hexdigest(), "c" * 64)
    tables = write_dims(folder, layout, {}, options)
    said = {"compression": options.compression}
    write_manifest(folder, Manifest(layout, origin, parts, tuple(receipts), tables, said, {"grid": "hostile"}))
    return folder


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark, started by the first test that needs it."""
    require_spark()
    with started(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture(scope="session", params=["quickstart", "hostile"])
def source(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    folder: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Source:
    """A cube as written by `gridplan run`, and one whose labels and columns trip naive readers; exported when asked."""
    from spark_forms import Source

    out = tmp_path_factory.mktemp(request.param)
    path = folder("quickstart") if request.param == "quickstart" else _write_hostile(out / "cube")
    return Source(spark, path, out)
