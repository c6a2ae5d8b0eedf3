"""From a contract file to a `Grid`, or to one error that names every problem of the file."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from gridplan.contract.axes import read_axes
from gridplan.contract.context import Context
from gridplan.contract.grid import Grid
from gridplan.contract.labels import LabelBook, unprintable
from gridplan.contract.measured import read_measured
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
from gridplan.contract.yaml import Document, KeyPath, dotted, parse_document, read_document
from gridplan.errors import CatalogError, Problem

if TYPE_CHECKING:
    from gridplan.catalog import Catalog

__all__ = ["load_grid", "loads_grid"]

INDEX = "safetensors_index"
"""Key of a catalog entry for a model: the index of its checkpoint, a file beside the contract."""


def load_grid(path: str | PathLike[str]) -> Grid:
    """Read a contract file.

    Raises
    ------
    ContractError
        With every problem of the file, each at its line and column and with the nearest valid name.
    """
    return _load(read_document(fspath(path)))


def loads_grid(text: str, path: str = "<text>") -> Grid:
    """Read a contract from a text; `path` is the name that problems carry.

    Raises
    ------
    ContractError
        As `load_grid` does.

    >>> grid = loads_grid("schema: 1\\nworkload: {arrival_rate: 90 req/min}\\npolicy: {rho_target: 0.7}")
    >>> grid.workloads[0].given["arrival_rate"].value
    1.5
    """
    return _load(parse_document(text, path))


def _load(document: Document) -> Grid:
    problems = Problems(document)
    contract = parse_structure(problems)
    catalog, own = _catalog(contract, problems)
    labels = LabelBook(catalog, own)
    reader = Reader(problems, labels, tuple(contract.workloads or ()))
    grid = _grid(reader, contract, document, own)
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
    workloads = read_workloads(reader, contract)
    classes = tuple(dict.fromkeys(item.name for workload in workloads for item in workload.classes))
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
    )


def _catalog(
    contract: Contract, problems: Problems
) -> tuple[Catalog, Mapping[str, Mapping[str, Mapping[str, object]]]]:
    """The catalog with the contract's own entries, and those entries; faults in them are problems of the file."""
    from gridplan.catalog import load_catalog

    shipped = load_catalog()
    own = {section: entries for section in ("gpus", "models", "instances", "engines")
           if (entries := getattr(contract.catalog, section))}  # fmt: skip
    if "models" in own:
        own["models"] = {name: _with_index(name, entry, problems) for name, entry in own["models"].items()}
    if not own:
        return shipped, own
    try:
        return shipped.with_entries(own), own
    except CatalogError as error:
        paths = {dotted(path): path for path in problems.document.values if path[:1] == ("catalog",)}
        for problem in error.problems:
            _place(problem, paths, problems)
        return shipped, own


def _with_index(name: str, entry: Any, problems: Problems) -> Any:
    """An entry whose `safetensors_index` is read: a path beside the contract becomes the bytes of the checkpoint."""
    from gridplan.catalog.safetensors import index_bytes

    if not isinstance(entry, Mapping) or INDEX not in entry:
        return entry
    path: KeyPath = ("catalog", "models", name, INDEX)
    index = entry[INDEX]
    rest = {"checkpoint_bytes": None, **{key: value for key, value in entry.items() if key != INDEX}}
    if "checkpoint_bytes" in entry:
        problems.add(path, f"checkpoint_bytes and {INDEX} are two counts of the same bytes: give one", at_key=True)
    elif not isinstance(index, str):
        problems.add(path, f"a path to a model.safetensors.index.json is due, not {index!r}")
    else:
        try:
            rest["checkpoint_bytes"] = index_bytes(Path(problems.document.file).parent / index)
            rest.setdefault("source", f"{index}, metadata.total_size")
        except ValueError as error:
            problems.add(path, str(error))
    return rest


def _place(problem: Problem, paths: Mapping[str, KeyPath], problems: Problems) -> None:
    path = paths.get(problem.key or "")
    if path is None:
        problems.extend([Problem(problem.message, problems.document.file, 1, 1, problem.key)])
    else:
        problems.add(path, problem.message, at_key=True)
