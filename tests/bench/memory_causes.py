"""Why gridplan itself is apart from logs: one entry a cause, with the figures that it explains.

Sizes of errors are not written here: the page counts them.
"""

from __future__ import annotations

from typing import NamedTuple


class Cause(NamedTuple):
    """A title, what is known, and the errors it explains: beginnings of log names and a quantity each.

    `terms_of` names logs whose engine terms are printed beside the planned ones; `imported` is a log and the weights
    [GiB] that an entry imported from its published files gives.
    """

    title: str
    text: str
    errors: tuple[tuple[str, str], ...]
    terms_of: tuple[str, ...] = ()
    imported: tuple[str, float] | None = None


OPEN = Cause("Open", "Nothing is known of these.", ())

CAUSES = (
    Cause(
        "FP8 rows of DeepSeek's sparse MLA",
        "gridplan plans 656 B a layer, the layout of FlashMLA, and 132 B of indexer keys. On a B200 the log fits 576 + "
        "132 B a layer: 61 x 708 = 43,188.",
        (("deepseek-v3.2-nvfp4", "token"),),
    ),
    Cause(
        "Checkpoints of mixed precision",
        "The rule of a format (all but embeddings and head in it) is too light for a checkpoint that leaves more "
        "layers in 16 bits, which `catalog import-model` reads from `config.json` and `hf_quant_config.json`; what is "
        "missing after that is open. For Llama-4-Maverick this is the likely cause, not a measured one, and its vision "
        "tower (`unknown`) is missing too.",
        (
            ("deepseek-v3.2-nvfp4", "weights"),
            ("deepseek-v3.2-nvfp4", "pool"),
            ("llama4-maverick", "weights"),
        ),
        imported=("deepseek-v3.2-nvfp4-b200-tp8-0.18", 46.18),  # measurement, 2026-11-30: planned from its files
    ),
    Cause(
        "Nemotron-3",
        "Open, and not the formats of the checkpoint: its published files give the catalog's weights again. One "
        "checkpoint of Nano takes 30.52 GiB on vLLM 0.16 and 31.40 on 0.18, so a part is the engine's.",
        (("nemotron-3", "weights"),),
        imported=("nemotron-3-super-fp8-h200-tp2-0.18", 56.81),  # measurement, 2026-11-30: planned from its files
    ),
    Cause(
        "Engine terms of the largest models over eight GPUs",
        "One model, format, GPU and degree takes a different amount with each version of vLLM, without a trend. On V0 "
        "there is one such log, so there is no rule, and its missing weights (V0, below) add to it. Maverick's pool "
        "holds its missing weights too.",
        (("deepseek-r1-h200", "pool"), ("llama4-maverick", "pool"), ("v0-deepseek-r1", "pool")),
        ("deepseek-r1-h200",),
    ),
    Cause(
        "Vision towers that are not counted",
        "The catalog says `unknown` for Gemma-4's tower, and a plan warns of it; state `params_vision` where it is "
        "known. The towers of Gemma-3, Qwen3-VL, Qwen3.5 and Llama-4-Scout are counted.",
        (("v1-gemma4", "weights"), ("v1-gemma4", "pool")),
    ),
    Cause(
        "MI300X",
        "Open: these logs load more than the files of the checkpoints hold, vision towers included. One checkpoint of "
        "Qwen3-VL takes 58.23 GiB in a log of an H200 and 79.29 in that of an MI300X, and its pool errs by about as "
        "much. Llama-3.3-70B's weights are within 2% there.",
        (("qwen3-vl-30b-mi300x", "weights"), ("qwen3-vl-30b-mi300x", "pool"), ("v1-gemma3-4b-mi300x", "weights")),
    ),
    Cause(
        "Rows that do not say what decides",
        "`max_num_seqs`, which decides the peak of the forward pass, is not said by the rows of GPT-OSS-120B and of "
        "the 24 GB card with 131k tokens; pool and tokens of Qwen3-235B on four H100 do not multiply.",
        (("v1-gptoss120b", "pool"), ("v0-llama31-8b-24g", "pool"), ("v1-qwen3-235b-fp8-4xh100", "pool")),
    ),
    Cause(
        "Small pools",
        "What is a small part of the card is a large one of the pool.",
        (("v0-llama31-8b-3090", "pool"),),
    ),
    Cause(
        "GPUs joined by PCIe",
        "The log takes less memory outside of PyTorch than is planned.",
        (("v1-qwen3-235b-fp8-4xrtx", "pool"),),
    ),
    Cause(
        "MLA on vLLM V0",
        "V0 keeps the absorbed products of MLA beside the weights.",
        (("v0-deepseek-r1", "weights"),),
    ),
    Cause(
        "A draft head that the catalog leaves out",
        "The log loads the MTP head.",
        (("v1-qwen3next-80b-4xh100-mtp", "weights"),),
    ),
    OPEN,
)


def cause(log: str, quantity: str) -> Cause:
    """What is known of an error of gridplan, `OPEN` where nothing is."""
    found = (one for one in CAUSES for start, name in one.errors if log.startswith(start) and name == quantity)
    return next(found, OPEN)
