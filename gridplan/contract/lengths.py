"""Random lengths of a class: a kind with mean and scv, or quantiles, read and checked as a whole."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

from gridplan.contract.forms import LengthForm, Scalar
from gridplan.contract.grid import Lengths
from gridplan.contract.values import Reader
from gridplan.contract.yaml import KeyPath
from gridplan.errors import suggestion
from gridplan.quantities import parse_quantity

__all__ = ["LENGTH_KINDS", "MOST_NODES", "SCV_RANGE", "read_length"]

LENGTH_KINDS = ("deterministic", "exponential", "gamma", "lognormal")
"""Distributions that a mean and an scv describe."""

_EMPIRICAL = "empirical"

_FIXED_SCV: Mapping[str, float] = {"deterministic": 0.0, "exponential": 1.0}
"""Kinds that have one scv alone, which need not be stated (fact)."""

SCV_RANGE = (1e-6, 100.0)
"""Squared coefficients of variation other than 0 (policy: below, lengths are equal; above, it is a slip)."""

MOST_NODES = 256
"""Largest number of classes that one distribution may become (policy: beyond it only the cost grows)."""


def read_length(reader: Reader, name: str, form: Scalar | LengthForm, path: KeyPath) -> float | Lengths | None:
    """A length in tokens or a distribution of lengths; None where it is wrong, each fault noted at its place."""
    if not isinstance(form, LengthForm):
        return reader.number(name, form, path)
    kind = _kind(reader, form, path)
    mean = None if form.mean is None else reader.number(name, form.mean, (*path, "mean"))
    scv = _scv(reader, form, kind, path)
    quantiles = _quantiles(reader, name, form, path)
    nodes = _nodes(reader, form, path)
    longest = None if form.max is None else reader.number(name, form.max, (*path, "max"))
    lowest = quantiles[-1][1] if quantiles else mean
    if longest is not None and lowest is not None and longest < lowest:
        said = "the last quantile" if quantiles else "the mean"
        reader.problems.add((*path, "max"), f"max {longest:g} is below {said}, {lowest:g}")
    if reader.problems.broken_inside(path) or kind is None:
        return None
    place = reader.problems.place(path)
    unknown = math.nan if quantiles else 0.0
    return Lengths(
        kind, unknown if mean is None else mean, unknown if scv is None else scv, quantiles, longest, nodes, place
    )


def _kind(reader: Reader, form: LengthForm, path: KeyPath) -> str | None:
    """The kind, where what stands beside it fits; two descriptions of one distribution are a fault."""
    problems = reader.problems
    if form.quantiles is not None:
        for other in ("mean", "scv"):
            if getattr(form, other) is not None:
                problems.add((*path, other), f"{other} and quantiles both describe the lengths; keep one", at_key=True)
        if form.kind not in (None, _EMPIRICAL):
            problems.add((*path, "kind"), f"quantiles are of kind {_EMPIRICAL}, not {form.kind}; leave the kind out")
        return _EMPIRICAL
    known = ", ".join(LENGTH_KINDS)
    if form.kind is None:
        problems.add(path, f"kind is missing: one of {known}, beside mean and scv; or give quantiles")
        return None
    if form.kind == _EMPIRICAL:
        problems.add((*path, "kind"), f"lengths of kind {_EMPIRICAL} are given by quantiles: {{50: ..., 99: ...}}")
        return None
    if form.mean is None:
        problems.add(path, f"mean is missing: {form.kind} lengths have a mean, in tokens")
    if form.kind not in LENGTH_KINDS:
        problems.add(
            (*path, "kind"), f"kind must be one of {known}; {form.kind} is not{suggestion(form.kind, LENGTH_KINDS)}"
        )
        return None
    return form.kind


def _scv(reader: Reader, form: LengthForm, kind: str | None, path: KeyPath) -> float | None:
    place = (*path, "scv")
    fixed = _FIXED_SCV.get(kind or "")
    if form.scv is None:
        if fixed is None and kind not in (None, _EMPIRICAL):
            reader.problems.add(path, f"scv is missing: {kind} lengths have a squared coefficient of variation")
        return fixed
    try:
        scv = parse_quantity(form.scv, "1")
    except ValueError as error:
        reader.problems.add(place, str(error))
        return None
    low, high = SCV_RANGE
    if scv != 0 and not low <= scv <= high:
        reader.problems.add(place, f"scv must be 0, or from {low:g} to {high:g}; {form.scv} is not")
    elif fixed is not None and scv != fixed:
        reader.problems.add(place, f"{kind} lengths have scv {fixed:g}, not {form.scv}")
    return scv


def _quantiles(reader: Reader, name: str, form: LengthForm, path: KeyPath) -> tuple[tuple[float, float], ...]:
    """Pairs of percentile and length, sorted by percentile; lengths must rise with it."""
    if form.quantiles is None:
        return ()
    within = (*path, "quantiles")
    found: list[tuple[float, float, str]] = []
    for key, raw in form.quantiles.items():
        share = _percentile(reader, key, (*within, key))
        length = reader.number(name, raw, (*within, key))
        if share is not None and length is not None:
            found.append((share, length, key))
    found.sort()
    for (before, shorter, _), (share, length, key) in pairwise(found):
        if share == before:
            reader.problems.add((*within, key), f"percentile {share:g} is given twice", at_key=True)
        elif length <= shorter:
            said = f"lengths must rise: {length:g} at percentile {share:g} is not above {shorter:g} at {before:g}"
            reader.problems.add((*within, key), said)
    if len(form.quantiles) < 2:
        reader.problems.add(within, "names fewer than two percentiles: a distribution needs two")
    return tuple((share, length) for share, length, _ in found)


def _percentile(reader: Reader, key: str, path: KeyPath) -> float | None:
    try:
        share = float(key)
    except ValueError:
        share = math.nan
    if not 0.0 < share < 100.0:
        reader.problems.add(path, f"a percentile is a number above 0 and below 100; {key} is not", at_key=True)
        return None
    return share


def _nodes(reader: Reader, form: LengthForm, path: KeyPath) -> int | None:
    if form.nodes is None:
        return None
    place = (*path, "nodes")
    try:
        nodes = parse_quantity(form.nodes, "count")
    except ValueError as error:
        reader.problems.add(place, str(error))
        return None
    if not 1 <= nodes <= MOST_NODES or nodes != int(nodes):
        reader.problems.add(place, f"nodes must be a whole number from 1 to {MOST_NODES}; {form.nodes} is not")
        return None
    return int(nodes)
