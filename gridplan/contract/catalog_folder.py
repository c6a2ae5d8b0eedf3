"""A folder of catalog entries that a person keeps beside contracts: one YAML file a section, over the shipped catalog.

`gpus.yaml`, `models.yaml`, `instances.yaml` and `engines.yaml` each map ids to fields, as a section of `catalog:` in a
contract does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from os.path import abspath
from pathlib import Path
from typing import Any

from gridplan.catalog import Catalog, load_catalog
from gridplan.contract.entries import place_faults, with_indexes
from gridplan.contract.grid import Place
from gridplan.contract.problems import Problems
from gridplan.contract.yaml import Form, read_document
from gridplan.errors import ContractError, Problem, suggestion

__all__ = ["CatalogFolder", "read_catalog_folder"]

FILES: Mapping[str, str] = {f"{section}.yaml": section for section in ("gpus", "models", "instances", "engines")}
FORM: Form = ("a file of the catalog", "holds entries by id")

Entries = Mapping[str, Mapping[str, Mapping[str, object]]]


@dataclass(frozen=True, slots=True, eq=False)
class CatalogFolder:
    """What a catalog folder adds.

    `path` is the folder as it was given and `said_by` who gave it (empty, or the pyproject.toml); `entries` are the
    fields by section and id; `catalog` is the shipped one with them; `places` says where each entry stands, `sha256`
    what each file held.
    """

    path: str
    said_by: str
    entries: Entries
    catalog: Catalog
    places: Mapping[tuple[str, str], Place]
    sha256: Mapping[str, str]

    @property
    def name(self) -> str:
        """The last part of the path, which does not change when the whole project moves."""
        return _name(self.path)

    def __str__(self) -> str:
        """The folder in words: `ours (pyproject.toml): 1 gpu, 2 instances`."""
        held = (f"{len(rows)} {section[: -1 if len(rows) == 1 else None]}" for section, rows in self.entries.items())
        return f"{self.path}{f' ({self.said_by})' if self.said_by else ''}: {', '.join(held)}"


def read_catalog_folder(path: str | PathLike[str], said_by: str = "") -> tuple[CatalogFolder, tuple[Problem, ...]]:
    """The folder, and every problem of its files; entries at fault are left out of its catalog.

    Raises
    ------
    ContractError
        If there is no such folder, or it holds no file of entries.
    """
    folder = Path(path)
    found: list[Problem] = []
    documents: list[tuple[str, Problems]] = []
    for name in _files(folder, fspath(path)):
        if name not in FILES:
            known = f"{suggestion(name, FILES)}; a catalog folder holds {', '.join(FILES)}"
            found.append(Problem(f"unknown file{known}", str(folder / name)))
            continue
        try:
            documents.append((FILES[name], Problems(read_document(folder / name, FORM))))
        except ContractError as error:
            found += error.problems
    origins = {section: f"{_name(path)}/{section}.yaml".removeprefix("/") for section in FILES.values()}
    entries = {section: _entries(section, problems) for section, problems in documents}
    catalog, faults = load_catalog().merged(entries, origins)
    for section, problems in documents:
        of_section = [fault for fault in faults if (fault.key or "").split(".")[1:2] == [section]]
        place_faults(of_section, problems, (), ("catalog", section))
        found += problems.found
    places = {
        (section, name): problems.place((name,), at_key=True)
        for section, problems in documents
        for name in entries[section]
    }
    hashes = {f"{section}.yaml": problems.document.sha256 for section, problems in documents}
    read = CatalogFolder(fspath(path), said_by, entries, catalog, places, hashes)
    return read, tuple(sorted(found, key=lambda item: (item.file or "", item.line or 0, item.column or 0)))


def _name(path: str | PathLike[str]) -> str:
    """The folder's own name; what cannot be printed or written as UTF-8 becomes `?`."""
    return "".join(sign if sign.isprintable() else "?" for sign in Path(abspath(path)).name)


def _files(folder: Path, said: str) -> list[str]:
    """Names of the YAML files in the folder: those it may hold in their order, then any other."""
    try:
        if not said.strip():
            raise ContractError([Problem("a catalog folder is due, not an empty name")])
        if not folder.exists():
            raise ContractError([Problem(f"no such catalog folder{_neighbours(folder)}", said)])
        if not folder.is_dir():
            raise ContractError([Problem("is no folder; a catalog folder holds " + ", ".join(FILES), said)])
        names = sorted(entry.name for entry in folder.iterdir() if entry.suffix.lower() in (".yaml", ".yml"))
    except (OSError, ValueError) as error:
        raise ContractError([Problem(f"cannot be read: {getattr(error, 'strerror', None) or error}", said)]) from None
    shown = [name for name in names if not name.startswith(".")]
    if not shown:
        raise ContractError([Problem(f"holds none of {', '.join(FILES)}", said)])
    return [*(name for name in FILES if name in shown), *(name for name in shown if name not in FILES)]


def _neighbours(folder: Path) -> str:
    """The folders beside a missing one that look like it."""
    if not folder.parent.is_dir():
        return ""
    return suggestion(folder.name, sorted(entry.name for entry in folder.parent.iterdir() if entry.is_dir()))


def _entries(section: str, problems: Problems) -> dict[str, Any]:
    """The entries of one file, with the files read that they point to."""
    entries = dict(problems.document.data)
    block = entries.get("catalog")
    if isinstance(block, Mapping) and any(name in FILES.values() for name in block):
        hint = "`gridplan catalog import-model --entry` prints one" if section == "models" else "give them alone"
        message = f"is a section of a contract; a file of a catalog folder holds entries by id: {hint}"
        problems.add(("catalog",), message, at_key=True)
        del entries["catalog"]
    return with_indexes(entries, problems, ()) if section == "models" else entries
