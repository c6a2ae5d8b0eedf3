"""Hand a stored cube over to other tools: one call, one form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from gridplan.errors import ContractError, Problem, suggestion
from gridplan.export.best import best_columns, best_table, cautions
from gridplan.export.delta import needs_delta
from gridplan.export.excel import needs_excel
from gridplan.export.forms import FORMS
from gridplan.export.material import Export, Winners
from gridplan.export.rows import open_rows
from gridplan.query.slice import ALL, DEFAULT_MEASURE
from gridplan.query.text import names_in
from gridplan.store.parquet import Compression

__all__ = ["Exported", "export_cube"]

_NEEDS = {"excel": needs_excel, "delta": needs_delta}


@dataclass(frozen=True)
class Exported:
    """What was written: rows by file or table, and what is worth knowing about them."""

    output: Path
    rows: Mapping[str, int]
    warnings: tuple[str, ...]

    def _repr_html_(self) -> str:
        from gridplan.markup import number, page, table, warnings

        rows = [(name, number(f"{count:,}", count)) for name, count in self.rows.items()]
        return page(str(self.output), warnings(self.warnings), table(("table", "rows"), rows, numeric=("rows",)))


def export_cube(
    folder: str | Path,
    to: str,
    output: str | Path,
    *,
    where: str | Iterable[str] = (),
    measures: str | Iterable[str] = (),
    best: str | Iterable[str] = (),
    best_measure: str = DEFAULT_MEASURE,
    compression: str = "snappy",
    cells: bool = True,
    force: bool = False,
) -> Exported:
    """Write the cube in `folder` in a form that other tools open; memory does not grow with the cube.

    Parameters
    ----------
    folder
        A cube that `gridplan.run` wrote.
    to
        `star`: a folder with a table of facts, one of each axis, the data dictionary (`metric`) and `about`; `wide`:
        one Parquet file; `csv`: one file and its types beside it as JSON; `excel`: a workbook with summary, data
        dictionary and the cells; `duckdb`: the star as a database, with the views `cube` and `feasible`; `delta`: a
        folder of Delta tables.
    output
        What is written: a folder for star and delta, else a file that ends in .parquet, .csv, .xlsx or .duckdb.
    where
        Conditions in SQL that the rows must meet, as of `gridplan.slice_cube`.
    measures
        Measures that are handed over, all by default; labels and what says whether a cell has a plan always are.
    best
        Columns such as `("model", "arrival_rate")`: adds the table `best` with the plan of the least `best_measure` for
        each of their labels, chosen by the rules of `gridplan.cheapest` over all other axes.
    compression
        Of Parquet and Delta: `snappy`, which every reader takes, `zstd` or `none`.
    cells
        False leaves the cells out of a workbook, for a cube with more of them than Excel has rows.
    force
        Replace an earlier export of the same form. Delta tables get a new version.

    Raises
    ------
    ContractError
        For anything wrong with the question, with every problem.
    StoreError
        When the folder holds no finished cube, and for an output that is there, or cannot be written.
    MissingExtraError
        When an extra that the form needs is not installed: `sql` for all, `excel` and `delta` for these.
    """
    output, problems = Path(output), list[Problem]()
    form = FORMS.get(to)
    if form is None:
        problems.append(Problem(f"{to} is none of {', '.join(FORMS)}{suggestion(to, FORMS)}", key="to"))
    elif output.suffix != form.suffix and form.suffix:
        problems.append(Problem(f"{output}: {to} is written to a file that ends in {form.suffix}", key="output"))
    if compression not in get_args(Compression):
        problems.append(Problem(f"{compression} is none of {', '.join(get_args(Compression))}", key="compression"))
    if not cells and to != "excel":
        problems.append(Problem("the cells are left out of a workbook alone", key="cells"))
    if best_measure != DEFAULT_MEASURE and not best:
        problems.append(Problem("it is the measure of --best, which is not asked for", key="best_measure"))
    if form is None or problems:
        raise ContractError(problems)
    _NEEDS.get(to, lambda: None)()
    named = names_in(measures)
    rows = open_rows(folder, where, () if ALL in named else named)
    by, measure = best_columns(rows, names_in(best), best_measure) if best else ([], None)
    form.check(output, force)
    export = Export(rows, output, compression, cells, force)
    if measure is not None:
        export.warnings += cautions(rows, by)
        notes = {"one row for each": ", ".join(column.name for column in by), "least": measure.name}
        notes["to know"] = "; ".join(export.warnings)
        export.winners = Winners(best_table(rows, by, measure), measure.name, notes)
    form.write(export)
    return Exported(output, export.written, tuple(export.warnings))
