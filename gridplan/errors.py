"""Every error that gridplan raises on purpose, and the look-up of the nearest valid name.

A wrong input is reported with all its problems at once; each problem says where it is (file, line, column, key), what
is wrong and what would have been right. The command line prints these texts without a traceback and exits with
`exit_code`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = [
    "CatalogError",
    "ContractError",
    "GridTooLargeError",
    "GridplanError",
    "LogError",
    "MissingExtraError",
    "Problem",
    "RefusedError",
    "StoreError",
    "VerifyError",
    "nearest",
    "suggestion",
]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with an input.

    `key` is the dotted path in the file (`deployment.gpu`), `line` and `column` count from 1.
    """

    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    key: str | None = None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        head = " ".join(part for part in (f"{place}:" if place else "", f"{self.key}:" if self.key else "") if part)
        return f"{head} {self.message}" if head else self.message


class GridplanError(Exception):
    """Base of all errors that gridplan raises on purpose."""

    exit_code = 2


class _ProblemsError(GridplanError):
    """An error that carries every problem found, not only the first."""

    def __init__(self, problems: Sequence[Problem] | str) -> None:
        self.problems: tuple[Problem, ...] = (Problem(problems),) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class ContractError(_ProblemsError):
    """The contract file, or a value in it, cannot be used."""


class CatalogError(_ProblemsError):
    """A catalog entry is missing, incomplete or contradicts another."""


class LogError(_ProblemsError):
    """The log of an engine cannot be read, or does not say what was asked of it."""


class GridTooLargeError(GridplanError):
    """The grid has more cells than the cap allows."""


class MissingExtraError(GridplanError):
    """Something is asked for whose libraries are an extra that is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what}: pip install 'gridplan[{extra}]'")


class StoreError(GridplanError):
    """A cube folder cannot be read or written."""

    exit_code = 3


class RefusedError(StoreError):
    """An object store refuses or cannot be reached, for a reason that may pass; what stands there stays as it is."""


class VerifyError(StoreError):
    """A stored cube is not as it was written."""

    exit_code = 1


def nearest(name: str, valid: Iterable[str], count: int = 3) -> list[str]:
    """The `count` names of `valid` that look most like `name`, best first; empty when none is close.

    >>> nearest("h100", ["h100-sxm", "h100-pcie", "a100-sxm-80gb"])
    ['h100-sxm', 'h100-pcie']
    """
    import difflib  # only a wrong name needs it

    folded: dict[str, str] = {}
    for candidate in valid:
        folded.setdefault(candidate.casefold(), candidate)
    close = difflib.get_close_matches(name.casefold(), list(folded), n=count, cutoff=0.5)
    prefixed = [candidate for candidate in folded if candidate.startswith(name.casefold()) and name]
    return [folded[candidate] for candidate in dict.fromkeys([*prefixed, *close])][:count]


def suggestion(name: str, valid: Iterable[str]) -> str:
    """A sentence that names the nearest valid names, or an empty text.

    >>> suggestion("lamma-3-8b", ["llama-3-8b", "qwen3-8b"])
    ' (did you mean llama-3-8b?)'
    """
    close = nearest(name, valid)
    return f" (did you mean {', '.join(close)}?)" if close else ""
