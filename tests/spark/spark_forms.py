"""Each form of a cube as Spark reads it, with the options that a reader of that form has to give."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from gridplan.export.handover import export_cube
from gridplan.store import Manifest, read_manifest

FORMS = ("facts", "wide", "star", "csv", "delta")
BEST = ("model", "arrival_rate")

CSV_OPTIONS = {
    "header": True,
    "enforceSchema": False,  # the names in the header must be those of the schema
    "multiLine": True,  # texts may hold line breaks, and Spark may count torn rows without a word
    "quote": '"',
    "escape": '"',  # a quote in a label is doubled; Spark would take a backslash for an escape
    "nullValue": "\0",  # no text is this one: an empty text in quotes would else be read as null
    "mode": "FAILFAST",
}
SPARK_TYPES = {"STRING": "string", "FLOAT": "double", "INTEGER": "bigint", "BOOLEAN": "boolean"}
"""Spark's names of the types that lie beside a CSV file, which are BigQuery's."""

ARROW_TYPES = {pa.string(): "string", pa.float64(): "double", pa.int64(): "bigint", pa.bool_(): "boolean"}


@dataclass(frozen=True, eq=False)
class Source:
    """A cube in `folder`, and what it is exported to under `out`."""

    spark: SparkSession
    folder: Path
    out: Path

    @cached_property
    def manifest(self) -> Manifest:
        """What the cube says of itself."""
        return read_manifest(self.folder)

    @cached_property
    def axes(self) -> list[str]:
        """The axes in declared order."""
        return [axis.name for axis in self.manifest.layout.axes]

    @cached_property
    def truth(self) -> pa.Table:
        """The facts as pyarrow reads them, in the order of the cube."""
        return pq.read_table(self.folder / "facts")

    def expected(self, form: str) -> pa.Table:
        """The rows that a form has to have: the facts; in CSV with an apostrophe before what looks like a formula."""
        if form != "csv":
            return self.truth
        columns = [
            pc.replace_substring_regex(column, r"\A([=+\-@\t\r\n])", r"'\1") if column.type == pa.string() else column
            for column in self.truth.columns
        ]
        return pa.table(columns, names=self.truth.column_names)

    @cache  # noqa: B019 - a source lives as long as the session
    def exported(self, form: str) -> Path:
        """The cube in a form of `gridplan export`, with its table of winners, written once."""
        path = self.out / {"star": "star", "delta": "delta", "csv": "cube.csv", "wide": "wide.parquet"}[form]
        export_cube(self.folder, form, path, best=BEST)
        return path

    @cache  # noqa: B019
    def read(self, form: str) -> DataFrame:
        """All columns and rows of the cube, from its own folder (`facts`) or from an export."""
        match form:
            case "facts":
                return self.spark.read.parquet(str(self.folder / "facts"))
            case "wide":
                return self.spark.read.parquet(str(self.exported("wide")))
            case "csv":
                path = self.exported("csv")
                types = csv_types(path.with_name("cube_schema.json"))
                return self.spark.read.options(**CSV_OPTIONS).schema(types).csv(str(path)).cache()
            case "delta":
                return self.delta("cube")
            case "star":
                return self._joined()
        raise ValueError(form)

    def delta(self, name: str) -> DataFrame:
        """The Parquet files of the current version of a Delta table, with the types that its log states for Spark."""
        table = DeltaTable(self.exported("delta") / name)
        types = StructType.fromJson(json.loads(table.schema().to_json()))
        return self.spark.read.schema(types).parquet(*table.file_uris())

    def star(self, name: str) -> DataFrame:
        """One table of the star schema: `fact`, `dim_gpu`, `best`."""
        path = self.exported("star") / name
        return self.spark.read.parquet(str(path if path.is_dir() else path.with_suffix(".parquet")))

    def _joined(self) -> DataFrame:
        """The facts joined with the tables of all axes; ranks of axes are their keys."""
        joined = self.star("fact")
        for axis in self.axes:
            joined = joined.join(self.star(f"dim_{axis}"), f"{axis}_key")
        ranks = {f"{axis}_rank": joined[f"{axis}_key"] for axis in self.axes}
        columns = [ranks[name].alias(name) if name in ranks else joined[name] for name in self.truth.column_names]
        return joined.select(*columns).cache()


def csv_types(path: Path) -> str:
    """The schema that lies beside a CSV file, in Spark's DDL."""
    fields = json.loads(path.read_text(encoding="utf-8"))
    return ", ".join(f"`{field['name']}` {SPARK_TYPES[field['type']]}" for field in fields)
