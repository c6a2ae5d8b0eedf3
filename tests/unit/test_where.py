"""Conditions in SQL: what they may be made of, how labels are found, what is said of those that cannot be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridplan.dictionary import dictionary
from gridplan.errors import ContractError
from gridplan.query.best import CANDIDATES
from gridplan.query.files import held_parts, held_positions
from gridplan.query.table import Table, open_table
from gridplan.query.text import file_list, name_sql, number_sql, text_sql
from gridplan.query.where import read_where


@pytest.fixture(scope="module")
def table(folder: Callable[[str], Path]) -> Table:
    return open_table(folder("quickstart"))


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("gpu in ('h100-sxm', 'b200') and rho_target = 0.7", "(gpu IN ('h100-sxm', 'b200') AND rho_target = 0.7)"),
        ("GPU = 'b200'", "(gpu = 'b200')"),
        ("'b200' = gpu", "('b200' = gpu)"),
        ("rho_target = 0.7000000000000001", "(rho_target = 0.7)"),
        ("rho_target = '0.7'", "(rho_target = 0.7)"),
        ("rho_target between 0.6000000000000001 and 0.8", "(rho_target BETWEEN 0.6 AND 0.8)"),
        ("arrival_rate > 1.5", "(arrival_rate > 1.5)"),
        ("arrival_rate = 0.215443", "(arrival_rate = 0.215443469003)"),
        ("tpot_s <= '20 ms'", "(tpot_s <= 0.02)"),
        ("kv_pool_bytes_per_gpu >= '1 GiB'", "(kv_pool_bytes_per_gpu >= 1073741824)"),
        ("not fleet_sufficient or latency_flag is null", "(NOT fleet_sufficient OR latency_flag IS NULL)"),
        ("gpus / replicas > 2 -- wide ones", "(gpus / replicas > 2)"),
    ],
)
def test_a_condition_means_labels_and_units(said: str, read: str, table: Table) -> None:
    assert read_where([said], table).sql == read


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("gpuu = 'b200'", r"gpuu is no column .*did you mean gpu"),
        ("gpu = 'h100'", r"gpu: h100 is not on the axis.*did you mean h100-sxm"),
        ("gpu = b200", r"b200 is no column .*a label is written in single quotes"),
        ("rho_target = 0.71", r"rho_target: 0.71 is not on the axis.*nearest: 0.7, 0.8"),
        ("status = 'fine'", r"status: fine is none of its labels: ok, infeasible"),
        ("gpu < 'b200'", r"gpu is a label: it may be =, <>, in or like"),
        ("fleet_sufficient = 'yes'", r"fleet_sufficient is true or false, not 'yes'"),
        ("gpus > 'many'", r"gpus is a number, not 'many'"),
        ("rho_target = true", r"rho_target is a number, not true"),
        ("gpu = ", r"cannot be read as one condition in SQL near its end"),
        ("gpu = 'b200", r"cannot be read as one condition in SQL"),
        ("", r"cannot be read"),
        ("true) or (true", r"cannot be read"),
        ("gpu = 'b200' union select 1", r"cannot be read"),
        ("gpu = 'x'; drop table cube", r"cannot be read"),
        ("gpu = (select 'b200')", r"cannot stand in a condition"),
        ("gpu in (select 'b200')", r"cannot stand in a condition"),
        ("read_text('/etc/passwd') = ''", r"cannot stand in a condition"),
        ("exists(select 1)", r"cannot stand in a condition"),
        ("gpus = ?", r"cannot (stand|be read)"),
        ("facts.gpu = 'b200'", r"facts.gpu is no column"),
        ("*", r"cannot"),
    ],
)
def test_what_cannot_be_is_said(said: str, message: str, table: Table) -> None:
    with pytest.raises(ContractError, match=message):
        read_where([said], table)


def test_all_problems_are_said_at_once(table: Table) -> None:
    said = ["gpu = 'h100' and rho_target = 0.71", "modl = 'x'", "gpu ="]
    with pytest.raises(ContractError) as found:
        read_where(said, table)
    assert len(found.value.problems) == 4


def test_conditions_must_all_hold(table: Table) -> None:
    both = read_where(["gpu = 'l4' or gpu = 'b200'", "rho_target = 0.5"], table)
    assert both.sql == "(gpu = 'l4' OR gpu = 'b200') AND (rho_target = 0.5)"
    assert both.columns == ("gpu", "rho_target")


def test_files_are_left_out_by_what_is_said_of_one_axis(table: Table, tmp_path: Path) -> None:
    """The boxes of parts decide: an axis inside a part leaves none out, and neither does `or` over two axes."""
    with duckdb.connect() as db:
        one = held_positions(db, table, read_where(["gpu in ('b200', 'l4') and (rho_target > 0.6)"], table))
        assert one == {"gpu": [0, 5], "rho_target": [2, 3, 4]}
        assert held_positions(db, table, read_where(["gpu = 'b200' or rho_target = 0.5"], table)) == {}
    parts = table.manifest.layout.parts(9_000)
    many = replace(table, manifest=replace(table.manifest, parts=parts))
    assert [part.number for part in held_parts(many, {"gpu": [0, 5]})] == [0, 5]
    assert [part.number for part in held_parts(many, {"gpu": [5], "rho_target": [0]})] == [5]
    assert held_parts(many, {"gpu": []}) == [parts[0]]  # no file has rows, and one is needed for the columns


@given(st.text().filter(lambda text: "\x00" not in text and text.isprintable()))
def test_a_text_is_never_more_than_a_text(text: str) -> None:
    assert duckdb.sql(f"SELECT {text_sql(text)}").fetchall() == [(text,)]


@given(st.floats(allow_nan=False, allow_infinity=False).map(abs))
def test_a_number_is_read_as_the_same_double(number: float) -> None:
    ((equal,),) = duckdb.execute(f"SELECT ?::DOUBLE = {number_sql(number)}", [number]).fetchall()
    assert equal


def test_no_column_has_a_name_that_sql_reads_otherwise() -> None:
    """Names of the dictionary stand in queries without quotes, beside those that the queries give themselves."""
    found = duckdb.sql("SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'").fetchall()
    own = {"cells", "ties", "place", "extreme", "known", "winner", "tied", "candidate", CANDIDATES}
    assert {row[0] for row in found}.isdisjoint(dictionary())
    assert own.isdisjoint(dictionary())
    assert name_sql("select") == '"select"'


def test_a_folder_is_never_a_pattern(tmp_path: Path) -> None:
    strange = tmp_path / "a[1]*?b's"
    (strange / "facts").mkdir(parents=True)
    duckdb.sql("COPY (SELECT 1 AS x) TO '" + str(strange / "facts" / "part-00000.parquet").replace("'", "''") + "'")
    for files in (None, ["facts/part-00000.parquet"]):
        assert duckdb.sql(f"SELECT * FROM read_parquet({file_list(strange, files)})").fetchall() == [(1,)]
