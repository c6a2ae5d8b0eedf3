"""Latencies by simulation, for the cells that no formula predicts: short answers to long prompts, crowded replicas.

The same replica as in the formulas, run step by step. Cells that share everything are run once, and a cell's random
numbers follow from what it is, so it gives the same figures wherever it lies in a cube.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from gridplan.chain.codes import choices
from gridplan.chain.graph import Array
from gridplan.chain.pieces import rows_of
from gridplan.chain.replica import GROUPS, LIMITS, PERCENTILES, REPLICA, Replica, in_order, load_at
from gridplan.formulas.replica.steady import steady
from gridplan.formulas.replica.traffic import Traffic
from gridplan.simulation import Metric, Simulation, requests_for, simulate_figures

__all__ = ["FIGURES", "INPUTS", "LATENCIES", "PERCENTS", "SIMULATED_FLAGS", "error", "filled", "simulated"]

REQUESTS = requests_for(0.95)
"""Requests measured in every cell: p95 within about 5% (policy)."""

WARM_UPS = {256: 8, 2_048: 4, 16_384: 1, 65_536: 1}
"""Requests of a warm-up, and how many runs share the measured requests (policy).

Few cells take less time in several short runs, but a run must be longer than the replica takes to fill.
"""

FILLS = 4.0
"""Times of filling up after which a run counts as steady: e^-4 of an empty start is left (policy)."""

SIMULATED_FLAGS = ("short_output", "token_budget", "slots", "busy", "arrival_scv")
"""Flags of cells that a simulation fills; nothing helps an unstable one."""

LATENCIES: tuple[Metric, ...] = ("ttft", "tpot", "e2e", "itl")
PERCENTS = (50, 95, 99)
FIGURES = (
    *("tpot_queueing_s", "ttft_s", "decode_s", "simulation_error"),
    *(f"{name}_at_slo_percentile_s" for name in LATENCIES),
    *(f"{name}_p{percent}_s" for name in LATENCIES for percent in PERCENTS),
    *("goodput", "goodput_bound", "slo_held"),
)
"""Figures of a simulated cell, in the order of the first axis of the result."""

_TTFT = FIGURES.index("ttft_s")
_ITL = LIMITS.index("class_itl_slo_s")
_SHARES = tuple(f"{name}_slo_share" for name in LATENCIES)
_LARGEST_BUDGET = 2.0**30

INPUTS = ("latency_flag_code", "planned_rate_per_replica", *_SHARES, *LIMITS, *PERCENTILES, *GROUPS, *REPLICA)


def simulated(latency_flag_code: Array, rate: Array, *inputs: Array) -> Array:
    """`FIGURES` of the cells whose flag a simulation can fill, figures first; NaN in all others."""
    names = choices("latency_flag")
    wanted = np.isin(latency_flag_code, [names.index(name) for name in SIMULATED_FLAGS])
    wanted = np.broadcast_to(wanted, np.broadcast_shapes(wanted.shape, rate.shape))
    found = np.full((len(FIGURES), *wanted.shape), np.nan)
    if wanted.any():
        where, named = np.nonzero(wanted), zip(INPUTS[1:], (rate, *inputs), strict=True)
        rows = [rows_of(name, item, wanted.shape, where) for name, item in named]
        first, back = _distinct(rows)
        found[:, wanted] = _run([row[first] for row in rows])[:, back]
    return found


def filled(position: int, formula: Array, simulated: Array) -> Array:
    """The simulated figure where the cell was simulated, else that of the formula."""
    return np.where(np.isnan(simulated[_TTFT]), formula, simulated[position])


def error(simulated: Array) -> Array:
    """Relative standard error of the simulated means [1]."""
    return np.asarray(simulated[FIGURES.index("simulation_error")])


def _table(rows: list[Array]) -> Array:
    return np.column_stack([row.reshape(len(row), -1) for row in rows])


def _distinct(rows: list[Array]) -> tuple[Array, Array]:
    """The first row of each kind, and for every row the number of its kind."""
    _, first, back = np.unique(_table(rows).view(np.uint64), axis=0, return_index=True, return_inverse=True)
    return first, back.ravel()


def _keys(rows: list[Array]) -> Array:
    """A number for each cell that follows from what it is."""
    digests = (hashlib.blake2b(row.tobytes(), digest_size=7).digest() for row in _table(rows))
    return np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.int64)


def _run(rows: list[Array]) -> Array:
    """`FIGURES` of every row, figures first; NaN where a replica takes too long to fill for any run."""
    found = np.full((len(FIGURES), len(rows[0])), np.nan)
    need, least = _warm_up(rows), 0
    for warm_up, runs in WARM_UPS.items():
        (which,) = np.nonzero((need > least) & (need <= warm_up))
        if which.size:
            found[:, which] = _run_alike([row[which] for row in rows], warm_up, runs)
        least = warm_up
    return found


def _warm_up(rows: list[Array]) -> Array:
    """Requests that arrive while a replica fills: it takes a residence over the idle share, some times [count]."""
    state = steady(_load(rows))
    return np.asarray(np.maximum(FILLS * (1.0 + state.batch) / (1.0 - state.busy), 1.0))


def _load(rows: list[Array]) -> Traffic:
    named = dict(zip(INPUTS[1:], rows, strict=True))
    return load_at(rows[0], Replica(*(in_order(name, named[name]) for name in REPLICA)))


def _run_alike(rows: list[Array], warm_up: int, runs: int) -> Array:
    """`FIGURES` of rows that take runs of one length."""
    named = dict(zip(INPUTS[1:], rows, strict=True))
    rate, shares = rows[0], [named[name] for name in _SHARES]
    limits = [named[name] for name in (*LIMITS, *PERCENTILES, *GROUPS)]
    load, cells = _load(rows), rate.size
    wanted = {**_means(), **_percentiles(shares), **_goodputs(limits)}
    lengths = {"requests": max(REQUESTS // runs, warm_up), "runs": runs, "warm_up": warm_up}
    found = simulate_figures(wanted, keys=_keys(rows), **lengths, **_replicas(load, cells))
    figures = {name: found[name] for name in FIGURES if name in found}
    for name, share in zip(LATENCIES, shares, strict=True):
        figures[f"{name}_at_slo_percentile_s"] = np.where(np.isnan(share), found[f"{name}_mean"], np.nan)
        for level in np.unique(share[share > 0.0]):
            at = share == level
            figures[f"{name}_at_slo_percentile_s"][at] = found[f"{name} {level}"][at]
    for figure in ("goodput", "slo_held"):
        figures[figure] = np.full(cells, np.nan)
        for stated, which in _limit_groups(limits).items():
            figures[figure][which] = found[f"{figure} {stated}"][which]
    figures["goodput_bound"] = figures["goodput"]
    return np.stack([figures[name] for name in FIGURES])


def _replicas(load: Traffic, cells: int) -> dict[str, Array | None]:
    """The arguments of a simulation: whole tokens, one row a cell, classes last."""

    def rows(by_class: Array) -> Array:
        return np.broadcast_to(np.moveaxis(by_class, 0, -1), (cells, load.classes))

    uncached = np.clip(np.ceil(rows(load.uncached)), 1.0, None)
    return {
        "arrival_rate": load.rate,
        "class_weights": rows(load.weights),
        "prompt_tokens": np.maximum(np.round(rows(load.prompt)), uncached),
        "uncached_tokens": uncached,
        "output_tokens": np.maximum(np.round(rows(load.output)), 1.0),
        "step_weights_s": load.step,
        "step_per_context_token_s": load.context_token,
        "prefill_per_token_s": 0.0,
        "step_per_sequence_s": load.sequence,
        "prefill_s": rows(load.prefill),
        "token_budget": np.clip(np.floor(load.budget), 1.0, _LARGEST_BUDGET),
        "arrival_scv": load.arrival_scv,
        "max_num_seqs": None if load.slots is None else np.maximum(np.floor(load.slots), 1.0),
    }


Figures = Mapping[str, Callable[[Simulation], Array]]


def _means() -> Figures:
    return {
        "tpot_queueing_s": lambda found: found.mean("tpot"),
        "ttft_s": lambda found: found.mean("ttft"),
        "decode_s": lambda found: found.mean("e2e") - found.mean("ttft"),
        "simulation_error": lambda found: np.fmax(
            found.mean_error("ttft") / found.mean("ttft"), found.mean_error("e2e") / found.mean("e2e")
        ),
        **{f"{name}_mean": partial(Simulation.mean, metric=name) for name in LATENCIES},
    }


def _percentiles(shares: Sequence[Array]) -> Figures:
    """Fixed percentiles, and those at which some limit is stated."""
    fixed = {
        f"{name}_p{percent}_s": partial(Simulation.quantile, metric=name, q=percent / 100)
        for name in LATENCIES
        for percent in PERCENTS
    }
    stated = {
        f"{name} {level}": partial(Simulation.quantile, metric=name, q=float(level))
        for name, share in zip(LATENCIES, shares, strict=True)
        for level in np.unique(share[share > 0.0])
    }
    return fixed | stated


def _limit_groups(limits: Sequence[Array]) -> dict[str, Array]:
    """Cells of each combination of limits and percentiles, where there is a limit."""
    table = np.column_stack(limits)
    stated = ~np.isnan(np.column_stack(limits[: len(LIMITS)])).all(axis=1)
    groups: dict[str, list[int]] = {}
    for cell in np.flatnonzero(stated).tolist():
        groups.setdefault(str(table[cell].tolist()), []).append(cell)
    return {name: np.array(cells) for name, cells in groups.items()}


def _goodputs(limits: Sequence[Array]) -> Figures:
    figures: dict[str, Callable[[Simulation], Array]] = {}
    for name, cells in _limit_groups(limits).items():
        of_cell = [limit[cells[0]] for limit in limits]
        figures[f"goodput {name}"] = partial(_goodput, limits=of_cell[:_ITL])
        stated, percentiles, groups = (of_cell[k * len(LIMITS) : (k + 1) * len(LIMITS)] for k in range(3))
        figures[f"slo_held {name}"] = partial(_slo_held, limits=stated, percentiles=percentiles, groups=groups)
    return figures


def _goodput(found: Simulation, limits: Sequence[Array]) -> Array:
    """Share of requests within the limits of their class [1]."""
    ttft, tpot, e2e = (np.where(np.isnan(limit), np.inf, limit)[found.class_index] for limit in limits)
    met = (found.ttft_s <= ttft) & ~(found.tpot_s > tpot) & (found.e2e_s <= e2e)
    none = all(np.isnan(limit).all() for limit in limits)
    return np.where(found.stable & (not none), met.mean(axis=1), np.nan)


def _slo_held(
    found: Simulation, limits: Sequence[Array], percentiles: Sequence[Array], groups: Sequence[Array]
) -> Array:
    """1 where limits hold at their percentiles, each over the classes that it judges together, else 0."""
    held = np.ones(found.stable.size, dtype=bool)
    *of_requests, (gap, share, _) = zip(limits, percentiles, groups, strict=True)
    for number in np.flatnonzero(~np.isnan(gap)):
        mean = np.isnan(share[number])
        held &= (found.mean("itl") if mean else found.quantile("itl", share[number] / 100.0)) <= gap[number]
    for times, (limit, percentile, group) in zip((found.ttft_s, found.tpot_s, found.e2e_s), of_requests, strict=True):
        for together in np.unique(group[~np.isnan(limit)]):
            held &= _held_by(found, times, (group == together) & ~np.isnan(limit), limit, percentile)
    return np.where(found.stable, held, np.nan)


def _held_by(found: Simulation, times: Array, members: Array, limit: Array, percentile: Array) -> Array:
    """Whether the requests of some classes keep a limit, which is one number and one percentile for all of them."""
    mine = members[found.class_index] & ~np.isnan(times)
    count = np.maximum(mine.sum(axis=1), 1)
    first = int(np.flatnonzero(members)[0])
    if np.isnan(percentile[first]):
        return np.asarray(np.where(mine, times, 0.0).sum(axis=1) / count <= limit[first])
    late = (mine & (times > limit[first])).sum(axis=1) / count
    return np.asarray(1.0 - late >= percentile[first] / 100.0)
