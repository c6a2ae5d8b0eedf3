"""Laws of reading load tests: units, order and copies of rows change nothing else; broken files are no crashes."""

from __future__ import annotations

import dataclasses
import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridplan.errors import ContractError, Problem
from gridplan.measured.sweep import Latency, SweepPoint, holds, read_sweep, sweep_of_text

FILES = Path(__file__).parents[1] / "unit" / "sweep_files"
SAMPLES = {path.name: path.read_bytes() for path in sorted(FILES.iterdir())}

milliseconds = st.decimals(min_value="0.001", max_value="900000", places=3)
rows = st.lists(
    st.tuples(st.decimals(min_value="0.01", max_value="500", places=2), milliseconds, milliseconds),
    min_size=1,
    max_size=8,
)


def table(found, unit: str = "ms") -> str:
    scale = {"s": -3, "ms": 0, "us": 3}[unit]
    lines = [f"rate_rps,ttft_p95_{unit},e2e_p99_{unit}"]
    lines += [f"{rate},{ttft.scaleb(scale)},{e2e.scaleb(scale)}" for rate, ttft, e2e in found]
    return "\n".join(lines)


def plain(points: list[SweepPoint]) -> list[SweepPoint]:
    return [dataclasses.replace(point, place="") for point in points]


@given(rows, st.sampled_from(["s", "us"]))
def test_units_make_no_difference(found, unit):
    assert sweep_of_text(table(found, unit)) == sweep_of_text(table(found))


@given(rows, st.randoms())
def test_order_of_rows_is_the_order_of_points(found, random):
    order = list(range(len(found)))
    random.shuffle(order)
    points = plain(sweep_of_text(table(found)))
    assert plain(sweep_of_text(table([found[i] for i in order]))) == [points[i] for i in order]


@given(rows)
def test_copies_of_rows_are_copies_of_points(found):
    points = plain(sweep_of_text(table(found)))
    assert plain(sweep_of_text(table([*found, *found]))) == [*points, *points]


@given(rows, st.permutations([0, 1, 2]))
def test_order_of_columns_makes_no_difference(found, order):
    lines = [[line.split(",")[i] for i in order] for line in table(found).splitlines()]
    assert sweep_of_text("\n".join(map(",".join, lines))) == sweep_of_text(table(found))


@given(
    st.dictionaries(st.sampled_from([0.0, 1.0, 50.0, 90.0, 95.0, 99.0, 100.0]), st.floats(0, 100), max_size=7),
    st.floats(0, 100),
    st.floats(0, 100),
)
def test_a_limit_that_holds_is_never_refuted_elsewhere(values, statistic, limit_s):
    ordered = dict(zip(sorted(values), sorted(values.values()), strict=True))
    verdict = holds(Latency(None, ordered), statistic, limit_s)
    for above in (p for p in ordered if p >= statistic):
        if ordered[above] <= limit_s:
            assert verdict is True
    for below in (p for p in ordered if p <= statistic):
        if ordered[below] > limit_s:
            assert verdict is False
    if verdict is None:
        assert statistic not in ordered


def attempt(content: bytes, folder: Path) -> None:
    """Reads a file; a ContractError must say something, and anything else is a crash."""
    path = folder / "mutated"
    path.write_bytes(content)
    problems: tuple[Problem, ...] = ()
    points: list[SweepPoint] = []
    try:
        points = read_sweep(path)
    except ContractError as error:
        problems = error.problems
    assert bool(points) != bool(problems)
    assert all(problem.message and problem.file == str(path) for problem in problems)
    assert all(len(str(problem)) < 800 + len(str(path)) for problem in problems)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mutated")


@given(st.sampled_from(sorted(SAMPLES)), st.data())
@settings(deadline=None)
def test_bytes_that_change_are_no_crash(folder, name, data):
    content = bytearray(SAMPLES[name])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        kind = data.draw(st.sampled_from(["cut", "flip", "drop", "double", "insert"]))
        if kind == "cut":
            content = content[: at + 1]
        elif kind == "flip":
            content[at] = data.draw(st.integers(0, 255))
        elif kind == "drop":
            content = content[:at] + content[at + data.draw(st.integers(1, 40)) :] or bytearray(b" ")
        elif kind == "double":
            content = content[:at] + content[max(0, at - 60) :]
        else:
            piece = data.draw(st.sampled_from([b"NaN", b"-", b"1e999", b'"', b"null", b"[", b"\xff", b"\n", b",,"]))
            content = content[:at] + piece + content[at:]
    attempt(bytes(content), folder)


JSON = [name for name in SAMPLES if name.endswith(".json")]
anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@given(st.sampled_from(JSON), anything, st.data())
@settings(deadline=None)
def test_values_that_change_are_no_crash(folder, name, value, data):
    """Any value at any place of any report, or the place left out."""
    report = json.loads(SAMPLES[name])
    at = report
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = data.draw(st.sampled_from(keys))
        if isinstance(at[key], dict | list) and at[key] and data.draw(st.integers(0, 3)):
            at = at[key]
            continue
        break
    if data.draw(st.booleans()):
        at[key] = value
    else:
        del at[key]
    attempt(json.dumps(report).encode(), folder)


@given(st.text(max_size=200))
@settings(deadline=None)
def test_any_text_is_no_crash(folder, text):
    attempt(text.encode("utf-8", "surrogatepass"), folder)
    attempt(("rate_rps,ttft_p95_ms\n" + text).encode("utf-8", "surrogatepass"), folder)


@given(st.decimals(min_value="0.001", max_value="900000", places=3))
def test_milliseconds_of_json_are_rounded_once(value):
    run = json.loads(SAMPLES["vllm_bench_serve.json"]) | {"mean_itl_ms": float(value)}
    (point,) = sweep_of_text(json.dumps(run))
    assert point.itl.mean_s == float(Decimal(repr(float(value))) / 1000)
