"""The chain asked at any context: what a replica holds there, and the first reason why it does not hold enough.

Only the steps that a context reaches are evaluated again; whatever a search finds is therefore what a plan says.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridplan import chain
from gridplan.chain import Step, kv
from gridplan.chain.codes import choices
from gridplan.chain.feasibility import CANNOT_BE_BUILT
from gridplan.chain.fits import fails_reason_code
from gridplan.chain.graph import Array, step
from gridplan.engine.bundle import Inputs
from gridplan.engine.inverse.following import Following, following_of
from gridplan.engine.inverse.question import Question

__all__ = ["Forward", "Found"]

_WORST = "concurrency_memory_worst"
_PLAN = "concurrency_memory"

_ASKED: tuple[Step, ...] = (
    step("charge_asked_bytes", kv.charge_longest_bytes, longest_tokens="asked_tokens"),
    step("concurrency_asked", kv.concurrency_memory_worst, kv_charge_longest_bytes="charge_asked_bytes",
         longest_tokens="asked_tokens"),
    step("charge_planned_bytes", kv.charge_planned_bytes),
    step("concurrency_planned", kv.concurrency_memory, charge="charge_planned_bytes", resident_tokens="asked_tokens",
         kv_bytes_per_sequence_given="nothing"),
)  # fmt: skip
"""The worst case at the context that is asked for, which the engine's own limit may exceed, and what a plan counts."""


_HOLDS_NOTHING = tuple(
    map(choices("fails_reason").index, (*CANNOT_BE_BUILT, "weights_exceed_memory", "sequence_exceeds_pool"))
)
"""Reasons of a replica that cannot be built or does not start, whatever its pool could hold."""

_TOO_LONG = tuple(choices("fails_reason").index(f"context_exceeds_{name}") for name in ("model", "max_model_len"))
"""Reasons that are told before memory is looked at."""


class Found(NamedTuple):
    """What holds at a context: sequences of the ceiling that was chosen, and the code of a reason, -1 where enough.

    A replica that cannot be built or does not start holds 0.
    """

    concurrency: Array
    reason: Array


class Forward:
    """The memory half of the chain of one grid as a function of the context."""

    def __init__(self, inputs: Inputs, question: Question) -> None:
        self.inputs, self.question = inputs, question
        self.varies = question.target == "max_context" or question.tokens is not None
        self.by_engine = self.varies and question.context == "max_model_len"
        self.following: Following | None = following_of(inputs) if self.by_engine else None
        self._count = question.measure
        if self.varies and not self.by_engine and question.measure == _WORST:
            self._count = "concurrency_asked"
        self._request = "asked_tokens" if self._asks_requests else "context_tokens_max"
        rank = len(inputs.space.names)
        self._constants = {
            "concurrency_wanted": np.full((1,) * rank, float(question.concurrency)),
            "scheduler_counts": np.full((1,) * rank, float(question.scheduler)),
        }
        self._split()

    @property
    def _asks_requests(self) -> bool:
        """Whether the context is that of the requests themselves, not of the contract's workload."""
        return self.varies and (not self.by_engine or self.question.measure == _WORST)

    def _split(self) -> None:
        """What is evaluated once, and the steps that depend on the context."""
        changed = set(self._changes(np.ones((1,) * len(self.inputs.space.names))))
        planned = "concurrency_planned" if self._asks_requests and self.question.measure == _WORST else _PLAN
        reason = step("fails_reason_code", fails_reason_code, request_tokens=self._request,
                      concurrency_counted=self._count, concurrency_planned=planned)  # fmt: skip
        steps = (*(item for item in (*self.inputs.steps, *_ASKED) if changed.isdisjoint(item.outputs)), reason)
        wanted = ("fails_reason_code", "kv_pool_usable_bytes", "gpus_per_replica")
        steps = chain.needed(steps, wanted)
        self._late: list[Step] = []
        early = []
        dirty = set(changed)
        for item in steps:
            if dirty.isdisjoint(item.inputs):
                early.append(item)
            else:
                dirty.update(item.outputs)
                self._late.append(item)
        made = {name for item in steps for name in item.outputs}
        read = {name for item in steps for name in item.inputs} - made - changed - set(self._constants)
        self.dims = frozenset[str]().union(*(self.inputs.values[name].dims for name in read))
        self.dims |= self.following.dims if self.following else frozenset()
        values = {name: item.data for name, item in self.inputs.values.items()} | self._constants
        self.values = dict(chain.evaluate(early, values))

    def _changes(self, tokens: Array) -> dict[str, Array]:
        """The arrays that a context takes the place of."""
        if not self.varies:
            return {}
        if self.by_engine:
            followed = self.following.at(tokens) if self.following else {}
            # The longest sequence is the engine's own limit, whatever the requests are.
            return {"asked_tokens": tokens, "max_model_len": tokens, "longest_tokens": tokens, **followed}
        changes = {"asked_tokens": tokens, "context_tokens_max": tokens}
        if self.question.measure != _WORST:
            output = self.inputs.values["class_output_tokens"].data
            changes["class_prompt_tokens"] = changes["class_prompt_tokens_max"] = tokens[..., np.newaxis] - output
        return changes

    def everything_at(self, tokens: Array) -> dict[str, Array]:
        """All arrays of the chain at a context [tokens]; it is not read where the contract's own is asked."""
        return dict(chain.evaluate(self._late, self.values | self._changes(tokens)))

    def at(self, tokens: Array) -> Found:
        """What holds at a context [tokens]."""
        values = self.everything_at(tokens)
        reason = np.asarray(values["fails_reason_code"])
        stopped = (values["kv_pool_bytes_raw"] <= 0) | (values["concurrency_memory_worst"] < 1)
        if not self.by_engine:
            # What the contract states is refused at the start; of a length that is varied, memory is what is told.
            stopped = stopped | (values["max_model_len"] > values["max_position_embeddings"])
        nothing = np.isin(reason, _HOLDS_NOTHING) | (np.isin(reason, _TOO_LONG) & stopped)
        return Found(np.where(nothing, 0.0, values[self._count]), reason)

    def own_tokens(self) -> Array:
        """Contexts of the contract itself, where none is asked [tokens]; of several classes the longest."""
        name = "longest_tokens" if self.question.measure == _WORST else "context_tokens_max"
        return np.asarray(self.values[name] if name in self.values else self.inputs.values[name].data)
