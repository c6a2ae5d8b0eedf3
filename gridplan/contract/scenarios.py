"""The scenarios section: named sets of changes, `nominal` first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from gridplan.contract.forms import AddTo, ByLabel, MultiplyBy, PlainOrBy, Stated
from gridplan.contract.grid import By, Change, Scenario
from gridplan.contract.grid import Scalar as Value
from gridplan.contract.labels import unprintable
from gridplan.contract.models import ClassChange, ScenarioEntry
from gridplan.contract.sections import limit_forms
from gridplan.contract.values import Reader
from gridplan.contract.yaml import KeyPath
from gridplan.dictionary import dictionary
from gridplan.errors import suggestion
from gridplan.quantities import parse_quantity

__all__ = ["NOMINAL", "read_scenarios"]

NOMINAL = "nominal"
_NO_LABELS = "a value of a class cannot differ by label"
Op = Literal["set", "multiply", "add"]


def read_scenarios(
    reader: Reader, entries: Mapping[str, ScenarioEntry], classes: tuple[str, ...], classes_known: bool
) -> tuple[Scenario, ...]:
    """The scenarios with `nominal` first (inserted where absent); empty when the file has none.

    `classes` are the names of traffic classes that a scenario may change; `classes_known` is False when the classes
    themselves could not be read.
    """
    if not entries:
        return ()
    found = []
    for name, entry in entries.items():
        path: KeyPath = ("scenarios", name)
        if (reason := unprintable(name)) is not None:
            reader.problems.add(path, reason, at_key=True)
        changes = {key: _change(reader, key, form, (*path, key)) for key, form in entry.stated().items()}
        overrides = {}
        for label, change in entry.classes.items():
            inner = (*path, "classes", label)
            if classes_known and label not in classes:
                hint = suggestion(label, classes) if classes else "; the workload has no classes"
                reader.problems.add(inner, f"unknown class {label}{hint}", at_key=True)
            overrides[label] = _class_changes(reader, change, inner)
        kept = {key: change for key, change in changes.items() if change is not None}
        found.append(Scenario(name, kept, overrides, reader.problems.place(path, at_key=True)))
    nominal = next((item for item in found if item.name == NOMINAL), Scenario(NOMINAL, {}, {}))
    return (nominal, *(item for item in found if item.name != NOMINAL))


def _change(reader: Reader, name: str, form: Any, path: KeyPath) -> Change | None:
    place = reader.problems.place(path)
    if isinstance(form, MultiplyBy | AddTo):
        op: Op = "multiply" if isinstance(form, MultiplyBy) else "add"
        if dictionary()[name].is_label:
            reader.problems.add(path, f"{name} is a text; a scenario cannot {op} it")
            return None
        value = _operand(reader, name, form, (*path, op))
        return None if value is None else Change(op, value, place)
    given = reader.given(name, form, path)
    if given is None:
        return None
    stated = form if isinstance(form, Stated) else None
    return Change("set", given.value, place, *((stated.cls or "", stated.source, stated.as_of) if stated else ()))


def _operand(reader: Reader, name: str, form: MultiplyBy | AddTo, path: KeyPath) -> Value | By | None:
    """The factor or the summand: plain, or one per label."""
    written: PlainOrBy = form.multiply if isinstance(form, MultiplyBy) else form.add
    if not isinstance(written, ByLabel):
        return _plain_operand(reader, name, form, written, path)
    values = {label: _plain_operand(reader, name, form, raw, (*path, label)) for label, raw in written.values.items()}
    default = written.default
    rest = None if default is None else _plain_operand(reader, name, form, default, (*path, "default"))
    if not reader.by_ok(name, written, path):
        return None
    return By(written.by, {label: value for label, value in values.items() if value is not None}, rest)


def _plain_operand(
    reader: Reader, name: str, form: MultiplyBy | AddTo, raw: int | float | str, path: KeyPath
) -> float | None:
    if isinstance(form, AddTo):
        return reader.number(name, raw, path, bounded=False)
    try:
        factor = parse_quantity(raw, "1")
    except ValueError as error:
        reader.problems.add(path, str(error))
        return None
    if factor <= 0:
        reader.problems.add(path, f"a factor must be > 0; {raw} is not (set the value instead)")
        return None
    return factor


def _class_changes(reader: Reader, change: ClassChange, path: KeyPath) -> dict[str, Change]:
    changes = {}
    for name in ("weight", "prompt_tokens", "output_tokens"):
        form, inner = getattr(change, name), (*path, name)
        if form is None:
            continue
        if (found := _class_change(reader, name, form, inner)) is not None:
            changes[name] = found
    own = list(limit_forms(change, path))
    if change.prefix_hit_ratio is not None:
        own.append(("prefix_hit_ratio", change.prefix_hit_ratio, (*path, "prefix_hit_ratio")))
    for name, form, inner in own:
        if isinstance(_unwrapped(form, inner)[1], ByLabel):
            reader.problems.add(inner, _NO_LABELS)
        elif (found := _change(reader, name, form, inner)) is not None:
            changes[name] = found
    return changes


def _class_change(reader: Reader, name: str, form: Any, path: KeyPath) -> Change | None:
    """A change of one class: plain numbers only, because a class has no labels to differ by."""
    op, written, inner = _unwrapped(form, path)
    if isinstance(written, ByLabel):
        reader.problems.add(path, _NO_LABELS)
        return None
    unit = "1" if op == "multiply" or name == "weight" else "tokens"
    try:
        value = parse_quantity(written, unit)
    except ValueError as error:
        reader.problems.add(inner, str(error))
        return None
    low = {"weight": "> 0", "prompt_tokens": ">= 1", "output_tokens": ">= 1"}[name] if op == "set" else "> 0"
    if op != "add" and (value <= 0 or (low == ">= 1" and value < 1)):
        reader.problems.add(inner, f"{name if op == 'set' else 'a factor'} must be {low}; {written} is not")
        return None
    return Change(op, value, reader.problems.place(path))


def _unwrapped(form: Any, path: KeyPath) -> tuple[Op, PlainOrBy, KeyPath]:
    if isinstance(form, MultiplyBy):
        return "multiply", form.multiply, (*path, "multiply")
    if isinstance(form, AddTo):
        return "add", form.add, (*path, "add")
    if isinstance(form, Stated):
        return "set", form.value, (*path, "value")
    return "set", form, path
