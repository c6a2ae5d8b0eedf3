"""KV cache of one rank: what a token and a sequence are charged for, and how many sequences the pool holds.

Arrays of rows (`kv_rows_*`) have two axes after those of the cube: the rows of layer groups, and the four numbers of a
row. NaN means "not given" for an input and "unknown" for a result; it never limits anything.
"""

from __future__ import annotations

import numpy as np

from gridplan.chain.codes import choices
from gridplan.chain.graph import Array, spread
from gridplan.chain.kernels import kernels
from gridplan.chain.memory import first_given
from gridplan.rounding import ceil_exact, floor_exact, floor_ratio

__all__ = [
    "bytes_per_token",
    "charge_longest_bytes",
    "charge_planned_bytes",
    "charges",
    "concurrency_at_limit",
    "concurrency_memory",
    "concurrency_memory_worst",
    "kv_bytes_per_sequence",
    "kv_bytes_per_sequence_per_gpu",
    "kv_pool_tokens",
    "kv_pool_tokens_in_blocks",
    "kv_pool_usable_bytes",
    "read_bytes_per_token",
    "rows_of",
]


def rows_of(rows: Array) -> tuple[Array, Array, Array, Array]:
    """Bytes and tokens of a block, tokens kept at most, blocks beside them; row axis last."""
    return rows[..., 0], rows[..., 1], rows[..., 2], rows[..., 3]


def _bytes_per_any_token(rows: Array) -> Array:
    """KV bytes of one token [bytes] where every token costs the same."""
    return np.asarray(rows[..., 0, 0] / rows[..., 0, 1])


def bytes_per_token(rows: Array, uniform: Array, tokens: Array) -> Array:
    """KV bytes of one token [bytes]: of any where all cost the same, else of the mean one of a sequence of `tokens`."""
    mean = kernels.kv_charge_bytes(tokens, *rows_of(rows)) / tokens
    return np.where(uniform == 1, _bytes_per_any_token(rows), mean)


def read_bytes_per_token(rows: Array, per_token: Array, uniform: Array, step_context_tokens: Array) -> Array:
    """KV bytes that a decode step reads for one token of a running sequence's context [bytes]: true windows, states."""
    read = kernels.kv_charge_bytes_unrounded(step_context_tokens, *rows_of(rows)) / step_context_tokens
    return np.where(uniform == 1, per_token, read)


def charge_longest_bytes(kv_rows_rank: Array, longest_tokens: Array) -> Array:
    """What a sequence of the longest length is charged for on one rank [bytes]."""
    return np.asarray(kernels.kv_charge_bytes(longest_tokens, *rows_of(kv_rows_rank)))


def charge_planned_bytes(kv_rows_rank: Array, asked_tokens: Array, kv_efficiency: Array) -> Array:
    """What a plan charges a sequence of a length for on one rank [bytes]: whole blocks where the efficiency is 1."""
    return _charge(asked_tokens, rows_of(kv_rows_rank), kv_efficiency == 1)


def charges(
    rows: Array,
    held_rows: Array,
    kv_efficiency: Array,
    class_weight: Array,
    class_prompt_tokens: Array,
    class_output_tokens: Array,
    class_prompt_tokens_max: Array,
    class_output_tokens_max: Array,
) -> tuple[Array, Array, Array, Array]:
    """Mean charge of a sequence [bytes]: at its final length, halfway, as found in the cache, and of the longest.

    A reservation charges `rows`; halfway a sequence is charged for what it holds while it decodes, `held_rows`. An
    efficiency below 1 stands for the lost tail of the last block too, so it is not charged a second time.
    """
    weight, output = class_weight, class_output_tokens
    whole = (kv_efficiency == 1)[..., np.newaxis]
    final, longest = class_prompt_tokens + output, class_prompt_tokens_max + class_output_tokens_max
    at_end = _charge(final, _by_class(rows), whole)
    at_most = at_end if np.array_equal(final, longest, equal_nan=True) else _charge(longest, _by_class(rows), whole)
    at_half = _charge(class_prompt_tokens + 0.5 * output, _by_class(held_rows), whole)
    stay = weight * output
    return (
        np.sum(weight * at_end, axis=-1),
        np.sum(weight * at_half, axis=-1),
        np.sum(stay * at_end, axis=-1) / np.sum(stay, axis=-1),
        np.max(np.where(weight == 0.0, -np.inf, at_most), axis=-1),
    )


def _by_class(rows: Array) -> tuple[Array, ...]:
    """The rows have no axis of classes, the lengths no axis of rows: classes stand before rows."""
    return tuple(part[..., np.newaxis, :] for part in rows_of(rows))


def _charge(tokens: Array, rows: tuple[Array, ...], whole: Array) -> Array:
    if np.all(whole):
        return np.asarray(kernels.kv_charge_bytes(tokens, *rows))
    smooth = kernels.kv_charge_bytes_unrounded(tokens, *rows)
    return np.where(whole, kernels.kv_charge_bytes(tokens, *rows), smooth) if np.any(whole) else np.asarray(smooth)


def _by_convention(
    resident_context_code: Array, final: Array, mean: Array, residence_weighted: Array, longest: Array
) -> Array:
    named = {"final": final, "mean": mean, "residence_weighted": residence_weighted, "max": longest}
    return np.choose(resident_context_code, [named[name] for name in choices("resident_context")])


def kv_bytes_per_sequence(
    kv_bytes_per_sequence_given: Array,
    resident_tokens: Array,
    kv_bytes_per_token: Array,
    kv_uniform_model: Array,
    kv_efficiency: Array,
    resident_context_code: Array,
    kv_model_charge_final: Array,
    kv_model_charge_mean: Array,
    kv_model_charge_residence: Array,
    kv_model_charge_max: Array,
) -> Array:
    """KV bytes of one sequence over the whole model [bytes]."""
    charged = _by_convention(
        resident_context_code,
        kv_model_charge_final,
        kv_model_charge_mean,
        kv_model_charge_residence,
        kv_model_charge_max,
    )
    linear = kernels.kv_bytes_per_sequence(resident_tokens, kv_bytes_per_token)
    return first_given(
        kv_bytes_per_sequence_given, np.where((kv_uniform_model == 1) & (kv_efficiency != 1), linear, charged)
    )


def kv_bytes_per_sequence_per_gpu(
    kv_bytes_per_sequence_given: Array,
    resident_tokens: Array,
    kv_bytes_per_token_per_gpu: Array,
    kv_uniform: Array,
    kv_efficiency: Array,
    kv_rank_share: Array,
    resident_context_code: Array,
    kv_charge_final: Array,
    kv_charge_mean: Array,
    kv_charge_residence: Array,
    kv_charge_max: Array,
) -> Array:
    """KV bytes of one sequence on one rank [bytes]; a given figure is sharded as the model's own layers."""
    charged = _by_convention(resident_context_code, kv_charge_final, kv_charge_mean, kv_charge_residence, kv_charge_max)
    linear = kernels.kv_bytes_per_sequence(resident_tokens, kv_bytes_per_token_per_gpu)
    computed = np.where((kv_uniform == 1) & (kv_efficiency != 1), linear, charged)
    return first_given(kv_bytes_per_sequence_given * kv_rank_share, computed)


def kv_pool_usable_bytes(
    kv_pool_bytes_per_gpu: Array, kv_page_bytes: Array, kv_pool_tokens_given: Array, memory_magnitude_bytes: Array
) -> Array:
    """KV pool of one GPU in whole pages [bytes]; as it is where there are no pages or tokens were measured."""
    pages = floor_ratio(kv_pool_bytes_per_gpu, kv_page_bytes, memory_magnitude_bytes) * kv_page_bytes
    return np.where((kv_page_bytes > 0) & np.isnan(kv_pool_tokens_given), pages, kv_pool_bytes_per_gpu)


def concurrency_at_limit(kv_pool_usable_bytes: Array, kv_charge_longest_bytes: Array, data_parallel: Array) -> Array:
    """Sequences of the longest length that a replica's pool holds, as engines print it [sequences], not rounded."""
    return kv_pool_usable_bytes / kv_charge_longest_bytes * data_parallel


def concurrency_memory_worst(
    kv_pool_usable_bytes: Array,
    kv_charge_longest_bytes: Array,
    kv_page_bytes: Array,
    memory_magnitude_bytes: Array,
    kv_pool_tokens_given: Array,
    kv_uniform: Array,
    kv_rows_rank: Array,
    longest_tokens: Array,
    data_parallel: Array,
) -> Array:
    """Sequences that fit when every one is the longest [sequences]."""
    magnitude = np.where(kv_page_bytes > 0, 0.0, memory_magnitude_bytes)
    by_bytes = floor_ratio(kv_pool_usable_bytes, kv_charge_longest_bytes, magnitude) * data_parallel
    block = kv_rows_rank[..., 0, 1]
    by_tokens = kernels.concurrency_memory_worst(
        kv_pool_tokens_given, ceil_exact(longest_tokens / block) * block, data_parallel
    )
    return np.asarray(np.where((kv_uniform == 1) & ~np.isnan(kv_pool_tokens_given), by_tokens, by_bytes))


def kv_pool_tokens_in_blocks(
    kv_pool_tokens_given: Array,
    kv_pool_bytes_per_gpu: Array,
    kv_rows_rank: Array,
    memory_magnitude_bytes: Array,
    data_parallel: Array,
) -> Array:
    """Tokens that the KV pool of a replica holds where every token costs the same [tokens], in whole blocks."""
    computed = kernels.kv_pool_tokens(
        kv_pool_bytes_per_gpu,
        _bytes_per_any_token(kv_rows_rank),
        kv_rows_rank[..., 0, 1],
        memory_magnitude_bytes,
        data_parallel,
    )
    return first_given(kv_pool_tokens_given, computed)


def kv_pool_tokens(
    kv_pool_tokens_given: Array,
    kv_pool_bytes_per_gpu: Array,
    kv_rows_rank: Array,
    kv_uniform: Array,
    memory_magnitude_bytes: Array,
    concurrency_at_limit: Array,
    longest_tokens: Array,
    data_parallel: Array,
) -> Array:
    """Tokens that the KV pool of a replica holds [tokens]; of several layer groups those of the longest sequences."""
    in_blocks = kv_pool_tokens_in_blocks(
        kv_pool_tokens_given, kv_pool_bytes_per_gpu, kv_rows_rank, memory_magnitude_bytes, data_parallel
    )
    mixed = first_given(kv_pool_tokens_given, floor_exact(concurrency_at_limit * longest_tokens))
    return np.where(kv_uniform == 1, in_blocks, mixed)


def concurrency_memory(
    charge: Array,
    kv_pool_bytes_per_gpu: Array,
    kv_pool_usable_bytes: Array,
    kv_page_bytes: Array,
    kv_efficiency: Array,
    memory_magnitude_bytes: Array,
    data_parallel: Array,
    kv_pool_tokens_given: Array,
    kv_rows_rank: Array,
    kv_uniform: Array,
    resident_tokens: Array,
    kv_bytes_per_sequence_given: Array,
) -> Array:
    """Sequences that the KV pool of a replica holds, each charged `charge` bytes on a rank [sequences].

    In whole pages where the efficiency is 1; below 1 it stands for all that pages and blocks lose.
    """
    in_pages = (kv_efficiency == 1) & (kv_page_bytes > 0)
    pool = np.where(in_pages, kv_pool_usable_bytes, kv_pool_bytes_per_gpu)
    magnitude = np.where(in_pages, 0.0, memory_magnitude_bytes)
    by_bytes = kernels.concurrency_memory(pool, charge, kv_efficiency, magnitude, data_parallel)
    if np.all(np.isnan(kv_pool_tokens_given)):
        return spread(by_bytes, kv_bytes_per_sequence_given, resident_tokens)
    # Bytes given for a sequence count against the bytes of the pool, also where the pool was measured in tokens.
    tokens = first_given(charge / _bytes_per_any_token(kv_rows_rank), resident_tokens)
    by_tokens = kernels.concurrency_memory_tokens(kv_pool_tokens_given, tokens, kv_efficiency, data_parallel)
    counted = np.isnan(kv_bytes_per_sequence_given) & ~np.isnan(kv_pool_tokens_given) & (kv_uniform == 1)
    return np.asarray(np.where(counted, by_tokens, by_bytes))
