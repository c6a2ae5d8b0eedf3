"""Whether an entry can be trusted: contradictions, values it lacks, no source, no date, or a date that is long ago."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal

from gridplan.catalog.book import Catalog
from gridplan.catalog.complete import engine_contradictions, instance_contradictions, model_contradictions
from gridplan.catalog.entries import Engine, Entry, Instance, Model
from gridplan.catalog.missing import missing_for_plan

__all__ = ["ENTRY_OLD_DAYS", "PRICE_OLD_DAYS", "Finding", "Limits", "Said", "check_entry", "contradictions"]

ENTRY_OLD_DAYS = 365
"""Age from which an entry is called old (policy)."""

PRICE_OLD_DAYS = 90
"""Age from which a price is called old (policy): providers change list prices several times a year."""

Severity = Literal["error", "warning", "info"]
Said = tuple[Severity, str]


@dataclass(frozen=True, slots=True)
class Limits:
    """The day on which ages are judged, and the ages [days] up to which an entry and a price are not called old."""

    on: date
    entry_days: int = ENTRY_OLD_DAYS
    price_days: int = PRICE_OLD_DAYS


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about one entry; `key` is its id, or the field at fault below it."""

    severity: Severity
    message: str
    file: str | None = None
    line: int | None = None
    key: str | None = None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        return ": ".join(part for part in (place, self.severity, self.key, self.message) if part)


def contradictions(entry: Entry, catalog: Catalog) -> Iterator[str]:
    """What cannot be true of an entry at once, or beside the others of its catalog."""
    if isinstance(entry, Model):
        yield from model_contradictions(entry)
    elif isinstance(entry, Instance):
        yield from instance_contradictions(entry)
        if entry.gpu not in catalog.gpus:
            yield f"unknown GPU {entry.gpu}"
    elif isinstance(entry, Engine):
        yield from engine_contradictions(entry)


def check_entry(
    entry: Entry, limits: Limits, written: Mapping[str, object] | None = None, dated: bool = True
) -> Iterator[Said]:
    """What a reader of the entry must know; `written` are the fields a person gave, where the entry is not shipped.

    `dated` is false for an entry that has no age, as one that is read from its file at every call.

    >>> from gridplan.catalog import load_catalog
    >>> list(check_entry(load_catalog().gpu("mi325x"), Limits(date(2026, 11, 30))))[0]
    ('warning', 'lacks memory_bytes: state it where the entry is used, or the cells that need it have no plan')
    """
    yield from _missing(entry)
    stated: Mapping[str, object] = _provenance(entry) if written is None else written
    if not stated.get("source"):
        yield "warning", "has no source"
    if dated:
        yield from _age(entry, limits)
    if entry.cls == "assumption" and not stated.get("notes"):
        said = "has class assumption" if stated.get("class") else "states no class, so it is an assumption"
        yield "info", f"{said}, and no notes say what it rests on"


def _missing(entry: Entry) -> Iterator[Said]:
    missing = missing_for_plan(entry)
    if not missing:
        return
    if isinstance(entry, Instance):
        yield "info", "has no price, so plans on it have no cost"
        return
    them = "it" if len(missing) == 1 else "them"
    rest = f"state {them} where the entry is used, or the cells that need {them} have no plan"
    yield "warning", f"lacks {', '.join(missing)}: {rest}"


def _age(entry: Entry, limits: Limits) -> Iterator[Said]:
    try:
        dated = date.fromisoformat(entry.as_of or "")
    except ValueError:
        yield "warning", "has no date (as_of), so its age is not known"
        return
    days = (limits.on - dated).days
    priced = isinstance(entry, Instance) and entry.usd_per_node_hour is not None
    if days < 0:
        yield "warning", f"is of {dated}, a day after {limits.on}"
    elif priced and days > limits.price_days:
        yield "warning", f"has a price of {dated}: {days} days old, more than {limits.price_days}"
    elif days > limits.entry_days:
        yield "warning", f"is of {dated}: {days} days old, more than {limits.entry_days}"


def _provenance(entry: Entry) -> dict[str, object]:
    return {"source": entry.source, "class": entry.cls, "notes": entry.notes}
