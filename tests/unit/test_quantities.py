"""Units: exact conversion of what people write, refusal of what could mean two things, and texts for people."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridplan.quantities import accepted_units, format_quantity, parse_quantity


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("80 GB", "bytes", 80_000_000_000.0),
        ("80 GiB", "bytes", 85_899_345_920.0),
        ("79.65 GiB", "bytes", 85_523_536_281.6),
        ("14.90GiB", "bytes", 15_998_753_177.6),
        ("640 MB", "bytes", 640e6),
        ("1 KiB", "bytes", 1024.0),
        ("7 bytes", "bytes", 7.0),
        ("3.35 TB/s", "bytes/s", 3.35e12),
        ("1 GiB / s", "bytes/s", 2.0**30),
        ("25 ms", "s", 0.025),
        ("1.0 s", "s", 1.0),
        ("2 min", "s", 120.0),
        ("35.7 us", "s", 35.7e-6),
        ("35.7 µs", "s", 35.7e-6),
        ("730 h", "h", 730.0),
        ("30.5 d", "h", 732.0),
        ("128k tokens", "tokens", 128_000.0),
        ("128Ki tokens", "tokens", 131_072.0),
        ("1.5M tokens", "tokens", 1_500_000.0),
        ("8k tokens", "tokens", 8000.0),
        ("70%", "1", 0.7),
        ("60 req/s", "req/s", 60.0),
        ("90 req/min", "req/s", 1.5),
        ("989 TFLOP/s", "FLOP/s", 989e12),
        ("300 FLOP/byte", "FLOP/byte", 300.0),
        ("70.6B params", "count", 70.6e9),
        ("8.03B", "count", 8.03e9),
        ("8 GPUs", "GPUs", 8.0),
        ("40.96 USD/h", "USD/h", 40.96),
        ("2.49 $/h", "USD/h", 2.49),
        ("1.2k tok/s", "tok/s", 1200.0),
        ("0.7 kW", "W", 700.0),
        ("-5 ms", "s", -0.005),
        ("1e3 ms", "s", 1.0),
    ],
)
def test_text_with_a_unit(text: str, unit: str, expected: float) -> None:
    assert parse_quantity(text, unit) == expected


@pytest.mark.parametrize(("number", "unit"), [(80, "bytes"), (0.7, "1"), (7.5e9, "count"), (Fraction(1, 4), "s")])
def test_a_number_is_in_the_base_unit(number: float, unit: str) -> None:
    assert parse_quantity(number, unit) == float(number)


@pytest.mark.parametrize(
    ("value", "unit", "part"),
    [
        ("60", "req/s", "text where a number is due"),
        ("7.5e9", "count", "text where a number is due"),
        ("0.7", "1", "remove the quotes"),
        ("80 gb", "bytes", "did you mean GB"),
        ("80 KB", "bytes", "did you mean kB"),
        ("128k", "tokens", "unknown unit"),
        ("25 ms", "bytes", "units: B, kB, MB, GB"),
        ("1,000 s", "s", "unknown unit"),
        ("fast", "s", "is not a number"),
        ("", "s", "is not a number"),
        ("1e999 s", "s", "out of range"),
        ("1e99999999999 s", "s", "out of range"),
        ("1e-399 s", "s", "out of range"),
        ("9" * 200 + " s", "s", "is not a number"),
        (True, "1", "True is not a number"),
        (None, "1", "None is not a number"),
        ([1], "1", "is not a number"),
        (math.nan, "1", "not a finite number"),
        (math.inf, "s", "not a finite number"),
        (10**400, "s", "too large"),
        (1, "label", "not a unit of numbers"),
    ],
)
def test_refused_with_a_reason(value: object, unit: str, part: str) -> None:
    with pytest.raises(ValueError, match=re.escape(part)):
        parse_quantity(value, unit)


@given(st.decimals(min_value="0.001", max_value="9999", places=3), st.sampled_from([("GB", 10**9), ("GiB", 2**30)]))
def test_conversion_is_the_nearest_float(decimal: object, unit: tuple[str, int]) -> None:
    exact = Fraction(str(decimal)) * unit[1]
    assert parse_quantity(f"{decimal} {unit[0]}", "bytes") == float(exact)


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (59_095_450_091.52, "bytes", "55.04 GiB"),
        (131072, "bytes", "128.00 KiB"),
        (512, "bytes", "512 B"),
        (0, "bytes", "0 B"),
        (2**30 - 1, "bytes", "1.00 GiB"),
        (1.55e12, "bytes/s", "1.55 TB/s"),
        (312e12, "FLOP/s", "312.00 TFLOP/s"),
        (0.01096, "s", "10.96 ms"),
        (4.65, "s", "4.65 s"),
        (35.7e-6, "s", "35.70 us"),
        (0.0, "s", "0 s"),
        (1.58, "1", "1.58"),
        (0.7, "1", "0.7"),
        (0.00123456, "1", "0.001235"),
        (1970.0, "sequences", "1,970 sequences"),
        (10.0, "count", "10"),
        (8.03e9, "count", "8,030,000,000"),
        (220.8, "tokens", "220.80 tokens"),
        (60, "req/s", "60 req/s"),
        (45.0612, "req/s", "45.06 req/s"),
        (59965.44, "USD/month", "59,965.44 USD/month"),
        (9.3567, "USD/Mtok", "9.36 USD/Mtok"),
        (0.000284, "USD", "0.000284 USD"),
        (156.0, "FLOP/byte", "156 FLOP/byte"),
        (math.nan, "s", "-"),
        (None, "count", "-"),
        (True, "bool", "yes"),
        (0.0, "bool", "no"),
        (math.nan, "bool", "-"),
        ("memory", "label", "memory"),
    ],
)
def test_text_for_people(value: object, unit: str, expected: str) -> None:
    assert format_quantity(value, unit) == expected


def test_every_numeric_unit_of_the_dictionary_is_parsed_and_named() -> None:
    from gridplan.dictionary import dictionary, inputs

    units = {dictionary()[name].unit for name in inputs() if not dictionary()[name].is_label}
    assert "bytes" in units
    for unit in units:
        assert parse_quantity(2, unit) == 2.0
        assert accepted_units(unit)
