"""What a log measured as a block of a contract: inputs with value, class, source and date, to be merged.

`log_override` writes it as YAML, with the settings that it holds for.
"""

from __future__ import annotations

import math

from gridplan.catalog import Model
from gridplan.catalog.layers import WHOLE_CONTEXT
from gridplan.engine.agreement import SUM_SLACK_BYTES
from gridplan.errors import LogError, Problem
from gridplan.measured.budget_check import graphs_in_pool
from gridplan.measured.check_log import check_log, pool_tokens
from gridplan.measured.engine_log import EngineLog, Reading
from gridplan.report.log_settings import caches_of, stated_fraction

__all__ = ["Measured", "override_values"]

Values = dict[str, Reading[float]]
Measured = tuple[Values, tuple[str, ...]]
"""Inputs with the line of each, in base units; and what is left out, in sentences."""


def override_values(log: EngineLog, model: Model | None = None) -> Measured:
    """What a log measured; `model` is that of the catalog, None where it is not known.

    The terms are given only where they leave the pool, within what an evaluation allows, so that a contract which
    states all of them holds.

    Raises
    ------
    LogError
        If the terms of the log do not add up, or it has no pool.
    """
    wrong = [check for check in check_log(log) if check.severity == "error"]
    if wrong:
        line = wrong[0].lines[0] if wrong[0].lines else None
        raise LogError([Problem(f"not written: {check.sentence}", log.file, line) for check in wrong])
    values: Values = {}
    if log.total_bytes is not None:
        values["gpu_memory_bytes"] = log.total_bytes
    terms, remarks = _terms(log)
    values |= _whole({**values, **terms, **_pool(log, model)})
    return values, remarks


def _pool(log: EngineLog, model: Model | None) -> Values:
    """The pool: in tokens where any token costs the same, in bytes where their number depends on the length."""
    tokens, pool = pool_tokens(log), log.kv_pool_bytes
    has_bytes = pool is not None and pool.value > 0
    if tokens is not None and tokens.value >= 1 and not (has_bytes and _is_mixed(log, model)):
        replicas = log.data_parallel.value if log.data_parallel else 1.0
        return {"kv_pool_tokens_given": Reading(math.floor(tokens.value * replicas), tokens.line)}
    if pool is not None and has_bytes:
        return {"kv_pool_bytes_given": pool}
    raise LogError([Problem("not written: the log has no KV pool above 0", log.file, pool.line if pool else None)])


def _is_mixed(log: EngineLog, model: Model | None) -> bool:
    """Whether tokens cost different amounts: by the model's layers, else where the log gives two numbers of tokens."""
    groups = caches_of(model)
    if groups:
        return len(groups) > 1 or groups[0].kind not in WHOLE_CONTEXT
    printed, effective = log.kv_tokens, pool_tokens(log)
    differs = printed is not None and effective is not None and printed.value != effective.value
    return differs or log.sliding_tokens is not None


def _terms(log: EngineLog) -> Measured:
    """What lies beside the pool, as far as it stands alone in the log."""
    ranks = [reading.value for reading in (log.tensor_parallel, log.pipeline_parallel, log.data_parallel) if reading]
    weights, values, remarks = log.weights_bytes, Values(), []
    if weights is not None and math.prod(ranks) == 1 and weights.value > 0:
        values["weights_bytes"] = weights
    elif weights is not None:
        remarks.append(
            f"weights_bytes is left out: {weights.value / 2**30:.2f} GiB (line {weights.line}) are one rank's, and a "
            "contract states the whole model's"
        )
    if log.state_bytes is not None:
        said = f"{log.state_bytes.value / 2**30:.2f} GiB (line {log.state_bytes.line})"
        remarks.append(f"recurrent states of {said} lie beside this pool")
    if log.pool_limit_bytes is not None:
        return values, (*remarks, "the pool was set by hand: what lies beside it is left out")
    graphs = graphs_in_pool(log)
    terms = {"non_torch_bytes": _non_torch(log), "activation_bytes": log.activation_bytes, "cuda_graphs_bytes": graphs}
    known = {name: reading for name, reading in terms.items() if reading is not None and reading.value >= 0}
    if len(known) == len(terms) and not _adds_up(log, known):
        return values, (*remarks, "what lies beside the pool is left out: its rounded figures do not leave the pool")
    return values | known, tuple(remarks)


def _non_torch(log: EngineLog) -> Reading[float] | None:
    """Non-torch memory; where weights and it are printed as one figure, what is above the weights."""
    both, weights = log.consumed_bytes, log.weights_bytes
    if both is None or weights is None:
        return log.non_torch_bytes if both is None else None
    return Reading(both.value - weights.value, both.line, both.half_step + weights.half_step, both.rank)


def _adds_up(log: EngineLog, terms: Values) -> bool:
    """Whether total, fraction, weights and terms leave the pool as closely as a contract must."""
    total, fraction, weights, pool = log.total_bytes, stated_fraction(log), log.weights_bytes, log.kv_pool_bytes
    if total is None or fraction is None or weights is None or pool is None:
        return True  # then a contract has not all of them either
    left = total.value * fraction.value - weights.value - sum(item.value for item in terms.values())
    return abs(left - pool.value) <= SUM_SLACK_BYTES


def _whole(values: Values) -> Values:
    """Bytes without decimals: a printed figure of two decimals of a GiB is no better than that."""
    return {name: Reading(round(item.value), item.line) for name, item in values.items()}
