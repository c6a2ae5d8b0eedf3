"""From a contract file to a `Grid`, or to one error that names every problem of the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from gridplan.contract.axes import read_axes
from gridplan.contract.context import Context
from gridplan.contract.entries import place_faults, with_indexes
from gridplan.contract.grid import Grid
from gridplan.contract.labels import LabelBook, unprintable
from gridplan.contract.measured import read_measured
from gridplan.contract.model_files import ModelFiles
from gridplan.contract.models import Contract
from gridplan.contract.problems import Problems
from gridplan.contract.rules_labels import check_labels
from gridplan.contract.rules_lengths import check_lengths
from gridplan.contract.rules_single import check_single_inputs
from gridplan.contract.scenarios import read_scenarios
from gridplan.contract.sections import read_given, stated_paths
from gridplan.contract.structure import parse_structure
from gridplan.contract.traffic import read_workloads
from gridplan.contract.values import Reader
from gridplan.contract.yaml import Document, KeyPath, parse_document, read_document
from gridplan.dictionary import DEFAULT, all_measures
from gridplan.errors import Problem, suggestion

if TYPE_CHECKING:
    from gridplan.catalog import Catalog
    from gridplan.contract.catalog_folder import CatalogFolder

__all__ = ["load_grid", "loads_grid"]

Folder = tuple["CatalogFolder | None", tuple[Problem, ...]]
Entries = Mapping[str, Mapping[str, Mapping[str, object]]]
Own = dict[str, Mapping[str, Mapping[str, object]]]
"""The contract's own entries; models that it names by a path join them as they are read."""


def load_grid(path: str | PathLike[str], catalog: str | PathLike[str] | CatalogFolder | None = None) -> Grid:
    """Read a contract file.

    Parameters
    ----------
    path
        The file.
    catalog
        A folder of catalog entries, over the shipped ones and below the contract's own; without it the one that
        `[tool.gridplan]` of the nearest pyproject.toml above the contract names, if any.

    Raises
    ------
    ContractError
        With every problem of the file and of the folder, each at its line and column and with the nearest valid name.
    """
    from gridplan.contract.project import find_catalog_folder

    document = read_document(fspath(path))
    return _load(document, find_catalog_folder(catalog, Path(path).parent))


def loads_grid(text: str, path: str = "<text>", catalog: str | PathLike[str] | CatalogFolder | None = None) -> Grid:
    """Read a contract from a text; `path` is the name that problems carry, `catalog` a folder of catalog entries.

    No pyproject.toml is looked for: a text lies in no project.

    Raises
    ------
    ContractError
        As `load_grid` does.

    >>> grid = loads_grid("schema: 1\\nworkload: {arrival_rate: 90 req/min}\\npolicy: {rho_target: 0.7}")
    >>> grid.workloads[0].given["arrival_rate"].value
    1.5
    """
    from gridplan.contract.project import find_catalog_folder

    document = parse_document(text, path)
    return _load(document, (None, ()) if catalog is None else find_catalog_folder(catalog, "."))


def _load(document: Document, found: Folder) -> Grid:
    problems = Problems(document)
    folder, faults = found
    problems.extend(faults)
    contract = parse_structure(problems)
    catalog, own = _catalog(contract, problems, folder)
    files = ModelFiles(Path(document.file).parent, catalog, own)
    labels = LabelBook(catalog, _written(own, folder), files)
    reader = Reader(problems, labels, tuple(contract.workloads or ()))
    grid = replace(_grid(reader, contract, document, own), folder=folder)
    axes = document.data.get("axes")
    names = axes if isinstance(axes, Mapping) else {}
    places = {name: problems.place(("axes", name), at_key=True) for name in names}
    context = Context(contract, grid, problems, labels, stated_paths(contract), places)
    check_single_inputs(context)
    check_lengths(context)
    check_labels(context)
    problems.raise_if_any()
    return grid


def _grid(
    reader: Reader, contract: Contract, document: Document, own: Mapping[str, Mapping[str, Mapping[str, object]]]
) -> Grid:
    """What can be read of the contract; its problems are in the reader."""
    if contract.name and (reason := unprintable(contract.name)) is not None:
        reader.problems.add(("name",), reason)
    if contract.priced_on:
        reader.date(contract.priced_on, ("priced_on",))
    _check_outputs(reader.problems, contract.outputs)
    workloads = read_workloads(reader, contract)
    classes = tuple(dict.fromkeys(item.name for workload in workloads for item in workload.classes if item.name))
    paths: list[KeyPath] = [("workloads", item.name) if item.name else ("workload",) for item in workloads]
    classes_known = not any(reader.problems.broken_inside((*path, "classes")) for path in paths)
    return Grid(
        name=contract.name or PurePath(document.file).stem.strip("<>"),
        description=contract.description,
        axes=read_axes(reader, contract.axes),
        given=read_given(reader, contract),
        workloads=workloads,
        scenarios=read_scenarios(reader, contract.scenarios, classes, classes_known),
        measured=read_measured(reader, contract.capacity),
        catalog=own,
        priced_on=contract.priced_on,
        path=document.file,
        text=document.text,
        sha256=document.sha256,
        outputs=tuple(contract.outputs or ()),
    )


def _check_outputs(problems: Problems, outputs: Sequence[str] | None) -> None:
    """Every name is a measure or `default`, and some name is given where the key is."""
    if outputs is not None and not outputs:
        problems.add(("outputs",), "outputs names no measure; leave it out for those of every cube")
    known = (DEFAULT, *all_measures())
    for place, name in enumerate(outputs or ()):
        if name not in known:
            problems.add(("outputs", place), f"{name} is not a measure{suggestion(name, known)}")


def _catalog(contract: Contract, problems: Problems, folder: CatalogFolder | None) -> tuple[Catalog, Own]:
    """The catalog with the contract's own entries, and those entries; faults in them are problems of the file."""
    from gridplan.catalog import load_catalog

    known = load_catalog() if folder is None else folder.catalog
    own: Own = {
        section: entries
        for section in ("gpus", "models", "instances", "engines")
        if (entries := getattr(contract.catalog, section))
    }
    if "models" in own:
        own["models"] = with_indexes(own["models"], problems, ("catalog", "models"))
    if not own:
        return known, own
    catalog, faults = known.merged(own)
    place_faults(faults, problems, ("catalog",))
    return known if faults else catalog, own


def _written(own: Entries, folder: CatalogFolder | None) -> Entries:
    """Entries of the contract and of the folder, also those at fault: what names them is not at fault."""
    if folder is None:
        return own
    kept = {section: dict(filter(_has_fields, entries.items())) for section, entries in folder.entries.items()}
    return {section: {**kept.get(section, {}), **own.get(section, {})} for section in {**kept, **own}}


def _has_fields(entry: tuple[str, object]) -> bool:
    return isinstance(entry[1], Mapping)
