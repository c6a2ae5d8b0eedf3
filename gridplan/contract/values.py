"""From the written form of an input's value to its number or label, checked against the dictionary and the catalog."""

from __future__ import annotations

import math
from datetime import date

from gridplan.contract.bounds import bounds_of
from gridplan.contract.forms import ByLabel, PlainOrBy, Stated
from gridplan.contract.grid import By, Given, Scalar
from gridplan.contract.labels import LabelBook
from gridplan.contract.problems import Problems
from gridplan.contract.yaml import KeyPath
from gridplan.dictionary import dictionary, inputs
from gridplan.errors import suggestion
from gridplan.quantities import parse_quantity

__all__ = ["Reader", "out_of_bounds"]


class Reader:
    """Reads values of one contract; what is wrong goes to `problems`, and the result is None."""

    def __init__(self, problems: Problems, labels: LabelBook, workloads: tuple[str, ...] = ()) -> None:
        self.problems, self.labels, self.workloads = problems, labels, workloads

    def given(self, name: str, form: PlainOrBy | Stated, path: KeyPath) -> Given | None:
        """A stated input with its provenance; the class is the dictionary's where the file names none."""
        if not isinstance(form, Stated):
            value = self.value(name, form, path)
            cls, source, as_of = None, "", ""
        else:
            value = self.value(name, form.value, (*path, "value"))
            cls, source, as_of = form.cls, form.source, form.as_of
        if as_of:
            self.date(as_of, (*path, "as_of"))
        if value is None:
            return None
        return Given(value, cls or dictionary()[name].cls, source or "contract", as_of, self.problems.place(path))

    def value(self, name: str, form: PlainOrBy, path: KeyPath) -> Scalar | By | None:
        """A number, a label, or one of them per label of a dimension."""
        if not isinstance(form, ByLabel):
            return self.scalar(name, form, path)
        values = {label: self.scalar(name, raw, (*path, label)) for label, raw in form.values.items()}
        default = None if form.default is None else self.scalar(name, form.default, (*path, "default"))
        if not self.by_ok(name, form, path):
            return None
        return By(form.by, {label: value for label, value in values.items() if value is not None}, default)

    def by_ok(self, name: str, form: ByLabel, path: KeyPath) -> bool:
        """Whether the dimension and the labels of a `by` exist, and nothing in it is wrong."""
        if self._dimension(name, form.by, (*path, "by")):
            for label in form.values:
                self._by_label(form.by, label, (*path, label))
            if not form.values:
                self.problems.add(path, f"by {form.by} names no {form.by}; write a plain value or name one")
        return not self.problems.broken_inside(path)

    def scalar(self, name: str, raw: Scalar, path: KeyPath) -> Scalar | None:
        """A number in base units, or a label."""
        row = dictionary()[name]
        if name.endswith("_percentile"):
            return self._percentile(name, raw, path)
        if not row.is_label:
            return self.number(name, raw, path)
        if not isinstance(raw, str):
            self.problems.add(path, f"{name} is a text; {raw!r} is a number: put it in quotes if it is a name")
            return None
        if (reason := self.labels.problem(name, raw)) is not None:
            self.problems.add(path, reason)
            return None
        return raw

    def number(self, name: str, raw: Scalar, path: KeyPath, bounded: bool = True) -> float | None:
        """A number in base units; `bounded` asks for the bounds of the input, and for a whole one where it is."""
        try:
            number = parse_quantity(raw, dictionary()[name].unit)
        except ValueError as error:
            self.problems.add(path, str(error))
            return None
        if bounded and (reason := out_of_bounds(name, number, str(raw))) is not None:
            self.problems.add(path, reason)
            return None
        return number + 0.0  # -0.0 becomes 0.0

    def date(self, text: str, path: KeyPath) -> None:
        """Note a date that is not written as YYYY-MM-DD."""
        try:
            written = date.fromisoformat(text).isoformat() == text
        except ValueError:
            written = False
        if not written:
            self.problems.add(path, f"{text!r} is not a date; write YYYY-MM-DD")

    def _percentile(self, name: str, raw: Scalar, path: KeyPath) -> str | None:
        bounds = bounds_of(name)
        if raw == "mean":
            return "mean"
        if isinstance(raw, str) or not bounds.holds(float(raw)):
            self.problems.add(path, f"{name} must be mean, or a number {bounds}; {raw!r} is not")
            return None
        return f"{float(raw):.12g}"

    def _dimension(self, name: str, dimension: str, path: KeyPath) -> bool:
        """Whether values may differ by that dimension: any that has labels, but not the input itself."""
        rows = dictionary()
        known = [key for key in inputs() if rows[key].is_label and key != "scenario"]
        if dimension == name:
            self.problems.add(path, f"{name} cannot differ by itself")
        elif dimension == "scenario":
            self.problems.add(path, "values by scenario are written under scenarios")
        elif dimension in rows and dimension not in known:
            self.problems.add(path, f"{dimension} has no labels; by takes one of {', '.join(known)}")
        elif dimension not in known:
            self.problems.add(path, f"unknown dimension {dimension}{suggestion(dimension, known)}")
        elif dimension == "workload" and not self.workloads:
            self.problems.add(path, "by workload needs the section workloads")
        else:
            return True
        return False

    def _by_label(self, dimension: str, label: str, path: KeyPath) -> None:
        if dimension == "workload":
            if label not in self.workloads:
                self.problems.add(path, f"unknown workload {label}{suggestion(label, self.workloads)}", at_key=True)
        elif (reason := self.labels.problem(dimension, label)) is not None:
            self.problems.add(path, reason, at_key=True)


def out_of_bounds(name: str, number: float, written: str) -> str | None:
    """Why a number cannot be a value of input `name`, or None when it can.

    >>> out_of_bounds("rho_target", 1.2, "1.2")
    'rho_target must be > 0 and <= 1; 1.2 is not'
    """
    bounds = bounds_of(name)
    if not math.isfinite(number):
        return f"{name} must be a finite number; {written} is not"
    if not bounds.holds(number):
        return f"{name} must be {bounds}; {written} is not"
    if dictionary()[name].dtype == "int64" and number != int(number):
        return f"{name} must be a whole number; {written} is not"
    return None
