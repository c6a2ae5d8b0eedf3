"""The utilisation target and the named margins behind it: stated as one number, as its factors, or as both alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np

from gridplan.contract.grid import Place
from gridplan.contract.margins import MARGINS
from gridplan.dictionary import dictionary
from gridplan.engine.field import Field, combine
from gridplan.engine.resolve import Origin, OriginOf, Resolver

__all__ = ["AGREE", "changed_at", "margin_values", "where"]

AGREE = 1e-9
"""Relative difference up to which a target and the product of its margins are the same number (policy)."""

TARGET = "rho_target"


def margin_values(resolver: Resolver) -> dict[str, Field]:
    """`rho_target` and every margin in each cell [1]; margins that are not stated are 1.

    Where no target is stated it is the product of the margins, if any is. Where both are stated and differ, a problem
    is noted: of the first such cell, with both numbers.
    """
    one = resolver.space.constant(1.0, np.float64)
    margins = {name: resolver.resolve(name, one) for name in MARGINS}
    told = {name: _told(resolver, name) for name in (TARGET, *MARGINS)}
    product = reduce(lambda a, b: combine(np.multiply, a, b), margins.values())
    named = reduce(lambda a, b: combine(np.logical_or, a, b), (told[name] for name in MARGINS))
    target = resolver.resolve(TARGET, combine(_known_where, named, product))
    resolver.origins[TARGET] = _origin(resolver, told, resolver.origins[TARGET])
    _check(resolver, target, product, margins, told, named)
    return {TARGET: target, **margins}


def _known_where(named: np.ndarray, product: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(named, product, np.nan))


def _told(resolver: Resolver, name: str) -> Field:
    """Where the contract states an input: by a value or an axis, or in a scenario that changes it."""
    stated = resolver.peek(name)
    told = Field(~np.isnan(stated.data), stated.dims)
    changes = [name in scenario.changes for scenario in resolver.grid.scenarios]
    if not any(changes):
        return told
    return combine(np.logical_or, told, resolver.space.along("scenario", changes, bool))


def _origin(resolver: Resolver, told: Mapping[str, Field], stated: OriginOf) -> OriginOf:
    """The origin of the target: its own where it is stated, else the margins of the cell."""

    def origin(index: Mapping[str, int]) -> Origin:
        names = [name for name in MARGINS if told[name].at(resolver.space, index)]
        if told[TARGET].at(resolver.space, index) or not names:
            return stated(index)
        return Origin(dictionary()[TARGET].cls, f"product of {' x '.join(names)}", provider="margins")

    return origin


def _check(
    resolver: Resolver,
    target: Field,
    product: Field,
    margins: Mapping[str, Field],
    told: Mapping[str, Field],
    named: Field,
) -> None:
    apart = np.abs(target.data - product.data) > AGREE * target.data
    wrong = apart & told[TARGET].data & named.data
    if not wrong.any():
        return
    index = dict(zip(resolver.space.names, (int(i) for i in np.argwhere(wrong)[0]), strict=True))
    factors = {name: item.at(resolver.space, index) for name, item in margins.items()}
    stated = [name for name in MARGINS if told[name].at(resolver.space, index)]
    shown = " x ".join(f"{name} {factors[name]:.12g}" for name in stated)
    if len(stated) > 1:
        shown += f" = {product.at(resolver.space, index):.12g}"
    dims = target.dims | product.dims
    advice = "leave one of them out, or let them agree"
    if resolver.grid.axis(TARGET) is not None:
        advice = "margins beside an axis of rho_target must agree with it in every cell; leave one of them out"
    resolver.problem(
        f"{TARGET} {target.at(resolver.space, index):.12g} is not the product of its margins, {shown}"
        f"{where(resolver, index, dims)}: {advice}",
        TARGET,
        changed_at(resolver, index, (TARGET, *MARGINS)),
    )


def where(resolver: Resolver, index: Mapping[str, int], dims: frozenset[str]) -> str:
    """A cell in words, by the labels of `dims`; empty where nothing varies."""
    labels = resolver.space.labels
    found = [f"{name}={labels[name][place]}" for name, place in index.items() if name in dims and len(labels[name]) > 1]
    return f" at {', '.join(found)}" if found else ""


def changed_at(resolver: Resolver, index: Mapping[str, int], names: Sequence[str]) -> Place | None:
    """Where the scenario of a cell changes one of these inputs; None where it changes none of them."""
    if "scenario" not in index:
        return None
    changes = resolver.grid.scenarios[index["scenario"]].changes
    return next((changes[name].place for name in names if name in changes), None)
