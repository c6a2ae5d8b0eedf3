"""How an engine cuts one memory pool into equal pages for layers that need different amounts.

vLLM V1 gives every layer group pages of one size from one pool. Layers with fewer bytes a token get longer blocks,
attention blocks grow until they hold a recurrent state, and the layers of each kind are bundled into groups of equal
size, the last one padded. Sources: vllm/v1/core/kv_cache_utils.py (group size, page size) and the hybrid model
configuration of vLLM (block size of attention beside a state); checked on start-up logs of Gemma-3-4B (148.63),
Qwen3-Next-80B (7,162 blocks of 544 tokens, 14.77) and Gemma-4-31B (626,949 tokens).

These are whole numbers of one model, never arrays of a cube.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

__all__ = ["attention_block_tokens", "block_tokens_in_page", "bundle_size"]

NEARLY_EQUAL = 1.25
"""Kinds of layers whose numbers differ by less are bundled by the larger number (fact: vLLM V1, kv_cache_utils.py)."""


def bundle_size(layers: Sequence[int]) -> int:
    """Layers in one bundle, from the number of layers of each kind [count].

    The smallest number, so that the others split into several bundles; the largest where all are within a quarter.
    Gemma-3-27B (10 full, 52 sliding) makes 1 + 6 bundles of 10; gpt-oss-20b with a draft layer (13 and 12) two of 13:

    >>> bundle_size([10, 52]), bundle_size([13, 12])
    (10, 13)
    """
    least, most = min(layers), max(layers)
    return most if most < least * NEARLY_EQUAL else least


def attention_block_tokens(state_bytes: float, token_bytes: float, block_tokens: int) -> int:
    """Tokens of an attention block whose page holds a recurrent state: the next multiple of the usual block [tokens].

    state_bytes is one layer's state of one sequence, token_bytes one layer's KV of one token, both of one rank.
    Qwen3-Next-80B on two GPUs: 548,864 B of state (16 bits) beside 1,024 B a token:

    >>> attention_block_tokens(548864, 1024, 16)
    544
    """
    return max(block_tokens * ceil(state_bytes / (token_bytes * block_tokens)), block_tokens)


def block_tokens_in_page(page_bytes: float, token_bytes: float) -> int:
    """Tokens that one layer's block holds in a page of the common size [tokens].

    Gemma-4-31B: pages of 16 tokens of its sliding layers (16 heads of 256) hold 32 tokens of its full ones (4 of 512):

    >>> block_tokens_in_page(16 * 16384, 8192)
    32
    """
    return int(page_bytes // token_bytes)
