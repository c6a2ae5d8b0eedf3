"""Problems of a question under the names of the options that a person typed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from gridplan.errors import ContractError

__all__ = ["named_as_options"]


@contextmanager
def named_as_options(options: Mapping[str, str]) -> Iterator[None]:
    """Name what is wrong with the question as it was typed; places in the contract keep their keys.

    `options` are the options by the name of the argument behind each.
    """
    try:
        yield
    except ContractError as error:
        raise ContractError(
            [
                problem
                if problem.file is not None
                else replace(problem, key=options.get(problem.key or "", problem.key))
                for problem in error.problems
            ]
        ) from None
