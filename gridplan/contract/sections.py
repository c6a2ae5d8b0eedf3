"""The inputs that the slo, deployment, capacity and policy sections state, in the order of the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gridplan.contract.grid import Given
from gridplan.contract.models import ClassChange, ClassEntry, Contract, Section, Slo
from gridplan.contract.values import Reader
from gridplan.contract.yaml import KeyPath

__all__ = ["LIMITS", "limit_forms", "read_given", "stated_paths"]

LIMITS = ("ttft", "tpot", "e2e", "itl")
"""Latencies that a limit binds: each has a limit and a percentile."""


def read_given(reader: Reader, contract: Contract) -> dict[str, Given]:
    """Every stated input by name; one that is stated twice is a problem at the second place, and the first counts."""
    sections: dict[str, Section] = {
        **{"slo": contract.slo, "deployment": contract.deployment},
        **{"capacity": contract.capacity, "policy": contract.policy},
    }
    given: dict[str, Given] = {}
    for name in reader.problems.document.data:
        for key, form, path in _stated(name, sections[name]) if name in sections else ():
            item = reader.given(key, form, path)
            if item is not None:
                given.setdefault(key, item)
    return given


def stated_paths(contract: Contract) -> dict[str, list[KeyPath]]:
    """Where each input is stated, in all sections; several workloads that state one input count once."""
    found: dict[str, list[KeyPath]] = {}
    for name in ("workload", "slo", "deployment", "capacity", "policy"):
        for key, _, path in _stated(name, getattr(contract, name)):
            found.setdefault(key, []).append(path)
    in_workloads: dict[str, KeyPath] = {}
    for label, section in (contract.workloads or {}).items():
        for key in section.stated():
            in_workloads.setdefault(key, ("workloads", label, key))
    for key, path in in_workloads.items():
        found.setdefault(key, []).append(path)
    return found


def _stated(name: str, section: Section) -> Iterator[tuple[str, Any, KeyPath]]:
    """Each input of a section with its form and path; `ttft: {limit, percentile}` states two."""
    if isinstance(section, Slo):
        yield from limit_forms(section, (name,))
        if section.goodput is not None:
            yield "goodput_target", section.goodput, (name, "goodput")
    yield from ((key, form, (name, key)) for key, form in section.stated().items())


def limit_forms(holder: Slo | ClassEntry | ClassChange, path: KeyPath) -> Iterator[tuple[str, Any, KeyPath]]:
    """The inputs behind `ttft: {limit, percentile}` and its like, each with its form and path."""
    for label in LIMITS:
        limit = getattr(holder, label)
        if limit is None:
            continue
        if limit.limit is not None:
            yield f"{label}_slo_s", limit.limit, (*path, label, "limit")
        if limit.percentile is not None:
            yield f"{label}_slo_percentile", limit.percentile, (*path, label, "percentile")
