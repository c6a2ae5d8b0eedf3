"""A whole record: the plan is found, its studies are made once, and every section is filled from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridplan.contract.grid import Grid
from gridplan.dictionary import all_measures
from gridplan.errors import ContractError, GridTooLargeError, Problem
from gridplan.report import charts as draw
from gridplan.report.charts.chart import Chart, needs_extra
from gridplan.report.charts.texts import CONSTRAINTS, sentence
from gridplan.report.record.case import Asked, Case
from gridplan.report.record.contract import contract
from gridplan.report.record.costs import costs
from gridplan.report.record.decision import decision, setting
from gridplan.report.record.derivation import appendix, bounds
from gridplan.report.record.document import Block, Note, Record, Section, cell
from gridplan.report.record.findings import cube_findings, plan_findings
from gridplan.report.record.found import case_of
from gridplan.report.record.identity import identity, place_of
from gridplan.report.record.inputs import assumptions
from gridplan.report.record.overview import map_axes, nowhere, overview, summary_of
from gridplan.report.record.pictures import Drawing, bills_of, drawn, front_of, stairs_of
from gridplan.report.record.question import question_problems
from gridplan.report.record.rejected import rejected
from gridplan.report.record.sizing import sizing
from gridplan.report.record.studies import stress_section, stress_table, tornado_section, tornado_table
from gridplan.report.record.sweep import Sweep, limits_of, sweep_of, sweep_section
from gridplan.sensitivity.cells import refuse

if TYPE_CHECKING:
    from gridplan.engine.summary import Summary

__all__ = ["record_of"]

LEFT_OUT = "Stress, tornado, inputs and formulas with numbers are left out."


def record_of(
    source: Grid | str | Path,
    *,
    at: Mapping[str, str | float] | None = None,
    measure: str = "usd_per_mtok_output",
    survives: str | None = None,
    where: str | Sequence[str] = (),
    accept: Mapping[str, Sequence[str]] | None = None,
    sweep: str | Path | Sequence[str | Path] = (),
    vary: Mapping[str, str] | None = None,
    charts: bool = True,
    catalog: Any = None,
) -> Record:
    """The decision record of a contract, or of the folder of a cube.

    Parameters
    ----------
    source
        A contract from `gridplan.load_grid`, or the folder that `gridplan run` wrote.
    at
        Labels at which axes are fixed. Levers (GPU, instance, formats, parallelism, purchase) that stay open are chosen
        along, the cheapest by `measure`; where anything else stays open (traffic, model, targets) no single plan is
        meant, and the record is an overview of the cube.
    measure, survives, where, accept
        How a plan is chosen along the levers, as in `gridplan.cheapest`.
    sweep
        Files of load tests, judged by the limits of the contract.
    vary
        Ranges of the tornado by input, such as `{"rho_target": "0.6:0.8"}`; otherwise the usual inputs by 10 or 20%.
    charts
        Draw charts, which takes altair and vl-convert-python.
    catalog
        The catalog folder that a stored cube was planned with, where one was in use.

    Raises
    ------
    ContractError
        For unknown axes, labels, measures, conditions, load tests and ranges.
    StoreError
        For a folder that is no cube.
    MissingExtraError
        If charts are wanted and cannot be drawn.
    """
    if not isinstance(source, (Grid, str, Path)):
        kind = type(source).__name__
        said = f"a contract is due, or the folder of a cube, not {kind}: a cube in memory has no manifest"
        raise ContractError([Problem(said, key="source")])
    if at is not None and not isinstance(at, Mapping):
        raise ContractError([Problem(f"labels by axis are due, as {{'gpu': 'b200'}}, not {at!r:.60}", key="at")])
    if charts:
        needs_extra()
    conditions = (where,) if isinstance(where, str) else tuple(where)
    files = [str(file) for file in ([sweep] if isinstance(sweep, (str, Path)) else sweep)]
    asked = Asked(dict(at or {}), measure, survives, conditions, dict(accept or {}))
    refuse(question_problems(source, asked, vary or {}, files))
    drawing = Drawing(charts)
    with ThreadPoolExecutor(1, thread_name_prefix="gridplan-count") as pool:
        counting = pool.submit(_summary, source)  # reading a large folder takes as long as everything else
        case = case_of(source, asked, catalog)
        if case.plan is None:
            refuse(_of_a_plan(case, {"sweep": files, "vary": vary}))
        test = _sweep(case, files)
        parts, findings = ([], []) if case.plan is None else _plan(case, drawing, test, vary)
        summary, too_large = counting.result()
    why_none = ""
    if summary is not None:
        if case.plan is None or case.several:
            parts.append(_cube(case, drawing, summary))
        if case.plan is None and not summary.cheapest and summary.feasible is not None:
            why_none = nowhere(case)
        findings += list(cube_findings(case, summary))
    sections = [*parts, *_remarks(case, drawing, too_large)]
    if case.plan is not None and not case.refused:
        sections.append(appendix(case))
    return Record(
        title=case.name,
        description=case.grid.description if case.grid is not None else "",
        state=_state(case, why_none),
        decision=decision(case, why_none),
        place=place_of(case),
        findings=tuple(findings),
        sections=tuple(sections),
        identity=identity(case, test),
        tiles=tuple(_tiles(case)),
        setting=setting(case),
    )


def _state(case: Case, why_none: str) -> str:
    if case.plan is None:
        return "infeasible" if why_none else "overview"
    return "plan" if case.decided else "infeasible"


_TILES = {
    "arrival_rate": "peak req/s",
    "replicas": "replicas with spares",
    "nodes": "nodes",
    "gpus_deployed": "GPUs",
    "usd_per_month": "USD a month",
    "usd_per_mtok_output": "USD per 1M output",
    "binding_constraint": "binds",
}


def _tiles(case: Case) -> Iterator[tuple[str, str]]:
    """The few figures that everybody asks for."""
    for name, said in _TILES.items():
        value = case.number(name) if name in case.figures else case.input(name)
        if case.decided and value is not None:
            text = cell(name, value).text
            yield said, CONSTRAINTS.get(text, text)


def _of_a_plan(case: Case, more: Mapping[str, object]) -> list[Problem]:
    """What is asked of a plan where none is meant: it would have no effect."""
    asked = {"survives": case.asked.survives, "where": case.asked.where, "accept": case.asked.accept, **more}
    said = f"asks about one plan, and none is meant while axes are open: fix {', '.join(case.still_open)}"
    return [Problem(said, key=name) for name, given in asked.items() if given]


def _sweep(case: Case, files: Sequence[str]) -> Sweep | None:
    if not files:
        return None
    if case.grid is None:
        raise ContractError([Problem(f"a load test is judged by a contract, and {case.no_grid}", key="sweep")])
    return sweep_of(case.grid, files, limits_of(case))


def _summary(source: Grid | str | Path) -> tuple[Summary | None, str]:
    """Counts of the whole cube, or why it is not counted."""
    try:
        return summary_of(source), ""
    except GridTooLargeError as error:
        return None, str(error)


def _cube(case: Case, drawing: Drawing, summary: Summary) -> Section:
    """Counts of the whole cube, and a map of it through the plan, or through the cheapest cell of all."""
    axes = map_axes(case)
    through: Mapping[str, Any] | None = case.plan
    if through is None and summary.cheapest:
        through = min(summary.cheapest.values(), key=lambda best: (best.price, best.row)).labels
    if through is None:
        through = {name: labels[0] for name, labels in case.axes.items()}
    found: dict[str, Chart] = {}
    if axes is not None:
        at = {name: label for name, label in through.items() if name not in axes}
        wanted = ("usd_per_mtok_output", "replicas")
        for measure in [name for name in wanted if case.has(name)][: 1 if case.plan is not None else 2]:
            chart = drawing(f"map of {measure}", lambda m=measure: draw.heatmap(case.source, *axes, m, at))  # type: ignore[misc]
            if chart is not None:
                found[f"map-{measure.replace('_', '-')}"] = chart
    held = [name for name in all_measures() if case.has(name)]
    return overview(summary, found, held, beside=case.plan is not None)


def _plan(
    case: Case, drawing: Drawing, test: Sweep | None, vary: Mapping[str, str] | None
) -> tuple[list[Section], list[str]]:
    """Every section of one plan, and what was found in them."""
    if case.refused:
        return [contract(case, None), rejected(case, {})], []
    stress = stress_table(case)
    tornado, why = tornado_table(case, vary)
    place, grid = case.plan or {}, case.grid
    feasible = case.decided
    memory = drawing("memory", lambda: draw.memory(grid if grid is not None else case.source, at=place))
    stairs = stairs_of(case, drawing) if feasible else None
    measured: dict[str, Chart | None] = {}
    if test is not None and grid is not None:
        result = test.result
        measured["sweep"] = drawing("sweep", lambda: draw.sweep(result))
        measured["measured"] = drawing("measured", lambda: draw.measured(grid, result, at=place))
    alternatives = {"pareto": front_of(case, drawing)}
    against_api = bills_of(case, drawing) if feasible else None
    bars = None if tornado is None else drawing("tornado", lambda: draw.tornado_of(tornado))
    sections = [
        contract(case, test),
        bounds(case, memory),
        sweep_section(case, test, drawn(measured)),
        *([sizing(case, stairs), costs(case, against_api)] if feasible else []),
        stress_section(case, stress),
        tornado_section(tornado, why, bars, bool(vary)),
        rejected(case, drawn(alternatives)),
        assumptions(case),
    ]
    return sections, list(plan_findings(case, test, stress, tornado))


def _remarks(case: Case, drawing: Drawing, too_large: str) -> list[Section]:
    """Warnings of the plan, and what this record leaves out."""
    warnings = case.explanation.warnings if case.explanation is not None else ()
    blocks: list[Block] = [Note(text, "warning") for text in warnings]
    if case.choice is not None:
        told = str(case.choice.attrs.get("warnings", "")).splitlines()
        blocks += [Note(text, "warning") for text in told if text not in warnings]
    if case.no_grid:
        blocks.append(Note(f"{sentence(case.no_grid)}. {LEFT_OUT}", "warning"))
    if too_large:
        blocks.append(Note(f"The whole cube is not counted: {too_large}", "warning"))
    blocks += [Note(f"A chart is left out. {text}", "warning") for text in drawing.missing]
    return [Section("remarks", "What to know", tuple(blocks))] if blocks else []
