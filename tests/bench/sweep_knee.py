"""Where a replica's latency leaves its plateau: the knee of measured sweeps over the arrival rate, and gridplan's.

A stage of a sweep holds where at least 0.98 of the offered requests are served, mean TTFT is at most twice that of the
sweep's lightest stage, and so is mean TPOT. The knee lies between the last stage that holds and the next. Mean TPOT
and TTFT are convex in the rate, so the chord between the two stages is above the curve: the rate at which the chord
reaches the limit is the least that the knee can be; the stage that breaks it, or the most that was ever served, is the
most. The middle is compared, and where it can be off by more than a quarter either way the knee is not identifiable.

gridplan's knee has the same limits in seconds: the highest rate at which the operating point of the plan's replica
holds both, by bisection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

import numpy as np
from drained_model import Known, known
from throughput_rows import Run, run_of

from gridplan.chain.replica import Replica, point_at
from gridplan.formulas import OperatingPoint

__all__ = ["Knee", "Stage", "knees", "measured_knee", "predicted_knee"]

SERVED, PLATEAU, WIDEST = 0.98, 2.0, 0.25
"""Least share of requests served, most times the lightest stage's latency, most that a knee may be off (policy)."""

SEQUENCES, LONGEST, SHARED_PREFIX = 128.0, 512.0, 128.0
"""Cap of the scheduler, longest sequence, tokens of a system prompt that all requests of a sweep share [tokens]."""

EXCLUDED = {
    "EAGLE": "speculative decoding: accepted tokens a step are not stated",
    "V0": "prompts run first and in steps of their own there, while gridplan's steps mix prompts and decoding",
}
"""Configurations that the law does not describe, by a word of their name, and why.

The V0 engine of vLLM 0.9 does not mix prompts and decoding unless chunked prefill is asked for (vllm-project/vllm,
docs/source/performance/optimization.md: "By default, vLLM scheduler prioritizes prefills and doesn't batch prefill and
decode to the same batch").
"""


@dataclass(frozen=True)
class Stage:
    """Requests a second, offered and served, and mean TTFT and TPOT [s] of one stage."""

    offered: float
    served: float
    ttft_s: float
    tpot_s: float


@dataclass(frozen=True)
class Knee:
    """A measured knee between low and high and the predicted one; all rates in requests/s.

    least and most are the predictions with the high and the low end of every constant. top is the most that was served
    in any stage, predicted_top the cube's figure of the same slots always full. alone is the prediction where every
    prompt takes a step of its own.
    """

    name: str
    ttft_limit_s: float
    tpot_limit_s: float
    low: float
    high: float
    predicted: float
    least: float
    most: float
    top: float
    predicted_top: float
    alone: float
    excluded: str

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2.0

    @property
    def identifiable(self) -> bool:
        return not self.excluded and self.high - self.middle <= WIDEST * self.middle

    @property
    def error(self) -> float:
        """Predicted over measured, less 1."""
        return self.predicted / self.middle - 1.0


def measured_knee(stages: Sequence[Stage], ttft_limit_s: float, tpot_limit_s: float) -> tuple[float, float]:
    """Least and most rate of the knee [requests/s]: the stages are in order of rate and the first of them holds."""

    def holds(stage: Stage) -> bool:
        on_time = stage.ttft_s <= ttft_limit_s and stage.tpot_s <= tpot_limit_s
        return on_time and stage.served >= SERVED * stage.offered

    top = max(stage.served for stage in stages)
    last, broken = next((a, b) for a, b in pairwise(stages) if not holds(b))
    end = min(broken.offered, top)
    reached = [
        last.served + (end - last.served) * (limit - before) / (after - before)
        for limit, before, after in (
            (ttft_limit_s, last.ttft_s, broken.ttft_s),
            (tpot_limit_s, last.tpot_s, broken.tpot_s),
        )
        if after > limit
    ]
    return min([*reached, end]), end


def _point(rate: float, run: Run, replica: Known, alone: bool) -> OperatingPoint:
    """The operating point of a plan's replica; `alone` charges every prompt a step of its own."""

    def by_class(value: float) -> np.ndarray:
        return np.array([value])

    step = replica["step_fixed_s"]
    made = Replica(
        class_weight=by_class(1.0),
        class_prompt_tokens=by_class(run.prompt_tokens),
        class_prefix_hit_ratio=by_class(run.prefix_hit_ratio),
        class_output_tokens=by_class(run.output_tokens),
        class_output_tokens_scv=by_class(0.0),
        class_prefill_multiplied_s=by_class(replica["class_prefill_multiplied_s"] + (step if alone else 0.0)),
        class_prefill_chunks=by_class(replica["class_prefill_chunks"]),
        chunk_overhead_total_s=np.asarray(replica["chunk_overhead_total_s"]),
        prefill_experts_s=np.zeros(()),
        step_fixed_s=np.asarray(step),
        step_experts_s=np.zeros(()),
        num_experts=np.asarray(np.nan),
        experts_per_token=np.asarray(np.nan),
        kv_read_per_context_token_s=np.asarray(replica["kv_read_per_context_token_s"]),
        step_per_sequence_s=np.asarray(replica["step_per_sequence_s"]),
        data_parallel=np.ones(()),
        token_budget=np.asarray(replica["token_budget"]),
        arrival_scv=np.ones(()),
        slots=np.asarray(min(SEQUENCES, replica["concurrency_memory"])),
    )
    return point_at(np.asarray(rate), made)


def predicted_knee(run: Run, replica: Known, ttft_limit_s: float, tpot_limit_s: float, alone: bool = False) -> float:
    """Highest rate at which mean TTFT and TPOT hold their limits [requests/s]; no number counts as broken."""
    low, high = 0.0, 1e4
    for _ in range(40):
        rate = 0.5 * (low + high)
        point = _point(rate, run, replica, alone)
        held = float(point.ttft_s) <= ttft_limit_s and float(point.tpot_mean_s) <= tpot_limit_s
        low, high = (rate, high) if held else (low, rate)
    return low


def _stage(row: Mapping[str, str]) -> Stage:
    offered, served = float(row["request_rate_offered_rps"]), float(row["request_throughput_rps"])
    # The published TPOT counts two events a token: mean E2E less TTFT over the gaps is the one to use.
    return Stage(offered, served, float(row["ttft_mean_ms"]) / 1e3, float(row["tpot_derived_mean_ms"]) / 1e3)


def _run(row: Mapping[str, str]) -> Run:
    run = run_of({**row, "concurrency": "440"}, "closed")
    caps = {"max_num_seqs": SEQUENCES, "max_model_len": LONGEST, "gpu_memory_utilization": 0.9}
    hit = SHARED_PREFIX / run.prompt_tokens if "prefix caching" in row["notes"] else 0.0
    return replace(run, limits=tuple(caps.items()), prefix_hit_ratio=hit, output_scv=0.0)


def knees(sweeps: Sequence[Mapping[str, str]]) -> list[Knee]:
    """Measured and predicted knee of every configuration that was swept."""
    found = []
    for name, rows in groupby(sweeps, key=lambda row: row["notes"].partition(";")[0]):
        group = list(rows)
        stages = [_stage(row) for row in group]
        limits = PLATEAU * stages[0].ttft_s, PLATEAU * stages[0].tpot_s
        low, high = measured_knee(stages, *limits)
        excluded = next((why for word, why in EXCLUDED.items() if word in name), "")
        run = _run(group[2])
        ends = [known(run, end) for end in ("best", "high", "low")]
        tops = (
            max(stage.served for stage in stages),
            ends[0]["closed_loop_output_tokens_per_s"] / run.output_tokens,
        )
        rates = [predicted_knee(run, replica, *limits) for replica in ends]
        alone = predicted_knee(run, ends[0], *limits, alone=True)
        found.append(Knee(name, *limits, low, high, *rates, *tops, alone, excluded))
    return found
