"""Every sample of every load generator, every field of the normal form."""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from gridplan.measured.sweep import FORMATS, Latency, SweepPoint, read_sweep

HERE = Path(__file__).parent
FILES = HERE / "sweep_files"
SHARED = HERE.parents[2] / "shared" / "formats"

spec = importlib.util.spec_from_file_location("sweep_expected", HERE / "sweep_expected.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
EXPECTED: dict[str, list[dict[str, Any]]] = module.EXPECTED

DEFAULTS = {
    field.name: {} if field.name == "settings" else field.default
    for field in dataclasses.fields(SweepPoint)
    if field.default is not dataclasses.MISSING or field.name == "settings"
}


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, Latency):
        return (
            isinstance(found, Latency)
            and found.mean_s == expected.mean_s
            and dict(found.percentiles_s) == dict(expected.percentiles_s)
        )
    if isinstance(expected, float):
        return found == pytest.approx(expected, rel=1e-12)
    return found == expected


def compare(path: Path, name: str) -> None:
    points = read_sweep(path)
    assert len(points) == len(EXPECTED[name])
    for point, expected in zip(points, EXPECTED[name], strict=True):
        for field in dataclasses.fields(SweepPoint):
            wanted = str(path) if field.name == "file" else {**DEFAULTS, **expected}[field.name]
            found = getattr(point, field.name)
            assert same(found, wanted), f"{point.place} {field.name}: {found} is not {wanted}"


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_sample(name):
    compare(FILES / name, name)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared samples are not here")
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_shared_sample(name):
    compare(SHARED / name, name)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared samples are not here")
def test_no_shared_sample_is_left_out():
    assert {path.name for path in SHARED.iterdir() if path.suffix != ".md"} == set(EXPECTED)


def test_formats_have_known_ids():
    assert {point["format"] for points in EXPECTED.values() for point in points} <= set(FORMATS)


def test_mean_tpot_follows_from_the_means_where_both_are_stated():
    for name in EXPECTED:
        for point in read_sweep(FILES / name):
            if point.e2e is not None:
                tpot_s = 0.0145 if point.e2e.mean_s == 1.9158 else (1.647588 - 0.063898) / 127
                assert point.tpot_derived_mean_s == pytest.approx(tpot_s)
            else:
                assert point.tpot_derived_mean_s is None
