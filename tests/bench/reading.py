"""What slices of a stored cube read from disk, file by file, in DuckDB and in Polars.

    python tests/bench/reading.py [--cells 1e8] [--folder DIR]

Writes the cube of the benchmark (or takes the one in DIR), then asks three questions that filter by two axes. Each file
is asked on its own in the same process, and the bytes of its read calls are counted by the kernel (`rchar` of
/proc/self/io, Linux): what a page cache or a prefetch adds is not in them, what a reader asks for is. Polars maps the
footer into memory (seen with strace, Polars 2.1), which no read call shows: its size is added.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
from stretched import stretched

import gridplan

MB = 1e6
TARGET_MB = 2.0
NO_CAP = 10**12

SLICES = {
    "gpu and model": {"gpu": "h100-sxm", "model": "llama-3.3-70b"},
    "model and context_tokens": {"model": "llama-3.3-70b", "context_tokens": 8192.0},
    "kv_dtype and rho_target": {"kv_dtype": "fp8", "rho_target": 0.7},
}
"""Two filters each: on the outermost axes, on the middle ones, on the inner ones."""

OUTER = ("gpu and model", "model and context_tokens")
"""Slices whose filters prune row groups; a filter on an inner axis prunes none and reads the columns it names whole."""

Count = tuple[int, float | None, int]
"""Rows, the lowest price, the sum of GPUs (0 where no row has any)."""


def by_duckdb(path: Path, where: dict[str, str | float]) -> Count:
    """The slice of one file in SQL."""
    filters = " AND ".join(f"{name} = {value!r}" for name, value in where.items())
    query = f"SELECT count(*), min(usd_per_mtok_output), sum(gpus) FROM '{path}' WHERE {filters}"
    rows, price, gpus = duckdb.sql(query).fetchall()[0]
    return rows, price, int(gpus or 0)


def by_polars(path: Path, where: dict[str, str | float]) -> Count:
    """The slice of one file as a lazy query."""
    filters = [pl.col(name) == value for name, value in where.items()]
    wanted = pl.len(), pl.col("usd_per_mtok_output").min(), pl.col("gpus").sum()
    rows, price, gpus = pl.scan_parquet(path).filter(*filters).select(*wanted).collect(engine="streaming").row(0)
    return rows, price, gpus


def footer_bytes(path: Path) -> int:
    """Size of a file's footer, with its length and the closing magic."""
    with path.open("rb") as file:
        file.seek(-8, 2)
        return int.from_bytes(file.read(4), "little") + 8


READERS: dict[str, Callable[[Path, dict[str, str | float]], Count]] = {"DuckDB": by_duckdb, "Polars": by_polars}


def bytes_read() -> int:
    """Bytes that read calls of this process returned so far."""
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("rchar"))


def table(folder: Path) -> list[str]:
    """A Markdown table of every slice in every reader, and what was set; the readers must agree on the slice."""
    files = sorted((folder / "facts").glob("*.parquet"))
    heads = (
        "slice",
        "reader",
        "files",
        "files with rows",
        "MB a file (median)",
        "MB a file (most)",
        "ms a file",
        "rows",
    )
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for reader in READERS.values():
        reader(files[0], SLICES["gpu and model"])  # loads what is loaded once
    most = 0.0
    for name, where in SLICES.items():
        found: dict[str, list[Count]] = {}
        for title, reader in READERS.items():
            taken, seconds = [], []
            for path in files:
                unseen = footer_bytes(path) if title == "Polars" else 0
                before, began = bytes_read(), time.perf_counter()
                found.setdefault(title, []).append(reader(path, where))
                seconds.append(time.perf_counter() - began)
                taken.append((bytes_read() - before + unseen) / MB)
            most = max(most, max(taken)) if name in OUTER else most
            with_rows = sum(1 for rows, _, _ in found[title] if rows)
            rows = sum(rows for rows, _, _ in found[title])
            figures = f"{statistics.median(taken):.2f} | {max(taken):.2f} | {1e3 * statistics.median(seconds):.1f}"
            lines.append(f"| {name} | {title} | {len(files)} | {with_rows} | {figures} | {rows:,} |")
        if found["DuckDB"] != found["Polars"]:
            sys.exit(f"{name}: the readers disagree")
    met = "met" if most < TARGET_MB else "missed"
    said = f"- outer slices, most of a file: {most:.2f} MB, target under {TARGET_MB:g}: {met}"
    return [*lines, "", said]


def report(cells: float) -> list[str]:
    """The table of a cube of that size, written for it and removed."""
    with tempfile.TemporaryDirectory(prefix="gridplan-bench-") as scratch:
        folder = Path(scratch) / "cube"
        gridplan.run(stretched(cells), folder, max_cells=NO_CAP)
        return table(folder)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=float, default=1e8, help="size of the cube that is written (default 1e8)")
    parser.add_argument("--folder", type=Path, help="a folder that `gridplan.run` wrote, instead")
    asked = parser.parse_args()
    print(*(table(asked.folder) if asked.folder else report(asked.cells)), sep="\n")


if __name__ == "__main__":
    main()
