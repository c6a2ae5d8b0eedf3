"""Names, labels, numbers and files as SQL writes them, so that no label is ever more than a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from gridplan.dictionary import dictionary
from gridplan.store.place import is_remote

__all__ = ["file_list", "listed", "name_sql", "names_in", "number_sql", "read_sql", "text_sql"]

_EXACT_DIGITS = 15
"""Significant digits of a decimal that is read exactly whichever way it becomes a double (fact: IEEE 754 binary64)."""


def text_sql(text: str) -> str:
    """A text in quotes.

    >>> text_sql("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def number_sql(number: float) -> str:
    """A number that is read as exactly this double.

    DuckDB reads `0.1` as a decimal and `1e-1` as a double; above 15 digits only the second is exact.

    >>> number_sql(8192.0), number_sql(0.7), number_sql(0.1 + 0.2), number_sql(1e-7)
    ('8192', '0.7', '0.30000000000000004e0', '1e-07')
    """
    if float(number).is_integer() and abs(number) < 10**_EXACT_DIGITS:
        return str(int(number))
    written = repr(float(number))
    digits = re.sub(r"e.*|[-.]", "", written).lstrip("0")
    return written if "e" in written or len(digits) <= _EXACT_DIGITS else f"{written}e0"


_COUNTS = ("cells", "candidates", "ties")


def name_sql(name: str) -> str:
    """The name of a column; in quotes unless it is one of the data dictionary, or made from one (`count_replicas`).

    None of these is a word of SQL, and neither are those that count cells.

    >>> name_sql("gpu"), name_sql("gpu_rank"), name_sql("order")
    ('gpu', 'gpu_rank', '"order"')
    """
    known = dictionary()
    plain = name in _COUNTS or name in known or name.removesuffix("_rank") in known or name.partition("_")[2] in known
    return name if plain else f'"{name}"'


def names_in(said: str | Iterable[str]) -> list[str]:
    """Names as they are given, or one text of names by commas.

    >>> names_in("model, arrival_rate")
    ['model', 'arrival_rate']
    """
    return [part.strip() for part in said.split(",") if part.strip()] if isinstance(said, str) else list(said)


def listed(names: Iterable[str]) -> str:
    """Names of columns, by commas."""
    return ", ".join(map(name_sql, names))


def read_sql(files: str, more: str = "") -> str:
    """The table that is read from files. A folder named like `gpu=h100` is a folder, and no column.

    >>> read_sql("'facts/part-00000.parquet'")
    "read_parquet('facts/part-00000.parquet', hive_partitioning = false)"
    """
    return f"read_parquet({files}, hive_partitioning = false{more})"


def file_list(folder: Path, files: Sequence[str] | None) -> str:
    """The first argument of `read_parquet`: some files of a folder, or None for all parts by a pattern.

    Signs of a pattern, of a home folder or of a protocol in the folder's own name mean themselves.

    >>> file_list(Path("a[1]"), None)
    "'a[[]1]/facts/part-*.parquet'"
    >>> file_list(Path("cube"), ["facts/part-00003.parquet"])
    "['cube/facts/part-00003.parquet']"
    """
    if is_remote(folder):
        return "[" + ", ".join(text_sql(f"{str(folder).rstrip('/')}/{file}") for file in files or ()) + "]"
    if re.match(r"~|[^/]*:", folder.as_posix()):
        folder = folder.absolute()
    plain = re.sub(r"[*?[]", r"[\g<0>]", folder.as_posix())
    if files is None:
        return text_sql(f"{plain}/facts/part-*.parquet")
    return "[" + ", ".join(text_sql(f"{plain}/{file}") for file in files) + "]"
