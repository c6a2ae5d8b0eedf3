"""`gridplan fleet pool` and `gridplan fleet pair`: tables, JSON, files, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

POOL = """
schema: 1
workloads:
  chat: {arrival_rate: 60}
  code: {arrival_rate: 10}
  batch: {arrival_rate: 9}
deployment:
  gpus_per_node: 8
  usd_per_node_hour: 10
  tensor_parallel: {by: workload, chat: 4, code: 2, batch: 1}
capacity: {capacity_model: measured, lambda_instance_given: {by: workload, chat: 20, code: 4, batch: 1.5}}
policy: {redundancy: 1, failure_domain: replica}
axes: {rho_target: [0.75, 1.0]}
"""

PAIR = """
schema: 1
workload: {}
capacity: {capacity_model: measured, lambda_instance_given: {by: instance, big: 10, small: 8, bare: 8}}
policy: {rho_target: 0.7, redundancy: 1, failure_domain: replica}
catalog:
  instances:
    big: {gpu: h100-sxm, gpus_per_node: 8, usd_per_node_hour: 40, as_of: 2026-01-01, source: made up}
    small: {gpu: a100-sxm-80gb, gpus_per_node: 1, usd_per_node_hour: 6, as_of: 2026-01-01, source: made up}
    bare: {gpu: a100-sxm-80gb, gpus_per_node: 1, as_of: 2026-01-01, source: made up}
axes: {instance: [big, small, bare], arrival_rate: [30, 60, 120]}
"""


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    path = tmp_path / "pool.yaml"
    path.write_text(POOL, encoding="utf-8")
    return path


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    path = tmp_path / "pair.yaml"
    path.write_text(PAIR, encoding="utf-8")
    return path


def test_a_pool_is_told_in_tables(cli: Any, pool: Path) -> None:
    done = cli("fleet", "pool", pool, "--at", "rho_target=0.75")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "the services along workload on one fleet of equal nodes, at rho_target=0.75",
        "nodes  bound  gap  separate  GPUs  stranded  USD/h  USD/h separate",
        "    5      5    0         7    39         1     50              70",
        "",
        "what each takes, and what is left of it after the loss of the node that holds most of it",
        "workload  replicas  GPUs each  nodes alone  share of bill  left after loss  headroom kept  limits hold",
        "chat             5          4            3       0.512821                3  no             yes",
        "code             5          2            2        0.25641                2  no             no",
        "batch            9          1            2       0.230769                2  no             no",
    ]
    every = cli("fleet", "pool", pool, "--lose", "0").out.splitlines()
    assert every[2].split() == ["0.75", "5", "5", "0", "7", "39", "1", "50", "70"]
    assert every[3].split() == ["1", "4", "4", "0", "4", "31", "1", "40", "40"]


def test_json_has_numbers_labels_and_truth_values(cli: Any, pool: Path) -> None:
    found = json.loads(cli("fleet", "pool", pool, "--at", "rho_target=0.75", "--json").out)
    assert (found["pool_over"], found["lost_nodes"], found["at"]) == ("workload", 1, "rho_target=0.75")
    first = found["rows"][0]
    assert (first["workload"], first["pool_nodes"], first["replicas"]) == ("chat", 5, 5)
    assert (first["pool_label_headroom_kept"], first["pool_label_slo_held"]) == (False, True)
    assert first["pool_infeasible_label"] is None


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_written_pool_keeps_types_and_units(cli: Any, pool: Path, suffix: str) -> None:
    path = pool.with_name(f"pool.{suffix}")
    done = cli("fleet", "pool", pool, "-o", path)
    assert (done.code, done.out) == (0, "")
    assert "6 rows" in done.err
    table = pq.read_table(path) if suffix == "parquet" else pacsv.read_csv(path)
    assert table.num_rows == 6
    assert table.schema.field("pool_nodes").type == "int64"
    assert table.schema.field("pool_label_slo_held").type == "bool"
    if suffix == "parquet":
        assert table.schema.field("pool_usd_per_hour").type == "double"
        assert table.schema.field("pool_usd_per_hour").metadata[b"unit"] == b"USD/h"
    again = cli("fleet", "pool", pool, "-o", path)
    assert again.code == 3
    assert "already there" in again.err
    assert cli("fleet", "pool", pool, "-o", path, "--force").code == 0


def test_a_written_json_is_the_printed_one(cli: Any, pair: Path) -> None:
    path = pair.with_name("pair.json")
    assert cli("fleet", "pair", pair, "-o", path).code == 0
    assert path.read_text(encoding="utf-8") == cli("fleet", "pair", pair, "--json").out


def test_a_pair_is_told_with_what_is_left_out(cli: Any, pair: Path) -> None:
    done = cli("fleet", "pair", pair)
    assert done.code == 0
    assert done.err == "warning: bare is left out: no_price\n"
    lines = done.out.splitlines()
    assert lines[0] == "the cheapest fleet of one or two kinds of nodes"
    row = next(line for line in lines if line.split()[0] == "60").split()
    assert row[:6] == ["60", "big", "1", "8", "small", "2"]
    assert row[-6:] == ["small", "12", "72", "20", "bare", "(no_price)"]
    found = json.loads(cli("fleet", "pair", pair, "--json").out)
    assert [item["pair_usd_per_hour"] for item in found["rows"]] == [40, 52, 98]
    assert [item["pair_instance_2"] for item in found["rows"]] == [None, "small", "small"]


def test_a_long_table_says_what_it_leaves_out(cli: Any, pair: Path) -> None:
    pair.write_text(PAIR.replace("[30, 60, 120]", "{linspace: [1, 100, 70]}"), encoding="utf-8")
    lines = cli("fleet", "pair", pair).out.splitlines()
    assert lines[-1] == "... 10 more rows: fix an axis with --at, or write them with -o"


def test_bad_questions_name_the_options(cli: Any, pool: Path, pair: Path) -> None:
    done = cli("fleet", "pool", pool, "--over", "workloda", "--lose", "-1")
    assert (done.code, done.out) == (2, "")
    assert "error: --over: workloda is not an axis of this grid" in done.err
    assert "error: --lose: must be a whole number from 0, not -1" in done.err
    assert "--at fixes rho_target twice" in cli("fleet", "pool", pool, "--at", "rho_target=1,rho_target=1").err
    assert "is not on the axis" in cli("fleet", "pool", pool, "--at", "rho_target=0.9").err
    assert "is what is paired" in cli("fleet", "pair", pair, "--at", "instance=big").err
    done = cli("fleet", "pair", pool)
    assert (done.code, "needs the axis instance" in done.err) == (2, True)
    done = cli("fleet", "pool", pool, "-o", "pool.txt")
    assert (done.code, "ends in .csv, .parquet or .json" in done.err) == (2, True)
    assert cli("fleet", "pool", pool, "-o", "/nowhere/at/all.csv").code == 3


def test_answers_are_no_inputs(cli: Any, pool: Path) -> None:
    pool.write_text(POOL.replace("gpus_per_node: 8", "gpus_per_node: 8\n  pool_nodes: 3"), encoding="utf-8")
    done = cli("fleet", "pool", pool)
    assert done.code == 2
    assert "is an answer of `gridplan fleet`: a contract cannot give it" in done.err
