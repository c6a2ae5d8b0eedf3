"""Default of SGLang's static fraction (weights plus KV pool over memory), which it computes from what it must reserve.

The numbers are the engine's own code (class fact): sgl-project/sglang `server_args.py`, buckets of version 0.4.8 and
parts of PR #10975 (0.5.3 and later), read 2026-11-29. All of it is in MiB there.
"""

from __future__ import annotations

import numpy as np

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value

__all__ = ["static_fraction_buckets", "static_fraction_parts", "static_fraction_tp"]

MIB = 2.0**20
GIB = 2.0**30


@formula
def static_fraction_tp(tensor_parallel: Value) -> Value:
    """Fraction by tensor parallelism alone: 0.88, 0.87, 0.85, 0.81 and 0.79 from 1, 2, 4, 8 and 16 GPUs [1].

    >>> static_fraction_tp(1), static_fraction_tp(8)
    (0.88, 0.81)
    """
    two = np.where(tensor_parallel >= 2, 0.87, 0.88)
    four = np.where(tensor_parallel >= 4, 0.85, two)
    eight = np.where(tensor_parallel >= 8, 0.81, four)
    return np.where(np.isnan(tensor_parallel), np.nan, np.where(tensor_parallel >= 16, 0.79, eight))


@formula
def static_fraction_buckets(gpu_memory_bytes: Value, parallel_gpus: Value) -> Value:
    """Fraction after a reserve that depends on the size of the GPU and on tp x pp [1].

    2.8 + n / 10 GiB below 35 GiB, 9.5 + n / 2 below 90, 12 + n / 2 below 160, else 32 GiB; rounded to 3 digits.

    >>> static_fraction_buckets(79.65 * 2**30, 1), static_fraction_buckets(23.99 * 2**30, 1)
    (0.874, 0.879)
    """
    size = gpu_memory_bytes / GIB
    small = np.where(size < 35, 2.8 + parallel_gpus / 10, 9.5 + parallel_gpus / 2)
    large = np.where(size < 160, 12 + parallel_gpus / 2, 32.0)
    return _share_left(size, np.where(size < 90, small, large))


@formula
def static_fraction_parts(gpu_memory_bytes: Value, tensor_parallel: Value, pipeline_parallel: Value = 1.0) -> Value:
    """Fraction after 512 MiB, 1.5 MiB a token of a prefill chunk, 2 MiB a captured sequence and 128 MiB a GPU [1].

    Chunk and largest captured batch follow from the size of the GPU; above 60 GiB the reserve is at least 10 GiB.

    >>> static_fraction_parts(79.65 * 2**30, 1)
    0.835
    """
    size, few = gpu_memory_bytes / MIB, tensor_parallel < 4
    sizes = [size < 20 * 1024, size < 35 * 1024, size < 60 * 1024, size < 160 * 1024]
    chunk = np.select(sizes, [2048, 2048, 4096, 8192], 16384)
    captured = np.select(
        sizes, [np.where(few, 8, 80), np.where(few, 24, 80), np.where(few, 32, 160), np.where(few, 256, 512)], 512
    )
    parts = 512 + 1.5 * chunk + 2.0 * captured + 128 * tensor_parallel * pipeline_parallel
    reserve = np.where(size > 60 * 1024, np.maximum(parts, 10 * 1024), parts)
    return _share_left(size, reserve)


def _share_left(size: Value, reserve: Value) -> Value:
    """Share beside a reserve, to 3 digits; 0 where the reserve is larger than the memory."""
    return np.maximum(np.round((size - reserve) / size, 3), 0.0)
