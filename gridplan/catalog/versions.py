"""Engine versions: `vllm@0.21.1` into a name and numbers, and whether a range of versions holds it."""

from __future__ import annotations

import re

__all__ = ["holds", "parse_version", "range_text", "split_spec"]

_NUMBERS = re.compile(r"v?(\d+(?:\.\d+)*)(?:[.\-+]?(?:a|b|rc|post|dev)[\w.+-]*)?")


def split_spec(spec: str) -> tuple[str, str | None]:
    """Name and version of an engine label; the version is None when the label has none.

    >>> split_spec("vllm@0.21"), split_spec("sglang")
    (('vllm', '0.21'), ('sglang', None))
    """
    name, at, version = spec.strip().partition("@")
    return name.strip(), version.strip() if at else None


def parse_version(text: str) -> tuple[int, ...]:
    """The release numbers of a version; pre- and post-release marks are dropped. Raises ValueError for anything else.

    >>> parse_version("v0.21.1rc2")
    (0, 21, 1)
    """
    match = _NUMBERS.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a version; write it as 0.21 or 0.21.1")
    return tuple(int(part) for part in match.group(1).split("."))


def holds(version: tuple[int, ...], first: str, last: str | None) -> bool:
    """Whether a version lies in a range; a bound of two numbers holds all its patch releases.

    >>> holds((0, 7, 3), "0.4", "0.7"), holds((0, 8), "0.4", "0.7"), holds((2, 0), "1.0", None)
    (True, False, True)
    """
    low = parse_version(first)
    if _padded(version, len(low)) < low:
        return False
    high = parse_version(last) if last is not None else None
    return high is None or _padded(version, len(high)) <= high


def range_text(first: str, last: str | None) -> str:
    """A range as a person reads it.

    >>> range_text("0.4", "0.7"), range_text("0.21", "0.21"), range_text("0.22", None)
    ('0.4 to 0.7', '0.21', '0.22 and later')
    """
    if last is None:
        return f"{first} and later"
    return first if first == last else f"{first} to {last}"


def _padded(version: tuple[int, ...], length: int) -> tuple[int, ...]:
    return (*version, *([0] * length))[:length]
