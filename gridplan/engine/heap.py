"""Keep the memory of temporaries in the process: NumPy asks for it and returns it thousands of times."""

from __future__ import annotations

import numpy as np

__all__ = ["keep_temporaries"]

LARGEST_CHUNK = 32 * 2**20 - 2**16
"""Just under the 32 MiB up to which glibc lets its thresholds grow (fact, `man mallopt`, 64-bit), header included."""


def keep_temporaries() -> None:
    """Let glibc reuse freed arrays of up to 32 MiB instead of handing them back to the system.

    glibc gives every array of 128 KiB or more its own mapping, so each temporary is unmapped when it dies and the next
    one is paged in again, zeroed, page by page. Freeing one mapping raises that threshold to its size, and the one
    for trimming the heap to twice that, for all threads; so one array is made here and dropped, without being touched.
    Other allocators ignore it, and `MALLOC_MMAP_THRESHOLD_` in the environment keeps the last word.
    """
    np.empty(LARGEST_CHUNK, dtype=np.uint8)
