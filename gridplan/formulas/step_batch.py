"""The batch at which a step of a mixture of experts takes a given time, and the one at which it settles.

A larger batch touches more experts, so the weight read t_w(n) = t_fixed + t_experts (1 - (1 - K/E)^n) grows with the
batch, and a limit on the step has no closed form. t_w is concave in n: Newton's method climbs to the root from below,
or falls to it from above, without ever passing it, and the fixed number of steps taken here reaches the last digits.
For a dense model the first step is exact.
"""

from __future__ import annotations

import numpy as np

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value

__all__ = ["batch_at_rate", "batch_at_step_time"]

ROUNDS = 12
"""Newton steps (policy): the error is squared at each, so five or six reach the last digits, and the rest is for roots
where t_w hardly bends. Their number is fixed: a result must not depend on the cells that are planned beside it."""


def _log_miss(step_experts_s: Value, num_experts: Value, experts_per_token: Value) -> Value:
    """log(1 - K/E), the chance of an expert to be missed by a token; 0 in a dense model. -1e9 stands for none."""
    known = np.maximum(np.log1p(-experts_per_token / num_experts), -1e9)
    return np.where(step_experts_s == 0, 0.0, known)


@formula
def batch_at_step_time(
    step_time_s: Value,
    step_fixed_s: Value,
    step_experts_s: Value,
    num_experts: Value,
    experts_per_token: Value,
    per_sequence_s: Value,
) -> Value:
    """Batch n at which t_w(n) + n m takes `step_time_s`, for m = per_sequence_s [sequences, not rounded].

    0 where t_fixed alone takes that long, infinite for an infinite time. Dense: (t - t_fixed) / m.

    >>> batch_at_step_time(0.025, 0.005, 0.0, float("nan"), float("nan"), 1e-4)
    200.0
    >>> n = batch_at_step_time(0.025, 0.005, 0.010, 64, 2, 1e-4)
    >>> round(n, 6), round(0.005 + 0.010 * (1 - (31 / 32) ** n) + n * 1e-4, 12)
    (103.714918, 0.025)
    """
    # With all experts read the batch is smallest: the root lies at or above that.
    first = np.maximum(step_time_s - step_fixed_s - step_experts_s, 0.0) / per_sequence_s
    if not np.any(step_experts_s):
        return first
    batch = first
    log_miss = _log_miss(step_experts_s, num_experts, experts_per_token)
    for _ in range(ROUNDS):
        missed = step_experts_s * np.exp(batch * log_miss)
        took = step_fixed_s + step_experts_s - missed + batch * per_sequence_s
        step = np.where(np.isinf(batch), 0.0, (step_time_s - took) / (per_sequence_s - log_miss * missed))
        batch = np.maximum(batch + step, 0.0)
    # A dense cell has the same digits whatever is planned beside it.
    return np.where(step_experts_s == 0, first, np.where(step_time_s <= step_fixed_s, 0.0, batch))


@formula
def batch_at_rate(
    output_tokens_per_s: Value,
    busy: Value,
    step_fixed_s: Value,
    step_experts_s: Value,
    num_experts: Value,
    experts_per_token: Value,
) -> Value:
    """Mean batch at a rate, n = y t_w(n) / (1 - busy), for y output tokens a second [sequences].

    `busy` is the share of time that work beside the weight read takes; infinite from 1 on. Dense: y t_w / (1 - busy).

    >>> batch_at_rate(1000.0, 0.5, 0.010, 0.0, float("nan"), float("nan"))
    20.0
    >>> n = batch_at_rate(1000.0, 0.5, 0.010, 0.020, 64, 2)
    >>> round(n, 6), round(1000 / 0.5 * (0.010 + 0.020 * (1 - (31 / 32) ** n)), 6)
    (52.428982, 52.428982)
    """
    per_second = output_tokens_per_s / np.maximum(1.0 - busy, 0.0)
    all_read = step_fixed_s + step_experts_s
    first = per_second * all_read  # the root lies at or below that
    if not np.any(step_experts_s):
        return first
    log_miss, batch = _log_miss(step_experts_s, num_experts, experts_per_token), first
    for _ in range(ROUNDS):
        missed = step_experts_s * np.exp(batch * log_miss)
        step = (batch - per_second * (all_read - missed)) / (1.0 + per_second * log_miss * missed)
        step = np.where(np.isinf(batch), 0.0, step)
        batch = batch - step
    return np.where(step_experts_s == 0, first, batch)
