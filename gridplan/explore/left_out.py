"""Why a cell may not be chosen, as a column of its own: the rules of `gridplan.cheapest`, cell by cell."""

from __future__ import annotations

import numpy as np

from gridplan.explore.box import Box
from gridplan.sensitivity.options import options_of
from gridplan.sensitivity.question import Question
from gridplan.sensitivity.source import ASKED_CHECKS, CHECKS
from gridplan.store.columns import Column

__all__ = ["LEFT_OUT", "READ", "with_left_out"]

LEFT_OUT = "left_out"
"""The column: null where the cell may be chosen, else the first reason why not."""

READ = (*CHECKS, *ASKED_CHECKS, "capacity_model")
"""Columns that the rules read, where a cube has them."""


def with_left_out(box: Box) -> Box:
    """The box with the column `left_out`, from those of `READ` that it has.

    Whether the compared measures have values, and whether another option is measured, is of the comparison.

    Raises
    ------
    ContractError
        For a cube that does not say whether a cell has a plan, or how far a rate was scaled.
    """
    names = [column.name for column in box.columns if column.name in READ]
    dims = tuple(axis.name for axis in box.axes)
    # Every cell is a point of its own, so that none stands beside another.
    found = options_of(box.only(names).dataset(), dims, (), Question(()))
    codes = found.code.reshape(box.shape).astype(np.int32) - 1
    about = {"long_name": "why the cell may not be chosen", "unit": "label", "null_where": "the cell may be chosen"}
    return box.with_column(Column(LEFT_OUT, "measure", "string", dims, tuple(found.reasons), about), codes)
