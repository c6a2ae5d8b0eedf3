"""Columns of text side by side, for tables in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["aligned", "are_numbers"]


def aligned(columns: Sequence[Sequence[str]], to_right: Sequence[bool]) -> list[str]:
    """Lines of columns two spaces apart, each as wide as its widest cell; nothing is ever cut.

    >>> aligned([["model", "llama-3.1-8b"], ["GPUs", "1"]], [False, True])
    ['model         GPUs', 'llama-3.1-8b     1']
    """
    padded = []
    for column, right in zip(columns, to_right, strict=True):
        width = max(map(len, column))
        padded.append([cell.rjust(width) if right else cell.ljust(width) for cell in column])
    return ["  ".join(line).rstrip() for line in zip(*padded, strict=True)]


def are_numbers(items: Sequence[Any]) -> bool:
    """Whether a column stands to the right: numbers and nulls alone, and truths are no numbers.

    >>> are_numbers([1, None, 2.5]), are_numbers([True, 1])
    (True, False)
    """
    return all(item is None or (isinstance(item, (int, float)) and not isinstance(item, bool)) for item in items)
