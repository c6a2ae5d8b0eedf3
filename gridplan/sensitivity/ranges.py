"""What a study does to one input at its low and its high end: `2:5`, `x0.5:x2`, `-20%:+20%`, `20 ms:40 ms`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gridplan.contract.bounds import bounds_of
from gridplan.dictionary import dictionary
from gridplan.errors import Problem, suggestion
from gridplan.quantities import parse_quantity

__all__ = ["Range", "Spec", "input_problem", "out_of_bounds", "ranges_of"]

Spec = str | Sequence[float]
"""A text, or a pair of numbers in base units."""


@dataclass(frozen=True, slots=True)
class Range:
    """Two ends of an input: values in base units, or factors of the value that a cell has."""

    low: float
    high: float
    factors: bool = False

    def ends(self, base: float) -> tuple[float, float]:
        """The values at both ends of an input that is `base`.

        >>> Range(0.5, 2.0, factors=True).ends(10.0), Range(2.0, 5.0).ends(3.0)
        ((5.0, 20.0), (2.0, 5.0))
        """
        return (base * self.low, base * self.high) if self.factors else (self.low, self.high)


def ranges_of(asked: Mapping[str, Spec], key: str = "vary") -> tuple[dict[str, Range], list[Problem]]:
    """The ranges that can be read, and one problem for each other.

    >>> found, problems = ranges_of({"output_tokens": "x0.5:x2", "tpot_slo_s": "20 ms:40 ms", "mfu": "-20%:+20%"})
    >>> found["output_tokens"].factors, found["tpot_slo_s"].high, found["mfu"].low, problems
    (True, 0.04, 0.8, [])
    """
    found: dict[str, Range] = {}
    problems = []
    for name, spec in asked.items():
        problem = input_problem(name, key)
        if problem is not None:
            problems.append(problem)
            continue
        try:
            found[name] = _read(spec, dictionary()[name].unit)
        except ValueError as error:
            problems.append(Problem(f"{name}={_shown(spec)}: {error}", key=key))
    return found, problems


def input_problem(name: str, key: str) -> Problem | None:
    """Why a study cannot move an input: no such one, or a label."""
    row = dictionary().get(name)
    if row is None or row.role not in ("input", "axis"):
        known = [other for other, item in dictionary().items() if item.role == "input" and not item.is_label]
        return Problem(f"{name} is not an input{suggestion(name, known)}", key=key)
    if row.is_label or name == "sample":
        said = "is a label and has no low and high: compare labels along an axis, or as scenarios in a stress table"
        return Problem(f"{name} {said}", key=key)
    return None


def out_of_bounds(name: str, value: float) -> str:
    """What is wrong with a value of an input, or nothing."""
    bounds = bounds_of(name)
    if not bounds.holds(value):
        return f"{name} would be {value:.12g}, and must be {bounds}"
    if dictionary()[name].dtype == "int64" and value != int(value):
        return f"{name} would be {value:.12g}, and takes whole numbers only"
    return ""


def _read(spec: Spec, unit: str) -> Range:
    if not isinstance(spec, str):
        if len(spec) != 2:
            raise ValueError("two numbers are due, low and high")
        return _ordered(Range(parse_quantity(spec[0], unit), parse_quantity(spec[1], unit)))
    ends = [part.strip() for part in spec.split(":")]
    if len(ends) != 2 or not all(ends):
        raise ValueError("LOW:HIGH is due, as 2:5, x0.5:x2, -20%:+20% or with units 20 ms:40 ms")
    if any(end[0] in "xX" for end in ends):
        return _factors([_factor(end) for end in ends])
    if any(end[0] in "+-" for end in ends) and all(end.endswith("%") for end in ends):
        return _factors([1.0 + parse_quantity(end, "1") for end in ends])
    return _ordered(Range(_value(ends[0], unit), _value(ends[1], unit)))


def _factor(text: str) -> float:
    if text[0] not in "xX":
        raise ValueError("both ends are factors (x0.5:x2) or none is")
    return parse_quantity(_number(text[1:]), "1")


def _value(text: str, unit: str) -> float:
    return parse_quantity(_number(text), unit)


def _number(text: str) -> str | float:
    """A bare number as it is written, else the text for its unit."""
    try:
        return float(text)
    except ValueError:
        return text


def _factors(values: Sequence[float]) -> Range:
    if min(values) < 0:
        raise ValueError("a factor below 0 leaves no value")
    return _ordered(Range(values[0], values[1], factors=True))


def _ordered(found: Range) -> Range:
    if found.low > found.high:
        raise ValueError(f"the low end {found.low:g} is above the high end {found.high:g}")
    return found


def _shown(spec: Spec) -> str:
    return spec if isinstance(spec, str) else ":".join(map(str, spec))
