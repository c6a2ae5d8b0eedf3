"""kvfit on a list of settings: reads jobs as JSON from stdin, prints answers as JSON. Runs where kvfit is installed.

A job names a config, the checkpoint's bytes, GPU memory, fraction, length, tensor parallelism and bytes of an element.
Everything else is left as kvfit's command line leaves it: no reserve, indexer keys in the format of the cache.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from adapter_configs import config_of
from kvfit.architectures import estimate_cache
from kvfit.hardware import Hardware
from kvfit.planner import plan_topologies


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """Bytes of one rank: weights, one sequence of the job's length, and what is left for sequences."""
    cache = estimate_cache(config_of(job), context_tokens=job["length"], kv_bytes=job["kv_element_bytes"])
    gpu = Hardware(id=job["gpu"], label=job["gpu"], memory_gib=job["gpu_memory_gib"])
    (plan,) = plan_topologies(
        cache,
        weight_bytes=job["checkpoint_bytes"] or 0,
        hardware=gpu,
        gpus=job["tp"],
        utilization=job["fraction"],
        tensor_parallel=job["tp"],
    )
    if plan.verdict == "unsupported":
        return {"refused": plan.reason}
    found = {"sequence_bytes": plan.kv_per_sequence_per_rank_bytes, "remark": "; ".join(cache.notes)}
    if not job["checkpoint_bytes"]:
        return found
    weights = plan.weights_per_rank_bytes
    left = plan.budget_per_rank_bytes - weights - plan.runtime_reserve_per_rank_bytes
    return found | {"weights_bytes": weights, "pool_bytes": left, "other_bytes": plan.runtime_reserve_per_rank_bytes}


def main() -> None:
    """A job that kvfit refuses is answered with its reason."""
    answers = {}
    for job in json.load(sys.stdin):
        try:
            answers[job["id"]] = answer(job)
        except (ValueError, KeyError) as error:
            answers[job["id"]] = {"refused": str(error)}
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
