"""The charts of a record, each drawn if it can be; what cannot be drawn says why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gridplan.errors import ContractError
from gridplan.report import charts as draw
from gridplan.report.charts.chart import Chart
from gridplan.report.record.case import Case

__all__ = ["Drawing", "bills_of", "drawn", "front_of", "stairs_of"]


@dataclass
class Drawing:
    """Charts as they are made; those that cannot be drawn say why in the record."""

    wanted: bool
    missing: list[str] = field(default_factory=list)

    def __call__(self, what: str, chart: Callable[[], Chart]) -> Chart | None:
        if not self.wanted:
            return None
        try:
            return chart()
        except ContractError as error:
            self.missing.append(f"{what}: {str(error).splitlines()[0]}")
            return None


def drawn(charts: Mapping[str, Chart | None]) -> dict[str, Chart]:
    return {name: chart for name, chart in charts.items() if chart is not None}


def stairs_of(case: Case, drawing: Drawing) -> Chart | None:
    """The bill over the arrival rate; of a folder along its axis."""
    if case.number("usd_per_month") is None or (case.grid is None and "arrival_rate" not in case.several):
        return None
    at = {name: label for name, label in (case.plan or {}).items() if name != "arrival_rate"}
    source = case.grid if case.grid is not None else case.source
    mark = case.plan.get("arrival_rate") if case.plan is not None and "arrival_rate" in case.several else None
    rate = mark if isinstance(mark, float) else None
    return drawing("stairs", lambda: draw.stairs(source, "usd_per_month", at=at, mark=rate))


def front_of(case: Case, drawing: Drawing) -> Chart | None:
    """What price costs in latency, among the levers that were chosen along."""
    if not case.chosen or not (case.has("tpot_s") and case.has(case.asked.measure)):
        return None
    at = {name: label for name, label in (case.plan or {}).items() if name not in case.chosen}
    return drawing("pareto", lambda: draw.pareto(case.source, f"{case.asked.measure},tpot_s", at=at))


def bills_of(case: Case, drawing: Drawing) -> Chart | None:
    grid = case.grid
    if grid is None or case.number("api_usd_per_month") is None:
        return None
    at = {name: label for name, label in (case.plan or {}).items() if name != "arrival_rate"}
    return drawing("break-even", lambda: draw.break_even(grid, "arrival_rate", at=at))
