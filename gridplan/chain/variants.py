"""The plan of a cube, shorter where the cube does not need all of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from gridplan.chain import fleet, kv, memory, planned, prefill, queueing, redundancy
from gridplan.chain.caps import with_caps
from gridplan.chain.graph import Step, step
from gridplan.chain.kernels import kernels
from gridplan.chain.latency import latency_steps
from gridplan.chain.plan import STEPS
from gridplan.chain.portfolio import with_portfolio
from gridplan.chain.purchase import purchase_steps
from gridplan.chain.service import DIRECT

__all__ = ["Features", "steps_for"]


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

_PLAIN_SPARES = _by_output(
    step("replicas_target", memory.as_it_is, value="replicas_active"),
    step("replicas_kept", memory.as_it_is, value="replicas_kept_by_spares"),
    step("replicas", redundancy.replicas_over_zones),
    step("nodes", redundancy.nodes),
    step("active_left", redundancy.active_left),
    step("arrival_rate_next_step", redundancy.rate_next_step),
)
"""The same where all spares keep the headroom, and no share of time is asked for in their place."""

_NO_QUEUE = _by_output(
    Step(tuple(f"queueing_{name}" for name in queueing.OUTPUTS), queueing.nothing, ("capacity_model_code",)),
)
"""The same where no cell has capacity model `queueing`."""


@dataclass(frozen=True, slots=True)
class Features:
    """What the cells of a cube have in common, or need: the plan is shorter for what none of them needs.

    uniform: every model charges every token alike. dense: no model has experts. by_queue: every cell takes its
    latencies from the operating point. curves: they are read from one curve of each replica, not computed in each cell.
    simulate: a simulation fills the gaps. queue_capacity: some cell takes its rate from the queueing model.
    plain_spares: all spares are a number of failure domains whose loss keeps the headroom. purchases: the kinds of
    purchase. spot_mixed: some cell puts a share of its nodes on spot beside another purchase. capped: some cell has a
    budget or a limit of power.
    """

    uniform: bool = False
    dense: bool = False
    by_queue: bool = False
    curves: bool = False
    simulate: bool = False
    queue_capacity: bool = True
    plain_spares: bool = False
    purchases: frozenset[str] = frozenset({"on_demand"})
    spot_mixed: bool = False
    capped: bool = False


@lru_cache(maxsize=64)
def steps_for(features: Features) -> tuple[Step, ...]:
    """The plan for a cube with these features."""
    chosen: dict[str, Step] = {}
    for use, steps in (
        (features.uniform, _UNIFORM),
        (features.dense, _DENSE),
        (features.by_queue, _QUEUEING),
        (not features.queue_capacity, _NO_QUEUE),
        (features.plain_spares, _PLAIN_SPARES),
        (True, purchase_steps(features.purchases, features.spot_mixed)),
    ):
        chosen |= steps if use else {}
    plan = tuple(chosen.get(item.outputs[0], item) for item in STEPS)
    if "portfolio" in features.purchases:
        plan = with_portfolio(plan)
    if features.capped:
        plan = with_caps(plan)
    if not features.curves and not features.simulate:
        return plan
    first = plan.index(DIRECT[0])
    return (*plan[:first], *latency_steps(features.curves, features.simulate), *plan[first + len(DIRECT) :])
