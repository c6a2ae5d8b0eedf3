"""The layer groups of a model as an engine charges them: rows of blocks, by the policy for windows.

A row is (bytes of a block of all its layers on one rank, tokens of that block, tokens a sequence keeps at most, blocks
beside them); `formulas.kv_charge_bytes` sums over rows. Some engines admit a window with the tokens in flight beside
it: such a row says so, and who reads it adds them to what is kept. Beside the rows stands the page in which the pool is
handed out, 0 where it is not handed out in pages.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from gridplan import formulas
from gridplan.catalog import LayerGroup
from gridplan.catalog.layers import WHOLE_CONTEXT, with_cache
from gridplan.formulas.kv_pages import attention_block_tokens, block_tokens_in_page, bundle_size

__all__ = ["UNKNOWN", "Charge", "Row", "Setting", "charge_of", "read_of"]

BITS_FP8 = 8.0


class Row(NamedTuple):
    """One summand of the charge; `in_flight` is 1 where tokens in flight are kept beside `limit_tokens`, else 0."""

    block_bytes: float
    block_tokens: float
    limit_tokens: float
    extra_blocks: float
    in_flight: float = 0.0


class Charge(NamedTuple):
    """Rows of one model on one rank and the page of its pool [bytes]; `uniform` where every token costs the same."""

    rows: tuple[Row, ...]
    page_bytes: float
    uniform: bool


UNKNOWN = Charge((Row(math.nan, 1.0, math.inf, 0.0),), math.nan, True)
"""A model that is not known: whatever is computed from it is unknown."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How a replica is cut and what its engine does: parallel degrees, block, policy for windows."""

    kv_bits: float
    tensor_parallel: float = 1.0
    pipeline_parallel: float = 1.0
    decode_context_parallel: float = 1.0
    block_tokens: float = 1.0
    sliding_policy: str = "ideal_window"
    sliding_pool_ratio: float | None = None
    chunks_in_full: bool = False
    block_alignment_tokens: float = 1.0
    state_blocks: float = 1.0
    num_speculative_tokens: float = 0.0
    draft_layers: float = 0.0
    mla_row_align_bytes: int | None = None


class _Kind(NamedTuple):
    """Layers of one group on one rank: bytes of a token (0 for a state), bytes of a state, what they keep."""

    kind: str
    layers: float
    token_bytes: float
    state_bytes: float
    window: float


def charge_of(groups: Iterable[LayerGroup], setting: Setting, drafts: Iterable[LayerGroup] = ()) -> Charge:
    """What an engine charges a sequence of a model whose layers are `groups`, and of a draft model's `drafts`."""
    # The last pipeline stage holds all of a draft model, as it holds all of its weights.
    kinds = _kinds(groups, setting) + _kinds(drafts, replace(setting, pipeline_parallel=1.0, draft_layers=0.0))
    growing = all(item.kind in WHOLE_CONTEXT for item in kinds)
    if growing or (setting.sliding_policy == "full" and all(item.kind != "state" for item in kinds)):
        return _uniform(kinds, setting)
    if setting.sliding_policy == "engine_admission" and setting.sliding_pool_ratio is None:
        return _paged(kinds, setting)
    return _ideal(kinds, setting)


def read_of(groups: Iterable[LayerGroup], setting: Setting, drafts: Iterable[LayerGroup] = ()) -> Charge:
    """What a decode step reads of a sequence: true windows, no blocks, every state once."""
    plain = replace(
        setting,
        block_tokens=1.0,
        sliding_policy="ideal_window",
        state_blocks=1.0,
        num_speculative_tokens=0.0,
        draft_layers=setting.draft_layers / setting.pipeline_parallel,
    )
    # The stages' reads add up to the step, so an even share of the draft on each is its whole.
    kinds = _kinds((*groups, *drafts), plain)
    return _uniform(kinds, plain) if all(item.kind in WHOLE_CONTEXT for item in kinds) else _ideal(kinds, plain)


def _kinds(groups: Iterable[LayerGroup], setting: Setting) -> list[_Kind]:
    """Groups with a cache of their own, as one rank of the fullest pipeline stage holds them."""
    found = []
    for group in with_cache(groups):
        layers = math.ceil(group.layers / setting.pipeline_parallel)
        kind = group.kind
        if kind == "chunked" and setting.chunks_in_full and setting.sliding_policy == "engine_admission":
            kind = "full"
        window = math.inf if group.window_tokens is None or kind == "full" else float(group.window_tokens)
        state = _state_bytes(group, setting) if group.kind == "state" else 0.0
        token = 0.0 if group.kind == "state" else _token_bytes(group, setting)
        found.append(_Kind(kind, layers, token, state, window))
    return _with_draft(found, setting.draft_layers)


def _with_draft(kinds: list[_Kind], layers: float) -> list[_Kind]:
    """A draft head's layers keep what the model's own full layers keep; the last pipeline stage holds them."""
    at = next((place for place, item in enumerate(kinds) if item.kind in WHOLE_CONTEXT), None)
    if layers and at is not None:
        kinds[at] = kinds[at]._replace(layers=kinds[at].layers + layers)
    return kinds


def _token_bytes(group: LayerGroup, setting: Setting) -> float:
    """KV bytes of one token in one layer of a rank."""
    bits = setting.kv_bits if group.kv_bits is None else group.kv_bits
    key = formulas.layer_bytes_per_token_indexer(group.index_head_dim) if group.kind == "sparse_mla" else 0.0
    if bits == BITS_FP8 and group.fp8_entry_bytes is not None:
        return float((group.fp8_entry_bytes + key) / group.compression)
    if group.kind in ("mla", "sparse_mla"):
        value = formulas.layer_bytes_per_token_latent(group.kv_lora_rank, group.qk_rope_head_dim, bits / 8)
        if setting.mla_row_align_bytes:
            value = math.ceil(value / setting.mla_row_align_bytes) * setting.mla_row_align_bytes
    else:
        value = formulas.layer_bytes_per_token_attention(
            group.kv_heads, group.k_head_dim, group.v_head_dim, bits / 8, setting.tensor_parallel
        )
    return float((value + key) / group.compression)


def _state_bytes(group: LayerGroup, setting: Setting) -> float:
    return float(
        formulas.layer_state_bytes(
            group.recurrent_elements,
            group.conv_elements,
            group.recurrent_bits,
            setting.tensor_parallel,
            setting.num_speculative_tokens,
        )
    )


def _states(setting: Setting) -> float:
    """States that a sequence holds: as many as the engine keeps, and one for each speculative token."""
    return setting.state_blocks + setting.num_speculative_tokens


def _uniform(kinds: Sequence[_Kind], setting: Setting) -> Charge:
    """Every layer keeps every token: one row."""
    block = setting.block_tokens
    size = block * sum(item.layers * item.token_bytes for item in kinds)
    row = Row(size, block * setting.decode_context_parallel, math.inf, 0.0)
    return Charge((row,), size, True)


def _ideal(kinds: Sequence[_Kind], setting: Setting) -> Charge:
    """Each layer keeps its true window; or, where the engine sets a share of tokens aside for windows, that share."""
    ratio = setting.sliding_pool_ratio if setting.sliding_policy == "engine_admission" else None
    block, rows = setting.block_tokens, []
    for item in kinds:
        size = block * item.layers * item.token_bytes
        if item.kind == "state":
            rows.append(Row(item.layers * item.state_bytes, 1.0, 0.0, _states(setting)))
        elif item.kind in WHOLE_CONTEXT or setting.sliding_policy == "full":
            rows.append(Row(size, block * setting.decode_context_parallel, math.inf, 0.0))
        elif ratio is not None:
            rows.append(Row(size * ratio, block, math.inf, 0.0))
        else:
            rows.append(Row(size, block, item.window, 0.0))
    return Charge(tuple(rows), 0.0, False)


def _paged(kinds: Sequence[_Kind], setting: Setting) -> Charge:
    """Equal pages for bundles of layers, as vLLM V1 admits requests."""
    states = [item.state_bytes for item in kinds if item.kind == "state"]
    tokens = [item.token_bytes for item in kinds if item.kind != "state"]
    block = int(setting.block_tokens)
    if states and tokens:
        block = max(block, attention_block_tokens(max(states), max(tokens), int(setting.block_alignment_tokens)))
    page = max([block * size for size in tokens] + ([] if tokens else states))
    bundle = bundle_size([int(item.layers) for item in kinds])
    rows = []
    for item in kinds:
        size = math.ceil(item.layers / bundle) * bundle * page
        if item.kind == "state":
            rows.append(Row(size, 1.0, 0.0, _states(setting)))
            continue
        held = float(block_tokens_in_page(page, item.token_bytes))
        if item.kind in WHOLE_CONTEXT or setting.sliding_policy == "full":
            rows.append(Row(size, held * setting.decode_context_parallel, math.inf, 0.0))
        elif item.kind == "chunked":
            rows.append(Row(size, held, item.window, 0.0, 1.0))
        else:
            # One block more: the window's first token seldom lies at the start of a block.
            rows.append(Row(size, held, item.window - 1, 1.0, 1.0))
    return Charge(tuple(rows), bundle * page, False)
