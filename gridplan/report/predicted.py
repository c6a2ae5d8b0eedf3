"""What a contract predicts of one replica at a load that a load generator puts on it: a rate, or a number of clients.

The replica is that of one cell of the contract: its step times, classes of requests, slots and token budget, computed
by the chain as for a plan. In place of the planned point's `planned_rate_per_replica` (the peak over the active
replicas) stands the rate of the load test, so that `tpot_s`, `ttft_s`, `e2e_s` and `latency_flag` are the measures of
the contract by its own law of latency, as if its fleet were one replica and its peak that rate; percentiles are those
of the same `operating_point`, at any share. A fleet cannot be planned that way for every load: spares, whole nodes,
rounding up and limits that are out of reach stand between a rate and one replica, and a load test knows none of them.
So limits do not matter here: a replica that misses them runs all the same. What makes it impossible does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gridplan import chain
from gridplan.chain.closed import closed_loop
from gridplan.chain.codes import choices
from gridplan.chain.figures import fixed_quantile, quantile
from gridplan.chain.graph import Array, Step
from gridplan.chain.replica import REPLICA
from gridplan.contract.grid import Grid
from gridplan.engine.bundle import Inputs
from gridplan.engine.cell import cell_index, cut_to
from gridplan.engine.inputs import build_inputs

__all__ = ["ReplicaAt", "replica_at"]

Statistic = float | Literal["mean"]

_RATE = "planned_rate_per_replica"
_REASON, _FLAG = "physical_reason_code", "latency_flag_code"
_MEANS = {"ttft": "ttft_s", "tpot": "tpot_s", "e2e": "e2e_s"}
_TOKENS = ("prompt_tokens_mean", "output_tokens_mean")


@dataclass(frozen=True)
class ReplicaAt:
    """One replica of a contract.

    `labels` are those of the axes that it depends on, `reason` why it cannot run (None: it can), `prompt_tokens` and
    `output_tokens` the means of its requests [tokens].
    """

    labels: Mapping[str, str | float]
    reason: str | None
    prompt_tokens: float
    output_tokens: float
    _steps: tuple[Step, ...]
    _values: Mapping[str, Array]
    _rank: int

    def flags(self, rates: Sequence[float]) -> list[str | None]:
        """Why figures are not shown at these rates [req/s], as `latency_flag` says; None where all are."""
        codes = np.broadcast_to(self._at(rates, (_FLAG,))[_FLAG].reshape(-1), len(rates))
        return [choices("latency_flag")[code] if code >= 0 else None for code in codes.tolist()]

    def at_rates(self, rates: Sequence[float], figure: str, statistic: Statistic) -> list[float]:
        """A latency (`ttft`, `tpot`, `itl`, `e2e`) at these rates [s], percentile or mean; NaN where not shown."""
        if self.reason is not None or not rates:
            return [np.nan] * len(rates)
        rate, replica = self._load(rates), [self._values[name] for name in REPLICA]
        if isinstance(statistic, float):
            found = fixed_quantile(figure, statistic / 100.0, rate, *replica)
        elif figure == "itl":
            found = quantile(figure, rate, np.full(rate.shape, np.nan), *replica)
        else:
            found = self._at(rates, (_MEANS[figure],))[_MEANS[figure]]
        return [float(value) for value in np.broadcast_to(found.reshape(-1), len(rates)).tolist()]

    def at_clients(self, clients: Sequence[float], figure: str) -> list[float]:
        """A mean latency with so many requests always in flight [s]; E2E by Little's law; NaN for gaps (`itl`)."""
        if self.reason is not None or not clients or figure not in _MEANS:
            return [np.nan] * len(clients)
        number = self._load(clients)
        runs = self._values[_REASON]
        tpot, ttft, tokens = closed_loop(runs, number, *(self._values[name] for name in REPLICA))
        found = {"tpot": tpot, "ttft": ttft, "e2e": number * self.output_tokens / tokens}[figure]
        return [float(value) for value in np.broadcast_to(found.reshape(-1), len(clients)).tolist()]

    def _load(self, loads: Sequence[float]) -> Array:
        """The loads along the first of the replica's axes, each of which has one label."""
        return np.asarray(loads, np.float64).reshape(-1, *(1,) * (self._rank - 1))

    def _at(self, rates: Sequence[float], wanted: Sequence[str]) -> Mapping[str, Array]:
        return chain.evaluate(chain.needed(self._steps, wanted), {**self._values, _RATE: self._load(rates)})


def replica_at(grid: Grid, at: Mapping[str, str | float] | None = None) -> ReplicaAt:
    """The replica of one cell of a contract.

    Parameters
    ----------
    grid
        The contract.
    at
        Labels of the axes that the replica depends on; the scenario is `nominal` unless it is given. Axes of the fleet
        (arrival rates, headroom, prices) may be left out.

    Raises
    ------
    ContractError
        If an axis is unknown or left open, or a label is not on its axis, with the nearest labels.
    """
    inputs = replace(build_inputs(grid), curves=False, simulate=False)
    steps = tuple(item for item in inputs.steps if _RATE not in item.outputs)
    given = dict(at or {})
    held = _dims(inputs)
    labels = inputs.space.labels
    free = {name: axis[0] for name, axis in labels.items() if name not in held and name not in given}
    index = cell_index(inputs, {**free, **given})
    cut = cut_to(inputs, index)
    values = {name: item.data for name, item in cut.values.items()}
    of_replica = (*REPLICA, _REASON, *_TOKENS)
    values = dict(chain.evaluate(chain.needed(steps, of_replica), values))
    code = int(np.asarray(values[_REASON]).reshape(-1)[0])
    prompt, output = (float(np.asarray(values[name]).reshape(-1)[0]) for name in _TOKENS)
    made = {name for item in chain.needed(steps, of_replica) for name in item.outputs}
    return ReplicaAt(
        labels={name: labels[name][index[name]] for name in labels if name in held and len(labels[name]) > 1},
        reason=choices("infeasible_reason")[code] if code >= 0 else None,
        prompt_tokens=prompt,
        output_tokens=output,
        _steps=tuple(item for item in steps if made.isdisjoint(item.outputs)),
        _values=values,
        _rank=max(1, len(labels)),
    )


def _dims(inputs: Inputs) -> frozenset[str]:
    """Axes along which an input of the replica, or of its requests, has more than one value."""
    steps = chain.needed(inputs.steps, (*REPLICA, _REASON, *_TOKENS))
    read = {name for item in steps for name in item.inputs}.intersection(inputs.values)
    fields = [inputs.values[name].data for name in read]
    return frozenset(
        name for axis, name in enumerate(inputs.space.names) if any(_varies(values, axis) for values in fields)
    )


def _varies(values: Array, axis: int) -> bool:
    if values.shape[axis] == 1:
        return False
    first = values.take([0], axis=axis)
    return not np.all((values == first) | ((values != values) & (first != first)))
