"""aiconfigurator-core on a list of settings: reads jobs as JSON from stdin, prints answers as JSON.

Its own memory model is asked first. Where it cannot build a model, its naive estimate is, and the answer says so.
Experts are split by tensor parallelism as in vLLM, or over ranks where a job says so. The cache's format is stated, for
the package would take 8 bits for checkpoints in FP8, and vLLM's `auto` does not.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

from adapter_configs import config_of, shipped
from aiconfigurator_core.sdk.config_builders import build_model_config
from aiconfigurator_core.sdk.memory import KVCacheEstimator, NaiveKVCacheEstimator, kv_cache_budget_bytes
from aiconfigurator_core.sdk.models import get_model

GIB = 2**30
ENGINE = "vllm"
CACHE = {2: "bfloat16", 1: "fp8"}


def native(job: dict[str, Any], folder: str) -> dict[str, Any]:
    """The package's memory model of the engine [bytes of one rank]."""
    experts = {"moe_tp_size": 1, "moe_ep_size": job["tp"]} if job["expert_parallel"] else {"moe_tp_size": job["tp"]}
    split = {"moe_ep_size": 1, **experts, "tp_size": job["tp"], "pp_size": 1, "attention_dp_size": 1}
    formats = {"kvcache_quant_mode": CACHE[job["kv_element_bytes"]], **job["formats"]}
    parts = KVCacheEstimator.from_request(
        folder,
        job["system"],
        ENGINE,
        "current",
        max_num_tokens=job["batched_tokens"],
        max_batch_size=job["sequences"],
        **split,
        **formats,
    ).breakdown
    unset = dict.fromkeys(("gemm_quant_mode", "moe_quant_mode", "fmha_quant_mode", "comm_quant_mode"))
    model = get_model(folder, build_model_config(**split, **{**unset, **formats}), ENGINE)
    pool = kv_cache_budget_bytes(
        capacity=job["gpu_memory_gib"] * GIB, non_kv=parts["non_kv_bytes"], fraction=job["fraction"], of_free=False
    )
    return {
        "sequence_bytes": model.get_kvcache_bytes_per_sequence(job["length"]),
        "weights_bytes": parts["weights_bytes"],
        "pool_bytes": pool,
        "other_bytes": parts["non_kv_bytes"] - parts["weights_bytes"],
        "remark": "",
    }


def naive(job: dict[str, Any], config: dict[str, Any], why: str) -> dict[str, Any]:
    """The estimate from the config alone: 80% of what the weights leave, whatever the fraction."""
    text = config.get("text_config") or config
    plan = NaiveKVCacheEstimator.from_hf_config(text, tp_size=job["tp"], pp_size=1, moe_tp_size=job["tp"])
    token, weights = plan.kv_bytes_per_token(), plan.weight_bytes()
    if token is None or weights is None:
        return {"refused": why}
    pool = max(job["gpu_memory_gib"] * GIB - weights, 0) * 0.8
    # Its hybrid mode is an inverse: the bytes of a length are what the inverse gives that length for.
    length, low, high = job["length"], 0, token * job["length"] + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if plan.get_kvcache_max_tokens(middle) >= length else (middle + 1, high)
    return {
        "sequence_bytes": low,
        "weights_bytes": weights,
        "pool_bytes": pool,
        "other_bytes": job["gpu_memory_gib"] * GIB * job["fraction"] - weights - pool,
        "remark": "naive",
    }


def main() -> None:
    """A job that neither estimate answers is answered with the reason of the first."""
    logging.disable(logging.CRITICAL)
    answers: dict[str, dict[str, Any]] = {}
    for job in json.load(sys.stdin):
        with tempfile.TemporaryDirectory() as folder:
            try:
                config = config_of(job)
                Path(folder, "config.json").write_text(json.dumps(config), encoding="utf-8")
                formats = shipped(job["hf_id"], "hf_quant_config")
                if formats.exists():
                    Path(folder, "hf_quant_config.json").write_bytes(formats.read_bytes())
                answers[job["id"]] = native(job, folder)
            except Exception as error:  # the package raises many kinds where it does not know a model
                why = str(error).replace(folder, job["hf_id"]).splitlines()[0][:200]
                answers[job["id"]] = naive(job, config, why) if not isinstance(error, KeyError) else {"refused": why}
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
