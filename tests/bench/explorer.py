"""The explorer in a headless Chromium: seconds until the page can be used, and how long it takes to follow a slider.

python tests/bench/explorer.py SOURCE... [--moves 50] [--chromium /usr/bin/chromium]

SOURCE is a contract or the folder of a cube. A move is one step of a slider of an axis that is not drawn, so that
every number of the page changes. It ends when the browser has painted the new plane (`plane`), and when all of the
page, Pareto and stairs among it, has followed (`page`). A server is started for each source, and its peak memory is
read at the end.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "browser"))
sys.path.append(str(Path(__file__).parents[1] / "reference"))

from system_chromium import launched, require_chromium

__all__ = ["MOVE", "SETTLED", "Measured", "lines", "measured"]

SETTLED = "html[data-settled]:not([data-busy])"
"""What the page says of itself once every number stands."""

MOVE = """async ({ id, moves }) => {
  const slider = document.getElementById(id);
  const painted = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const until = (element, options, holds) => new Promise((done) => {
    const seen = new MutationObserver(() => holds() && (seen.disconnect(), done()));
    seen.observe(element, options);
  });
  const root = document.documentElement;
  const times = { plane: [], page: [] };
  for (let move = 0; move < moves; move++) {
    const place = Number(slider.value);
    slider.value = String(place === Number(slider.max) ? 0 : place + 1);
    const whole = until(root, { attributes: true }, () => !root.dataset.busy);
    const caption = document.getElementById("plane-caption");
    const plane = until(caption, { childList: true, characterData: true, subtree: true }, () => true);
    const begin = performance.now();
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await plane;
    await painted();
    times.plane.push(performance.now() - begin);
    await whole;
    await painted();
    times.page.push(performance.now() - begin);
  }
  return times;
}"""
"""Moves a slider step by step and says how many milliseconds each move took."""


@dataclass(frozen=True)
class Measured:
    """One source: cells, seconds until it was served and filled, milliseconds of each move, MiB of the server."""

    source: str
    cells: int
    start_s: float
    filled_s: float
    plane_ms: tuple[float, ...]
    page_ms: tuple[float, ...]
    peak_mib: float


@contextmanager
def served(source: str) -> Iterator[tuple[str, int, float]]:
    """A server of its own for a source: its address, its process, and the seconds until it listened."""
    begin = time.perf_counter()
    words = [sys.executable, "-m", "gridplan", "explore", source, "--no-open", "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            yield address, process.pid, time.perf_counter() - begin
        finally:
            process.terminate()


def measured(source: str, moves: int, browser: Any) -> Measured:
    """Open the page of a source and move the slider of an axis that is not drawn."""
    with served(source) as (address, pid, start_s):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        begin = time.perf_counter()
        page.goto(address)
        page.wait_for_selector(SETTLED, state="attached", timeout=120_000)
        filled_s = time.perf_counter() - begin
        slider = page.evaluate(
            """() => [...document.querySelectorAll("#controls input[type=range]")].map((one) => one.id)
              .find((id) => ![...document.querySelectorAll("#plane-controls select")].slice(0, 2)
                .some((select) => `axis-${select.value}` === id))"""
        )
        times = page.evaluate(MOVE, {"id": slider, "moves": moves})
        cells = int(page.inner_text("#size").split(" ")[0].replace(",", ""))
        page.close()
        return Measured(source, cells, start_s, filled_s, tuple(times["plane"]), tuple(times["page"]), _peak_mib(pid))


def _peak_mib(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmHWM")) / 1024


def lines(found: Sequence[Measured]) -> Iterator[str]:
    """A row for each source."""
    yield "| source | cells | address after | filled after | plane, median (p95) | page, median (p95) | server, peak |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for item in found:
        kind = "folder" if Path(item.source).is_dir() else "contract"
        yield (
            f"| {kind} | {item.cells:,} | {item.start_s:.1f} s | {item.filled_s:.1f} s | {_ends(item.plane_ms)} | "
            f"{_ends(item.page_ms)} | {item.peak_mib:,.0f} MiB |"
        )


def _ends(times: Sequence[float]) -> str:
    return f"{statistics.median(times):,.0f} ms ({statistics.quantiles(times, n=20)[-1]:,.0f})"


def main() -> None:
    """Measure every source in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--moves", type=int, default=50)
    parser.add_argument("--chromium", default=None)
    arguments = parser.parse_args()
    with launched(arguments.chromium or require_chromium()) as browser:
        print("\n".join(lines([measured(source, arguments.moves, browser) for source in arguments.sources])))


if __name__ == "__main__":
    main()
