"""KV memory of models with layer groups, computed a second time: fractions, plain loops, one cell after another.

It reads the layer groups of the catalog and shares nothing else with gridplan. What an engine does is written out here
again: vLLM's equal pages and admission by window, SGLang's share of tokens for windows, and whole models in old vLLM.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gridplan.catalog import LayerGroup, load_catalog

GROW = ("full", "mla", "sparse_mla")
KV_BITS = {"fp16": Fraction(16), "bf16": Fraction(16), "fp8": Fraction(8), "int8": Fraction(8), "nvfp4": Fraction(9, 2)}


@dataclass(frozen=True)
class Manner:
    """How an engine charges where the contract says nothing."""

    policy: str
    block: int
    align: int
    in_flight: int
    states: int
    window_share: Fraction | None = None
    latent_unit: int | None = None
    chunks_in_full: bool = False


ENGINES: Mapping[str | None, Manner] = {
    "vllm@0.7": Manner("full", 16, 16, 1, 1, latent_unit=256),
    "vllm@0.11": Manner("engine_admission", 16, 16, 1, 1, chunks_in_full=True),
    "vllm@0.25": Manner("engine_admission", 16, 16, 1, 1),
    "vllm@0.28": Manner("engine_admission", 16, 16, 2, 2),
    "sglang@0.5.3": Manner("engine_admission", 1, 1, 1, 1, window_share=Fraction(4, 5)),
    None: Manner("ideal_window", 1, 0, 1, 1),
}

Cost = Callable[[Fraction, bool], Fraction]
"""Bytes of a sequence of so many tokens, in whole blocks or not."""


@dataclass(frozen=True)
class Layers:
    """Layers of one group on one rank: bytes of a token in one of them, or bytes of one state."""

    kind: str
    count: int
    token: Fraction
    state: Fraction
    window: int | None


def ceil_to(value: Fraction, unit: int) -> Fraction:
    return Fraction(math.ceil(value / unit) * unit)


def token_bytes(group: LayerGroup, bits: Fraction, tp: int, unit: int | None) -> Fraction:
    """One token in one layer of one rank."""
    bits = bits if group.kv_bits is None else Fraction(group.kv_bits)
    index = Fraction(0)
    if group.kind == "sparse_mla":
        assert group.index_head_dim is not None
        index = Fraction(group.index_head_dim + 4 * math.ceil(Fraction(group.index_head_dim, 128)))
    if bits == 8 and group.fp8_entry_bytes is not None:
        entry = Fraction(group.fp8_entry_bytes)
    elif group.kv_lora_rank is not None:
        assert group.qk_rope_head_dim is not None
        entry = (group.kv_lora_rank + group.qk_rope_head_dim) * bits / 8
        entry = ceil_to(entry, unit) if unit else entry
    else:
        assert group.kv_heads is not None
        heads = max(1, math.ceil(Fraction(group.kv_heads, tp)))
        entry = heads * ((group.k_head_dim or 0) + (group.v_head_dim or 0)) * bits / 8
    return (entry + index) / Fraction(group.compression)


def state_bytes(group: LayerGroup, tp: int, speculative: int) -> Fraction:
    """One state of one layer of one rank; the convolution keeps three tokens and the speculative ones."""
    recurrent = Fraction((group.recurrent_elements or 0) * (group.recurrent_bits or 0), 8)
    return (recurrent + Fraction(group.conv_elements or 0) * Fraction(3 + speculative, 3) * 2) / tp


def on_rank(groups: Iterable[LayerGroup], given: Mapping[str, Any], manner: Manner, tp: int, pp: int) -> list[Layers]:
    """What the fullest stage holds; layers of a draft head join the first group that keeps the whole context."""
    speculative, found = given.get("num_speculative_tokens", 0), []
    for group in groups:
        if group.kind == "shared":
            continue
        is_state, kind = group.kind == "state", group.kind
        if kind == "chunked" and manner.chunks_in_full and given.get("sliding_policy", manner.policy) == manner.policy:
            kind = "full"
        token = Fraction(0) if is_state else token_bytes(group, KV_BITS[given["kv_dtype"]], tp, manner.latent_unit)
        state = state_bytes(group, tp, speculative) if is_state else Fraction(0)
        found.append(Layers(kind, math.ceil(Fraction(group.layers, pp)), token, state, group.window_tokens))
    for place, item in enumerate(found):
        if item.kind in GROW:
            found[place] = Layers(
                item.kind, item.count + given.get("draft_layers", 0), item.token, item.state, item.window
            )
            break
    return found


def blocks(tokens: Fraction, size: Fraction, whole: bool) -> Fraction:
    return Fraction(math.ceil(tokens / size)) if whole else tokens / size


def cost(layers: list[Layers], given: Mapping[str, Any], manner: Manner, dcp: int) -> tuple[Cost, Fraction, bool]:
    """Charge of a sequence on a rank, the page of the pool (0: none), and whether every token costs the same."""
    policy = given.get("sliding_policy", manner.policy)
    block = Fraction(given.get("kv_block_tokens", manner.block))
    held = given.get("state_blocks", manner.states) + given.get("num_speculative_tokens", 0)
    has_state = any(item.kind == "state" for item in layers)
    if all(item.kind in GROW for item in layers) or (policy == "full" and not has_state):
        each = sum((item.count * item.token for item in layers), Fraction(0))
        return lambda s, whole: blocks(s, block * dcp, whole) * block * each, block * each, True
    if policy == "engine_admission" and manner.window_share is None:
        return paged(layers, given, manner, dcp, held, block)

    def apart(tokens: Fraction, whole: bool) -> Fraction:
        total = Fraction(0)
        for item in layers:
            if item.kind == "state":
                total += item.count * item.state * held
                continue
            size, share, kept = block, Fraction(1), tokens
            if item.kind in GROW or policy == "full":
                size = block * dcp
            elif policy == "engine_admission":
                assert manner.window_share is not None
                share = manner.window_share
            else:
                assert item.window is not None
                kept = min(tokens, Fraction(item.window))
            total += blocks(kept, size, whole) * block * item.count * item.token * share
        return total

    return apart, Fraction(0), False


def paged(
    layers: list[Layers], given: Mapping[str, Any], manner: Manner, dcp: int, held: int, block: Fraction
) -> tuple[Cost, Fraction, bool]:
    """vLLM V1: one page size, layers in bundles of one size, windows admitted with the tokens of steps in flight."""
    align = Fraction(manner.align) if manner.align else block
    largest_state = max(item.state for item in layers)
    largest_token = max(item.token for item in layers)
    if largest_state:
        need = largest_state / largest_token
        block = max(block, math.ceil(need / align) * align)
    page = block * largest_token
    counts = [item.count for item in layers]
    bundle = max(counts) if Fraction(max(counts)) < Fraction(5, 4) * min(counts) else min(counts)
    beside = given["max_num_batched_tokens"] * given.get("in_flight_steps", manner.in_flight)

    def charged(tokens: Fraction, whole: bool) -> Fraction:
        pages = Fraction(0)
        for item in layers:
            bundles = math.ceil(Fraction(item.count, bundle))
            if item.kind == "state":
                pages += bundles * held
                continue
            size = Fraction(math.floor(page / item.token))
            if item.kind in GROW:
                pages += bundles * blocks(tokens, size * dcp, whole)
                continue
            assert item.window is not None
            if item.kind == "chunked":
                pages += bundles * blocks(min(tokens, Fraction(item.window + beside)), size, whole)
            else:
                pages += bundles * (blocks(min(tokens, Fraction(item.window - 1 + beside)), size, whole) + 1)
        return pages * bundle * page

    return charged, bundle * page, False


def resident(classes: list[tuple[Fraction, int, int]], charge: Cost, held: Cost, whole: bool, how: str) -> Fraction:
    """Mean charge by a convention; of the longest for `max`, and what is `held` while decoding for `mean`."""
    at_end = [charge(Fraction(p + o), whole) for _, p, o in classes]
    if how == "final":
        return sum((w * c for (w, _, _), c in zip(classes, at_end, strict=True)), Fraction(0))
    if how == "mean":
        return sum((w * held(p + Fraction(o, 2), whole) for w, p, o in classes), Fraction(0))
    if how == "residence_weighted":
        stay = sum((w * o for w, _, o in classes), Fraction(0))
        return sum((w * o * c for (w, _, o), c in zip(classes, at_end, strict=True)), Fraction(0)) / stay
    return max(at_end)


def memory(given: Mapping[str, Any]) -> dict[str, Fraction]:
    """Measures of KV memory of one cell, exactly."""
    manner, catalog = ENGINES[given.get("engine")], load_catalog()
    tp, pp, dp, dcp = (given.get(f"{name}_parallel", 1) for name in ("tensor", "pipeline", "data", "decode_context"))
    names = (given["model"], given.get("draft_model"))
    own, draft = ([*catalog.model(name).layer_groups] if name else [] for name in names)
    # The last stage of a pipeline holds the whole draft model beside its share of the target.
    no_head = {**given, "draft_layers": 0}
    on_one = on_rank(own, given, manner, tp, pp) + on_rank(draft, no_head, manner, tp, 1)
    of_all = on_rank(own, given, manner, 1, 1) + on_rank(draft, no_head, manner, 1, 1)
    charge, page, uniform = cost(on_one, given, manner, dcp)
    whole_model, _, _ = cost(of_all, given, manner, 1)
    # While it decodes, a sequence has one new token beside its window.
    decoding = {**given, "max_num_batched_tokens": 1, "in_flight_steps": 1}
    (held, _, _), (held_of_all, _, _) = (
        cost(on_one, decoding, manner, dcp),
        cost(of_all, decoding, manner, 1),
    )
    classes = [(Fraction(str(w)), p, o) for w, p, o in given["classes"]]
    longest = Fraction(given.get("max_model_len") or max(p + o for _, p, o in classes))
    at_longest = charge(longest, True)
    block = given.get("kv_block_tokens", manner.block) * dcp
    each = charge(Fraction(1), False) if uniform else at_longest / longest
    each_of_model = whole_model(Fraction(1), False) if uniform else whole_model(longest, True) / longest
    efficiency = Fraction(str(given.get("kv_efficiency", 1)))
    whole = efficiency == 1
    tokens = given.get("kv_pool_tokens_given")
    pool = Fraction(given["kv_pool_bytes_given"]) if tokens is None else Fraction(tokens) / dp * each
    in_pages = pool // page * page if page and tokens is None else pool

    def fits(bytes_each: Fraction) -> Fraction:
        usable = in_pages if whole else pool
        return Fraction(math.floor(efficiency * usable / bytes_each) * dp)

    at_limit = in_pages / at_longest * dp
    how = given.get("resident_context", "final")
    here = resident(classes, charge, held, whole, how)
    if tokens is not None:
        pool_tokens = Fraction(tokens)
    else:
        pool_tokens = Fraction(pool // page * block * dp) if uniform else Fraction(math.floor(at_limit * longest))
    return {
        "kv_bytes_per_token": each_of_model,
        "kv_bytes_per_token_per_gpu": each,
        "kv_bytes_per_sequence": resident(classes, whole_model, held_of_all, whole, how),
        "kv_bytes_per_sequence_per_gpu": here,
        "kv_pool_tokens": pool_tokens,
        "concurrency_at_limit": at_limit,
        "concurrency_memory_worst": Fraction(in_pages // at_longest * dp),
        "concurrency_memory": fits(here),
        "concurrency_memory_expected": fits(resident(classes, charge, held, whole, "final")),
        "concurrency_memory_mean": fits(resident(classes, charge, held, whole, "mean")),
        "concurrency_memory_residence": fits(resident(classes, charge, held, whole, "residence_weighted")),
    }
