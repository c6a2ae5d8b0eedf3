"""What a page may ask: positions along axes, names of columns, inputs with values. Nothing else is taken from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from gridplan.errors import ContractError, Problem, suggestion
from gridplan.explore.box import Place, place_cells

__all__ = ["MOST_CHANGES", "MOST_VALUES", "named_columns", "place_of", "stated_changes"]

MOST_VALUES = 2_000_000
"""Values of one answer (policy): 16 MB, a tenth of a second on the machine itself."""

MOST_CHANGES = 40
"""Inputs that one question may change (policy)."""

_LONGEST_VALUE = 80
_RANGE = re.compile(r"([0-9]{1,9})(?::([0-9]{1,9}))?")


def place_of(text: str, sizes: Mapping[str, int]) -> Place:
    """Positions along every axis: `3,0:5` is position 3 of the first axis and 0 to 4 of the second.

    Raises ContractError for anything that is not such a text, or lies outside of the cube.

    >>> place_of("3,0:5", {"gpu": 8, "arrival_rate": 5})
    (range(3, 4), range(0, 5))
    """
    parts = text.split(",") if text else []
    if len(parts) != len(sizes):
        raise _refused("at", f"{len(sizes)} positions are due, one for each axis, not {len(parts)}")
    found, problems = [], []
    for (name, size), part in zip(sizes.items(), parts, strict=True):
        own = _range(part)
        if own is None:
            problems.append(Problem(f"{name}: a position is a number, or two with a colon between", key="at"))
        elif not 0 <= own.start < own.stop <= size:
            problems.append(Problem(f"{name}: it has the positions 0 to {size - 1}", key="at"))
        else:
            found.append(own)
    if problems:
        raise ContractError(problems)
    return tuple(found)


def _range(part: str) -> range | None:
    matched = _RANGE.fullmatch(part)
    if matched is None:
        return None
    first = int(matched[1])
    return range(first, first + 1 if matched[2] is None else int(matched[2]))


def named_columns(text: str, known: Sequence[str], place: Place) -> list[str]:
    """The columns of these names, each once; refused where the answer would be too long.

    Raises ContractError for names that are none, with the nearest.
    """
    names = list(dict.fromkeys(name for name in text.split(",") if name))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ContractError(
            [
                Problem(f"{_short(name)} is no column{suggestion(name[:80], known)}", key="columns")
                for name in unknown[:5]
            ]
        )
    if not names:
        raise _refused("columns", "no column is named")
    if (values := place_cells(place) * len(names)) > MOST_VALUES:
        raise _refused("at", f"{values:,} values are more than the {MOST_VALUES:,} of one answer: fix an axis")
    return names


def stated_changes(texts: Iterable[str], offered: Iterable[str]) -> dict[str, str]:
    """Inputs and their values, from texts `rho_target=0.6`; what a value means is up to the contract.

    Raises ContractError for an input that may not be changed here, with the nearest.
    """
    found: dict[str, str] = {}
    problems = []
    known = list(offered)
    given = list(texts)
    if len(given) > MOST_CHANGES:
        raise _refused("if", f"{len(given)} changes are more than {MOST_CHANGES}")
    for text in given:
        name, sign, value = text.partition("=")
        if name not in known:
            problems.append(Problem(f"{_short(name)} cannot be changed here{suggestion(name[:80], known)}", key="if"))
        elif not sign or not value.strip() or len(value) > _LONGEST_VALUE or not value.isprintable():
            problems.append(Problem(f"{name}: a value of at most {_LONGEST_VALUE} signs is due", key="if"))
        elif name in found:
            problems.append(Problem(f"{name} is changed twice", key="if"))
        else:
            found[name] = value.strip()
    if problems:
        raise ContractError(problems)
    return found


def _short(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:40]}..."


def _refused(key: str, message: str) -> ContractError:
    return ContractError([Problem(message, key=key)])
