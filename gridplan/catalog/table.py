"""One CSV file of the package as rows of text, and the numbers and provenance in them."""

from __future__ import annotations

import csv
from decimal import Decimal
from pkgutil import get_data
from typing import Any

__all__ = ["Row", "count", "provenance", "read_table", "scaled"]

Row = dict[str, str]


def read_table(name: str) -> list[Row]:
    """The rows of `data/<name>` by column, in the order of the file."""
    data = get_data("gridplan.catalog", f"data/{name}")  # importlib.resources loads slower than all these files
    if data is None:
        raise FileNotFoundError(name)
    return list(csv.DictReader(data.decode("utf-8").splitlines()))


def scaled(text: str, factor: int = 1) -> float | None:
    """A decimal text times a factor, exact until the last step; None where the field is empty."""
    return float(Decimal(text) * factor) if text else None


def count(text: str) -> int | None:
    """A whole number; None where the field is empty."""
    return int(text) if text else None


def provenance(row: Row) -> dict[str, Any]:
    """Class, source, date and notes of a row, as entries name them."""
    return {"cls": row["class"], "source": row["source"], "as_of": row["as_of"], "notes": row["notes"]}
