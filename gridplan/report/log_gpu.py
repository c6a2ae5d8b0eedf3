"""Which GPU of the catalog a start-up log was printed on: by the memory that the engine saw, and by a printed name."""

from __future__ import annotations

import re

from gridplan.catalog import Catalog
from gridplan.catalog.entries import Gpu
from gridplan.measured.engine_log import EngineLog
from gridplan.measured.log_checks import gib

__all__ = ["gpu_of"]

SAME_MEMORY = 0.01
"""Relative difference up to which a printed total is that of a catalog entry that an engine printed (measurement: cards
of one kind differ by 0.2% between drivers, A100 and H100 of 80 GB included)."""

SAME_MEMORY_OTHER = 0.035
"""The same where the entry is a driver's reading or the log prints free memory (measurement: engines see 0.6 to 3.3%
less than drivers report)."""

_BOARD = re.compile(r"sxm|pcie|nvl")


def gpu_of(log: EngineLog, catalog: Catalog, stated: str | None = None) -> str:
    """The catalog id of the GPU; `stated` is the one that a person names.

    Raises
    ------
    ValueError
        If no GPU fits or several do, or the one that is stated contradicts the log.
    CatalogError
        If the one that is stated is unknown.
    """
    if stated is not None:
        entry = catalog.gpu(stated)
        if (reason := _contradiction(log, entry)) is not None:
            raise ValueError(reason)
        return entry.id
    total = log.total_bytes or log.free_bytes
    if total is None:
        raise ValueError("the log prints neither the memory of the GPU nor how much is free; give the catalog id")
    whole = log.total_bytes is not None
    fits = [entry for entry in catalog.gpus.values() if _same_memory(entry, total.value, whole)]
    name = log.gpu_name.value if log.gpu_name else None
    chosen = [entry for entry in fits if _same_name(entry, name)] if name is not None else fits
    if len(chosen) == 1:
        return chosen[0].id
    said = f"{gib(total.value)}{'' if whole else ' free'} (line {total.line})"
    said += f", {name}" if name else "; the log prints no name"
    candidates = ", ".join(entry.id for entry in chosen)
    raise ValueError(
        f"give the catalog id of the GPU with {said}" + (f"; it may be {candidates}" if candidates else "")
    )


def _contradiction(log: EngineLog, entry: Gpu) -> str | None:
    """Why the log cannot be of that GPU: another total, or more memory free than it has."""
    memory, total, free = entry.memory_bytes, log.total_bytes, log.free_bytes
    if memory is None:
        return None
    if total is not None and not _same_memory(entry, total.value, True):
        said = f"the log says {gib(total.value)} (line {total.line})"
    elif total is None and free is not None and free.value > memory * (1 + SAME_MEMORY):
        said = f"the log has {gib(free.value)} free (line {free.line})"
    else:
        return None
    return f"{entry.id} shows {gib(memory)} to an engine, but {said}: another GPU"


def _same_memory(entry: Gpu, bytes_seen: float, whole: bool) -> bool:
    """Whether memory that the log prints is that of the entry; `whole` says that it is the total, not what is free."""
    if entry.memory_bytes is None:
        return False
    like = whole and entry.memory_source == "engine_visible"
    below, above = (SAME_MEMORY, SAME_MEMORY) if like else (0.0, SAME_MEMORY_OTHER)
    return -below * bytes_seen <= entry.memory_bytes - bytes_seen <= above * bytes_seen


def _same_name(entry: Gpu, name: str) -> bool:
    """Whether a driver's name (`NVIDIA H100 80GB HBM3`) is that of the entry: the chip, and the board.

    Names of PCIe and NVL boards say so; those of SXM boards may not (`NVIDIA H200`).
    """
    words = re.findall(r"[a-z0-9]+", name.casefold())
    parts = entry.id.split("-")
    chip = "".join(part for part in parts if not _BOARD.match(part) and not part.endswith("gb"))
    spans = ("".join(words[first:last]) for first in range(len(words)) for last in range(first + 1, len(words) + 1))
    if chip not in spans:
        return False
    said = next((found[0] for word in words if (found := _BOARD.match(word))), "sxm")
    board = next((found[0] for part in parts if (found := _BOARD.match(part))), said)
    return said == board
