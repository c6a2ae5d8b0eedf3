"""Labels inside the chain are small integers; this module owns the vocabularies.

A label array holds the position of its label in a tuple of labels, -1 for null.
"""

from __future__ import annotations

from gridplan.dictionary import dictionary

__all__ = ["LIMITS", "NULL", "TIE", "choices", "code"]

NULL = -1

TIE = 1e-9
"""Limits closer than this, relative to the lower one, bind together (policy of this project, 2026-11-29)."""

LIMITS = ("memory", "compute", "scheduler", "prefill", "ttft", "tpot", "e2e", "itl", "measured")
"""What can limit the rate of one replica here, in the order in which ties are named."""


def choices(name: str) -> tuple[str, ...]:
    """Labels that quantity `name` can take, in the order of the dictionary."""
    return dictionary()[name].labels


def code(name: str, label: str) -> int:
    """Position of `label` among the labels of quantity `name`."""
    return choices(name).index(label)
