"""Why two planners differ, and which is right: one entry a quantity, planner and model, each with its evidence.

Facts about the others were read in their source at the pinned versions. `*` stands for every model without an entry.
`who` is right by the evidence; `open` says that no log decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Reason(NamedTuple):
    """Who is right, why they differ, by which evidence; `logs` are beginnings of names whose errors are printed."""

    who: str
    why: str
    evidence: str
    logs: tuple[str, ...] = ()


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
        "the engine's rule alone (vLLM since 0.13 gives chunks a group of their own); the one log of Llama-4 is of "
        "8,192 tokens, where a chunk holds all of them and both answers are one",
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
        "that is. With `--index-dtype fp8` kvfit lacks the scale alone",
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
        "logs of TP8, where kvfit's two errors nearly cancel; below TP8 the engine's rule decides",
        ("deepseek-r1-h200",),
    ),
    ("aiconfigurator", "deepseek-v3"): Reason(
        "gridplan",
        "the three dense layers are counted as expert layers (30 GiB over all ranks), and every rank holds the whole "
        "embedding (1.7 GiB), which vLLM splits",
        "logs of TP8",
        ("deepseek-r1-h200",),
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
        "2 B for each of the hub's parameters (51.10 GiB); no log of this size is at hand",
    ),
    ("aiconfigurator", "llama-4-scout-17b-16e"): Reason(
        "gridplan",
        "the shared expert of every layer (11.3 GiB over all ranks) and the vision tower (1.6) are left out, and every "
        "rank holds the whole embedding (1.9), which vLLM splits; at TP8 these nearly cancel",
        "2 B for each of the hub's 108,641,793,536 parameters (202.36 GiB); no log of this model is at hand",
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
        "logs print 79.1 to 79.3 GiB on an H100 and 178.35 on a B200, and every log has further terms",
        ("llama70b", "deepseek-r1-h200", "qwen3-235b-h200"),
    ),
    "aiconfigurator": Reason(
        "gridplan, where weights differ and mostly at TP1; else within what the logs can tell apart",
        "80 and 180 GB are taken for GiB, which gives 0.7 or 1.5 GiB, against a fixed 3.5 GiB for the runtime, NCCL "
        "by TP and activations from TensorRT-LLM's coefficients: at TP2 and more the two come to about 1 GiB or less "
        "for Llama 3, Qwen3, Mixtral and gpt-oss; for DeepSeek its terms weigh more, for Llama-4 the budget does",
        "logs of Llama at TP1 (H100, MI300X), of Llama at TP4, and of DeepSeek-R1 at TP8",
        (
            "v1-llama31-8b-h100",
            "llama70b-mi300x-tp1",
            "llama70b-fp8-mi300x-tp1",
            "llama70b-h200",
            "llama70b-b200",
            "deepseek-r1-h200",
        ),
    ),
}


def reason(book: Mapping[tuple[str, str], Reason], planner: str, model: str) -> Reason | None:
    """The entry that decides, if there is one."""
    return book.get((planner, model)) or book.get((planner, WEIGHTS_LIKE.get(model, ""))) or book.get((planner, "*"))
