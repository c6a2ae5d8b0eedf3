"""Units: `79.65 GiB`, `25 ms`, `128k tokens` become base-unit numbers and come back as text for people.

A number is in the base unit of its quantity (bytes, seconds, tokens, requests per second, ...); a text must say its
unit. GB is 10^9 bytes and GiB is 2^30. Arithmetic is exact (`fractions`) until the last step, so the result is the
float nearest to what was written and never its neighbour.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from numbers import Real

from gridplan.errors import suggestion

__all__ = ["accepted_units", "format_label", "format_labels", "format_quantity", "parse_quantity"]

_SI = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_TOKENS = {"": 1, "k": 10**3, "M": 10**6, "B": 10**9, "Ki": 2**10, "Mi": 2**20}
_COUNT_WORDS = ("params", "parameters", "sequences", "requests", "replicas", "nodes", "zones", "units")


def _scaled(prefixes: Mapping[str, int], *words: str) -> dict[str, Fraction]:
    return {prefix + word: Fraction(factor) for word in words for prefix, factor in prefixes.items()}


_BYTES = {**_scaled(_SI | _BINARY, "B"), "byte": Fraction(1), "bytes": Fraction(1)}
_SECONDS = {
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "μs": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
}
_PER = {"s": Fraction(1), "min": Fraction(1, 60), "h": Fraction(1, 3600)}
_COUNT = {
    f"{prefix} {word}".strip(): Fraction(factor)
    for word in ("", *_COUNT_WORDS)
    for prefix, factor in {"": 1, "k": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}.items()
    if prefix or word
}

_UNITS: Mapping[str, Mapping[str, Fraction]] = {
    "bytes": _BYTES,
    "bytes/s": {f"{word}/s": factor for word, factor in _BYTES.items()},
    "s": _SECONDS,
    "h": {word: factor / 3600 for word, factor in _SECONDS.items() if word in ("h", "d", "min", "s")},
    "tokens": {
        f"{prefix} {word}".strip(): Fraction(factor)
        for word in ("tokens", "token", "tok")
        for prefix, factor in _TOKENS.items()
    },
    "tok/s": {
        f"{prefix} {word}/s".strip(): Fraction(_SI[prefix]) for word in ("tok", "tokens") for prefix in ("", "k")
    },
    "req/s": {f"{word}/{per}": factor for word in ("req", "requests") for per, factor in _PER.items()}
    | {"rps": Fraction(1)},
    "FLOP/s": _scaled(_SI | {"E": 10**18}, "FLOP/s", "FLOPS"),
    "FLOP/byte": {"FLOP/byte": Fraction(1), "FLOP/B": Fraction(1)},
    "count": _COUNT,
    "GPUs": {"GPUs": Fraction(1), "GPU": Fraction(1)},
    "USD/h": {"USD/h": Fraction(1), "$/h": Fraction(1), "USD/d": Fraction(1, 24), "USD/day": Fraction(1, 24)},
    "USD": {"USD": Fraction(1), "$": Fraction(1)} | _scaled({"k": 10**3, "M": 10**6}, "USD", "$"),
    "USD/month": {
        f"{prefix}{word}/{per}": Fraction(factor) * share
        for prefix, factor in {"": 1, "k": 10**3, "M": 10**6}.items()
        for word in ("USD", "$")
        for per, share in {"month": Fraction(1), "year": Fraction(1, 12)}.items()
    },
    "USD/kWh": {
        f"{word}/{per}": f for word in ("USD", "$") for per, f in (("kWh", Fraction(1)), ("MWh", Fraction(1, 1000)))
    },
    "USD/Mtok": {
        f"{word}/{per}": factor
        for word in ("USD", "$")
        for per, factor in (
            ("Mtok", Fraction(1)),
            ("M tokens", Fraction(1)),
            ("1M tokens", Fraction(1)),
            ("ktok", Fraction(1000)),
        )
    },
    "years": {
        "years": Fraction(1),
        "year": Fraction(1),
        "y": Fraction(1),
        "months": Fraction(1, 12),
        "month": Fraction(1, 12),
    },
    "kW": {"kW": Fraction(1), "W": Fraction(1, 1000), "MW": Fraction(1000)},
    "W": _scaled({"": 1, "k": 10**3, "M": 10**6}, "W"),
    "1": {"%": Fraction(1, 100)},
}
_SHOWN = {
    "bytes": "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB",
    "bytes/s": "B/s, MB/s, GB/s, TB/s, GiB/s, TiB/s",
    "tokens": "tokens, k tokens (1,000), M tokens, Ki tokens (1,024)",
    "FLOP/s": "FLOP/s, GFLOP/s, TFLOP/s, PFLOP/s",
    "count": "k, M, B, T, also before a word such as params",
    "s": "ns, us, ms, s, min, h, d",
}
_NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_QUANTITY = re.compile(rf"({_NUMBER})\s*(\S.*)?")
_LONGEST_TEXT = 80
_LARGEST_EXPONENT = 400  # beyond it no float exists, and an exact power of ten would eat the memory


def accepted_units(unit: str) -> str:
    """The units that a text of this quantity may carry, for messages.

    >>> accepted_units("W")
    'W, kW, MW'
    """
    return _SHOWN.get(unit) or ", ".join(word for word in _UNITS[unit] if word.isascii())


def parse_quantity(value: object, unit: str) -> float:
    """The number of base units that `value` stands for.

    `value` is a number (already in `unit`) or a text with a unit; `unit` is one of the dictionary. Raises ValueError
    for anything else: true and false, a text without a unit, an unknown unit, NaN, infinity.

    >>> parse_quantity("79.65 GiB", "bytes"), parse_quantity("25 ms", "s"), parse_quantity("128Ki tokens", "tokens")
    (85523536281.6, 0.025, 131072.0)
    >>> parse_quantity("70%", "1"), parse_quantity(8.03e9, "count")
    (0.7, 8030000000.0)
    """
    if unit not in _UNITS:
        raise ValueError(f"{unit} is not a unit of numbers")
    if isinstance(value, str):
        return _parse_text(value, unit)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{_shown(value)} is not a number{_unit_hint(unit)}")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError("the number is too large") from None
    if not math.isfinite(number):
        raise ValueError(f"{number} is not a finite number")
    return number


def _parse_text(text: str, unit: str) -> float:
    stripped = text.strip()
    found = _QUANTITY.fullmatch(stripped) if len(stripped) <= _LONGEST_TEXT else None
    if found is None:
        raise ValueError(f"{_shown(text)} is not a number{_unit_hint(unit)}")
    digits, word = found.groups()
    if word is None:
        raise ValueError(f"{_shown(text)} is a text where a number is due: remove the quotes{_or_unit(unit)}")
    spaced = re.sub(r" ?/ ?", "/", " ".join(word.split()))
    factors = _UNITS[unit]
    factor = factors.get(spaced)
    if factor is None:
        raise ValueError(f"{_shown(text)} has an unknown unit{_unit_hint(unit)}{suggestion(spaced, factors)}")
    exponent = re.search(r"[eE]([-+]?[0-9]+)$", digits)
    if exponent and abs(int(exponent[1])) > _LARGEST_EXPONENT:
        raise ValueError(f"{_shown(text)} is out of range")
    exact = Fraction(digits) * factor
    try:
        number = float(exact)
    except OverflowError:
        raise ValueError(f"{_shown(text)} is out of range") from None
    if exact and not number:
        raise ValueError(f"{_shown(text)} is out of range")
    return number


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 3]}..."


def _unit_hint(unit: str) -> str:
    return f"; units: {accepted_units(unit)}"


def _or_unit(unit: str) -> str:
    return f", or write a unit ({accepted_units(unit)})"


_LADDERS: Mapping[str, tuple[tuple[float, str], ...]] = {
    "bytes": ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")),
    "bytes/s": ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1.0, "B/s")),
    "FLOP/s": ((1e15, "PFLOP/s"), (1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1.0, "FLOP/s")),
    "FLOP": ((1e15, "PFLOP"), (1e12, "TFLOP"), (1e9, "GFLOP"), (1.0, "FLOP")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
}
_BARE = ("1", "count", "label", "bool", "")


def format_label(label: str | float) -> str:
    """A label of an axis as contracts write it: numbers with the 12 digits that axes hold.

    >>> format_label("b200"), format_label(0.1 + 0.2)
    ('b200', '0.3')
    """
    return label if isinstance(label, str) else f"{label:.12g}"


def format_labels(labels: Iterable[tuple[str, str | float]]) -> str:
    """Labels by axis, as `--at` takes them.

    >>> format_labels({"gpu": "b200", "arrival_rate": 5.0, "workload": "a,b"}.items())
    'gpu=b200, arrival_rate=5, workload=a\\\\,b'
    """
    return ", ".join(f"{name}={format_label(label).replace(',', chr(92) + ',')}" for name, label in labels)


def format_quantity(value: object, unit: str) -> str:
    """A text for people: the unit that suits the size, thousands separated, `-` where there is no value.

    >>> format_quantity(59095450091.52, "bytes"), format_quantity(0.01096, "s"), format_quantity(1.58, "1")
    ('55.04 GiB', '10.96 ms', '1.58')
    >>> format_quantity(59965.44, "USD/month"), format_quantity(1970.0, "sequences")
    ('59,965.44 USD/month', '1,970 sequences')
    """
    if value is None or isinstance(value, str):
        return value or "-"
    if isinstance(value, bool) or unit == "bool":
        return "-" if value != value else ("yes" if value else "no")
    if not isinstance(value, Real):
        return str(value)
    number = float(value)
    if not math.isfinite(number):
        return "-"
    if unit in _LADDERS:
        return _on_ladder(number, _LADDERS[unit])
    digits = f"{number:,.2f}" if unit.startswith("USD") and abs(number) >= 0.1 else _plain(number)
    return digits if unit in _BARE else f"{digits} {unit}"


def _on_ladder(number: float, ladder: tuple[tuple[float, str], ...]) -> str:
    if not number:
        return f"0 {dict(ladder)[1.0]}"
    # Rounding first: 1023.999 MiB would print as 1024.00 MiB, but it is 1.00 GiB.
    scale, word = next((step for step in ladder if round(abs(number) / step[0], 2) >= 1), ladder[-1])
    scaled = number / scale
    indivisible = scale == 1 and ladder[-1] == (scale, word)
    return f"{scaled:,.0f} {word}" if indivisible and scaled == int(scaled) else f"{scaled:,.2f} {word}"


def _plain(number: float) -> str:
    """Whole numbers whole; else two decimals from 1 up, four significant digits below, none from 10,000 up."""
    if number == int(number):
        return f"{number:,.0f}"
    if abs(number) >= 1e4:
        return f"{number:,.0f}"
    return f"{number:,.2f}" if abs(number) >= 1 else f"{number:.4g}"
