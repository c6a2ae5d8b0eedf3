"""The axes of a grid: a list, an even or geometric row of numbers, or a selection of a catalog.

Labels of one axis are all texts or all numbers, are given once each, and numbers are rounded to 12 significant digits,
so that `0.1 + 0.2` and `0.3` are one label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from gridplan.contract.faults import unknown_input
from gridplan.contract.forms import Arange, AxisForm, CatalogAxis, Geomspace, Linspace
from gridplan.contract.grid import Axis, Scalar
from gridplan.contract.values import Reader, out_of_bounds
from gridplan.contract.yaml import KeyPath
from gridplan.dictionary import dictionary
from gridplan.errors import CatalogError

__all__ = ["LARGEST_AXIS", "read_axes", "rounded"]

LARGEST_AXIS = 1_000_000
_CATALOGS = {"gpu": "gpus", "model": "models", "instance": "instances"}
_ON_GRID = Fraction(1, 10**9)  # how near to a whole number of steps the last label of an arange must lie


def rounded(value: float) -> float:
    """A numeric label: 12 significant digits.

    >>> rounded(0.1 + 0.2)
    0.3
    """
    return float(f"{value:.12g}")


def read_axes(reader: Reader, forms: Mapping[str, AxisForm]) -> tuple[Axis, ...]:
    """The axes in the order of the file; an axis with a problem is left out."""
    axes = []
    for name, form in forms.items():
        path: KeyPath = ("axes", name)
        row = dictionary().get(name)
        if row is None or not row.is_input or name in ("workload", "scenario", "sample"):
            reader.problems.add(path, unknown_input(name, "an input, so it cannot be an axis"), at_key=True)
            continue
        labels = _labels(reader, name, form, path)
        if labels is not None:
            axes.append(Axis(name, tuple(labels), reader.problems.place(path, at_key=True)))
    return tuple(axes)


def _labels(reader: Reader, name: str, form: AxisForm, path: KeyPath) -> Sequence[Scalar] | None:
    if isinstance(form, list):
        labels = _listed(reader, name, form, path)
    elif isinstance(form, CatalogAxis):
        return _selected(reader, name, form, path)
    else:
        labels = _generated(reader, name, form, path)
    if reader.problems.broken_inside(path) or labels is None:
        return None
    return labels if _distinct(reader, labels, path, isinstance(form, list)) else None


def _listed(reader: Reader, name: str, items: Sequence[Scalar], path: KeyPath) -> Sequence[Scalar] | None:
    if not items:
        reader.problems.add(path, "has no labels; an axis has at least one")
        return None
    if len(items) > LARGEST_AXIS:
        reader.problems.add(path, f"has {len(items):,} labels; at most {LARGEST_AXIS:,}")
        return None
    values = [reader.scalar(name, item, (*path, index)) for index, item in enumerate(items)]
    return [rounded(value) if isinstance(value, float) else value for value in values if value is not None]


def _distinct(reader: Reader, labels: Sequence[Scalar], path: KeyPath, listed: bool) -> bool:
    first: dict[Scalar, int] = {}
    for index, label in enumerate(labels):
        if label in first:
            shown = label if isinstance(label, str) else f"{label:.12g}"
            where = (*path, index) if listed else path
            reader.problems.add(where, f"label {shown} is given twice (items {first[label] + 1} and {index + 1})")
        first.setdefault(label, index)
    return len(first) == len(labels)


def _selected(reader: Reader, name: str, form: CatalogAxis, path: KeyPath) -> Sequence[Scalar] | None:
    from gridplan import catalog as shipped

    if _CATALOGS.get(name) != form.catalog:
        right = f"write catalog: {_CATALOGS[name]}" if name in _CATALOGS else "only gpu, model and instance have one"
        reader.problems.add((*path, "catalog"), f"axis {name} cannot take the catalog of {form.catalog}; {right}")
        return None
    select = {"gpus": shipped.select_gpus, "models": shipped.select_models, "instances": shipped.select_instances}
    try:
        return select[form.catalog](reader.labels.catalog, form.where)
    except CatalogError as error:
        for problem in error.problems:
            condition = (problem.key or "").removeprefix("where.")
            place = (*path, "where", condition) if condition in form.where else path
            reader.problems.add(place, problem.message)
        return None


def _generated(
    reader: Reader, name: str, form: Linspace | Geomspace | Arange, path: KeyPath
) -> Sequence[Scalar] | None:
    kind = type(form).__name__.lower()
    inner = (*path, kind)
    row = dictionary()[name]
    if row.is_label:
        reader.problems.add(inner, f"{name} has texts for labels; write a list")
        return None
    parts: tuple[Scalar, Scalar, Scalar] = getattr(form, kind)
    count_of = 3 if isinstance(form, Arange) else 2
    numbers = [reader.number(name, part, (*inner, i), bounded=i < 2) for i, part in enumerate(parts[:count_of])]
    if any(number is None for number in numbers):
        return None
    start, stop, *rest = [number for number in numbers if number is not None]
    if isinstance(form, Arange):
        labels = _arange(reader, start, stop, rest[0], (*inner, 2))
    else:
        labels = _spaced(reader, kind, start, stop, int(parts[2]), inner)
    return None if labels is None else _checked(reader, name, labels, inner)


def _exact(value: float) -> Fraction:
    """The decimal that was written: 0.1 is one tenth, not the float beside it."""
    return Fraction(repr(value))


def _spaced(reader: Reader, kind: str, start: float, stop: float, count: int, path: KeyPath) -> list[float] | None:
    if not 2 <= count <= LARGEST_AXIS:
        reader.problems.add((*path, 2), f"the number of labels must be from 2 to {LARGEST_AXIS:,}; {count} is not")
        return None
    if kind == "linspace":
        first, step = _exact(start), (_exact(stop) - _exact(start)) / (count - 1)
        return [float(first + index * step) for index in range(count)]
    if start <= 0 or stop <= 0:
        reader.problems.add(path, "a geomspace needs ends > 0")
        return None
    shares = (index / (count - 1) for index in range(1, count - 1))
    return [start, *(start ** (1 - share) * stop**share for share in shares), stop]


def _arange(reader: Reader, start: float, stop: float, step: float, path: KeyPath) -> list[float] | None:
    if step == 0 or (stop - start) * step < 0:
        reader.problems.add(path, f"a step of {step:g} does not lead from {start:g} to {stop:g}")
        return None
    first, width = _exact(start), _exact(step)
    steps = int((_exact(stop) - first) / width + _ON_GRID)
    if steps >= LARGEST_AXIS:
        reader.problems.add(path, f"gives {steps + 1:,} labels; at most {LARGEST_AXIS:,}")
        return None
    return [float(first + index * width) for index in range(steps + 1)]


def _checked(reader: Reader, name: str, labels: Sequence[float], path: KeyPath) -> Sequence[Scalar] | None:
    """Rounded labels; those between the ends can only fail to be whole."""
    result = [rounded(label) for label in labels]
    for label in result:
        if (reason := out_of_bounds(name, label, f"{label:g}")) is not None:
            reader.problems.add(path, f"{reason}; write a list")
            return None
    return result
