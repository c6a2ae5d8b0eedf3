"""The forms of an export, one function each: what is written where."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree

import pyarrow as pa

from gridplan.errors import StoreError
from gridplan.export.about import about, dictionary_table
from gridplan.export.batches import pieces, rechunked
from gridplan.export.csv_file import csv_schema, write_csv
from gridplan.export.landing import check_free, new_file, new_folder
from gridplan.export.parquet_file import ROW_GROUP_ROWS, write_parquet
from gridplan.export.rows import Rows
from gridplan.export.star import Star, star_of
from gridplan.query.arrow import schema_of
from gridplan.spreadsheet import ROWS, rows_warning
from gridplan.store.files import make_folder, store_errors

__all__ = ["FORMS", "Export", "Form"]

FILE_GROUPS = 40
"""Row groups of one file of facts (policy): 5 million rows, some hundreds of megabytes with all columns of a cube."""


@dataclass
class Export:
    """What is handed over, and what is said about it as it is written."""

    rows: Rows
    output: Path
    best: pa.Table | None
    compression: str
    cells: bool
    force: bool
    written: dict[str, int] = field(default_factory=dict)
    """Rows by file or table."""
    warnings: list[str] = field(default_factory=list)

    def parquet(self, path: Path, table: pa.Table) -> int:
        """Write a small table to a Parquet file."""
        return write_parquet(path, table.schema, [table], self.rows.table.manifest.origin, self.compression)

    def small(self, star: Star | None = None) -> dict[str, pa.Table]:
        """The tables beside the cells: what is known, the data dictionary, the winners; of a star the axes."""
        found = {"about": about(self.rows), "metric": dictionary_table(self.rows)}
        if self.best is not None:
            found["best"] = self.best if star is None else star.keyed(self.best)
        return found if star is None else {**star.tables, **found}

    def cell_tables(self, rows: int) -> tuple[pa.Schema, Iterator[pa.Table]]:
        """The cells in tables of `rows` rows, with their schema."""
        query = self.rows.query()
        schema = schema_of(query.columns)
        return schema, rechunked(schema, self.rows.batches(query), rows)


def _star(export: Export) -> None:
    star, origin = star_of(export.rows), export.rows.table.manifest.origin
    with new_folder(export.output) as folder:
        for name, table in export.small(star).items():
            export.written[name] = export.parquet(folder / f"{name}.parquet", table)
        make_folder(folder / "fact")
        tables = rechunked(star.schema, star.facts(export.rows.batches(star.query)), ROW_GROUP_ROWS)
        export.written["fact"] = 0
        for number, piece in enumerate(pieces(tables, FILE_GROUPS)):
            path = folder / "fact" / f"part-{number:05d}.parquet"
            export.written["fact"] += write_parquet(path, star.schema, piece, origin, export.compression)


def _is_star(path: Path) -> bool:
    known = {"fact", "about.parquet", "metric.parquet", "best.parquet"}
    names = {entry.name for entry in path.iterdir()} if path.is_dir() else set()
    return "about.parquet" in names and all(name in known or name.startswith("dim_") for name in names)


def _wide(export: Export) -> None:
    origin = export.rows.table.manifest.origin
    with ExitStack() as files:
        path = files.enter_context(new_file(export.output))
        if export.best is not None:
            beside = _beside(export.output, "best.parquet")
            export.written[str(beside)] = export.parquet(files.enter_context(new_file(beside)), export.best)
        schema, tables = export.cell_tables(ROW_GROUP_ROWS)
        export.written[str(export.output)] = write_parquet(path, schema, tables, origin, export.compression)


def _csv(export: Export) -> None:
    schema, tables = export.cell_tables(ROW_GROUP_ROWS)
    changed = 0
    with ExitStack() as files:
        paths = [export.output, *(_beside(export.output, ending) for ending in _BESIDE[".csv"])]
        with files.enter_context(new_file(paths[0])).open("wb") as sink:
            export.written[str(paths[0])], changed = write_csv(sink, schema, tables)
        files.enter_context(new_file(paths[1])).write_text(csv_schema(schema), encoding="utf-8")
        if export.best is not None:
            with files.enter_context(new_file(paths[2])).open("wb") as sink:
                export.written[str(paths[2])], more = write_csv(sink, export.best.schema, [export.best])
                changed += more
            files.enter_context(new_file(paths[3])).write_text(csv_schema(export.best.schema), encoding="utf-8")
    export.warnings += filter(None, [rows_warning(export.written[str(paths[0])])])
    if changed:
        said = "texts begin like a formula: each has an apostrophe in front, so that no spreadsheet runs it"
        export.warnings.append(f"{changed:,} {said}")


def _beside(output: Path, ending: str) -> Path:
    return output.with_name(f"{output.stem}_{ending}")


def _excel(export: Export) -> None:
    from gridplan.export.excel import Sheet, write_workbook

    count = export.rows.count() if export.cells else 0
    if count >= ROWS:
        raise StoreError(
            f"{count:,} rows do not fit a worksheet of {ROWS - 1:,}: --where cuts them, --no-cells leaves them out and "
            "keeps summary, dictionary and --best; star, wide, duckdb and delta hold all of them"
        )
    names = {"about": "summary", "metric": "dictionary", "best": "best"}
    sheets = [Sheet(names[name], table.schema, [table]) for name, table in export.small().items()]
    if export.cells:
        sheets.append(Sheet("cells", *export.cell_tables(ROW_GROUP_ROWS)))
    with new_file(export.output) as path:
        export.written |= write_workbook(path, sheets)


def _duckdb(export: Export) -> None:
    from gridplan.export.database import write_database

    star = star_of(export.rows)
    facts = star.facts(export.rows.batches(star.query))
    with new_file(export.output) as path:
        export.written |= write_database(path, export.rows, star, export.small(star), facts)


def _delta(export: Export) -> None:
    from gridplan.export.delta import write_delta

    small = export.small()
    with _kept_if_whole(export.output):
        # The cells come first: where they cannot be written, no other table gets a new version.
        schema, tables = export.cell_tables(ROW_GROUP_ROWS)
        write_delta(export.output / "cube", schema, tables, "cube", export.compression, export.force)
        for name, table in small.items():
            write_delta(export.output / name, table.schema, [table], name, export.compression, export.force)
            export.written[name] = table.num_rows
        export.written["cube"] = export.rows.count()


def _is_delta(path: Path) -> bool:
    return path.is_dir() and any(path.iterdir()) and all((table / "_delta_log").is_dir() for table in path.iterdir())


@contextmanager
def _kept_if_whole(folder: Path) -> Iterator[None]:
    """A folder of tables: one that is new is removed again where not all of it could be written."""
    new = not folder.exists()
    with store_errors("write", folder):
        try:
            yield
        except BaseException:
            if new:
                rmtree(folder, ignore_errors=True)
            raise


@dataclass(frozen=True)
class Form:
    """How a form is written; what its output ends in, "" for a folder; what such an output is known by."""

    write: Callable[[Export], None]
    suffix: str
    ours: Callable[[Path], bool] = Path.is_file

    def check(self, output: Path, force: bool, best: bool) -> None:
        """Refuse an output that cannot be written, or must not be. Raises StoreError."""
        check_free(output, force, self.ours)
        for ending in _BESIDE.get(self.suffix, ()):
            if best or not ending.startswith("best"):
                check_free(_beside(output, ending), force)


_BESIDE: Mapping[str, tuple[str, ...]] = {
    ".parquet": ("best.parquet",),
    ".csv": ("schema.json", "best.csv", "best_schema.json"),
}

FORMS: Mapping[str, Form] = {
    "star": Form(_star, "", _is_star),
    "wide": Form(_wide, ".parquet"),
    "csv": Form(_csv, ".csv"),
    "excel": Form(_excel, ".xlsx"),
    "duckdb": Form(_duckdb, ".duckdb"),
    "delta": Form(_delta, "", _is_delta),
}
