"""Which catalog folder counts: the one that is asked for, else the one that the project's pyproject.toml names.

The nearest `pyproject.toml` with a table `[tool.gridplan]`, from a folder upwards, speaks for the project:
`catalog = "DIR"`, relative to that file.
"""

from __future__ import annotations

from os import PathLike
from os.path import abspath, relpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridplan.errors import ContractError, Problem, suggestion

if TYPE_CHECKING:
    from gridplan.contract.catalog_folder import CatalogFolder

__all__ = ["catalog_folder", "find_catalog_folder"]

KEYS = ("catalog",)
NAME = "pyproject.toml"
TABLE = "tool.gridplan"


def catalog_folder(asked: str | PathLike[str] | None, start: str | PathLike[str]) -> CatalogFolder | None:
    """As `find_catalog_folder`, and its problems are raised.

    Raises
    ------
    ContractError
        With every problem of the folder's files.
    """
    folder, problems = find_catalog_folder(asked, start)
    if problems:
        raise ContractError(problems)
    return folder


def find_catalog_folder(
    asked: str | PathLike[str] | CatalogFolder | None, start: str | PathLike[str]
) -> tuple[CatalogFolder | None, tuple[Problem, ...]]:
    """The folder `asked` for, else that of the project around folder `start`, else None; and the problems in it.

    Raises
    ------
    ContractError
        If there is no such folder, it holds no entries, or the pyproject.toml cannot be read.
    """
    if asked is not None:
        return _read(asked) if isinstance(asked, str | PathLike) else (asked, ())
    for parent in (Path(abspath(start)), *Path(abspath(start)).parents):
        settings = _settings(parent / NAME)
        if settings is not None:
            return _configured(parent / NAME, settings)
    return None, ()


def _configured(project: Path, settings: Any) -> tuple[CatalogFolder | None, tuple[Problem, ...]]:
    """The folder that `[tool.gridplan]` names."""
    said = _short(project)
    if not isinstance(settings, dict):
        raise ContractError([Problem("a table is due", said, key=TABLE)])
    text = project.read_text(encoding="utf-8")
    problems = [
        _problem(f"unknown key{suggestion(name, KEYS)}; known: {', '.join(KEYS)}", said, text, name)
        for name in settings
        if name not in KEYS
    ]
    named = settings.get("catalog")
    if "catalog" in settings and (not isinstance(named, str) or not named.strip()):
        problems.append(_problem(f'a folder is due, as in catalog = "catalog", not {named!r}', said, text, "catalog"))
    if problems:
        raise ContractError(problems)
    if named is None:
        return None, ()
    try:
        return _read(_short(project.parent / named), said)
    except ContractError as error:
        found = [
            Problem(f"{problem.message} (named by {said}, {TABLE}.catalog)", problem.file) for problem in error.problems
        ]
        raise ContractError(found) from None


def _read(path: str | PathLike[str], said_by: str = "") -> tuple[CatalogFolder, tuple[Problem, ...]]:
    from gridplan.contract.catalog_folder import read_catalog_folder  # the reader of YAML, only where there is a folder

    return read_catalog_folder(path, said_by)


def _settings(path: Path) -> Any:
    """`[tool.gridplan]` of a pyproject.toml; None where there is no such file or table."""
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise ContractError([Problem(f"cannot be read: {error.strerror}", _short(path))]) from None
    if b"gridplan" not in content:  # nearly every file: it is not parsed, and its faults are not ours to report
        return None
    import tomllib

    try:
        tool = tomllib.loads(content.decode("utf-8")).get("tool")
    except ValueError as error:
        raise ContractError([Problem(f"is not valid TOML: {error}", _short(path))]) from None
    return tool.get("gridplan") if isinstance(tool, dict) else None


def _problem(message: str, file: str, text: str, name: str) -> Problem:
    """A problem at a key below `[tool.gridplan]`; without a line where the key is written in another form."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip().startswith("["):
            inside = line.split("#")[0].strip().replace(" ", "") == f"[{TABLE}]"
        elif inside and line.partition("=")[0].strip().strip("\"'") == name:
            return Problem(message, file, number, len(line) - len(line.lstrip()) + 1, f"{TABLE}.{name}")
    return Problem(message, file, key=f"{TABLE}.{name}")


def _short(path: Path) -> str:
    """The path from the working folder, where that is no longer than the whole one."""
    whole = abspath(path)
    try:
        short = relpath(whole)
    except (ValueError, OSError):
        return whole
    return short if len(short) <= len(whole) else whole
