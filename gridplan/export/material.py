"""What is handed over in any form: the rows, the small tables beside them, and what is said as they are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from gridplan.export.about import about, dictionary_table
from gridplan.export.batches import rechunked
from gridplan.export.best import COUNTS
from gridplan.export.parquet_file import write_parquet
from gridplan.export.rows import Rows
from gridplan.export.star import Star
from gridplan.query.arrow import schema_of

__all__ = ["Export", "Winners", "beside"]


@dataclass(frozen=True)
class Winners:
    """The table of winners, and what is noted about it."""

    table: pa.Table
    measure: str
    notes: Mapping[str, str]

    @property
    def figures(self) -> list[str]:
        """What a reader looks for: the measure that is least, how many were compared, and what it buys."""
        wanted = (self.measure, "gpus_deployed", "nodes", "replicas", "usd_per_month", "binding_constraint")
        return [name for name in (*wanted, *COUNTS) if name in self.table.column_names]


@dataclass
class Export:
    """What is handed over, and what is said about it as it is written."""

    rows: Rows
    output: Path
    compression: str
    cells: bool
    force: bool
    winners: Winners | None = None
    written: dict[str, int] = field(default_factory=dict)
    """Rows by file or table."""
    warnings: list[str] = field(default_factory=list)

    @property
    def best(self) -> pa.Table | None:
        """The table of winners, where it is asked for."""
        return None if self.winners is None else self.winners.table

    def beside(self, ending: str) -> Path:
        """A file beside the output: `cube.csv` has `cube_best.csv`."""
        return beside(self.output, ending)

    def parquet(self, path: Path, table: pa.Table) -> int:
        """Write a small table to a Parquet file."""
        return write_parquet(path, table.schema, [table], self.rows.table.manifest.origin, self.compression)

    def small(self, star: Star | None = None) -> dict[str, pa.Table]:
        """The tables beside the cells: what is known, the data dictionary, the winners; of a star the axes."""
        notes = {} if self.winners is None else self.winners.notes
        found = {"about": about(self.rows, notes), "metric": dictionary_table(self.rows)}
        if self.best is not None:
            found["best"] = self.best if star is None else star.keyed(self.best)
        return found if star is None else {**star.tables, **found}

    def cell_tables(self, rows: int) -> tuple[pa.Schema, Iterator[pa.Table]]:
        """The cells in tables of `rows` rows, with their schema."""
        query = self.rows.query()
        schema = schema_of(query.columns)
        return schema, rechunked(schema, self.rows.batches(query), rows)


def beside(output: Path, ending: str) -> Path:
    """A file beside another one.

    >>> beside(Path("out/cube.csv"), "best.csv").as_posix()
    'out/cube_best.csv'
    """
    return output.with_name(f"{output.stem}_{ending}")
