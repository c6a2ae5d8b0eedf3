"""What is wrong with catalog entries that a grid uses: prices that are old, and values that are not known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date

import numpy as np

from gridplan.catalog import Catalog, Entry
from gridplan.catalog.missing import missing_for_plan
from gridplan.engine.field import Field

__all__ = ["PRICE_OLD_DAYS", "is_old", "lacking_entries", "listed", "old_prices"]

PRICE_OLD_DAYS = 180
"""Age from which a plan says that a price is old (policy; `catalog validate` asks for newer ones)."""

_SHOWN = 8
"""Entries that one sentence names (policy)."""


def old_prices(labels: Mapping[str, Field], on: date, said: str) -> list[str]:
    """One sentence on prices of the grid that are older than `PRICE_OLD_DAYS` on that day, one on those after it.

    `said` names the day: `priced_on`, against which a price without a date is a fault too, or `today`.
    """
    pairs = zip(labels["priced_by"].data.ravel().tolist(), labels["price_as_of"].data.ravel().tolist(), strict=True)
    dates = {name: _date(text) for name, text in dict.fromkeys(pairs) if name is not None}
    old = [f"{name} ({found})" for name, found in dates.items() if found and is_old(str(found), on)]
    later = [f"{name} ({found})" for name, found in dates.items() if found and found > on]
    undated = [name for name, found in dates.items() if found is None and said == "priced_on"]
    sentences = {
        f"prices older than {PRICE_OLD_DAYS} days on {on} ({said})": old,
        f"prices of a day after {on} ({said})": later,
        f"prices without a date, so their age on {on} ({said}) is not known": undated,
    }
    return [f"{sentence}: {listed(names)}" for sentence, names in sentences.items() if names]


def is_old(as_of: str | None, on: date) -> bool:
    """Whether a date is more than `PRICE_OLD_DAYS` before that day; no date is not."""
    found = _date(as_of)
    return found is not None and (on - found).days > PRICE_OLD_DAYS


def lacking_entries(values: Mapping[str, Field], labels: Mapping[str, Field], catalog: Catalog) -> list[str]:
    """One sentence on the entries behind cells that are infeasible since the catalog lacks a value they need."""
    lacking = values["catalog_complete"].data == 0
    if not lacking.any():
        return []
    finders: dict[str, Callable[[str], Entry]] = {"gpu": catalog.gpu, "model": catalog.model}
    found = []
    for kind, find in finders.items():
        named, mask = np.broadcast_arrays(labels[kind].data, lacking)
        for label in dict.fromkeys(named[mask].tolist()):
            missing = () if label is None else missing_for_plan(find(label))
            found += [f"{kind} {label} lacks {', '.join(missing)}"] if missing else []
    cells = "cells that need a value the catalog lacks have no plan (catalog_value_missing)"
    return [f"{cells}: {listed(found, '; ')}"] if found else []


def _date(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


def listed(names: Iterable[str], mark: str = ", ") -> str:
    """The first names of a sentence, and how many more there are."""
    known = list(names)
    rest = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    return f"{mark.join(known[:_SHOWN])}{rest}"
