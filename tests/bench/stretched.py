"""The grids of the benchmarks: the quickstart, one axis stretched to as many labels as a size asks for.

Everything before the fleet is 1,440 combinations whatever the size, as in any plan that sweeps traffic finely.
"""

from __future__ import annotations

from pathlib import Path

from gridplan.contract import loads_grid
from gridplan.contract.grid import Grid
from gridplan.dictionary import measures

__all__ = [
    "CELLS_PER_RATE",
    "COMPARED",
    "QUICKSTART",
    "by_capacity",
    "queueing",
    "rates_for",
    "stretched",
    "stretched_text",
    "thickened",
]

QUICKSTART = Path(__file__).parents[2] / "grids" / "quickstart.yaml"

BY_QUEUE = {"ttft_s", "e2e_s", "latency_flag", "latency_source"}
"""Measures that take the formulas of a queue, which no other contender has."""

COMPARED = tuple(name for name in measures() if name not in BY_QUEUE)
"""Measures that every contender makes, with the mean step as the law of latency."""

CELLS_PER_RATE = 7_200
"""Cells of the quickstart per arrival rate: 8 GPUs, 10 models, 3 KV formats, 6 contexts, 5 utilisation targets."""

RATES, RHO_CELLS = 139, 200_160
"""Arrival rates of the grid that is stretched along `rho_target`, and its cells per label of that."""

_RATE = "arrival_rate: {geomspace: [0.1, 100, 10]}"
_RHO = "rho_target: [0.5, 0.6, 0.7, 0.8, 0.9]"


def rates_for(cells: float) -> int:
    """Arrival rates that bring the cube closest to `cells`, at least two."""
    return max(2, round(cells / CELLS_PER_RATE))


def stretched(cells: float) -> Grid:
    """The quickstart with about `cells` cells, in its arrival rates."""
    return loads_grid(_mean_step(_text(_more_rates(cells))))


def queueing(cells: float) -> Grid:
    """The same with the law of latency that a grid has by default: that of a queue."""
    return loads_grid(stretched_text(cells))


def stretched_text(cells: float) -> str:
    """The contract of that grid."""
    return _text(_more_rates(cells))


CAPACITY_CELLS = 100_800
"""Combinations that make a replica or its limits in the grid of capacity models."""


def by_capacity(cells: float, model: str) -> Grid:
    """1e5 replicas and limits (the quickstart by limit on TPOT p95 and token budget), by some 1,000 fleets at 1e8."""
    rates = max(2, round(cells / CAPACITY_CELLS / 5))
    text = _text(
        {
            _RATE: f"arrival_rate: {{geomspace: [0.1, 100, {rates}]}}",
            "capacity_model: replica_seconds": f"capacity_model: {model}",
            "tpot: {limit: 50 ms, percentile: mean}, ttft: {limit: 4 s, percentile: mean}": "tpot: {percentile: 95}, "
            "ttft: {limit: 4 s, percentile: 95}",
            _RHO: "tpot_slo_s: {geomspace: [0.02, 0.1, 10]}\n  "
            "max_num_batched_tokens: [512, 1024, 2048, 3072, 4096, 6144, 8192]\n  " + _RHO,
        }
    )
    return loads_grid(text)


def _more_rates(cells: float) -> dict[str, str]:
    return {_RATE: f"arrival_rate: {{geomspace: [0.1, 100, {rates_for(cells)}]}}"}


def thickened(cells: float) -> Grid:
    """The quickstart with about `cells` cells, in its utilisation targets: a larger cube whose rows are of one kind.

    More arrival rates make neighbouring rows more alike, which compresses faster; more targets do not.
    """
    targets = max(2, round(cells / RHO_CELLS))
    new = {_RATE: f"arrival_rate: {{geomspace: [0.1, 100, {RATES}]}}"}
    return loads_grid(_mean_step(_text({**new, _RHO: f"rho_target: {{linspace: [0.5, 0.9, {targets}]}}"})))


def _text(new: dict[str, str]) -> str:
    """The quickstart with other axes."""
    text = QUICKSTART.read_text(encoding="utf-8")
    for axis, stretched_axis in new.items():
        if text.count(axis) != 1:
            raise ValueError(f"{QUICKSTART} no longer says {axis}")
        text = text.replace(axis, stretched_axis)
    return text


def _mean_step(text: str) -> str:
    """The mean step as the law of latency, which other contenders have too."""
    return text.replace("capacity: {", "capacity: {latency_model: mean_step, ")
