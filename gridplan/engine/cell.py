"""Which cell of a cube a person means: labels as written, as text, or as a summary prints them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gridplan.engine.bundle import Inputs
from gridplan.engine.field import Field
from gridplan.errors import Problem
from gridplan.labels import label_positions, listed

__all__ = ["cell_index", "cut_ranges", "cut_to", "label_index", "label_positions"]


def cell_index(inputs: Inputs, labels: Mapping[str, str | float]) -> dict[str, int]:
    """Position along every dimension of the cell that `labels` name.

    Raises ContractError if an axis is unknown or not fixed, or a label is not on its axis, with the nearest labels.
    """
    problems = []
    single = {name: 0 for name, axis in inputs.space.labels.items() if len(axis) == 1}
    nominal = {name: axis.index("nominal") for name, axis in inputs.space.labels.items() if name == "scenario"}
    for name, axis in inputs.space.labels.items():
        if name not in (*labels, *single, *nominal):
            problems.append(Problem(f"fix {name} at one of: {listed(axis)}", key=name))
    return single | nominal | label_positions(inputs.space.labels, labels, problems)


def label_index(inputs: Inputs, labels: Mapping[str, str | float]) -> dict[str, int]:
    """Positions of the given labels along their dimensions; dimensions that none fixes are left out.

    Raises ContractError if an axis is unknown or a label is not on its axis, with the nearest labels.
    """
    return label_positions(inputs.space.labels, labels)


def cut_to(inputs: Inputs, index: Mapping[str, int]) -> Inputs:
    """The same inputs with the dimensions of `index` cut down to the label at that position."""
    return cut_ranges(inputs, {name: range(place, place + 1) for name, place in index.items()})


def cut_ranges(inputs: Inputs, ranges: Mapping[str, range]) -> Inputs:
    """The same inputs with the dimensions of `ranges` cut down to the labels at those positions, without steps."""
    names = inputs.space.names

    def cut(item: Field) -> Field:
        if item.dims.isdisjoint(ranges):
            return item
        place = tuple(
            slice(ranges[name].start, ranges[name].stop)
            if name in ranges and item.data.shape[axis] > 1
            else slice(None)
            for axis, name in enumerate(names)
        )
        return Field(item.data[place], item.dims)

    labels = inputs.space.labels
    space = type(inputs.space)(
        {
            name: labels[name][ranges[name].start : ranges[name].stop] if name in ranges else labels[name]
            for name in names
        }
    )
    fields = {
        part: {name: cut(item) for name, item in getattr(inputs, part).items()}
        for part in ("values", "labels", "stated")
    }
    return replace(inputs, space=space, **fields)  # type: ignore[arg-type]
