"""Lengths of one class as nodes: a number is one node, a distribution several equally probable ones.

Prompt and output of a class are independent: the class becomes every pair of their nodes. Lengths that go together are
written as several classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridplan.contract.grid import Lengths, TrafficClass
from gridplan.formulas.quantile_nodes import quantile_nodes
from gridplan.formulas.replica.length_nodes import length_nodes, length_nodes_scv

__all__ = ["NODES", "PROMPT_NODES", "LengthsError", "Pairs", "mean_length", "pairs_of", "whole_tokens"]

NODES = 16
"""Nodes of a distribution that does not state their number (policy: the tail of latencies needs 16)."""

PROMPT_NODES = 8
"""The same for a prompt whose output is random too, so that a class stays at 128 nodes (policy)."""

_Vector = np.ndarray


class LengthsError(ValueError):
    """A distribution that has no nodes, and where it stands in the contract."""

    def __init__(self, message: str, length: Lengths) -> None:
        super().__init__(message)
        self.place = length.place


class Pairs(NamedTuple):
    """Nodes of one class: share of the class, lengths, and the longest length that each node stands for [tokens].

    The deviation [tokens] is that of the outputs which a node stands for.
    """

    weight: _Vector
    prompt_tokens: _Vector
    output_tokens: _Vector
    prompt_tokens_max: _Vector
    output_tokens_max: _Vector
    output_tokens_deviation: _Vector


def pairs_of(item: TrafficClass) -> Pairs:
    """Every pair of a prompt node and an output node, outputs fastest.

    Raises
    ------
    LengthsError
        Where the stated longest length is below that of a node, or none is stated and the tail has no finite mean.
    """
    both = isinstance(item.prompt_tokens, Lengths) and isinstance(item.output_tokens, Lengths)
    prompt = _nodes(item.prompt_tokens, PROMPT_NODES if both else NODES)
    output = _nodes(item.output_tokens, NODES)
    shape = (prompt[0].size, output[0].size)
    tiled = [np.broadcast_to(part[:, np.newaxis], shape).ravel() for part in prompt]
    repeated = [np.broadcast_to(part, shape).ravel() for part in output]
    return Pairs(tiled[0] * repeated[0], tiled[1], repeated[1], tiled[2], repeated[2], repeated[3])


def whole_tokens(pairs: Pairs) -> Pairs:
    """The same with at least one token in every node, its means kept: what short nodes gain, the others give up."""
    for name in ("prompt_tokens", "output_tokens"):
        old, longest = getattr(pairs, name), getattr(pairs, f"{name}_max")
        if old.min() >= 1:
            continue
        beyond = np.maximum(old, 1.0) - 1.0
        due, have = np.sum(pairs.weight * (old - 1.0)), np.sum(pairs.weight * beyond)
        share = max(due / have, 0.0) if have > 0 else 0.0
        new = 1.0 + beyond * share
        # Only the longest node stands for lengths above its own; the others move with theirs.
        most = np.where(longest > old, np.maximum(longest, new), new)
        pairs = pairs._replace(**{name: new, f"{name}_max": most})
        if name == "output_tokens":
            left = np.where(old > 1.0, pairs.output_tokens_deviation * share, 0.0)
            pairs = pairs._replace(output_tokens_deviation=left)
    return pairs


def mean_length(length: float | Lengths) -> float:
    """Mean of a length [tokens]; of quantiles that of their nodes."""
    if not isinstance(length, Lengths):
        return length
    weights, lengths, _, _ = _nodes(length, NODES)
    return float(np.sum(weights * lengths)) if length.quantiles else length.mean


def _nodes(length: float | Lengths, count: int) -> tuple[_Vector, _Vector, _Vector, _Vector]:
    """Shares, lengths, longest lengths, deviations; the last node stands for lengths up to the stated longest one."""
    if not isinstance(length, Lengths):
        return np.ones(1), np.array([length]), np.array([length]), np.zeros(1)
    number, kind = length.nodes or count, length.kind
    if length.quantiles:
        percentiles, values = zip(*length.quantiles, strict=True)
        longest = np.inf if length.longest is None else length.longest
        try:
            weights, lengths, scv = quantile_nodes(percentiles, values, number, longest)
        except ValueError as error:
            raise LengthsError(str(error), length) from None
    else:
        number, kind = (1, "deterministic") if length.scv == 0 else (number, kind)
        weights, lengths = length_nodes(length.mean, length.scv, kind, number)
        scv = length_nodes_scv(length.mean, length.scv, kind, number)
    most = lengths.copy()
    if length.longest is not None:
        if length.longest < most[-1]:
            raise LengthsError(
                f"max {length.longest:g} is below {most[-1]:.6g}, the mean of the longest 1/{number} of "
                f"{length.kind} lengths with mean {length.mean:g} and scv {length.scv:g}: the two do not agree",
                length,
            )
        most[-1] = length.longest
    return weights, lengths, most, lengths * np.sqrt(scv)
