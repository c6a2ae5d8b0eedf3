"""The workload section, or several named workloads: classes of requests and the inputs stated beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gridplan.contract.forms import ByLabel, LengthForm, Scalar, Stated
from gridplan.contract.grid import Given, Lengths, TrafficClass, Workload
from gridplan.contract.hourly import read_hourly_load
from gridplan.contract.labels import unprintable
from gridplan.contract.lengths import read_length
from gridplan.contract.models import ClassEntry, Contract, WorkloadSection
from gridplan.contract.sections import limit_forms
from gridplan.contract.values import Reader
from gridplan.contract.yaml import KeyPath
from gridplan.quantities import parse_quantity

__all__ = ["WEIGHT_TOLERANCE", "has_random_lengths", "read_workloads", "weight_sum_problem"]

WEIGHT_TOLERANCE = 1e-9
_LENGTHS = ("prompt_tokens", "output_tokens")


def read_workloads(reader: Reader, contract: Contract) -> tuple[Workload, ...]:
    """One workload named "" for `workload:` (or for none), else one per entry of `workloads:`, in the file's order."""
    if contract.workloads is None:
        return (_workload(reader, "", contract.workload, ("workload",)),)
    if "workload" in contract.given_keys:
        line = reader.problems.place(("workload",), at_key=True).line
        reader.problems.add(("workloads",), f"workload on line {line} excludes workloads; keep one", at_key=True)
    if not contract.workloads:
        reader.problems.add(("workloads",), "names no workload", at_key=True)
    for name in contract.workloads:
        if (reason := unprintable(name)) is not None:
            reader.problems.add(("workloads", name), reason, at_key=True)
    return tuple(_workload(reader, name, section, ("workloads", name)) for name, section in contract.workloads.items())


def weight_sum_problem(weights: Sequence[float]) -> str | None:
    """Why weights are not shares of one whole, or None when they are.

    >>> weight_sum_problem([0.7, 0.2])
    'class weights sum to 0.9, not 1'
    """
    total = sum(weights)
    return None if abs(total - 1) <= WEIGHT_TOLERANCE else f"class weights sum to {total:.12g}, not 1"


def _workload(reader: Reader, name: str, section: WorkloadSection, path: KeyPath) -> Workload:
    given: dict[str, Given] = {}
    random = has_random_lengths(section)
    for key, form in section.stated().items():
        if random and key in _LENGTHS:
            continue
        if (item := reader.given(key, form, (*path, key))) is not None:
            given[key] = item
    classes = () if section.classes is None else _classes(reader, section.classes, (*path, "classes"))
    if random and section.classes is None:
        classes = _random_lengths(reader, section, path)
    hours = () if section.hourly_load is None else read_hourly_load(reader, section.hourly_load, (*path, "hourly_load"))
    place = reader.problems.place((*path, "hourly_load"), at_key=True) if hours else None
    return Workload(name, classes, given, reader.problems.place(path, at_key=True), hours, place)


def has_random_lengths(section: WorkloadSection) -> bool:
    """Whether a workload states a distribution where a length may stand."""
    return any(isinstance(form, LengthForm) for name, form in section.stated().items() if name in _LENGTHS)


def _random_lengths(reader: Reader, section: WorkloadSection, path: KeyPath) -> tuple[TrafficClass, ...]:
    """The one class of a workload whose prompt or output is random."""
    forms = section.stated()
    found: list[float | Lengths] = []
    for name, other in zip(_LENGTHS, reversed(_LENGTHS), strict=True):
        form = forms.get(name)
        if form is None:
            said = f"{other} is a distribution, and {name} does not stand beside it; give both in one workload"
            reader.problems.add((*path, other), said, at_key=True)
            continue
        if isinstance(form, Stated):
            form = form.value
        if isinstance(form, ByLabel):
            said = f"{name} cannot differ by label where {other} is a distribution; write several workloads"
            reader.problems.add((*path, name), said)
            continue
        length = read_length(reader, name, form, (*path, name))
        if length is not None:
            found.append(length)
    return (TrafficClass("", 1.0, found[0], found[1]),) if len(found) == len(_LENGTHS) else ()


def _classes(reader: Reader, entries: Sequence[ClassEntry], path: KeyPath) -> tuple[TrafficClass, ...]:
    problems = reader.problems
    if not entries:
        problems.add(path, "names no class")
        return ()
    first: dict[str, int] = {}
    for index, entry in enumerate(entries):
        if (reason := unprintable(entry.name)) is not None:
            problems.add((*path, index, "name"), reason)
        elif entry.name in first:
            problems.add(
                (*path, index, "name"),
                f"class {entry.name} is given twice (items {first[entry.name] + 1} and {index + 1})",
            )
        first.setdefault(entry.name, index)
    shares = _shares(reader, entries, path)
    lengths = [_lengths(reader, entry, (*path, index)) for index, entry in enumerate(entries)]
    own = [_own(reader, entry, (*path, index)) for index, entry in enumerate(entries)]
    if shares is None or problems.broken_inside(path):
        return ()
    return tuple(
        TrafficClass(entry.name, share, prompt, output, stated)
        for entry, share, (prompt, output), stated in zip(entries, shares, lengths, own, strict=True)
    )


def _lengths(reader: Reader, entry: ClassEntry, path: KeyPath) -> tuple[float | Lengths, float | Lengths]:
    prompt = read_length(reader, "prompt_tokens", entry.prompt_tokens, (*path, "prompt_tokens"))
    output = read_length(reader, "output_tokens", entry.output_tokens, (*path, "output_tokens"))
    return prompt or 0.0, output or 0.0


def _own(reader: Reader, entry: ClassEntry, path: KeyPath) -> dict[str, Given]:
    """What a class states of itself: its latency limits and its prefix hits, under the names of the inputs."""
    forms = list(limit_forms(entry, path))
    if entry.prefix_hit_ratio is not None:
        forms.append(("prefix_hit_ratio", entry.prefix_hit_ratio, (*path, "prefix_hit_ratio")))
    items = {name: reader.given(name, form, place) for name, form, place in forms}
    return {name: item for name, item in items.items() if item is not None}


def _shares(reader: Reader, entries: Sequence[ClassEntry], path: KeyPath) -> list[float] | None:
    """The weights, or the counts over their sum."""
    shares: list[float | None] = []
    kinds = set()
    for index, entry in enumerate(entries):
        item = (*path, index)
        if (entry.weight is None) == (entry.count is None):
            both = "has both weight and count" if entry.weight is not None else "has neither weight nor count"
            reader.problems.add(item, f"class {entry.name} {both}; give one")
            shares.append(None)
        elif entry.weight is not None:
            kinds.add("weight")
            shares.append(_positive(reader, entry.weight, "1", (*item, "weight")))
        elif entry.count is not None:
            kinds.add("count")
            shares.append(_positive(reader, entry.count, "count", (*item, "count")))
    if len(kinds) > 1:
        reader.problems.add(path, "some classes have a weight and others a count; give one kind", at_key=True)
        return None
    found = [share for share in shares if share is not None]
    if len(found) < len(shares):
        return None
    if kinds == {"count"}:
        largest = max(found)
        total = math.fsum(share / largest for share in found)
        return [share / largest / total for share in found]
    if (reason := weight_sum_problem(found)) is not None:
        reader.problems.add(path, reason, at_key=True)
    return found


def _positive(reader: Reader, raw: Scalar, unit: str, path: KeyPath) -> float | None:
    try:
        number = parse_quantity(raw, unit)
    except ValueError as error:
        reader.problems.add(path, str(error))
        return None
    if number <= 0:
        reader.problems.add(path, f"{path[-1]} must be > 0; {raw} is not")
        return None
    return number
