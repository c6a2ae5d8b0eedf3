"""The plan of a cube, shorter where the cube does not need all of it."""

from __future__ import annotations

from collections.abc import Collection

from gridplan.chain import fleet, kv, memory, planned, prefill, queueing
from gridplan.chain.graph import Step, step
from gridplan.chain.kernels import kernels
from gridplan.chain.latency import latency_steps
from gridplan.chain.plan import DIRECT, STEPS
from gridplan.chain.purchase import purchase_steps

__all__ = ["steps_for"]


def _by_output(*steps: Step) -> dict[str, Step]:
    """Steps by the first of their results: they stand in for the steps of the plan that make it."""
    return {item.outputs[0]: item for item in steps}


_UNIFORM = _by_output(
    step("kv_bytes_per_token", memory.as_it_is, value="kv_any_token_model_bytes"),
    step("kv_bytes_per_token_per_gpu", memory.as_it_is, value="kv_any_token_bytes"),
    step("kv_read_bytes_per_token", memory.as_it_is, value="kv_bytes_per_token"),
    step("kv_read_bytes_per_token_per_gpu", memory.as_it_is, value="kv_bytes_per_token_per_gpu"),
    step("kv_pool_tokens", kv.kv_pool_tokens_in_blocks),
)
"""The same where every token costs the same: these depend on no length then, so they carry no such dimension."""

_DENSE = _by_output(
    step("step_weights_least_s", memory.as_it_is, value="step_fixed_s"),
    step("step_weights_read_s", memory.as_it_is, value="step_fixed_s"),
    step("weights_moved_bytes", memory.as_it_is, value="weights_read_bytes"),
    step("batch_at_limit", prefill.one_sequence),
    step("tpot_share_raw", kernels.tpot_share, step_weights_s="step_fixed_s"),
    step("tpot_mean_step_s", fleet.tpot_dense_s),
)
"""The same where no model has routed experts: the weight read depends on no batch then."""

_QUEUEING = _by_output(
    step("tpot_s", memory.as_it_is, value="tpot_queueing_s"),
    step("batch_mean", planned.batch_queueing),
    step("planned_latency_s", memory.as_it_is, value="e2e_s"),
)
"""The same where every cell takes its latencies from the operating point."""

_NO_QUEUE = _by_output(
    Step(tuple(f"queueing_{name}" for name in queueing.OUTPUTS), queueing.nothing, ("capacity_model_code",)),
)
"""The same where no cell has capacity model `queueing`."""


def steps_for(
    uniform: bool,
    dense: bool,
    by_queue: bool = False,
    curves: bool = False,
    simulate: bool = False,
    queue_capacity: bool = True,
    purchase: Collection[str] = ("on_demand",),
    spot_mixed: bool = False,
) -> tuple[Step, ...]:
    """The plan for a cube in which every model charges every token alike (`uniform`), or has no experts (`dense`).

    `by_queue` says that every cell takes its latencies from the operating point, `curves` that they are read from one
    curve of each replica instead of being computed in each cell, `simulate` that a simulation fills the gaps,
    `queue_capacity` that some cell takes its rate from the queueing model, `purchase` which kinds of purchase there
    are, `spot_mixed` that some cell puts a share of its nodes on spot beside another purchase.
    """
    chosen = (_UNIFORM if uniform else {}) | (_DENSE if dense else {}) | (_QUEUEING if by_queue else {})
    chosen |= {} if queue_capacity else _NO_QUEUE
    chosen |= purchase_steps(purchase, spot_mixed)
    steps = tuple(chosen.get(item.outputs[0], item) for item in STEPS)
    if not curves and not simulate:
        return steps
    first = steps.index(DIRECT[0])
    return (*steps[:first], *latency_steps(curves, simulate), *steps[first + len(DIRECT) :])
