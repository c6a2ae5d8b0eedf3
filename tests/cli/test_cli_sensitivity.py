"""`gridplan sensitivity`: tables, the sentence, JSON, files, cubes, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import gridplan

GRID = """
schema: 1
workload: {arrival_rate: 60, prompt_tokens: 1000, output_tokens: 200, peak_to_average: 2}
slo: {tpot: {limit: 60 ms}}
deployment: {model: llama-3.1-8b, gpus_per_node: 8, usd_per_node_hour: 30, mbu: 0.7}
policy: {rho_target: 0.65, redundancy: 0}
axes: {gpu: [l4, h100-sxm], kv_dtype: [bf16, fp8], context_tokens: [1200, 8000, 60000]}
"""

MEASURED = """
schema: 1
workload: {arrival_rate: 60}
deployment: {gpus_per_node: 1, usd_per_node_hour: 1}
capacity: {capacity_model: measured, lambda_instance_given: 10, applies_to: any}
policy: {redundancy: 0, hours_per_month: 1}
axes: {rho_target: [0.5, 1.0], usd_per_node_hour: [1, 3]}
"""


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    path = tmp_path / "grid.yaml"
    path.write_text(GRID.replace("prompt_tokens: 1000, ", ""), encoding="utf-8")
    return path


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    path = tmp_path / "measured.yaml"
    path.write_text(MEASURED.replace(", usd_per_node_hour: 1}", "}"), encoding="utf-8")
    return path


def test_axes_by_hand(cli: Any, measured: Path) -> None:
    # Bills 12, 36 / 6, 18: mean 18, variance 126; by target means 24 and 12 (36), by price 9 and 27 (81).
    done = cli("sensitivity", measured, "--measure", "usd_per_month")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "usd_per_month (USD/month) over 4 cells: mean 18, sd 11.22"
    assert lines[2].split()[:4] == ["usd_per_node_hour", "64.3%", "71.4%", "7.1%"]
    assert lines[3].split()[:4] == ["rho_target", "28.6%", "35.7%", "7.1%"]
    assert lines[-1] == (
        "usd_per_month: usd_per_node_hour drives it most, with 64.3% of the variance alone and 71.4% with its "
        "interactions; means go from 9 USD/month (1) to 27 USD/month (3), a swing of 18 USD/month; the binding "
        "constraint never changes along it."
    )


def test_weights_and_json(cli: Any, measured: Path) -> None:
    options = ("--weights", "rho_target=1,0", "--weights", "usd_per_node_hour=3,1", "--json")
    data = json.loads(cli("sensitivity", measured, "--measure", "usd_per_month", *options).out)
    rows = {row["axis"]: row for row in data["rows"]}
    assert rows["rho_target"]["total"] == 0
    assert rows["usd_per_node_hour"]["first_order"] == pytest.approx(1)
    assert (data["mean"], data["null_share"], data["warnings"]) == (pytest.approx(18), 0, [])
    assert data["sentence"].startswith("usd_per_month: usd_per_node_hour drives it most")


def test_a_cube_that_was_written_says_the_same(cli: Any, grid: Path, tmp_path: Path) -> None:
    gridplan.run(gridplan.load_grid(grid), tmp_path / "cube")
    options = ("--measure", "nodes", "--at", "gpu=h100-sxm", "--json")
    assert cli("sensitivity", tmp_path / "cube", *options).out == cli("sensitivity", grid, *options).out
    gridplan.run(gridplan.load_grid(grid), tmp_path / "bare", outputs=["nodes"])
    bare = cli("sensitivity", tmp_path / "bare", "--measure", "nodes")
    assert bare.code == 0
    assert "binding" not in bare.out


def test_missing_cells_are_said_and_asked_about(cli: Any, grid: Path) -> None:
    done = cli("sensitivity", grid, "--measure", "nodes")
    assert done.code == 0
    assert "of the weight is on cells without nodes" in done.err
    has = cli("sensitivity", grid, "--measure", "nodes", "--has-value")
    assert has.err == ""
    assert has.out.splitlines()[-1].startswith("whether there is a value of nodes: ")


SAMPLES = ("--sample", "arrival_rate=normal(60, 6)", "--sample", "mbu=triangular(0.6, 0.7, 0.8)", "-n", "1024")


def test_samples_of_one_cell(cli: Any, grid: Path) -> None:
    at = ("--at", "gpu=h100-sxm,kv_dtype=fp8,context_tokens=8000")
    done = cli("sensitivity", grid, "--measure", "replicas", *SAMPLES, *at)
    assert (done.code, done.err) == (0, "")
    found = gridplan.sample(
        gridplan.load_grid(grid),
        {"arrival_rate": "normal(60, 6)", "mbu": "triangular(0.6, 0.7, 0.8)"},
        "replicas",
        n=1024,
        at={"gpu": "h100-sxm", "kv_dtype": "fp8", "context_tokens": 8000},
    )
    p90 = f"{found.replicas_p90.item():g}"
    assert ["replicas_p90", p90] in [line.split() for line in done.out.splitlines()]
    last = done.out.splitlines()[-1]
    assert f"P90 {p90}; arrival_rate drives it most, with" in last
    assert "binding_constraint is " in last
    data = json.loads(cli("sensitivity", grid, "--measure", "replicas", *SAMPLES, *at, "--json").out)
    assert {row["input"] for row in data["inputs_explain"]["rows"]} == {"arrival_rate", "mbu"}
    assert data["rows"][0]["replicas_p90"] == found.replicas_p90.item()


def test_samples_of_many_cells(cli: Any, grid: Path, tmp_path: Path) -> None:
    done = cli("sensitivity", grid, "--measure", "replicas", *SAMPLES, "--at", "kv_dtype=fp8")
    assert done.code == 0
    assert "samples have no plan" in done.out.splitlines()[-1]
    for suffix, read in (("csv", pacsv.read_csv), ("parquet", pq.read_table)):
        path = tmp_path / f"out.{suffix}"
        assert cli("sensitivity", grid, "--measure", "replicas", *SAMPLES, "-o", path).code == 0
        assert read(path).num_rows == 12
        assert cli("sensitivity", grid, "--measure", "replicas", "-o", path).code == 3
        assert cli("sensitivity", grid, "--measure", "replicas", "-o", path, "--force").code == 0
        assert read(path).num_rows == 3


def test_json_file(cli: Any, measured: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    done = cli("sensitivity", measured, "--measure", "usd_per_month", "-o", path)
    assert done.code == 0
    assert done.out.startswith("usd_per_month: ")
    assert json.loads(path.read_text(encoding="utf-8"))["measure"] == "usd_per_month"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--measure", "node"), "did you mean nodes"),
        (("--measure", "status"), "--measure: status is text"),
        (("--measure", "nodes", "--weights", "gpu=1,x"), "--weights: takes AXIS=W,W,..."),
        (("--measure", "nodes", "--weights", "gpu=1"), "--weights: gpu has 2 labels (l4, h100-sxm) and 1 weights"),
        (("--measure", "nodes", "--at", "gpu=l5"), "l4"),
        (("--measure", "nodes", "--sample", "arrival_rate"), "--sample: takes INPUT=DISTRIBUTION"),
        (("--measure", "nodes", "--sample", "mbu=normal(1, 1)"), "mbu must be > 0 and <= 1"),
        (("--measure", "nodes", *SAMPLES, "-n", "1000"), "-n: n must be a power of 2"),
        (("--measure", "nodes", *SAMPLES, "--by-axes"), "ask one at a time"),
        (("--measure", "nodes", "-o", "x.txt"), "a file that ends in"),
    ],
)
def test_wrong_questions(cli: Any, grid: Path, options: tuple[str, ...], said: str) -> None:
    done = cli("sensitivity", grid, *options)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_cube_cannot_be_sampled(cli: Any, grid: Path, tmp_path: Path) -> None:
    gridplan.run(gridplan.load_grid(grid), tmp_path / "cube")
    done = cli("sensitivity", tmp_path / "cube", "--measure", "nodes", *SAMPLES)
    assert done.code == 2
    assert "--sample needs the contract" in done.err


def test_one_cell_has_no_variance_and_says_so(cli: Any, measured: Path) -> None:
    fixed = "rho_target=0.5,usd_per_node_hour=1"
    done = cli("sensitivity", measured, "--measure", "usd_per_month", "--at", fixed)
    assert (done.code, done.out) == (2, "")
    assert "--at: no axis with more than one label is left: nothing varies" in done.err


def test_options_of_samples_are_not_ignored(cli: Any, measured: Path) -> None:
    for words in (["--seed", "3"], ["-n", "64"]):
        done = cli("sensitivity", measured, "--measure", "usd_per_month", *words)
        assert done.code == 2
        assert "-n and --seed are of --sample" in done.err
    done = cli(
        "sensitivity",
        measured,
        "--measure",
        "usd_per_month",
        "--sample",
        "arrival_rate=x normal(1, 0.1)",
        "--seed",
        "-1",
    )
    assert done.code == 2
    assert "Traceback" not in done.err
