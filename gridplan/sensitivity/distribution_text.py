"""Distributions as a person writes them: `normal(60, 6)`, `x lognormal(median=1, sigma=0.2) truncated`, a mapping."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gridplan.errors import ContractError, Problem, suggestion
from gridplan.sensitivity.distributions import PARAMETERS, Distribution, parameter_problems

__all__ = ["DistributionLike", "parse_distribution", "parse_distributions"]

DistributionLike = Distribution | str | Mapping[str, Any] | Sequence[float]

_FORM = re.compile(r"\s*(x\s+)?([a-z_]+)\s*\(([^()]*)\)\s*(?:(truncated)\s*(?:\(([^()]*)\))?)?\s*", re.I)

_EXAMPLE = (
    "write normal(60, 6), uniform(50, 70), triangular(50, 60, 80), lognormal(median=60, sigma=0.2) or empirical(58, 61)"
)


class _Wrong(Exception):
    """Why a text is no distribution."""


def parse_distributions(given: Mapping[str, DistributionLike]) -> dict[str, Distribution]:
    """Distributions by input. Raises ContractError with every problem."""
    found: dict[str, Distribution] = {}
    problems: list[Problem] = []
    for name, value in given.items():
        try:
            found[name] = parse_distribution(value, name)
        except ContractError as error:
            problems += error.problems
    if problems:
        raise ContractError(problems)
    return found


def parse_distribution(value: DistributionLike, key: str = "distribution") -> Distribution:
    """One distribution from a text, a mapping or a list of measured values.

    A text is `kind(numbers)`, numbers in order or by name. With `x` before it samples multiply the contract's value;
    with `truncated` after it what lies outside the bounds of the input is cut off, with `truncated(low, high)` what
    lies outside these. A mapping has `distribution`, the parameters by name (`values` of empirical), and may have
    `multiply: true` and `truncate: true` or `truncate: [low, high]`.

    Raises ContractError, under `key`, for an unknown kind, with the nearest, and for numbers that make none.

    >>> str(parse_distribution("x normal(1, 0.1) truncated(0.5, 1.5)"))
    'x normal(mean=1, sd=0.1) truncated(0.5, 1.5)'
    >>> str(parse_distribution({"distribution": "lognormal", "mean": 2, "scv": 0.5}))
    'lognormal(mean=2, scv=0.5)'
    """
    try:
        if isinstance(value, Distribution):
            return value
        if isinstance(value, str):
            return _from_text(value)
        if isinstance(value, Mapping):
            return _from_mapping(value)
        return _made("empirical", {}, tuple(map(_number, value)), False, None)
    except _Wrong as wrong:
        raise ContractError([Problem(str(wrong), key=key)]) from None


def _from_text(text: str) -> Distribution:
    found = _FORM.fullmatch(text)
    if found is None:
        raise _Wrong(f"{text!r} is no distribution: {_EXAMPLE}")
    times, kind, inside, cut, ends = found.groups()
    parts = [part.strip() for part in inside.split(",")] if inside.strip() else []
    named = {name.strip(): _number(number) for name, sign, number in (part.partition("=") for part in parts) if sign}
    plain = tuple(_number(part) for part in parts if "=" not in part)
    if named and plain:
        raise _Wrong(f"{text!r}: give all numbers by name, or none")
    if len(named) + len(plain) < len(parts):
        raise _Wrong(f"{text!r} gives a number twice")
    truncate = None if cut is None else () if ends is None else tuple(map(_number, ends.split(",")))
    if plain and kind.lower() in PARAMETERS and kind.lower() != "empirical":
        first = PARAMETERS[kind.lower()][0]
        if len(plain) != len(first):
            raise _Wrong(f"{kind.lower()} needs {', '.join(first)}; {len(plain)} numbers are given")
        named, plain = dict(zip(first, plain, strict=True)), ()
    return _made(kind.lower(), named, plain, times is not None, truncate)


def _from_mapping(given: Mapping[str, Any]) -> Distribution:
    rest = dict(given)
    kind = rest.pop("distribution", None)
    if not isinstance(kind, str):
        raise _Wrong(f"distribution must name one of {', '.join(PARAMETERS)}")
    times, cut, values = rest.pop("multiply", False), rest.pop("truncate", False), rest.pop("values", ())
    if not isinstance(times, bool):
        raise _Wrong(f"multiply must be true or false, not {times!r}")
    if isinstance(cut, bool):
        truncate: tuple[float, ...] | None = () if cut else None
    else:
        truncate = tuple(map(_number, cut))
    return _made(
        kind, {name: _number(number) for name, number in rest.items()}, tuple(map(_number, values)), times, truncate
    )


def _made(
    kind: str,
    named: dict[str, float],
    values: tuple[float, ...],
    multiplies: bool,
    truncate: tuple[float, ...] | None,
) -> Distribution:
    """The distribution of checked numbers."""
    if kind not in PARAMETERS:
        raise _Wrong(f"{kind} is no distribution{suggestion(kind, PARAMETERS)}; there are {', '.join(PARAMETERS)}")
    sets = PARAMETERS[kind]
    if kind != "empirical" and (values or not any(set(named) == set(names) for names in sets)):
        wanted = ", or ".join(" and ".join(names) for names in sets)
        raise _Wrong(f"{kind} needs {wanted}; given: {', '.join(named) or 'nothing by name'}")
    if kind == "empirical" and named:
        raise _Wrong(f"empirical takes values alone, not {', '.join(named)}")
    problems = parameter_problems(kind, named, values)
    if problems:
        raise _Wrong("; ".join(problems))
    made = Distribution(kind, named, values, multiplies, truncated=truncate is not None)
    if not truncate:
        return made
    if len(truncate) != 2 or not truncate[0] < truncate[1]:
        raise _Wrong("truncated takes a lower and a higher value")
    if made.below(truncate[1]) - made.below(math.nextafter(truncate[0], -math.inf)) <= 0:
        raise _Wrong(f"nothing of {made} lies from {truncate[0]:g} to {truncate[1]:g}")
    return made.cut(*truncate)


def _number(text: Any) -> float:
    try:
        if isinstance(text, bool):
            raise ValueError
        return float(text)
    except (TypeError, ValueError):
        raise _Wrong(f"{text!r} is not a number") from None
