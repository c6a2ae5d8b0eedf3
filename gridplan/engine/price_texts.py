"""What sets the price of each cell, of which date and of which kind: that of the purchase, of what is not on spot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date

import numpy as np

from gridplan.catalog import Catalog
from gridplan.engine.catalog_warnings import is_old
from gridplan.engine.field import Field, lookup
from gridplan.engine.price import Pricing

__all__ = ["price_stale", "price_texts"]

_KINDS = {"list": "on_demand", "range": "list_equivalent"}
"""Kinds of a price on demand that the catalog calls otherwise; the others keep their name."""

_STATED = ("usd_per_gpu_hour", "usd_per_node_hour", "spot_usd_per_node_hour", "reserved_usd_per_node_hour")
_CAPITAL = "capital_usd_per_node"

Texts = tuple[str | None, str | None, str | None]
"""What sets a price, its date and its kind."""

_NONE: Texts = (None, None, None)


def price_texts(pricing: Pricing, values: Mapping[str, Field]) -> dict[str, Field]:
    """`priced_by`, `price_as_of` and `price_kind` of every cell; null where the cell has no price."""
    resolver, catalog = pricing.labels.resolver, pricing.labels.catalog
    dates = {name: _stated_date(pricing, name) for name in (*_STATED, _CAPITAL)}
    purchase = resolver.fields["purchase"]
    kinds = set(purchase.unique)
    nothing = resolver.space.constant(np.nan, np.float64)

    def read(field: Field, *readers: str) -> Field:
        """A field that only some kinds of purchase read, so that no other's text depends on it."""
        return field if kinds & set(readers) else nothing

    def texts(kind: str, instance: str | None, gpu: float, node: float, scaled: float, *others: float) -> Texts:
        size, spot, own_spot, reserved, own_reserved, discount = others
        listed = _listed(catalog, dates, instance, gpu, node, scaled)
        if kind == "spot":
            name = instance if math.isnan(own_spot) else "spot_usd_per_node_hour"
            found = dates[name] if name in dates else _as_of(catalog, name)
            return _NONE if math.isnan(spot + size) else (name, found, kind)
        if kind == "reserved":
            if not math.isnan(own_reserved):
                name = "reserved_usd_per_node_hour"
                return _NONE if math.isnan(size) else (name, dates[name], kind)
            known = not math.isnan(reserved) or not math.isnan(gpu + discount)
            return (*listed[:2], kind) if known else _NONE
        if kind == "owned":
            return _NONE if math.isnan(size) else (_CAPITAL, dates[_CAPITAL], kind)
        return listed

    fields = (
        purchase,
        *(pricing.shape, pricing.per_gpu, pricing.per_node, _scaled(pricing)),
        read(values["gpus_per_node"], "spot", "reserved", "owned"),
        read(values["spot_usd_per_node_hour"], "spot"),
        read(resolver.peek("spot_usd_per_node_hour"), "spot"),
        read(values["reserved_usd_per_node_hour"], "reserved"),
        read(resolver.peek("reserved_usd_per_node_hour"), "reserved"),
        read(values["reserved_discount"], "reserved"),
    )
    names = ("priced_by", "price_as_of", "price_kind")
    found = lookup(texts, *fields, dtype=object)
    return {name: lookup(lambda item, at=at: item[at], found, dtype=object) for at, name in enumerate(names)}


def price_stale(as_of: Field, priced_on: str) -> Field:
    """1 where a price is old on `priced_on`, 0 where it is not, has no date, or no day is stated."""
    if not priced_on:
        return Field(np.zeros((1,) * as_of.data.ndim), frozenset())
    day = date.fromisoformat(priced_on)
    return lookup(lambda text: float(is_old(text, day)), as_of)


def _listed(
    catalog: Catalog,
    dates: Mapping[str, str | None],
    instance: str | None,
    of_gpu: float,
    of_node: float,
    scaled: float,
) -> Texts:
    """The price on demand: as stated, else of the instance."""
    if not (math.isnan(of_gpu) and math.isnan(of_node)):
        named = "usd_per_gpu_hour" if not math.isnan(of_gpu) else "usd_per_node_hour"
        return named, dates[named], "given"
    if instance is None or catalog.instance(instance).usd_per_node_hour is None:
        return _NONE
    entry = catalog.instance(instance)
    kind = _KINDS.get(entry.price_kind, entry.price_kind)
    if scaled:  # it is no longer the price that was found
        kind = "list_equivalent" if entry.price_kind in _KINDS else "given"
    return entry.id, entry.as_of, kind


def _as_of(catalog: Catalog, instance: str | None) -> str | None:
    return None if instance is None else catalog.instance(instance).as_of


def _scaled(pricing: Pricing) -> Field:
    """1 where a scenario scales the price on demand."""
    space = pricing.labels.space
    names, scenarios = {"usd_per_gpu_hour", "usd_per_node_hour"}, pricing.labels.resolver.grid.scenarios
    scaled = [float(bool(names & set(scenario.changes))) for scenario in scenarios]
    return space.along("scenario", scaled, np.float64) if any(scaled) else space.constant(0.0, np.float64)


def _stated_date(pricing: Pricing, name: str) -> str | None:
    given = pricing.labels.resolver.grid.given.get(name)
    return (given.as_of if given else "") or None
