"""The simulator's three questions: arrivals at a rate, a fixed number of requests in flight, given requests."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gridplan.simulation.cells import Cells, cells_of
from gridplan.simulation.measure import Run, kept_cells, measured, replayed
from gridplan.simulation.result import Simulation
from gridplan.simulation.streams import NEVER, Requests

__all__ = ["simulate", "simulate_closed", "simulate_figures", "simulate_requests"]

Array: TypeAlias = npt.NDArray[Any]


def simulate(
    arrival_rate: Any,
    class_weights: Any,
    prompt_tokens: Any,
    uncached_tokens: Any,
    output_tokens: Any,
    step_weights_s: Any,
    step_per_context_token_s: Any,
    prefill_per_token_s: Any,
    step_per_sequence_s: Any = 0.0,
    *,
    prefill_s: Any = None,
    token_budget: Any = 2048,
    arrival_scv: Any = 1.0,
    max_num_seqs: Any = None,
    pool_tokens: Any = None,
    geometric_outputs: bool = False,
    requests: int = 4000,
    runs: int = 1,
    warm_up: int | None = None,
    seed: int = 0,
    keys: Any = None,
) -> Simulation:
    """Simulate one replica per cell with arrivals at a rate, all cells side by side.

    A step takes step_weights_s + step_per_sequence_s n + step_per_context_token_s (resident tokens of the n decoding
    sequences) + prefill_per_token_s (prompt tokens in the step) [s]. Decoding goes first, prompts fill the rest of
    `token_budget` in the order of arrival. Arrivals are Poisson, or a gamma renewal process of SCV `arrival_scv`.

    Of a cell, a number or (cells,): arrival_rate [1/s], the times of a step [s], token_budget [tokens], arrival_scv
    [1], max_num_seqs [sequences], pool_tokens [tokens] (None: no cap). Of a class, a number, (classes,) or (cells,
    classes): class_weights (need not add up to 1), prompt_tokens P that stay resident, uncached_tokens U of them that
    are prefilled (None: all), output_tokens O, prefill_s (seconds of a whole prompt of the class instead of
    prefill_per_token_s U). `geometric_outputs` draws each output from the geometric law with mean O.

    `requests` are measured after `warm_up` others, while arrivals go on until all have finished. Without `warm_up` it
    is a quarter of them, and a cell whose queue is long against that runs again with four and sixteen times as many;
    where even that is short, `stable` is False. `requests_for` says how many requests a quantile takes.
    `runs` of them, each with its own warm-up, go side by side and are joined, which is faster than one long run of few
    cells and gives better standard errors; times of arrival then start again with each run.
    Every cell has random streams of its own, from `seed` and its key (its position unless `keys` names another): its
    numbers do not depend on the other cells. Same key, same arrivals up to the rate.

    Raises ValueError for values that no replica has and shapes that do not fit.

    M/D/1 with a service of 10 ms at 50 requests/s waits rho s / (2 (1 - rho)) = 5 ms on average:

    >>> found = simulate(50.0, 1.0, 100, 100, 1, 0.0, 0.0, 1e-4, max_num_seqs=1, requests=4_000, runs=10)
    >>> bool(abs(found.mean("ttft")[0] - 0.015) < 4 * found.mean_error("ttft")[0] < 0.001)
    True
    """
    cells, run = _open_loop(
        arrival_rate=arrival_rate,
        arrival_scv=arrival_scv,
        class_weights=class_weights,
        prompt_tokens=prompt_tokens,
        uncached_tokens=uncached_tokens,
        output_tokens=output_tokens,
        step_weights_s=step_weights_s,
        step_per_context_token_s=step_per_context_token_s,
        prefill_per_token_s=prefill_per_token_s,
        step_per_sequence_s=step_per_sequence_s,
        prefill_s=prefill_s,
        token_budget=token_budget,
        max_num_seqs=max_num_seqs,
        pool_tokens=pool_tokens,
        keys=keys,
        geometric_outputs=geometric_outputs,
        requests=requests,
        runs=runs,
        warm_up=warm_up,
        seed=seed,
    )
    return measured(cells, run)


def simulate_figures(
    figures: Mapping[str, Callable[[Simulation], Array]], *arguments: Any, **options: Any
) -> dict[str, Array]:
    """Some figures of very many cells, whose requests would not fit memory: (cells,) each, by name.

    `arguments` and `options` are those of `simulate`, and so are the numbers; each figure takes a `Simulation` of some
    of the cells and returns one value for each of them.

    >>> wait = {"p95": lambda found: found.quantile("ttft", 0.95)}
    >>> found = simulate_figures(wait, [10.0, 50.0], 1.0, 100, 100, 1, 0.0, 0.0, 1e-4, max_num_seqs=1)
    >>> found["p95"].shape
    (2,)
    """
    bound = inspect.signature(simulate).bind(*arguments, **options)
    bound.apply_defaults()
    cells, run = _open_loop(**bound.arguments)
    size = kept_cells(run.requests * run.runs)
    found: dict[str, list[Array]] = {name: [] for name in figures}
    for at in range(0, cells.count, size):
        some = measured(cells.rows(slice(at, at + size)), run)
        for name, figure in figures.items():
            found[name].append(figure(some))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def simulate_closed(
    concurrency: Any,
    class_weights: Any,
    prompt_tokens: Any,
    uncached_tokens: Any,
    output_tokens: Any,
    step_weights_s: Any,
    step_per_context_token_s: Any,
    prefill_per_token_s: Any,
    step_per_sequence_s: Any = 0.0,
    *,
    prefill_s: Any = None,
    token_budget: Any = 2048,
    max_num_seqs: Any = None,
    pool_tokens: Any = None,
    geometric_outputs: bool = False,
    requests: int = 4000,
    runs: int = 1,
    warm_up: int | None = None,
    seed: int = 0,
    keys: Any = None,
) -> Simulation:
    """The same with a fixed number of requests in flight, each replaced at once when it finishes.

    concurrency [requests], a number or (cells,), all of which arrive at time 0; the rest as in `simulate`. TTFT counts
    from the finish that a request replaces.

    Two requests in flight, 11 output tokens, 1 ms a step and no other time: 11 steps each, so 2 / 11 ms:

    >>> found = simulate_closed(2, 1.0, 10, 10, 11, 1e-3, 0.0, 0.0, requests=400)
    >>> round(float(found.throughput[0]), 1), round(float(found.mean("tpot")[0]) * 1e3, 6)
    (181.8, 1.0)
    """
    if np.any(np.asarray(concurrency) < 1):
        raise ValueError("concurrency: below 1")
    cells = cells_of(
        arrival_rate=0.0,
        arrival_scv=1.0,
        class_weights=class_weights,
        prompt_tokens=prompt_tokens,
        uncached_tokens=uncached_tokens,
        output_tokens=output_tokens,
        whole_outputs=not geometric_outputs,
        step_weights_s=step_weights_s,
        step_per_context_token_s=step_per_context_token_s,
        prefill_per_token_s=prefill_per_token_s,
        step_per_sequence_s=step_per_sequence_s,
        prefill_s=prefill_s,
        token_budget=token_budget,
        max_num_seqs=max_num_seqs,
        pool_tokens=pool_tokens,
        keys=keys,
        concurrency=concurrency,
    )
    return measured(cells, Run.of(requests, runs, warm_up, seed, geometric_outputs))


def simulate_requests(
    arrival_s: Any,
    class_index: Any,
    prompt_tokens: Any,
    uncached_tokens: Any,
    output_tokens: Any,
    step_weights_s: Any,
    step_per_context_token_s: Any,
    prefill_per_token_s: Any,
    step_per_sequence_s: Any = 0.0,
    *,
    request_output_tokens: Any = None,
    prefill_s: Any = None,
    token_budget: Any = 2048,
    max_num_seqs: Any = None,
    pool_tokens: Any = None,
) -> Simulation:
    """The same for requests that are given: times and classes (cells, requests), each cell's times in order.

    `request_output_tokens` (cells, requests) replaces the output of the class. All requests are measured and run to
    their end, with nothing arriving after them; `stable` is True throughout, a finite list being no steady state.

    A prompt of 30 tokens at a budget of 20 takes two steps of 1 ms and 0.1 ms a token, then 2 steps decode:

    >>> found = simulate_requests([[0.0]], [[0]], 30, None, 3, 1e-3, 0.0, 1e-4, token_budget=20)
    >>> round(float(found.ttft_s[0, 0]) * 1e3, 9), round(float(found.e2e_s[0, 0]) * 1e3, 9)
    (5.0, 7.0)
    """
    arrival = np.asarray(arrival_s, dtype=np.float64)
    kind = np.asarray(class_index)
    if arrival.ndim != 2 or not arrival.size or kind.shape != arrival.shape:
        raise ValueError(f"arrival_s, class_index: (cells, requests) expected, found {arrival.shape} and {kind.shape}")
    if not (np.isfinite(arrival).all() and (arrival >= 0).all() and (np.diff(arrival, axis=1) >= 0).all()):
        raise ValueError("arrival_s: times from 0 on in ascending order expected")
    cells = cells_of(
        arrival_rate=np.ones(arrival.shape[0]),
        arrival_scv=1.0,
        class_weights=1.0,
        prompt_tokens=prompt_tokens,
        uncached_tokens=uncached_tokens,
        output_tokens=output_tokens,
        whole_outputs=True,
        step_weights_s=step_weights_s,
        step_per_context_token_s=step_per_context_token_s,
        prefill_per_token_s=prefill_per_token_s,
        step_per_sequence_s=step_per_sequence_s,
        prefill_s=prefill_s,
        token_budget=token_budget,
        max_num_seqs=max_num_seqs,
        pool_tokens=pool_tokens,
        keys=None,
        concurrency=0,
    )
    if cells.count != arrival.shape[0]:
        raise ValueError(f"arrival_s: {arrival.shape[0]} cells, the other arguments {cells.count}")
    if not np.issubdtype(kind.dtype, np.integer) or kind.min() < 0 or kind.max() >= cells.classes:
        raise ValueError(f"class_index: whole numbers from 0 to {cells.classes - 1} expected")
    output = None if request_output_tokens is None else _given_outputs(request_output_tokens, kind, cells)
    return replayed(cells, Requests(_padded(arrival, NEVER), _padded(kind.astype(np.int64), 0), output))


def _open_loop(
    *, geometric_outputs: bool, requests: int, runs: int, warm_up: int | None, seed: int, **of_cells: Any
) -> tuple[Cells, Run]:
    cells = cells_of(whole_outputs=not geometric_outputs, concurrency=0, **of_cells)
    return cells, Run.of(requests, runs, warm_up, seed, geometric_outputs)


def _given_outputs(given: Any, kind: Array, cells: Cells) -> Array:
    output = np.asarray(given, dtype=np.float64)
    if output.shape != kind.shape or not (output >= 1).all() or np.any(np.floor(output) != output):
        raise ValueError("request_output_tokens: whole numbers from 1 on expected, one for each request")
    if np.any(np.take_along_axis(cells.prompt, kind, axis=1) + output > cells.pool_tokens[:, None]):
        raise ValueError("pool_tokens: smaller than prompt and output of one request, which could never be admitted")
    return _padded(output, 1.0)


def _padded(values: Array, last: float) -> Array:
    return np.concatenate([values, np.full((values.shape[0], 1), last, values.dtype)], axis=1)
