"""The rows that the comparison is made of, and what is read from one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memory_verdicts import Figures, apart, gap, gib

PLANNERS = ("kvfit", "aiconfigurator")
QUANTITIES: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("Bytes of a token", "token_bytes", lambda size: f"{size:,.0f}"),
    ("Weights [GiB]", "weights_bytes", gib),
    ("KV pool [GiB]", "pool_bytes", gib),
)
"""Title, field of `Figures`, and how a figure is printed."""


@dataclass(frozen=True)
class PlanRow:
    """One model, degree and GPU: gridplan's figures and the others'."""

    model: str
    degree: str
    gpu: str
    ours: Figures
    theirs: Mapping[str, Figures]


@dataclass(frozen=True)
class LogRow:
    """One start-up log: what it prints, what gridplan plans from nothing printed, what the others say."""

    name: str
    printed: Figures
    ours: Figures
    theirs: Mapping[str, Figures]
    is_new: bool

    @property
    def all(self) -> dict[str, Figures]:
        return {"gridplan": self.ours, **self.theirs}


def shares(log: LogRow, name: str) -> dict[str, float | None]:
    """Errors of all planners against one printed figure."""
    return {who: apart(getattr(log.printed, name), getattr(found, name)) for who, found in log.all.items()}


def answers(log: LogRow, name: str) -> dict[str, float | None]:
    """What all planners say of one quantity."""
    return {who: getattr(found, name) for who, found in log.all.items()}


def said(base: float | None, found: Figures, name: str, show: Callable[[float], str]) -> str:
    """A planner's figure, and in brackets how far it is from a base."""
    value = getattr(found, name)
    if value is None:
        return "refused" if found.refused else "-"
    apart_by, mark = gap(base, value, name), " *naive*" if found.naive else ""
    return f"{show(value)} ({apart_by}){mark}" if apart_by else f"{show(value)}{mark}"
