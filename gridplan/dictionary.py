"""The data dictionary: every axis, input and measure with unit, dtype, meaning, formula, source and class.

One CSV file is the only place where a name gets its unit; attributes of a Dataset, metadata of a Parquet file,
`dims/metric.parquet`, the JSON Schema and `explain` all read it from here.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pkgutil import get_data

__all__ = ["DEFAULT", "Quantity", "all_measures", "axis_role", "dictionary", "inputs", "measures"]


DEFAULT = "default"
"""Among names of measures: those of every cube, to name others beside them."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One row of the dictionary; all fields are text as written there.

    `role` is axis, input, measure (of a cell) or answer (of a grid asked backwards, or of several cells together);
    `scope` says whose quantity it is (model, gpu, replica, service, ...); `bounds` is a condition on x such as
    `0<x<=1`; `choices` lists the labels allowed, separated by `;`.
    """

    role: str
    name: str
    symbol: str
    unit: str
    dtype: str
    scope: str
    section: str
    bounds: str
    choices: str
    default: str
    null_where: str
    cls: str
    long_name: str
    formula: str
    source: str
    meaning: str

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels allowed, in the order of the dictionary; empty where any label is."""
        return tuple(self.choices.split(";")) if self.choices else ()

    @property
    def is_input(self) -> bool:
        """True for what a contract may state; measures and answers are computed."""
        return self.role in ("axis", "input")

    @property
    def on_request(self) -> bool:
        """True for measures that are computed only where they are asked for."""
        return self.default == "on request"

    @property
    def is_label(self) -> bool:
        """True for text quantities."""
        return self.dtype == "string"


@lru_cache(maxsize=1)
def dictionary() -> Mapping[str, Quantity]:
    """All quantities by name, in the order of the file.

    >>> dictionary()["arrival_rate"].unit
    'req/s'
    """
    names = {item.name: ("class" if item.name == "cls" else item.name) for item in fields(Quantity)}
    data = get_data("gridplan", "dictionary.csv")  # importlib.resources would take longer to load than the file
    if data is None:
        raise FileNotFoundError("dictionary.csv")
    lines = csv.DictReader(data.decode("utf-8").splitlines())
    rows = [Quantity(**{to: row[column] for to, column in names.items()}) for row in lines]
    return {row.name: row for row in rows}


@lru_cache(maxsize=1)
def all_measures() -> tuple[str, ...]:
    """Names of all measures, in the order of the columns."""
    return tuple(name for name, row in dictionary().items() if row.role == "measure")


@lru_cache(maxsize=1)
def measures() -> tuple[str, ...]:
    """Names of the measures of every cube: all but those that are computed on request."""
    return tuple(name for name in all_measures() if not dictionary()[name].on_request)


@lru_cache(maxsize=1)
def inputs() -> tuple[str, ...]:
    """Names of all inputs, axes among them."""
    return tuple(name for name, row in dictionary().items() if row.is_input)


def axis_role(name: str) -> str:
    """`lever` for an axis of class policy (GPU, parallelism, formats, targets, spares, purchase), else `uncertainty`.

    Scenarios, workloads, traffic, prices and samples are what the world does.

    >>> axis_role("tensor_parallel"), axis_role("arrival_rate"), axis_role("scenario")
    ('lever', 'uncertainty', 'uncertainty')
    """
    row = dictionary().get(name)
    return "lever" if row is not None and row.cls == "policy" else "uncertainty"
