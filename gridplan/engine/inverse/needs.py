"""What a question needs of a grid beside its memory, and what a reader of the answer must know."""

from __future__ import annotations

import numpy as np

from gridplan.contract.grid import Grid
from gridplan.engine.bundle import Inputs
from gridplan.engine.field import lookup
from gridplan.engine.inputs import catalog_of
from gridplan.engine.inverse.forward import Forward
from gridplan.engine.inverse.question import USUAL_GPUS_PER_NODE, Question
from gridplan.engine.resolve import Resolver, unknown_labels
from gridplan.errors import ContractError, Problem

__all__ = ["check_lengths", "gpus_per_node_of", "warnings_of"]

_PER_RANK = ("workspace_bytes", "non_torch_bytes", "activation_bytes", "cuda_graphs_bytes")


def gpus_per_node_of(grid: Grid, question: Question) -> float:
    """GPUs of the largest node of the grid, 8 where none is known."""
    if not question.is_of_degrees or question.max_tensor_parallel is not None:
        return 1.0
    resolver, catalog = Resolver(grid), catalog_of(grid)
    unknown_labels(resolver, catalog)
    if resolver.problems:
        raise ContractError(resolver.problems)
    instance = resolver.resolve("instance")
    of_instance = lookup(lambda name: None if name is None else catalog.instance(name).scale_up_gpus, instance)
    stated = resolver.resolve("gpus_per_node", of_instance).data
    known = stated[~np.isnan(stated)]
    return float(known.max()) if known.size else float(USUAL_GPUS_PER_NODE)


def check_lengths(inputs: Inputs, question: Question) -> None:
    """Lengths of the requests where the chosen ceiling reads them.

    Raises
    ------
    ContractError
        Naming what is missing, or what one context cannot be for several classes.
    """
    prompt, output = (inputs.values[f"class_{name}"].data for name in ("prompt_tokens", "output_tokens"))
    worst = question.measure == "concurrency_memory_worst"
    by_length = question.context == "length" and (question.target == "max_context" or question.tokens is not None)
    problems = []
    of_tokens = []
    if by_length and not worst:
        if output.shape[-1] > 1:
            problems.append("one context cannot be that of several classes: ask for concurrency_memory_worst")
        elif np.isnan(output).any():
            problems.append(f"output_tokens is needed: {question.measure} charges prompt and output")
        elif question.tokens is not None and (question.tokens <= output).any():
            of_tokens.append(f"{question.tokens:,} leaves no prompt beside output_tokens {output.max():,g}")
    elif not worst and (np.isnan(prompt).any() or np.isnan(output).any()):
        problems.append(f"prompt_tokens and output_tokens are needed: {question.measure} charges them")
    elif not by_length and question.context == "length":
        unknown = np.isnan(prompt).any(axis=-1) & np.isnan(inputs.values["max_model_len"].data)
        if unknown.any():
            of_tokens.append("needed: the contract has neither max_model_len nor lengths of requests")
    found = [Problem(text, inputs.grid.path) for text in problems]
    found += [Problem(text, key="tokens") for text in of_tokens]
    if found:
        raise ContractError(found)


def warnings_of(forward: Forward) -> list[str]:
    """What may mislead in an answer, one sentence each."""
    inputs, question = forward.inputs, forward.question
    said = []
    wanted = question.concurrency
    if not question.scheduler and question.target != "max_concurrency":
        cap = np.asarray(forward.values["concurrency_scheduler"])
        if (cap < wanted).any():
            said.append(
                f"concurrency {wanted:,} is above the scheduler's cap of {np.nanmin(cap):,.0f} in some cells: raise "
                "max_num_seqs, or count the cap"
            )
    said += _unheeded(forward)
    if question.scheduler:
        said += _uncapped(forward)
    resolver = Resolver(inputs.grid)
    if question.context == "max_model_len":
        said += [
            f"{name} is taken for every max_model_len; it was measured at one"
            for name in ("kv_pool_bytes_given", "kv_pool_tokens_given", "activation_bytes")
            if resolver.is_given(name)
        ]
    if question.is_of_degrees:
        said += [
            f"{name} is taken for every tensor_parallel; it may differ" for name in _PER_RANK if resolver.is_given(name)
        ]
    return said


def _unheeded(forward: Forward) -> list[str]:
    """An efficiency that the worst case does not count with."""
    given = forward.question.measure == "concurrency_memory_worst"
    if not given or bool((forward.inputs.values["kv_efficiency"].data == 1).all()):
        return []
    return ["concurrency_memory_worst does not heed kv_efficiency: ask with --measure concurrency_memory_expected"]


def _uncapped(forward: Forward) -> list[str]:
    """Engines whose cap is asked for and not known."""
    cap = np.asarray(forward.values["concurrency_scheduler"])
    unknown, engines = np.broadcast_arrays(np.isnan(cap), forward.inputs.labels["engine"].data)
    if not unknown.any():
        return []
    names = sorted({str(name) for name in engines[unknown].tolist() if name is not None})
    of = f" of {', '.join(names)}" if names else ""
    return [f"max_num_seqs{of} is not known: the scheduler limits nothing there"]
