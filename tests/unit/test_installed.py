"""The built package: what the wheel must hold, and that tests of the wheel do not see the checkout."""

from __future__ import annotations

import os
import sysconfig
from importlib import metadata, resources
from pathlib import Path

import pytest

import gridplan

INSTALLED = os.environ.get("GRIDPLAN_TEST_INSTALLED") == "1"
needs_wheel = pytest.mark.skipif(not INSTALLED, reason="runs on an installed wheel (bash .ci/test)")


@needs_wheel
def test_the_tests_import_the_wheel_and_not_the_checkout() -> None:
    assert gridplan.__file__ is not None
    home = Path(gridplan.__file__).resolve()
    assert home.is_relative_to(Path(sysconfig.get_paths()["purelib"]).resolve())


@pytest.mark.parametrize(
    "name",
    [
        "py.typed",
        "dictionary.csv",
        *(f"catalog/data/{table}.csv" for table in ("gpus", "models", "instances", "engines", "dtypes")),
        "catalog/data/activation_families.csv",
    ],
)
def test_data_files_travel_with_the_package(name: str) -> None:
    assert resources.files("gridplan").joinpath(*name.split("/")).is_file()


@needs_wheel
def test_the_wheel_says_what_it_is() -> None:
    about = metadata.metadata("gridplan")
    assert about["License-Expression"] == "Apache-2.0"
    assert about["Requires-Python"] == ">=3.11"
    scripts = metadata.distribution("gridplan").entry_points.select(group="console_scripts")
    assert [(script.name, script.value) for script in scripts] == [("gridplan", "gridplan.cli:main")]
    files = {str(file) for file in metadata.files("gridplan") or ()}
    assert any(file.endswith("LICENSE") for file in files)
    assert not any(file.startswith("tests/") for file in files)
