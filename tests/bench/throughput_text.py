"""Sentences of the page of measured throughput that no figure changes."""

from __future__ import annotations

import textwrap

__all__ = [
    *("ASSUMED", "BOUND", "CAUSES", "CLOSED", "COPIED", "DRAINED", "INTRODUCTION", "KNEES", "KNEE_CAUSES"),
    *("ONE_CONSTANT", "REFUSED", "V0_ENGINE", "WRONG", "WRONG_FORMAT", "bullet", "paragraph"),
]

INTRODUCTION = """\
Written by `python tests/bench/throughput_page.py`. Measured runs of single replicas, as published by their makers,
beside what gridplan predicts with the step constants it ships. No constant and no law was fitted to a drained run or a
sweep; the constants come from the loops with a fixed number of requests in flight that [`latency.md`](latency.md)
compares, so an error here is an error of planning. Every row of the table of measurements stands once in
[`throughput.csv`](throughput.csv), with its source, its prediction and what was assumed, or why it is left out.
Errors are predicted over measured, less 1: positive is too fast in throughput, too long in TPOT."""

DRAINED = """\
All prompts are there at the start and the run ends with the last answer. Slots, memory and step times are those of a
plan of the same replica; `tests/bench/drained_model.py` states the law of the run, which counts its steps: waves of
equal answers, or exponential ones that leave one by one. *Between both ends* is the share of rows whose measured
throughput lies between the predictions with the `high` and the `low` end of every constant. *As a closed loop* is the
median error of the cube's own `closed_loop_output_tokens_per_s` with all prompts in flight: a steady state, which has
no last answer to wait for. A row whose cache gridplan finds no room for counts as an error of 100%."""

CAUSES = """\
* Pipeline stages are planned as working in turn, one microbatch at a time, while the runs overlap them: with 2, 4 and 8
  stages the plan has {two:.0%}, {four:.0%} and {eight:.0%} of what was measured.
* Beyond 1,000 requests at once MoE runs are planned too slow: a sequence costs 31 us of a step's own time in the
  constants of MoE models, from loops of at most 512 in flight, which makes 0.13 s of a step of 4,096.
* Long prompts of Qwen3 on H100: those of 2,000 tokens make some 370 to 390 TFLOP/s with the makers' FP8, which has a
  scale for each block of weights, and 200 in BF16 by vLLM; Llama in FP8 with one scale a tensor makes 820 to 1,040 by
  TensorRT-LLM, about what the constants say. They know one share of the peak for all of FP8, so the former are planned
  twice too fast. DeepSeek's FP8 has block scales too and the same sign; why BF16 is slow there is not known.
* Prompts of 128 tokens with 4 output tokens: a thousand requests in some seconds measure HTTP, tokenizers and
  scheduling as well, which no constant holds: planned too fast.
* Engines and GPUs outside the fit: vLLM 0.6 on MI300X, SGLang on gpt-oss in its first releases (559 tokens/s of
  gpt-oss-20b on an A100), TensorRT-LLM on DeepSeek and gpt-oss in 1.0 and 1.2.0rc: all planned too fast."""

WRONG = """\
Found by these comparisons. The rows stay in all figures, unless their weights cannot be loaded at all."""

WRONG_FORMAT = """\
GLM-4.5-Air in BF16 on two H100: {weights:.0f} GB of weights a GPU of {memory:.0f} GB. The published page has its part
on parallelism after the one on FP8, and the gain of 3.5% in its summary is 12,411 over the 11,996 tokens/s of FP8: the
two rows, and the one on four GPUs with expert parallelism before them, are of the FP8 checkpoint. No prediction is made
of the two."""

COPIED = """\
Rows of GLM-4.5-Air on H100 that print the figures of the A100 page to all digits: {copies}. The summary of the same
page has 7,067, 22,583 and 21,706 tokens/s by vLLM for prompts of 128, 2,000 and 4,000 tokens, where its blocks have
6,271, 8,644 and 6,975; gridplan predicts {predicted} of these."""

REFUSED = """\
gridplan refuses {refused} runs that did run: {refusals}. Most of what it misses is the activation peak of the sampler
at 1,024 sequences: {activation} GB. The run of Qwen3-32B shows that this is too much: vLLM does not start without the
cache of one longest sequence, 40,960 tokens or 10.7 GB, and within its share of memory that leaves 0.3 GB for all but
the weights."""

BOUND = """\
The most that peak FLOP/s of the weights' format (dense), peak bandwidth and all of memory allow, with reads and
multiplications overlapped and nothing else: `tests/bench/drained_bound.py`. No real run can be above it."""

CLOSED = """\
The {count} loops of the other table ({dense} dense, {moe} MoE), shipped constants; by group and with constants that
were fitted without the group in [`latency.md`](latency.md)."""

ONE_CONSTANT = """\
*One constant* takes the constants that were fitted without the row's group of model, GPU and engine, and one factor
for each GPU, engine and format, dense and MoE apart, from rows with other lengths than the predicted one has: what a
few measurements of one's own system are worth. *Within* is the share of measured TPOT between predictions with the low
and the high end of every shipped constant. TTFT has low confidence: clients that start together queue for their first
token in waves, and tokenizers and HTTP add to it; neither is in the prediction."""

KNEES = """\
Sweeps of the arrival rate on Llama-3.1-8B, one H100 and at most 128 sequences. The client holds at most 440 requests,
so stages beyond the top measure a closed loop. Its TPOT counts two events a token; the one used is (E2E - TTFT) over
the gaps. The definition was fixed before any prediction was made: a stage holds where 98% of what is offered is
served, and mean TTFT and mean TPOT are at most twice those of the lightest stage. The knee lies between the chord from
the last stage that holds and the stage that does not (both figures are convex in the rate), and gridplan's is the
highest rate at which the plan's operating point holds the same limits in seconds."""

KNEE_CAUSES = """\
The target of 25% is missed, though prompts that share a step, two on average at the top, pay for its chunk once. What
is left is mostly that multiplications are added to reads of weights instead of overlapped with them: those of 204
tokens take 4.9 ms, while the weights are read in 5.2 ms anyway, and those of a decoding sequence make 24 of the 45 us
that it adds to a step. A law with the larger of both in each step, fitted to the same loops, is worse at dense groups
that were left out (11.5% instead of 10.5% in [`latency.md`](latency.md); 11.2% where it overlaps those of decoding
alone), so it was not taken. Mean TTFT of the lightest stages is 30 ms where the formula has 14."""

V0_ENGINE = """\
The V0 engine of vLLM 0.9 takes prompts first and keeps them out of steps that decode, unless it is asked for chunked
prefill (its documentation, "Optimization and Tuning"), and the rows tell of no such flag: prompts take steps of their
own, weights and all, in which nobody decodes. The knee was measured between {low:.0f} and {high:.0f}; the formula has
{predicted:.0f}, and {alone:.0f} where every prompt is charged one more step. So these rows are of a scheduler that
gridplan does not model, and say nothing of the law."""

ASSUMED = """\
* TensorRT-LLM overviews: number of prompts as their tables print it for each pair of lengths (3,000 for 1,000/1,000
  of v1.2, which its table lacks), 95% of free memory, at most 4,096 sequences as `trtllm-bench` caps them, 8,192
  tokens a step, cache in 8 bits but for gpt-oss on Hopper; requests are admitted with all the cache they will need.
* `trtllm-serve`: 90% of free memory, 2,048 sequences and 8,192 tokens a step. Workspace is 4 GiB a GPU, as elsewhere.
* vLLM: sequences, tokens and memory by version from the catalog; SGLang: 2,048 requests, chunks of 8,192 tokens
  (2,048 on small GPUs). Flags that a row prints go before these. `auto` caches have 16 bits.
* ShareGPT samples print mean lengths only: prompts are taken as equal, answers as exponential.
* Attention DP divides a replica into one rank a GPU. Weights called `fp8` or `fp4` of gpt-oss are its MXFP4 ones.
* H100-80GB without a form is the SXM card. Prefix caches are on in vLLM and SGLang by default, but prompts of one run
  are distinct, so no hits are assumed (the sweep with a shared system prompt has 128 of 203 tokens cached)."""


def paragraph(text: str) -> list[str]:
    """A text with figures, in lines again."""
    return textwrap.wrap(" ".join(text.split()), 118)


def bullet(text: str) -> list[str]:
    """The same as an item of a list."""
    return textwrap.wrap(" ".join(text.split()), 118, initial_indent="* ", subsequent_indent="  ")
