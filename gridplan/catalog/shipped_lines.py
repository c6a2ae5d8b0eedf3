"""Where each shipped entry stands: the file below the package and the line in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gridplan.catalog.table import Row, read_table

__all__ = ["shipped_lines"]

_IDS: Mapping[str, Callable[[Row], str]] = {
    "gpus": lambda row: row["id"],
    "models": lambda row: row["id"],
    "instances": lambda row: row["id"],
    "engines": lambda row: f"{row['name']}@{row['version_from']}",
    "dtypes": lambda row: f"{row['role']}/{row['name']}",
}


def shipped_lines(kind: str) -> dict[str, tuple[str, int]]:
    """File and line by id. A row is a line: no field of these files holds a line break.

    >>> shipped_lines("gpus")["v100-sxm2-16gb"]
    ('gridplan/catalog/data/gpus.csv', 2)
    """
    rows = read_table(f"{kind}.csv")
    return {_IDS[kind](row): (f"gridplan/catalog/data/{kind}.csv", line) for line, row in enumerate(rows, 2)}
