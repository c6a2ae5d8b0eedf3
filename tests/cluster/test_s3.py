"""A cube in S3, as moto's server plays it: run, killed, resumed, verified, opened and asked; refusals in one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faulty_store import SECRET, known, moto_server

import gridplan
from gridplan.store.place import place_of, sizes_below

pytest.importorskip("s3fs")
pytest.importorskip("moto.server")

GRID = Path(__file__).parents[2] / "grids" / "quickstart.yaml"
RATES = "arrival_rate: {geomspace: [0.1, 100, 10]}"
BUCKET = "cubes"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """The address of an S3 that knows one bucket, with credentials in the environment as any program finds them."""
    with moto_server() as address, known(address, BUCKET):
        yield address


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The quickstart with 270 arrival rates and few measures: eight parts."""
    path = tmp_path_factory.mktemp("grid") / "wide.yaml"
    text = GRID.read_text(encoding="utf-8").replace(RATES, "arrival_rate: {geomspace: [0.1, 100, 270]}")
    path.write_text(f"{text}\noutputs: [status, infeasible_reason, gpus, usd_per_mtok_output]\n", encoding="utf-8")
    return path


def started(contract: Path, address: str, *more: str, **environment: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "gridplan", "run", str(contract), "-o", address, "--workers", "1", *more]
    own = {**os.environ, **environment}
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=own)


def test_a_run_that_is_killed_is_resumed(
    contract: Path, endpoint: str, until: Callable[..., None], tmp_path: Path
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
    again = started(contract, address, "--resume")
    out, err = again.communicate(timeout=120)
    assert again.returncode == 0, err
    assert "part(s) stood already" in out
    for path in (path for path in (tmp_path / "cube").rglob("*") if path.is_file()):
        assert (place / str(path.relative_to(tmp_path / "cube"))).read_bytes() == path.read_bytes(), path.name
    assert len(sizes_below(place)) == sum(path.is_file() for path in (tmp_path / "cube").rglob("*"))
    verified = subprocess.run(
        [sys.executable, "-m", "gridplan", "verify", address], capture_output=True, text=True, check=False
    )
    assert verified.returncode == 0, verified.stderr
    here, there = gridplan.open_cube(tmp_path / "cube"), gridplan.open_cube(address)
    assert there.identical(here)
    asked = {"where": "kv_dtype = 'fp8'", "by": "model", "agg": "argmin"}
    assert gridplan.slice_cube(address, **asked).equals(gridplan.slice_cube(tmp_path / "cube", **asked))
    _read_by_others(address, endpoint, float(here.gpus.sum()))


def _read_by_others(address: str, endpoint: str, gpus: float) -> None:
    """DuckDB through fsspec, and Polars with its own client, read the files where they lie."""
    import duckdb
    import polars as pl
    import s3fs

    with duckdb.connect() as db:
        db.register_filesystem(s3fs.S3FileSystem(anon=False))
        found = db.execute(f"SELECT sum(gpus) FROM read_parquet('{address}/facts/*.parquet')").fetchall()
    assert found == [(gpus,)]
    options = {"aws_endpoint_url": endpoint, "aws_allow_http": "true", "aws_region": "us-east-1"}
    options |= {"aws_access_key_id": "an-id", "aws_secret_access_key": SECRET}
    frame = pl.scan_parquet(f"{address}/facts/*.parquet", storage_options=options)
    assert frame.select(pl.col("gpus").sum()).collect().item() == gpus


@pytest.mark.parametrize(
    ("name", "server", "said"),
    [
        ("s3://no-such-bucket-here/cube", None, "there is no such bucket"),
        (f"s3://{BUCKET}/unheard", "http://127.0.0.1:9", "Could not connect"),
        (f"s3://{BUCKET}/unheard", "127.0.0.1:9", "Invalid endpoint: 127.0.0.1:9"),
    ],
)
def test_a_store_that_refuses_is_said_in_one_line(
    contract: Path, endpoint: str, name: str, server: str | None, said: str
) -> None:
    run = started(contract, name, **({} if server is None else {"AWS_ENDPOINT_URL_S3": server}))
    out, err = run.communicate(timeout=120)
    assert run.returncode == 3, (out, err)
    lines = [line for line in err.splitlines() if line]
    assert [line for line in lines if line.startswith("error: ")] == lines[-1:]
    assert name in lines[-1]
    assert said in lines[-1]
    assert "Traceback" not in err
    assert SECRET not in out + err
