"""Why two planners differ, and which is right: one entry a quantity, planner and model, each with its evidence.

Facts about the others were read in their source at the pinned versions. `*` stands for every model without an entry.
`who` is right by the evidence; `open` says that no log decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Reason(NamedTuple):
    """Who is right, why they differ, by which evidence."""

    who: str
    why: str
    evidence: str


WINDOW = Reason(
    "gridplan for admission",
    "it counts min(length, window) for sliding layers; vLLM reserves window - 1 + batched tokens, and one block more",
    "log v1-gemma3-4b-mi300x: 148.63 requests printed; the window alone is what decoding holds, not what is reserved",
)

TOKEN: Mapping[tuple[str, str], Reason] = {
    ("kvfit", "gpt-oss-120b"): WINDOW,
    ("aiconfigurator", "gpt-oss-120b"): WINDOW,
    ("kvfit", "gemma-3-27b"): Reason(
        "gridplan",
        "the hub's config names a window and no layer types, and kvfit takes every layer for sliding; 10 of 62 are "
        "full",
        "log v1-gemma3-4b-mi300x (same family); vLLM takes the pattern of six from the model's code",
    ),
    ("aiconfigurator", "gemma-3-27b"): Reason(
        "gridplan",
        "no model of Gemma-3: the naive estimate charges all 62 layers in full",
        "log v1-gemma3-4b-mi300x",
    ),
    ("aiconfigurator", "llama-4-scout-17b-16e"): Reason(
        "gridplan",
        "its model charges all 48 layers in full; 36 attend within chunks of 8,192 tokens",
        "the engine's rule alone (vLLM since 0.13 gives chunks a group of their own); no log of Llama-4 is at hand",
    ),
    ("kvfit", "qwen3-next-80b-a3b"): Reason(
        "gridplan",
        "recurrent states in 32 bits; vLLM's `auto` takes the model's 16 (Qwen3.5 alone asks for 32). Pages are not "
        "padded",
        "log v1-qwen3next-80b-2xh200: 14.77 requests of 262,144 tokens from 44.59 GiB",
    ),
    ("aiconfigurator", "qwen3-next-80b-a3b"): Reason(
        "gridplan",
        "no model of Qwen3-Next (of Qwen3.5 there is): the naive estimate charges all 48 layers as attention; 12 are",
        "log v1-qwen3next-80b-2xh200",
    ),
    ("kvfit", "deepseek-v3.2"): Reason(
        "gridplan and aiconfigurator",
        "indexer keys in the format of the cache, 256 B a layer; vLLM stores 128 B in FP8 and a scale of 4 B whatever "
        "that is. With `--index-dtype fp8` kvfit is 0.3% below",
        "log deepseek-v3.2-nvfp4-b200-tp8-0.18: its 43,190 B are 61 layers x (576 in FP8 + 132), so keys are 132 B; "
        "of a 16-bit cache no log is at hand",
    ),
}

WEIGHTS: Mapping[tuple[str, str], Reason] = {
    ("kvfit", "deepseek-v3"): Reason(
        "gridplan",
        "checkpoint over TP: the MTP layer is counted, which vLLM skips without speculation, and MLA's "
        "down-projections, "
        "which every rank holds whole, are divided",
        "logs deepseek-r1-h200-tp8: 79.74 GiB at TP8, where gridplan is 0.6% below and kvfit, whose two errors cancel "
        "there, 0.5% above; below TP8 the engine's rule decides",
    ),
    ("aiconfigurator", "deepseek-v3"): Reason(
        "gridplan",
        "the three dense layers are counted as expert layers (30 GiB over all ranks), and every rank holds the whole "
        "embedding (1.7 GiB), which vLLM splits",
        "logs deepseek-r1-h200-tp8: 79.74 GiB at TP8, gridplan 0.6% below, aiconfigurator 6.1% above",
    ),
    ("kvfit", "gpt-oss-120b"): Reason(
        "gridplan",
        "the checkpoint's bytes; vLLM pads hidden and intermediate size of the MXFP4 experts (2,880 to 3,072 or 2,944)",
        "64.38 GiB printed at TP1 (tests/reference/test_weights_logs.py); of higher TP no log is at hand",
    ),
    ("aiconfigurator", "gpt-oss-120b"): Reason(
        "gridplan",
        "4.0 bits an expert parameter, without the scales (4.25); the output head is left out, and nothing is padded",
        "64.38 GiB printed at TP1 (tests/reference/test_weights_logs.py); of higher TP no log is at hand",
    ),
    ("kvfit", "qwen3-next-80b-a3b"): Reason(
        "gridplan",
        "the checkpoint holds an MTP head that vLLM skips without speculation",
        "logs v1-qwen3next-80b-2xh200 (74.28 GiB, no MTP) and v1-qwen3next-80b-4xh100-mtp (37.99 GiB, with MTP)",
    ),
    ("aiconfigurator", "qwen3-next-80b-a3b"): Reason(
        "gridplan",
        "the naive estimate: 4 x hidden^2 for every attention",
        "log v1-qwen3next-80b-2xh200",
    ),
    ("aiconfigurator", "gemma-3-27b"): Reason(
        "gridplan",
        "the naive estimate: 4 x hidden^2 for every attention, and the embedding, which is tied, twice",
        "parameters of the hub; no log of this size is at hand",
    ),
    ("aiconfigurator", "llama-4-scout-17b-16e"): Reason(
        "gridplan",
        "the shared expert of every layer is left out (11.3 GiB over all ranks), and every rank holds the whole "
        "embedding "
        "(1.9 GiB), which vLLM splits; at TP8 the two cancel",
        "the model's config: 189.49 and 11.25 GiB are gridplan's 200.74; the hub's 108.6e9 parameters, with the vision "
        "tower that vLLM loads too, are 202.4 GiB",
    ),
}
WEIGHTS_LIKE = {"deepseek-v3.2": "deepseek-v3"}
"""Models that are decided by another's entry."""

POOL: Mapping[str, Reason] = {
    "kvfit": Reason(
        "gridplan",
        "80 and 180 GB are taken for GiB, and nothing but weights is subtracted: it calls the result a static upper "
        "bound, "
        "and `--device-memory-gib` and `--runtime-reserve-gib` are there to lower it",
        "logs print 79.1 to 79.3 GiB on an H100 and 178.35 on a B200; every log has further terms; kvfit is above all "
        "new "
        "logs, by 4.5% to 59.0%",
    ),
    "aiconfigurator": Reason(
        "gridplan, where weights differ and at TP1; else within what the logs can tell apart",
        "80 and 180 GB are taken for GiB, which gives 0.7 or 1.5 GiB, against a fixed 3.5 GiB for the runtime, NCCL "
        "by TP and activations from TensorRT-LLM's coefficients: at TP2 and more the two nearly cancel, at TP1 they "
        "do not",
        "log v1-llama31-8b-h100-0.92 (TP1, 56.21 GiB: gridplan 0.7% below, aiconfigurator 2.2%); Llama-3.3-70B at TP4 "
        "on H200 and B200: gridplan 0.1 to 0.2% above, aiconfigurator 0.7 to 2.3%; DeepSeek-R1 at TP8: gridplan -4.9% "
        "to "
        "+6.1%, aiconfigurator -11.6% to -20.8%",
    ),
}

CAUSES: Mapping[tuple[str, str], str] = {
    ("deepseek-v3.2-nvfp4", "token"): (
        "656 B a layer is the layout of FlashMLA alone; on a B200 the log keeps 576 elements in FP8, "
        "61 x (576 + 132) = 43,188 B"
    ),
    ("deepseek-v3.2-nvfp4", "weights"): (
        "open: NVFP4 is planned for all but embeddings and head, and this checkpoint is likely to leave more in wider "
        "formats"
    ),
    ("deepseek-v3.2-nvfp4", "pool"): "the weights above",
    ("nemotron-3", "weights"): "open: some layers of its FP8 checkpoint are likely to be in wider formats",
    ("llama4-maverick", "weights"): (
        "open: the vision tower is not counted, and the checkpoint is likely to leave more than embeddings and head in "
        "16 bits"
    ),
    ("llama4-maverick", "pool"): "the weights above, and buffers of eight ranks",
    ("deepseek-r1-h200", "pool"): (
        "terms of eight ranks: 2.8 (vLLM 0.11.0) to 7.4 GiB (0.14) were taken, 5.0 to 5.4 are planned"
    ),
    ("qwen3-vl", "weights"): "the vision tower is not counted; on an MI300X the log loads 21 GiB more than on an H200",
    ("qwen3-vl", "pool"): "the weights above; profiling of images is the user's to state (`multimodal_bytes`)",
    ("v1-gemma", "weights"): "the vision tower is not counted",
    ("v1-gemma", "pool"): "the vision tower is not counted",
    ("v1-qwen3next-80b-4xh100-mtp", "weights"): "the log loads the MTP head, which the catalog's entry leaves out",
    ("v1-gptoss20b-a100", "weights"): "Marlin pads the intermediate size too on an A100",
    ("v0-deepseek-r1", "weights"): "vLLM V0 adds the absorbed products of MLA",
    ("v0-deepseek-r1", "pool"): "the same, and buffers of eight ranks on V0: one such log, so there is no rule",
    ("v1-gptoss120b", "pool"): (
        "10 of 75 GiB are left by the weights, and `max_num_seqs`, which decides the peak, is not said"
    ),
    ("v1-qwen3-235b-fp8-4xh100", "pool"): "pool and tokens of the row do not multiply either",
    ("v1-qwen3-235b-fp8-4xrtx", "pool"): "non-torch of GPUs joined by PCIe: 1.7 GiB in the log, 2.1 planned",
    ("v0-llama31-8b-24g", "pool"): "the peak is the forward pass alone: `max_num_seqs` was small, and is not said",
    ("v0-llama31-8b-3090", "pool"): "0.2 GiB of a small pool",
}
"""Why gridplan itself is apart from a log, by the beginning of its name and the quantity."""


def cause(log: str, quantity: str) -> str:
    """What is known of an error of gridplan."""
    found = (text for (start, name), text in CAUSES.items() if log.startswith(start) and name == quantity)
    return next(found, "open")


def reason(book: Mapping[tuple[str, str], Reason], planner: str, model: str) -> Reason | None:
    """The entry that decides, if there is one."""
    return book.get((planner, model)) or book.get((planner, WEIGHTS_LIKE.get(model, ""))) or book.get((planner, "*"))
