"""A slice of a stored cube: cells or figures of cells, by SQL over the files that hold them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridplan.engine.cluster.current import scheduler_in_use
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.query.answer import AnswerColumn, Query
from gridplan.query.database import batches, duckdb_errors
from gridplan.query.doubts import Doubts, doubts_of
from gridplan.query.rounds import Rounds
from gridplan.query.select import AGGREGATES, cells_query, cells_rounds, grouped_query, grouped_rounds
from gridplan.query.source import Source, asked_of, source_of
from gridplan.query.table import Table
from gridplan.query.text import names_in
from gridplan.query.winners import WINNERS, Contest, winners_query, winners_rounds
from gridplan.store.columns import Column

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["ALL", "DEFAULT_MEASURE", "Slice", "open_slice", "slice_cube"]

DEFAULT_MEASURE = "usd_per_mtok_output"

ALL = "all"
"""In place of names: every column of the files."""


@dataclass
class Slice:
    """A question that was found sound, ready to be answered once."""

    table: Table
    query: Query
    doubts: Doubts
    warnings: list[str]
    """What is worth knowing; all of it once the answer was read."""
    _source: Source
    _rounds: Rounds

    @property
    def sql(self) -> str:
        """The query, as DuckDB takes it anywhere from the same folder."""
        return self.query.sql

    @property
    def columns(self) -> tuple[AnswerColumn, ...]:
        """The columns of the answer."""
        return self.query.columns

    def rows(self, most: int | None = None) -> list[tuple[Any, ...]]:
        """The answer, or its first rows; None for null. Raises StoreError for a damaged file."""
        found: list[tuple[Any, ...]] = []
        for batch in self.batches():
            found += zip(*(column.to_pylist() for column in batch.columns), strict=True)
            if most is not None and len(found) >= most and not self.doubts.measures:
                break
        return found[:most]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The answer as batches of Arrow; inside of `gridplan.cluster` its workers read the files.

        Raises StoreError for a damaged file.
        """
        import pyarrow.compute as pc

        width = len(self.columns)
        counts = [0] * len(self.doubts.measures)
        with duckdb_errors(self.table.folder):
            for batch in self._answer():
                counts = [count + (pc.sum(batch[width + at]).as_py() or 0) for at, count in enumerate(counts)]
                yield batch.select(range(width))
        self.warnings += self.doubts.warnings(counts)

    def _answer(self) -> Iterator[pa.RecordBatch]:
        scheduler = scheduler_in_use()
        if scheduler is None:
            return iter(batches(self._source.db, self.sql))
        from gridplan.query.on_cluster import batches_on

        files = [part.file for part in self._source.parts]
        return batches_on(scheduler, self.table.folder, files, self._rounds)


def open_slice(
    folder: str | Path,
    where: str | Iterable[str] = (),
    by: str | Iterable[str] = (),
    measure: str | Iterable[str] = (),
    agg: str | None = None,
) -> Slice:
    """Check a question to the cube in `folder` and write its query; arguments and errors as of `slice_cube`."""
    table, condition, problems = asked_of(folder, where)
    kept = table.found(names_in(by), "by", problems)
    measures = _measures(table, names_in(measure), agg, problems)
    _check_aggregate(agg, kept, measures, problems)
    if problems:
        raise ContractError(problems)
    source = source_of(table, condition)
    doubts = doubts_of(table, condition) if agg in _EXTREMES else Doubts()
    if agg is None:
        query, rounds = cells_query(source, measures), cells_rounds(source, measures)
    elif agg in WINNERS:
        others = [c for c in table.columns if c.role == "axis" and c not in (*kept, *measures)]
        contest = Contest(kept, [*measures, *others], agg, f"count_{measures[0].name}", doubts=doubts)
        query, rounds = winners_query(source, contest), winners_rounds(source, contest)
    else:
        grouped = (source, kept, measures, agg, doubts)
        query, rounds = grouped_query(*grouped), grouped_rounds(*grouped)
    return Slice(table, query, doubts, list(_warnings(table)), source, rounds)


def slice_cube(
    folder: str | Path,
    where: str | Iterable[str] = (),
    by: str | Iterable[str] = (),
    measure: str | Iterable[str] = (),
    agg: str | None = None,
) -> pd.DataFrame:
    """A slice of the cube in `folder`; only the files that hold rows of it are opened.

    Inside of `gridplan.cluster` its workers read them; sums and means may differ in their last digits then.

    Parameters
    ----------
    folder
        A cube that `gridplan.run` wrote.
    where
        Conditions in SQL, which must all hold: `gpu in ('h100-sxm', 'b200') and rho_target = 0.7`. Numbers beside an
        axis mean its labels to 12 significant digits; a number may be a text with its unit (`tpot_s < '20 ms'`).
    by
        Columns that stay, such as `("model", "arrival_rate")`; with `agg` alone.
    measure
        Columns that are read, by default `usd_per_mtok_output`; `"all"` without `agg`. With argmin and argmax the first
        one is compared, and the others are those of the same cell.
    agg
        `min`, `max`, `avg`, `median`, `sum` or `count` of the cells that have a value; `argmin` or `argmax`: the cell
        with the least or largest value and its labels, the first in the order of the cube where several tie within
        1e-9. None gives the cells themselves, each with its labels.

    Returns
    -------
    pandas.DataFrame
        Rows in the order of the cube; columns of nullable types, null where there is no value. With `agg` also `cells`
        and `count_<measure>`: how many cells a row is of, and how many of them have a value. Warnings in `attrs`.

    Raises
    ------
    ContractError
        For an unknown column, label or figure, and for SQL that cannot be read, with all problems at once.
    StoreError
        When the folder holds no finished cube, or a file is missing or damaged.
    MissingExtraError
        When the extra `sql` is not installed.
    """
    found = open_slice(folder, where, by, measure, agg)
    import pandas as pd
    import pyarrow as pa

    from gridplan.query.arrow import schema_of

    kinds = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype(), pa.float64(): pd.Float64Dtype()}
    table = pa.Table.from_batches(found.batches(), schema_of(found.columns))
    frame: pd.DataFrame = table.to_pandas(types_mapper=kinds.get)
    frame.attrs["warnings"] = list(found.warnings)
    return frame


def _measures(table: Table, names: Sequence[str], agg: str | None, problems: list[Problem]) -> list[Column]:
    """Columns that are read; for cells themselves their labels first."""
    if ALL in names:
        if agg is not None:
            problems.append(Problem(f"{ALL} is for the cells themselves: name the measures of a figure", key="measure"))
        return list(table.columns)
    if not names and table.column(DEFAULT_MEASURE) is None:
        problems.append(Problem(f"{table.folder} has no {DEFAULT_MEASURE}: name a measure", key="measure"))
    wanted = names or [DEFAULT_MEASURE]
    found = table.found(wanted, "measure", problems) if names or table.column(DEFAULT_MEASURE) is not None else []
    axes = [column for column in table.columns if column.role == "axis"] if agg is None else []
    return [*axes, *(column for column in found if column not in axes)]


def _check_aggregate(
    agg: str | None, by: Sequence[Column], measures: Sequence[Column], problems: list[Problem]
) -> None:
    known = (*AGGREGATES, *WINNERS)
    if agg is None:
        if by:
            said = f"rows are grouped for a figure of their cells: agg is one of {', '.join(known)}"
            problems.append(Problem(said, key="by"))
        return
    if agg not in known:
        problems.append(Problem(f"{agg} is none of {', '.join(known)}{suggestion(agg, known)}", key="agg"))
        return
    compared = measures[:1] if agg in WINNERS else measures
    for column in compared:
        if agg != "count" and column.dtype in ("string", "bool"):
            kind = "a label" if column.dtype == "string" else "true or false"
            problems.append(Problem(f"{column.name} is {kind}: it has a count and no {agg}", key="measure"))
    for column in measures:
        if column in by:
            problems.append(Problem(f"{column.name} stays already (by)", key="measure"))


_EXTREMES = ("min", "max", *WINNERS)
"""Figures that one cell decides."""


def _warnings(table: Table) -> Iterator[str]:
    if table.manifest.options.get("drop_infeasible"):
        yield "the cube was written without the cells that have no plan: they are in no count"
