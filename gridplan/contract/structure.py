"""From plain data to the frozen models: every fault of structure becomes a problem, and what is at fault is left out.

Leaving it out lets the rules about units, labels and agreement run on the rest, so that one reading finds all problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic_core import SchemaValidator, ValidationError

from gridplan.contract.faults import fault_message
from gridplan.contract.forms import CHANGE, LENGTH, VALUE
from gridplan.contract.models import Contract, Section, section_inputs
from gridplan.contract.problems import Problems
from gridplan.contract.shapes import Shape, shape_of
from gridplan.contract.yaml import KeyPath

__all__ = ["parse_structure"]

_SECTIONS = ("workload", "slo", "deployment", "capacity", "policy")
_RANDOM = ("prompt_tokens", "output_tokens")  # what a workload may state as a distribution
_MAY_BE_EMPTY = (*_SECTIONS, "workloads", "catalog", "axes", "scenarios")


def parse_structure(problems: Problems) -> Contract:
    """The document of `problems` as models, without the parts that are wrong (each of them noted)."""
    data = _copy(problems.document.data)
    for path in sorted(problems.broken_paths, key=len):
        _prune(data, path)
    _drop_empty(data, (), problems)
    for path, raw, validate in list(_inputs(data)):
        parent = _at(data, path[:-1])
        try:
            parent[path[-1]] = validate(raw)
        except ValidationError as error:
            _note(error, path, raw, problems)
            _prune(data, path)
    while True:
        try:
            return _contract_validator()(data)
        except ValidationError as error:
            pruned = [_prune(data, _whole(path)) for path in _note(error, (), data, problems)]
        if "schema" not in data:
            data["schema"] = 1
        elif not any(pruned):
            problems.raise_if_any()


def _copy(node: Any) -> Any:
    if isinstance(node, Mapping):
        return {key: _copy(value) for key, value in node.items()}
    return [_copy(item) for item in node] if isinstance(node, list) else node


def _at(data: Any, path: KeyPath) -> Any:
    for part in path:
        data = data[part]
    return data


def _whole(path: KeyPath) -> KeyPath:
    """The path of the value that an entry is part of: half a value is no value."""
    match path:
        case ("axes", _, *_):
            return path[:2]
        case ("slo", _, _, *_):
            return path[:3]
        case ("scenarios", _, "classes", _, _, *_):
            return path[:5]
    return path


def _prune(data: Any, path: KeyPath) -> bool:
    """Remove an entry; of a list everything goes, because one item less would mean something else.

    Returns whether there was something to remove.
    """
    cut = next((index for index, part in enumerate(path) if isinstance(part, int)), len(path))
    for part in path[: cut - 1]:
        if not isinstance(data, dict) or part not in data:
            return False
        data = data[part]
    return bool(cut) and isinstance(data, dict) and data.pop(path[cut - 1], data) is not data


def _drop_empty(node: Any, path: KeyPath, problems: Problems) -> None:
    """A section or a scenario may be left empty; any other key without a value is a problem."""
    if isinstance(node, list):
        for index, item in enumerate(node):
            if item is None:
                problems.add((*path, index), "has no value")
            _drop_empty(item, (*path, index), problems)
        return
    if not isinstance(node, dict):
        return
    for key, value in list(node.items()):
        entry = (*path, key)
        if value is not None:
            _drop_empty(value, entry, problems)
        elif (not path and key in _MAY_BE_EMPTY) or (path == ("scenarios",)):
            node[key] = {}
        else:
            if not problems.broken(entry):
                problems.add(entry, "has no value")
            del node[key]
    for key in [key for key, value in node.items() if isinstance(value, list) and None in value]:
        del node[key]


@lru_cache(maxsize=1)
def _contract_validator() -> Callable[[object], Contract]:
    return _validator(shape_of(Contract))


@lru_cache(maxsize=1)
def _value_validators() -> tuple[Callable[[object], Any], ...]:
    return _validator(VALUE), _validator(CHANGE), _validator(LENGTH)


def _validator(shape: Shape) -> Callable[[object], Any]:
    schema: Any = shape.core
    return SchemaValidator(schema).validate_python


def _inputs(data: Mapping[str, Any]) -> Iterator[tuple[KeyPath, object, Callable[[object], Any]]]:
    """Every stated input with its path and what checks its form."""
    names = frozenset(section_inputs())
    value, change, length = _value_validators()
    groups: list[tuple[KeyPath, Any, Callable[[object], Any]]] = [
        ((name,), data.get(name), value) for name in _SECTIONS
    ]
    for plural, validate in (("workloads", value), ("scenarios", change)):
        members = data.get(plural)
        if isinstance(members, dict):
            groups += [((plural, name), member, validate) for name, member in members.items()]
    for path, group, validate in groups:
        if isinstance(group, dict):
            traffic = path[0] in ("workload", "workloads")
            for name, raw in group.items():
                if name in names:
                    yield (*path, name), raw, length if traffic and name in _RANDOM else validate


def _note(error: ValidationError, prefix: KeyPath, root: object, problems: Problems) -> list[KeyPath]:
    """Turn pydantic's errors about `root`, which stands at `prefix`, into problems; returns what to leave out."""
    left_out: list[KeyPath] = []
    for item in error.errors(include_url=False):
        location: KeyPath = item["loc"]
        path = (*prefix, *_written(location, root))
        if item["type"] != "missing":
            problems.add(
                path, fault_message(item["type"], location, path, item), at_key=item["type"] == "extra_forbidden"
            )
        elif location == ("schema",):
            problems.add(location, "is missing; a contract starts with `schema: 1`")
        elif isinstance(location[-1], int):
            problems.add(path, "must have three items")
        else:
            problems.add(path, f"{location[-1]} is missing")
        left_out.append(path)
    return left_out


def _written(location: KeyPath, node: Any) -> KeyPath:
    """The parts of pydantic's location that are keys of the file; the others name members of unions."""
    path: list[str | int] = []
    for part in location:
        if isinstance(node, Section):
            node = {key: getattr(node, key) for key in node.given_keys}
        known = part in node if isinstance(node, dict) else isinstance(node, list) and part in range(len(node))
        if known:
            node = node[part]
            path.append(part)
    return tuple(path)
