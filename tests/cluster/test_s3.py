"""A cube in S3, as moto's server plays it: run, killed, resumed, verified, opened and asked; refusals in one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from faulty_store import SECRET, known

import gridplan
from gridplan.store.place import place_of, sizes_below

s3fs = pytest.importorskip("s3fs")

GRID = Path(__file__).parents[2] / "grids" / "quickstart.yaml"
RATES = "arrival_rate: {geomspace: [0.1, 100, 10]}"
BUCKET = "other-cubes"

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def endpoint(moto: str) -> Iterator[str]:
    """The address of an S3 that knows a bucket, with credentials in the environment as any program finds them."""
    with known(moto, BUCKET):
        yield moto


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The quickstart with 270 arrival rates and few measures: eight parts."""
    path = tmp_path_factory.mktemp("grid") / "wide.yaml"
    text = GRID.read_text(encoding="utf-8").replace(RATES, "arrival_rate: {geomspace: [0.1, 100, 270]}")
    path.write_text(f"{text}\noutputs: [status, infeasible_reason, gpus, usd_per_mtok_output]\n", encoding="utf-8")
    return path


def started(contract: Path, address: str, **environment: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "gridplan", "run", str(contract), "-o", address, "--workers", "1"]
    own = {**os.environ, **environment}
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=own)


def test_a_run_that_is_killed_is_resumed(
    contract: Path, endpoint: str, until: Callable[..., None], tmp_path: Path, cli: Cli
) -> None:
    gridplan.run(gridplan.load_grid(contract), tmp_path / "cube")
    address = f"s3://{BUCKET}/killed"
    place = place_of(address)
    (tmp_path / "scratch").mkdir()
    run = started(contract, address, TMPDIR=str(tmp_path / "scratch"))  # what is killed removes no file
    until(lambda: sum(name.startswith("receipts/") for name in sizes_below(place)) >= 2)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    found = sizes_below(place)
    assert "run.json" in found
    assert "manifest.json" not in found
    again = cli("run", contract, "-o", address, "--workers", "1", "--resume")
    assert again.code == 0, again.err
    assert "part(s) stood already" in again.out
    for path in (path for path in (tmp_path / "cube").rglob("*") if path.is_file()):
        assert (place / str(path.relative_to(tmp_path / "cube"))).read_bytes() == path.read_bytes(), path.name
    assert len(sizes_below(place)) == sum(path.is_file() for path in (tmp_path / "cube").rglob("*"))
    verified = cli("verify", address)
    assert verified.code == 0, verified.err
    here, there = gridplan.open_cube(tmp_path / "cube"), gridplan.open_cube(address)
    assert there.identical(here)
    asked = {"where": "kv_dtype = 'fp8'", "by": "model", "agg": "argmin"}
    assert gridplan.slice_cube(address, **asked).equals(gridplan.slice_cube(tmp_path / "cube", **asked))
    _read_by_others(address, endpoint, float(here.gpus.sum()))


def _read_by_others(address: str, endpoint: str, gpus: float) -> None:
    """DuckDB through fsspec, and Polars with its own client, read the files where they lie."""
    import duckdb
    import polars as pl

    with duckdb.connect() as db:
        db.register_filesystem(s3fs.S3FileSystem(anon=False))
        found = db.execute(f"SELECT sum(gpus) FROM read_parquet('{address}/facts/*.parquet')").fetchall()
    assert found == [(gpus,)]
    options = {"aws_endpoint_url": endpoint, "aws_allow_http": "true", "aws_region": "us-east-1"}
    options |= {"aws_access_key_id": "an-id", "aws_secret_access_key": SECRET}
    frame = pl.scan_parquet(f"{address}/facts/*.parquet", storage_options=options)
    assert frame.select(pl.col("gpus").sum()).collect().item() == gpus


def said_in_one_line(code: int, out: str, err: str, *parts: str) -> None:
    assert code == 3, (out, err)
    lines = [line for line in err.splitlines() if line]
    assert [line for line in lines if line.startswith("error: ")] == lines[-1:]
    for part in parts:
        assert part in lines[-1]
    assert "Traceback" not in err
    assert SECRET not in out + err


def test_a_bucket_that_is_not_there_is_said_in_one_line(contract: Path, endpoint: str) -> None:
    """By a process of its own: nothing that it leaves open is told of when it ends."""
    run = started(contract, "s3://no-such-bucket-here/cube")
    out, err = run.communicate(timeout=120)
    said_in_one_line(run.returncode, out, err, "s3://no-such-bucket-here/cube", "there is no such bucket")


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ("http://127.0.0.1:9", "the store does not answer (Could not connect"),
        ("127.0.0.1:9", "Invalid endpoint: 127.0.0.1:9"),
    ],
)
def test_a_server_that_is_not_there_is_said_in_one_line(
    contract: Path, endpoint: str, server: str, said: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", server)
    s3fs.S3FileSystem.clear_instance_cache()  # clients know the address that was set when they were made
    try:
        found = cli("run", contract, "-o", f"s3://{BUCKET}/unheard", "--workers", "1")
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
    said_in_one_line(found.code, found.out, found.err, f"s3://{BUCKET}/unheard", said)
