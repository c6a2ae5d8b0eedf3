"""What follows the length an engine is started for: batched tokens, hence activations and the admission of windows.

vLLM before 0.8 profiles the whole `max_model_len` in one step up to 32,768 tokens and a smaller step beyond, so its
pool shrinks with the length and jumps back: what fits is not monotone in it. On either side of the jump it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gridplan import formulas
from gridplan.catalog.entries import LONGEST_UNCHUNKED_TOKENS
from gridplan.chain.graph import Array
from gridplan.engine.budget import BUDGET_TERMS
from gridplan.engine.bundle import Inputs
from gridplan.engine.field import Field, lookup
from gridplan.engine.labels import Labels
from gridplan.engine.resolve import Resolver
from gridplan.engine.workspace import activation_bytes

__all__ = ["JUMP_TOKENS", "Following", "following_of"]

JUMP_TOKENS = LONGEST_UNCHUNKED_TOKENS
"""Last length at which batched tokens follow it."""

_RULE = "max_model_len_to_32768"


@dataclass(frozen=True)
class Following:
    """Inputs as functions of the length; `follows` is 1 in the cells whose engine has the rule."""

    follows: Array
    dims: frozenset[str]
    values: dict[str, Array]
    over_default: dict[str, tuple[Array, Array]]
    activation_of: Callable[[Array], Array]
    admits_by_window: Array

    def at(self, max_model_len: Array) -> dict[str, Array]:
        """The inputs that change, for engines started with `max_model_len` [tokens]."""
        short = (self.follows == 1) & (max_model_len <= JUMP_TOKENS)
        share, part = self.over_default["max_num_batched_tokens"]
        beyond = self.values["max_num_batched_tokens"]  # the grid states a length past the jump
        with np.errstate(all="ignore"):
            default = np.maximum(max_model_len, (beyond - part) / share)
        tokens = np.where(short, share * default + part, beyond)
        activation = self._over("activation_bytes", self.activation_of(tokens), short)
        terms = [activation if name == "activation_bytes" else self.values[name] for name in BUDGET_TERMS]
        changed = {
            "activation_bytes": activation,
            "workspace_bytes": self._over("workspace_bytes", formulas.budget_sum_bytes(*terms), short),
        }
        added = (tokens - beyond) * self.values["in_flight_steps"] * self.admits_by_window
        for name in ("kv_rows_rank", "kv_rows_model"):
            changed[name] = _admitting(self.values[name], added)
        return changed

    def _over(self, name: str, default: Array, short: Array) -> Array:
        share, part = self.over_default[name]
        own = self.values[name]
        # A term stays unknown where the workspace is given as one figure, and as it is under another rule.
        return np.where(short & (share > 0) & ~np.isnan(own) & ~np.isnan(default), share * default + part, own)


def _admitting(rows: Array, added: Array) -> Array:
    """Rows whose windows admit `added` more tokens."""
    limit = rows[..., 2]
    windowed = np.isfinite(limit) & (limit > 0)
    more = np.where(windowed, limit + added[..., np.newaxis], limit)
    shape = np.broadcast_shapes(rows.shape, (*more.shape, 1))
    result = np.array(np.broadcast_to(rows, shape))
    result[..., 2] = more
    return result


def following_of(inputs: Inputs) -> Following | None:
    """The rule of a grid whose `max_model_len` lies past the jump; None where no cell has it."""
    resolver = Resolver(inputs.grid)
    labels = Labels(resolver, inputs.catalog)
    engine = inputs.catalog.engine
    ruled = lookup(lambda e: float(e is not None and engine(e).batched_tokens_rule == _RULE), labels.engine)
    names = ("max_num_batched_tokens", "activation_bytes", "workspace_bytes")
    over = {name: resolver.over_default(name) for name in names}
    follows = (ruled.data == 1) & (over["max_num_batched_tokens"][0].data > 0)
    if not follows.any():
        return None
    policy = inputs.stated["sliding_policy"]
    read = {name: inputs.values[name] for name in (*names, *BUDGET_TERMS, "kv_rows_rank", "kv_rows_model")}
    read["in_flight_steps"] = inputs.stated["in_flight_steps"]
    degrees = {name: inputs.values[name] for name in ("tensor_parallel", "max_num_seqs")}
    named = (labels.engine, labels.model, labels.weight_dtype)

    def activation_of(tokens: Array) -> Array:
        return activation_bytes(labels, {**degrees, "max_num_batched_tokens": Field(tokens, frozenset())}).data

    used = (
        *read.values(),
        *degrees.values(),
        *named,
        *(item for pair in over.values() for item in pair),
        policy,
        ruled,
    )
    return Following(
        follows.astype(float),
        frozenset[str]().union(*(item.dims for item in used)),
        {name: item.data for name, item in read.items()},
        {name: (share.data, part.data) for name, (share, part) in over.items()},
        activation_of,
        np.asarray(policy.data == "engine_admission", dtype=np.float64),
    )
