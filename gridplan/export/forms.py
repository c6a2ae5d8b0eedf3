"""The forms of an export, one function each: what is written where."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

import pyarrow as pa

from gridplan.errors import StoreError
from gridplan.export.batches import pieces, rechunked
from gridplan.export.csv_file import csv_schema, write_csv
from gridplan.export.landing import check_free, new_file, new_folder
from gridplan.export.material import Export, beside
from gridplan.export.parquet_file import ROW_GROUP_ROWS, write_parquet
from gridplan.export.star import star_of
from gridplan.spreadsheet import ROWS, rows_warning
from gridplan.store.files import make_folder, store_errors

__all__ = ["FORMS", "Form"]

FILE_GROUPS = 40
"""Row groups of one file of facts (policy): 5 million rows, some hundreds of megabytes with all columns of a cube."""


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


_STAR = re.compile(r"(about|metric|best|dim_\w+)\.parquet|fact/part-\d{5,}\.parquet")


def _is_star(path: Path) -> bool:
    if not path.is_dir():
        return False
    names = {str(entry.relative_to(path)) for entry in path.rglob("*")} - {"fact"}
    return "about.parquet" in names and all(_STAR.fullmatch(name) for name in names)


def _wide(export: Export) -> None:
    origin = export.rows.table.manifest.origin
    with ExitStack() as files:
        path = files.enter_context(new_file(export.output))
        if export.best is not None:
            winners = export.beside("best.parquet")
            export.written[str(winners)] = export.parquet(files.enter_context(new_file(winners)), export.best)
        schema, tables = export.cell_tables(ROW_GROUP_ROWS)
        export.written[str(export.output)] = write_parquet(path, schema, tables, origin, export.compression)
    if export.best is None:
        _remove_earlier(export, _BESIDE[".parquet"])


def _csv(export: Export) -> None:
    schema, tables = export.cell_tables(ROW_GROUP_ROWS)
    changed = 0
    with ExitStack() as files:
        paths = [export.output, *(export.beside(ending) for ending in _BESIDE[".csv"])]
        with files.enter_context(new_file(paths[0])).open("wb") as sink:
            export.written[str(paths[0])], changed = write_csv(sink, schema, tables)
        files.enter_context(new_file(paths[1])).write_text(csv_schema(schema), encoding="utf-8")
        if export.best is not None:
            with files.enter_context(new_file(paths[2])).open("wb") as sink:
                export.written[str(paths[2])], more = write_csv(sink, export.best.schema, [export.best])
                changed += more
            files.enter_context(new_file(paths[3])).write_text(csv_schema(export.best.schema), encoding="utf-8")
    if export.best is None:
        _remove_earlier(export, _BESIDE[".csv"][1:])
    export.warnings += filter(None, [rows_warning(export.written[str(paths[0])])])
    if changed:
        said = "texts begin like a formula: each has an apostrophe in front, so that no spreadsheet runs it"
        export.warnings.append(f"{changed:,} {said}")


def _remove_earlier(export: Export, endings: Iterable[str]) -> None:
    """Remove what an earlier export wrote beside its output and this one did not: it is of other rows."""
    for ending in endings:
        path = export.beside(ending)
        if path.is_file():
            path.unlink()
            export.warnings.append(f"{path} was of an earlier export: it is removed")


def _excel(export: Export) -> None:
    from gridplan.export.excel import Sheet, write_workbook

    count = export.rows.count() if export.cells else 0
    if count >= ROWS:
        raise StoreError(
            f"{count:,} rows do not fit a worksheet of {ROWS - 1:,}: --where cuts them, --no-cells leaves them out and "
            "keeps summary, dictionary and --best; star, wide, duckdb and delta hold all of them"
        )
    names = {"about": "summary", "metric": "dictionary", "best": "best"}
    axes = len(export.rows.table.axes)
    small = {name: _figures_first(export, table) for name, table in export.small().items()}
    labels = {"best": axes}
    sheets = [Sheet(names[name], table.schema, [table], labels.get(name, 0)) for name, table in small.items()]
    if export.cells:
        sheets.append(Sheet("cells", *export.cell_tables(ROW_GROUP_ROWS), axes))
    with new_file(export.output) as path:
        export.written |= write_workbook(path, sheets)


def _figures_first(export: Export, table: pa.Table) -> pa.Table:
    """The winners with their labels, figure and counts before all other columns; other tables as they are."""
    if export.winners is None or table is not export.winners.table:
        return table
    axes = [axis.name for axis in export.rows.table.axes]
    first = [*axes, *export.winners.figures]
    return table.select([*first, *(name for name in table.column_names if name not in first)])


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
    if export.best is None and (export.output / "best").is_dir():
        rmtree(export.output / "best")
        export.warnings.append(f"{export.output / 'best'} was of an earlier export: it is removed")


_TABLES = frozenset({"cube", "about", "metric", "best"})


def _is_delta(path: Path) -> bool:
    """Whether a folder holds the tables of an export, all of them known by their names, and nothing else."""
    names = {entry.name for entry in path.iterdir()} if path.is_dir() else set()
    whole = {"cube", "about", "metric"} <= names <= _TABLES
    return whole and all((path / name / "_delta_log").is_dir() for name in names)


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
    """How a form is written; what its output ends in, "" for a folder; what such an output is known by; which sign its
    library does not take in a path."""

    write: Callable[[Export], None]
    suffix: str
    ours: Callable[[Path], bool] = Path.is_file
    never: str = ""

    def check(self, output: Path, force: bool) -> None:
        """Refuse an output that cannot be written, or must not be, and what lies beside it. Raises StoreError."""
        if self.never and any(sign in str(output.absolute()) for sign in self.never):
            raise StoreError(f"{output}: this form cannot be written to a path with {' or '.join(self.never)} in it")
        check_free(output, force, self.ours, folder=not self.suffix)
        for ending in _BESIDE.get(self.suffix, ()):
            check_free(beside(output, ending), force)


_BESIDE: Mapping[str, tuple[str, ...]] = {
    ".parquet": ("best.parquet",),
    ".csv": ("schema.json", "best.csv", "best_schema.json"),
}

FORMS: Mapping[str, Form] = {
    "star": Form(_star, "", _is_star),
    "wide": Form(_wide, ".parquet"),
    "csv": Form(_csv, ".csv"),
    "excel": Form(_excel, ".xlsx"),
    "duckdb": Form(_duckdb, ".duckdb", never="?\\"),
    "delta": Form(_delta, "", _is_delta, never="%\\[]|^"),
}
