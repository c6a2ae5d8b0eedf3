"""Findings about every entry of the shipped catalog, of a catalog folder, or of a contract's own section."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from gridplan.catalog import Catalog, Entry, load_catalog
from gridplan.catalog.check import Finding, Limits, check_entry, contradictions
from gridplan.catalog.diff import KINDS, entries_of
from gridplan.catalog.shipped_lines import shipped_lines
from gridplan.contract.catalog_folder import CatalogFolder
from gridplan.contract.grid import Grid, Place
from gridplan.contract.problems import Problems
from gridplan.contract.yaml import read_document
from gridplan.errors import CatalogError, Problem

__all__ = ["check_contract_entries", "check_folder", "check_shipped"]

Written = Mapping[str, Mapping[str, Mapping[str, object]]]


def check_shipped(limits: Limits) -> tuple[int, list[Finding]]:
    """Number of shipped entries, and the findings about them."""
    catalog, found, count = load_catalog(), [], 0
    for kind in KINDS:
        lines = shipped_lines(kind)
        for name, entry in entries_of(catalog, kind).items():
            said = [*(("error", text) for text in contradictions(entry, catalog)), *check_entry(entry, limits)]
            found += [Finding(severity, text, *lines[name], name) for severity, text in said]
            count += 1
    return count, found


def check_folder(folder: CatalogFolder, problems: Iterable[Problem], limits: Limits) -> tuple[int, list[Finding]]:
    """Number of entries of a folder, and the findings about them; `problems` are the faults it was read with."""
    faults = [Finding("error", item.message, item.file, item.line, item.key) for item in problems]
    found = [*faults, *_findings(folder.entries, folder.catalog, folder.places, limits)]
    return sum(map(len, folder.entries.values())), sorted(found, key=lambda item: (item.file or "", item.line or 0))


def check_contract_entries(grid: Grid, limits: Limits) -> tuple[int, list[Finding]]:
    """Number of entries in the `catalog:` section of a contract file, and the findings about them."""
    known = load_catalog() if grid.folder is None else grid.folder.catalog
    places = Problems(read_document(grid.path))
    stand = {
        (section, name): places.place(("catalog", section, name), at_key=True)
        for section, entries in grid.catalog.items()
        for name in entries
    }
    read = {
        name for name in grid.catalog.get("models", {}) if ("catalog", "models", name) not in places.document.values
    }
    found = list(_findings(grid.catalog, known.with_entries(grid.catalog), stand, limits, read))
    return len(stand), sorted(found, key=lambda item: item.line or 0)


def _findings(
    written: Written,
    catalog: Catalog,
    places: Mapping[tuple[str, str], Place],
    limits: Limits,
    read: Collection[str] = (),
) -> Iterator[Finding]:
    """Findings about written entries; `read` are models named by the path of a file, read at every call."""
    for section, entries in written.items():
        for name, fields in entries.items():
            entry = _entry(catalog, section, name)
            if entry is None or not isinstance(fields, Mapping):
                continue  # at fault, which has been said
            place = places[section, name]
            for severity, text in check_entry(entry, limits, fields, dated=section != "models" or name not in read):
                yield Finding(severity, text, place.file, place.line, place.key)


def _entry(catalog: Catalog, section: str, name: str) -> Entry | None:
    if section != "engines":
        return entries_of(catalog, section).get(name)
    try:
        return catalog.engine(name)
    except CatalogError:
        return None
