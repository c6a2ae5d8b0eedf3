"""`gridplan.solve`: the largest context, the smallest tensor parallelism, the fewest GPUs, the largest concurrency."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gridplan.contract.grid import Grid
from gridplan.engine.bundle import Inputs
from gridplan.engine.evaluate import attributes
from gridplan.engine.inputs import build_inputs
from gridplan.engine.inverse.answer import dataset_of, folded
from gridplan.engine.inverse.context import max_context
from gridplan.engine.inverse.degrees import degree_axes, fewest, max_concurrency
from gridplan.engine.inverse.forward import Forward
from gridplan.engine.inverse.needs import check_lengths, gpus_per_node_of, warnings_of
from gridplan.engine.inverse.question import Context, Target, prepared, question_of
from gridplan.engine.needs_memory import check_memory
from gridplan.errors import GridTooLargeError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["solve"]

MAX_CELLS = 20_000_000
"""Cells that are solved at once (policy): a few GB of arrays. Axes that do not change the answer do not count."""


def solve(
    grid: Grid,
    target: Target,
    *,
    concurrency: int = 1,
    tokens: int | None = None,
    context: Context = "length",
    measure: str = "concurrency_memory_worst",
    scheduler: bool = False,
    by: str | Sequence[str] | None = None,
    max_tensor_parallel: int | None = None,
) -> xr.Dataset:
    """Ask a grid backwards: what is the most, or the least, that holds a wanted concurrency by memory?

    Parameters
    ----------
    grid
        A contract, from `gridplan.load_grid`. Traffic, latency limits and prices are not needed and not heeded.
    target
        `max_context`, `max_concurrency`, `min_tensor_parallel`, or `min_gpus` (of a replica, over the degrees of
        parallelism that are axes). Candidates of tensor parallelism are an axis of that name, else 1 to
        `max_tensor_parallel`, as far as they split the model and fit the instance.
    concurrency
        Sequences that a replica is to hold [sequences].
    tokens
        The context at which the other three are asked [tokens]; the contract's own by default.
    context
        What a context is. `length`: that of the sequences, in an engine whose max_model_len the contract states (where
        it does not, the longest sequence). `max_model_len`: the length that the engine is started with, which may
        change its activations; the contract's own is replaced.
    measure
        Which ceiling must reach `concurrency`: `concurrency_memory_worst` (every sequence as long as the context),
        `concurrency_memory_expected` (its final length), `concurrency_memory` (by resident_context).
    scheduler
        Whether the cap max_num_seqs counts as well.
    by
        Axes that stay, as names or as one text with commas. Of the others that are chosen the best cell is taken, of
        those that are not (scenario, workload, lengths) the worst, and its labels are named. All that change the answer
        stay by default.
    max_tensor_parallel
        Largest candidate [GPUs]; by default the GPUs of a node, or 8.

    Returns
    -------
    xarray.Dataset
        On the axes that change the answer, or those of `by`: the answer (`max_context_tokens`, ...; NaN where there is
        none), `no_answer_reason`, the value beyond it that fails (`fails_at_...`, `fails_reason`), the concurrency at
        both (0 where the replica cannot be built or does not start), and for a context `gap_from_tokens` to
        `gap_to_tokens`: lengths below the answer that fail.

    Raises
    ------
    ContractError
        For anything wrong with the question or the grid, with every problem.
    GridTooLargeError
        Above 20 million cells.
    """
    question = question_of(
        grid,
        target=target,
        concurrency=concurrency,
        tokens=tokens,
        context=context,
        measure=measure,
        scheduler=scheduler,
        by=by,
        max_tensor_parallel=max_tensor_parallel,
    )
    inputs = build_inputs(prepared(grid, question, gpus_per_node_of(grid, question)), needs=check_memory)
    check_lengths(inputs, question)
    forward = Forward(inputs, question)
    _check_size(inputs, forward)
    if target == "max_context":
        found = max_context(forward)
    elif target == "max_concurrency":
        found = max_concurrency(forward)
    else:
        found = fewest(forward)
    return _result(forward, found)


def _result(forward: Forward, found: dict[str, np.ndarray]) -> xr.Dataset:
    inputs, question = forward.inputs, forward.question
    chosen = degree_axes(forward) if question.is_of_degrees else ()
    dims = [name for name in inputs.space.names if name in forward.dims and name not in chosen]
    answer = next(iter(found))
    keep = dims if question.by is None else [name for name in inputs.space.names if name in question.by]
    found = folded(found, answer, inputs.space.labels, dims, keep)
    attrs = {
        **attributes(inputs),
        "target": question.target,
        "context": question.context,
        "measure": question.measure,
        **({} if question.target == "max_concurrency" else {"concurrency": question.concurrency}),
        **({} if question.target == "max_context" else _tokens(forward)),
        **({"scheduler": "max_num_seqs"} if question.scheduler else {}),
    }
    warnings = [*inputs.warnings, *warnings_of(forward)]
    if warnings:
        attrs["warnings"] = "\n".join(warnings)
    return dataset_of(inputs, found, keep, attrs)


def _tokens(forward: Forward) -> dict[str, int | str]:
    """The context that was asked about, and who says so; no number where the contract has several."""
    if forward.question.tokens is not None:
        return {"tokens": forward.question.tokens, "tokens_from": "question"}
    own = np.unique(forward.own_tokens())
    one = own.size == 1 and bool(np.isfinite(own[0])) and own[0].is_integer()
    return {**({"tokens": int(own[0])} if one else {}), "tokens_from": "contract"}


def _check_size(inputs: Inputs, forward: Forward) -> None:
    stay = forward.dims | set(forward.question.by or ())
    sizes = {name: len(inputs.space.labels[name]) for name in inputs.space.names if name in stay}
    cells = math.prod(sizes.values())
    if cells > MAX_CELLS:
        largest = sorted(sizes.items(), key=lambda item: -item[1])[:3]
        named = ", ".join(f"{name} ({size:,})" for name, size in largest)
        raise GridTooLargeError(
            f"{inputs.grid.path}: {cells:,} cells are more than the {MAX_CELLS:,} that are solved at once; "
            f"largest axes: {named}; shorten one"
        )
