"""The words of `reports/memory.md` that no figure changes."""

from __future__ import annotations

HEAD = """\
# Memory: beside two other public planners

Compiled on {day} by `python tests/bench/compare_memory.py`: gridplan {gridplan}, kvfit {kvfit}, aiconfigurator-core
{aic}. The numbers follow from the versions. All sizes are of one rank; GiB is 2^30 bytes.

## Verdict

{verdict}

## What was asked

vLLM 0.24 with its defaults (fraction 0.92, 8,192 batched tokens, 1,024 sequences), sequences of at
most 32,768 tokens, a 16-bit cache, weights in the checkpoint's own format, experts split by TP. The GPU is an H100, or
a B200 where a rank's share of the checkpoint does not fit into 85% of an H100. Start-up logs have settings of their
own.

What the planners are:

* **kvfit** counts the cache and the weights of whole checkpoints, and says that its result is a bound before all that
  the engine takes at run time. Weights are the checkpoint's bytes over TP. It refuses what it does not know.
* **aiconfigurator-core** is made for speed; its memory model keeps candidates from running out of memory, so a fixed
  3.5 GiB "for safer deployment" is meant as it is. Where it has no model of an architecture, its naive estimate answers
  (marked *naive*): 80% of what the weights leave, whatever the fraction.
* **gridplan** predicts what the engine's start-up log will print. That is what is judged here, so logs are its home
  ground.
"""

LIMITS = """\
## What this does not say

* gridplan counts a vision tower where its catalog knows one (Gemma-3, Qwen3-VL, Qwen3.5, Llama-4-Scout). For Gemma-4
  and Llama-4-Maverick it says `unknown`, and its weights are of the text layers alone.
* A dash is a figure that nobody could be asked for: kvfit takes weights from the size of the files, which is not at
  hand for FP8 and NVFP4 checkpoints of the logs, and without weights it has no pool.
* Each planner has answers that the others lack: kvfit plans SGLang's attention data parallelism and calibrates on the
  host; aiconfigurator-core predicts times from measured kernels. Neither is measured here.
* The new logs are of one laboratory, whose start-ups are much alike: four models at one length make most of them.
* The hub cannot be read by the script: configs are those shipped with aiconfigurator-core or written in
  `tests/bench/memory_cases.py`, checkpoint sizes the hub's published counts.
* kvfit was asked by its functions `estimate_cache` and `plan_topologies`, aiconfigurator-core by `KVCacheEstimator`
  and, where that has no model, `NaiveKVCacheEstimator`. Both took the size on the box for the GPU's memory, as they do
  unless told otherwise.
"""
