"""From the readings of a log to its normal form: which of several ranks' values is taken, and why.

An engine gives every rank as many blocks as the smallest pool holds, so the terms of that rank are the ones that its
KV cache follows from (vllm/v1/core/kv_cache_utils.py, get_kv_cache_configs).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from gridplan.measured.engine_log import EngineLog, Reading, log_fields
from gridplan.measured.log_rules import GIB, Found
from gridplan.measured.log_text import LogText

__all__ = ["first_of", "normal_form", "smallest_pool"]

_SMALLEST = ("kv_tokens", "kv_blocks", "max_concurrency", "estimated_max_model_len")
"""Printed a rank or a replica at a time; the smallest is the one that holds for all."""

_SAME_POOL_BYTES = 0.006 * GIB
"""Two pools that differ by less are one, printed with two decimals."""

_DATE = re.compile(r"(20\d\d-[01]\d-[0-3]\d)(?=[T ]\d\d:\d\d)")
_GPU_NAMES = (
    re.compile(r"device_name=([\w-]{3,60})"),
    re.compile(r"GPU \d{1,2}: ((?:NVIDIA|AMD) [\w -]{2,60}?)(?: \(|\s*$)", re.MULTILINE),
    re.compile(r"Your ((?:NVIDIA|AMD|GeForce|Tesla) [\w -]{1,60}?) (?:GPU|device)\b"),
)


def first_of(found: Found, name: str) -> Reading[Any] | None:
    """The first reading of a field."""
    readings = found.get(name)
    return readings[0] if readings else None


def smallest_pool(found: Found) -> str | None:
    """The rank with the smallest pool; of equal ones the first that also says what else it holds."""
    pools = found.get("kv_pool_bytes", [])
    if not pools:
        return None
    least = min(reading.value for reading in pools)
    ranks = [reading.rank for reading in pools if reading.value <= least + _SAME_POOL_BYTES]
    terms = ("activation_bytes", "consumed_bytes", "non_torch_bytes", "weights_bytes", "free_after_load_bytes")
    telling = {reading.rank for name in terms for reading in found.get(name, ())}
    return next((rank for rank in ranks if rank in telling), ranks[0])


def normal_form(
    file: str,
    engine: str,
    generation: str | None,
    text: LogText,
    found: Found,
    refusals: Iterable[re.Pattern[str]],
    start: int,
    starts: int,
    notes: Iterable[str] = (),
) -> EngineLog:
    """The normal form of what was found in one start-up."""
    _texts(text, found, refusals)
    rank = smallest_pool(found)
    values = {name: _chosen(found, name, rank) for name in log_fields()}
    ranks = {name: _by_rank(found[name]) for name in ("kv_pool_bytes", "kv_tokens", "kv_blocks") if found.get(name)}
    return EngineLog(
        file=file,
        engine=engine,
        generation=generation,
        first_line=text.first_line,
        last_line=text.last_line,
        start=start,
        starts=starts,
        ranks=ranks,
        notes=tuple(notes),
        **values,
    )


def _chosen(found: Found, name: str, rank: str | None) -> Reading[Any] | None:
    readings = found.get(name)
    if not readings:
        return None
    if name in _SMALLEST:
        return min(readings, key=lambda reading: reading.value)
    if not name.endswith("_bytes") and name != "memory_fraction":
        return readings[0]
    own = [reading for reading in readings if reading.rank == rank] or readings
    if name == "kv_pool_bytes":
        # A later, larger figure of the same rank is not the pool that was refused.
        least = min(reading.value for reading in own)
        own = [reading for reading in own if reading.value <= least + _SAME_POOL_BYTES]
    return min(own, key=lambda reading: reading.half_step)


def _by_rank(readings: list[Reading[Any]]) -> tuple[Reading[Any], ...]:
    """One reading a rank, its first; where no rank is named, each distinct value once."""
    kept: dict[object, Reading[Any]] = {}
    for reading in readings:
        kept.setdefault(reading.rank or ("", reading.value), reading)
    return tuple(kept.values())


def _texts(text: LogText, found: Found, refusals: Iterable[re.Pattern[str]]) -> None:
    """What is not a figure: the date, the GPU's name and a refusal to start."""
    if match := _DATE.search(text.text):
        found["logged_on"] = [Reading(match[1], text.line_at(match.start()))]
    for pattern in _GPU_NAMES:
        if match := pattern.search(text.text):
            found["gpu_name"] = [Reading(match[1].replace("_", " "), text.line_at(match.start()))]
            break
    for pattern in refusals:
        if match := pattern.search(text.text):
            line = text.line_at(match.start())
            found["refusal"] = [Reading(" ".join(match[0].split()), line, 0.0, text.rank_at(match.start()))]
            break
