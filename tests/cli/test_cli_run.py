"""`gridplan run`: what it writes, what it says, and what it refuses without touching anything."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

AXES = ("gpu", "model", "kv_dtype", "context_tokens", "rho_target", "arrival_rate")
PRICE = "usd_per_mtok_output"
Rows = list[dict[str, Any]]

LARGE = """
schema: 1
workload: {output_tokens: 1024}
slo: {tpot: {limit: 50 ms, percentile: mean}}
deployment: {gpu: h100-sxm, model: llama-3.1-8b, workspace_bytes: 4 GiB}
axes:
  rho_target: [0.5, 0.6, 0.7, 0.8, 0.9]
  context_tokens: {linspace: [2048, 22047, 20000]}
  arrival_rate: {linspace: [1, 30000, 30000]}
"""

TIED = """
schema: 1
workload: {prompt_tokens: 500, output_tokens: 100, arrival_rate: 5, peak_to_average: 2}
slo: {tpot: {limit: 50 ms, percentile: mean}}
deployment: {model: llama-3.1-8b, workspace_bytes: 4 GiB}
policy: {rho_target: 0.7}
catalog:
  instances:
    zeta: {gpu: h100-sxm, gpus_per_node: 1, usd_per_node_hour: 3}
    alpha: {gpu: h100-sxm, gpus_per_node: 1, usd_per_node_hour: 3}
axes: {instance: [zeta, alpha]}
"""


def table(folder: Path) -> pa.Table:
    """All rows of a cube in order."""
    return pa.concat_tables(pq.read_table(path) for path in sorted((folder / "facts").glob("*.parquet")))


def facts(folder: Path, columns: list[str] | None = None) -> Rows:
    """Rows of a cube as dicts."""
    rows: Rows = (table(folder) if columns is None else table(folder).select(columns)).to_pylist()
    return rows


def fingerprint(folder: Path) -> dict[str, str]:
    """Hash of every file under a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def counted(rows: Rows, column: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows:
        if row[column] is not None:
            found[row[column]] = found.get(row[column], 0) + 1
    return found


@pytest.fixture(scope="module")
def ran(cli: Any, grids: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Rows]:
    """The quickstart, run once with --json: its folder, the outcome, the rows."""
    target = tmp_path_factory.mktemp("run") / "quickstart"
    outcome = cli("run", grids / "quickstart.yaml", "-o", target, "--json")
    return target, outcome, facts(target, [*AXES, "status", "infeasible_reason", "binding_constraint", PRICE])


def test_run_writes_facts_dims_and_a_manifest(ran: tuple[Path, Any, Rows]) -> None:
    target, outcome, rows = ran
    assert outcome.code == 0
    assert re.fullmatch(r"warning: in \d+ cells the mean batch is above half of concurrency_compute: .*\n", outcome.err)
    assert [path.name for path in (target / "facts").iterdir()] == ["part-00000.parquet"]
    dims = {path.stem for path in (target / "dims").glob("*.parquet")}
    assert {"gpu", "model", "instance", "engine", "weight_dtype", "kv_dtype", "metric"} <= dims
    manifest = json.loads((target / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["rows"] == len(rows) == 8 * 10 * 3 * 6 * 5 * 10
    assert manifest["grid_name"] == "quickstart"
    assert [axis["name"] for axis in manifest["axes"]][:2] == ["gpu", "model"]
    assert not [path for path in target.rglob("*") if path.name.endswith(".tmp")]


def test_json_says_what_the_folder_holds(ran: tuple[Path, Any, Rows]) -> None:
    target, outcome, rows = ran
    said = json.loads(outcome.out)
    assert (said["cells"], said["rows"], said["parts"]) == (len(rows), len(rows), 1)
    assert said["bytes"] == sum(path.stat().st_size for path in (target / "facts").iterdir())
    assert said["feasible"] == sum(row["status"] == "ok" for row in rows)
    assert said["feasible_share"] == said["feasible"] / len(rows)
    assert said["binding_constraint"] == counted(rows, "binding_constraint")
    assert said["infeasible_reason"] == counted(rows, "infeasible_reason")
    best: dict[str, dict[str, Any]] = {}
    for row in rows:
        price = row[PRICE]
        # Rows are in declared order, so the first of equal prices is the one to name.
        if price is not None and (row["model"] not in best or price < best[row["model"]][PRICE]):
            best[row["model"]] = row
    assert said["cheapest"] == [
        {"model": name, PRICE: best[name][PRICE], "labels": {axis: best[name][axis] for axis in AXES}}
        for name in dict.fromkeys(row["model"] for row in rows)  # in the order of the axis
    ]
    assert len(said["cheapest"]) == 10


def test_the_table_says_the_same_in_words(ran: tuple[Path, Any, Rows], cli: Any, grids: Path, tmp_path: Path) -> None:
    said = json.loads(ran[1].out)
    lines = cli("run", grids / "quickstart.yaml", "-o", tmp_path / "q").out.splitlines()
    assert lines[0].startswith(f"72,000 cells -> {tmp_path / 'q'} (1 part(s), ")
    assert lines[1].split() == ["feasible", f"{said['feasible']:,}", f"({said['feasible_share']:.1%})"]
    assert lines[2] == "rho* basis  mean_tpot 42,500"
    assert said["lambda_basis"] == {"mean_tpot": 42_500}
    assert lines[3].split(None, 1) == [
        "binds",
        ", ".join(f"{label} {count:,}" for label, count in said["binding_constraint"].items()),
    ]
    assert lines[4].startswith("infeasible")
    assert "weights_exceed_memory 11,700" in lines[4]
    table = {line.split()[0]: line for line in lines[7:]}
    for best in said["cheapest"]:
        line = table[best["model"]]
        assert f"{best['usd_per_mtok_output']:.3f}" in line
        assert f"gpu={best['labels']['gpu']}, kv_dtype={best['labels']['kv_dtype']}, " in line
        assert f"arrival_rate={best['labels']['arrival_rate']:g}" in line


def test_equal_prices_go_to_the_label_declared_first(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "tied.yaml").write_text(TIED, encoding="utf-8")
    said = json.loads(cli("run", tmp_path / "tied.yaml", "-o", tmp_path / "out", "--json").out)
    assert [best["labels"] for best in said["cheapest"]] == [{"instance": "zeta"}]
    assert facts(tmp_path / "out")[0]["usd_per_mtok_output"] == facts(tmp_path / "out")[1]["usd_per_mtok_output"]


def test_a_rate_scaled_too_far_is_said_and_not_ranked(cli: Any, grids: Path, tmp_path: Path) -> None:
    """The lesson's FP8 row is scaled by an anchor of 0.24, outside 0.5 to 2: not ranked unless asked for."""
    outcome = cli("run", grids / "lesson.yaml", "-o", tmp_path / "out", "--json")
    said = json.loads(outcome.out)
    (best,) = said["cheapest"]
    rows = facts(tmp_path / "out", ["scenario", "instance", "capacity_source", "anchor_ratio", PRICE])
    # What happens to a plan is no alternative to it: only the nominal scenario is ranked.
    nominal = [row for row in rows if row["capacity_source"] == "measured" and row["scenario"] == "nominal"]
    assert best["usd_per_mtok_output"] == min(row[PRICE] for row in nominal)
    assert best["labels"]["scenario"] == "nominal"
    assert any("anchor" in warning for warning in said["warnings"])
    assert "anchor" in outcome.err


def test_a_cube_is_not_overwritten_unless_forced(cli: Any, grids: Path, tmp_path: Path) -> None:
    target = tmp_path / "cube"
    assert cli("run", grids / "theory.yaml", "-o", target).code == 0
    before = fingerprint(target)
    refused = cli("run", grids / "lesson.yaml", "-o", target)
    assert refused.code == 3
    assert "already holds a cube" in refused.err
    assert "--force" in refused.err
    assert fingerprint(target) == before
    assert cli("run", grids / "lesson.yaml", "-o", target, "--force").code == 0
    after = fingerprint(target)
    assert json.loads((target / "manifest.json").read_text(encoding="utf-8"))["grid_name"] == "lesson"
    assert len(facts(target)) == 20
    # The same grid gives the same bytes.
    assert cli("run", grids / "lesson.yaml", "-o", tmp_path / "again").code == 0
    assert fingerprint(tmp_path / "again") == after


def test_force_never_removes_files_of_others(cli: Any, grids: Path, tmp_path: Path) -> None:
    target = tmp_path / "cube"
    target.mkdir()
    (target / "thesis.txt").write_text("mine", encoding="utf-8")
    refused = cli("run", grids / "theory.yaml", "-o", target, "--force")
    assert refused.code == 3
    assert "thesis.txt" in refused.err
    assert [path.name for path in target.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("options", [[], ["--max-cells", "2999999999"]])
def test_a_grid_above_the_cap_names_its_largest_axes(cli: Any, tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "large.yaml").write_text(LARGE, encoding="utf-8")
    refused = cli("run", tmp_path / "large.yaml", "-o", tmp_path / "out", *options)
    assert refused.code == 2
    assert "3,000,000,000 cells" in refused.err
    assert ("2,999,999,999" if options else "2,000,000,000") in refused.err
    assert "arrival_rate (30,000), context_tokens (20,000), rho_target (5)" in refused.err
    assert "--max-cells" in refused.err
    assert not (tmp_path / "out").exists()


def test_the_cap_itself_is_allowed(cli: Any, grids: Path, tmp_path: Path) -> None:
    assert cli("run", grids / "lesson.yaml", "-o", tmp_path / "at", "--max-cells", "20").code == 0
    assert cli("run", grids / "lesson.yaml", "-o", tmp_path / "below", "--max-cells", "19").code == 2


def test_outputs_select_measures(cli: Any, grids: Path, tmp_path: Path) -> None:
    names = ["usd_per_hour", "replicas"]
    whole, part = tmp_path / "whole", tmp_path / "part"
    assert cli("run", grids / "lesson.yaml", "-o", whole).code == 0
    assert cli("run", grids / "lesson.yaml", "-o", part, "--outputs", ", ".join(names)).code == 0
    rows, all_rows = facts(part), facts(whole)
    assert [[row[name] for name in names] for row in rows] == [[row[name] for name in names] for row in all_rows]
    assert {"scenario", "instance", "replicas", "usd_per_hour", "gpu", "model"} <= rows[0].keys()
    assert not {"status", "nodes", "lambda_instance", "usd_per_month"} & rows[0].keys()


def test_a_selection_without_status_claims_nothing_about_feasibility(cli: Any, grids: Path, tmp_path: Path) -> None:
    """All 20 cells of the lesson have a plan; a run that did not look must not say that none has."""
    target = tmp_path / "part"
    said = json.loads(cli("run", grids / "lesson.yaml", "-o", target, "--outputs", "replicas", "--json").out)
    assert said.get("feasible") in (None, 20)
    text = cli("run", grids / "lesson.yaml", "-o", target, "--outputs", "replicas", "--force").out
    assert "feasible    0" not in text


def test_an_unknown_output_names_the_nearest(cli: Any, grids: Path, tmp_path: Path) -> None:
    refused = cli("run", grids / "lesson.yaml", "-o", tmp_path / "out", "--outputs", "replics,usd_per_hours,nodes")
    assert refused.code == 2
    assert "replics is not a measure (did you mean replicas" in refused.err
    assert "usd_per_hours is not a measure (did you mean usd_per_hour" in refused.err
    assert len(refused.err.splitlines()) == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("option", "codec"), [("zstd", "ZSTD"), ("snappy", "SNAPPY"), ("none", "UNCOMPRESSED"), (None, "ZSTD")]
)
def test_compression(cli: Any, grids: Path, tmp_path: Path, option: str | None, codec: str) -> None:
    options = [] if option is None else ["--compression", option]
    assert cli("run", grids / "theory.yaml", "-o", tmp_path / "out", *options).code == 0
    (path,) = (tmp_path / "out" / "facts").iterdir()
    group = pq.read_metadata(path).row_group(0)
    assert {group.column(i).compression for i in range(group.num_columns)} == {codec}


def test_an_unknown_compression_is_refused(cli: Any, grids: Path, tmp_path: Path) -> None:
    refused = cli("run", grids / "theory.yaml", "-o", tmp_path / "out", "--compression", "lz4")
    assert refused.code == 2
    assert "'zstd', 'snappy', 'none'" in refused.err
    assert not (tmp_path / "out").exists()


def test_single_file_writes_one_part(
    cli: Any, grids: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran: tuple[Path, Any, Rows]
) -> None:
    monkeypatch.setattr("gridplan.store.layout.ROWS_PER_PART", 20_000)
    several, single = tmp_path / "several", tmp_path / "single"
    assert json.loads(cli("run", grids / "quickstart.yaml", "-o", several, "--json").out)["parts"] > 2
    assert json.loads(cli("run", grids / "quickstart.yaml", "-o", single, "--single-file", "--json").out)["parts"] == 1
    assert table(several).equals(table(single))
    assert table(single).equals(table(ran[0]))
