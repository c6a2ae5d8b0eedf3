"""`gridplan estimate`: how large a grid is before it is run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import xarray as xr


@pytest.fixture(scope="module")
def said(cli: Any, grids: Path) -> dict[str, Any]:
    """The estimate of the quickstart as JSON."""
    outcome = cli("estimate", grids / "quickstart.yaml", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    found: dict[str, Any] = json.loads(outcome.out)
    return found


def test_cells_rows_and_columns_are_exact(said: dict[str, Any], folder: Callable[[str], Path]) -> None:
    (path,) = (folder("quickstart") / "facts").iterdir()
    written = pq.read_metadata(path)
    assert said["cells"] == said["rows"] == written.num_rows == 72_000
    assert said["columns"] == written.num_columns
    assert said["parts"] == 1
    sizes = {"gpu": 8, "model": 10, "kv_dtype": 3, "context_tokens": 6, "rho_target": 5, "arrival_rate": 10}
    assert said["axes"] == sizes
    assert said["within_cap"] is True


def test_the_size_is_within_a_factor_of_three(said: dict[str, Any], folder: Callable[[str], Path]) -> None:
    real = sum(path.stat().st_size for path in (folder("quickstart") / "facts").iterdir())
    assert real / 3 <= said["file_bytes"] <= real * 3


def test_the_dataset_is_as_large_as_it_says(said: dict[str, Any], cube: Callable[[str], xr.Dataset]) -> None:
    real = cube("quickstart").nbytes
    assert real / 3 <= said["cube_bytes"] <= real * 3


def test_seconds_and_memory_are_sane(said: dict[str, Any]) -> None:
    assert 0 < said["seconds"] < 60
    assert 50 * 2**20 < said["memory_bytes"] < 2 * 2**30


def test_the_text_names_all_of_it(cli: Any, grids: Path) -> None:
    lines = cli("estimate", grids / "quickstart.yaml").out.splitlines()
    heads = {line.split()[0]: line for line in lines}
    assert {"cells", "rows", "memory", "seconds", "cap"} <= heads.keys()
    assert "72,000 = gpu 8 x model 10 x kv_dtype 3" in heads["cells"]
    assert any(line.startswith("file size") and "MB" in line for line in lines)
    assert "MiB" in heads["memory"]


def test_a_grid_above_the_cap_is_estimated_and_nothing_is_left_behind(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three billion cells: said to be above the cap, from a sample, and the sample is removed."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    text = """
schema: 1
workload: {output_tokens: 1024}
slo: {tpot: {limit: 50 ms, percentile: mean}}
deployment: {gpu: h100-sxm, model: llama-3.1-8b, workspace_bytes: 4 GiB}
axes:
  rho_target: [0.5, 0.6, 0.7, 0.8, 0.9]
  context_tokens: {linspace: [2048, 22047, 20000]}
  arrival_rate: {linspace: [1, 30000, 30000]}
"""
    (tmp_path / "large.yaml").write_text(text, encoding="utf-8")
    outcome = cli("estimate", tmp_path / "large.yaml", "--json")
    assert outcome.code == 0
    said = json.loads(outcome.out)
    assert (said["cells"], said["within_cap"]) == (3_000_000_000, False)
    assert said["sample_rows"] < 1_000_000
    assert said["parts"] > 1
    assert list((tmp_path / "tmp").iterdir()) == []


def test_outputs_are_those_of_a_run(cli: Any, grids: Path, said: dict[str, Any]) -> None:
    outcome = cli("estimate", grids / "quickstart.yaml", "--outputs", "default,ttft_p95_s", "--json")
    assert json.loads(outcome.out)["columns"] == said["columns"] + 1
    outcome = cli("estimate", grids / "quickstart.yaml", "--outputs", "ttft_p96_s")
    assert outcome.code == 2
    assert "did you mean ttft_p9" in outcome.err


def test_one_cell_without_axes(cli: Any, grids: Path) -> None:
    outcome = cli("estimate", grids / "chains-70b.yaml")
    assert outcome.code == 0
    assert "no axes" in outcome.out.splitlines()[0]


def test_a_bad_grid_is_named(cli: Any, tmp_path: Path) -> None:
    outcome = cli("estimate", tmp_path / "absent.yaml")
    assert outcome.code == 2
    assert "no such file" in outcome.err
