"""Inputs of the step time that the table of constants provides where the contract does not.

A stated `mbu` is the achieved share of a whole decode step, a stated `mfu` that of a whole prefill, and a given time
is that time: the overheads of that half are then inside what was stated, and default to 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from gridplan.catalog import STEP_CONSTANTS, Engine, StepConstant
from gridplan.catalog.entries import PCIE_X16_BYTES_PER_S
from gridplan.chain.memory import first_given
from gridplan.engine.field import Field, combine, lookup
from gridplan.engine.labels import Labels
from gridplan.engine.resolve import Origin, OriginOf

__all__ = ["step_values"]

UNKNOWN_LINK = PCIE_X16_BYTES_PER_S[4]
"""One direction of the link of a GPU that is not named (assumption: PCIe of the fourth generation)."""

_DECODE = ("mbu", "step_weights_s")
_PREFILL = ("mfu", "prefill_per_token_s")
_DECODE_OVERHEADS = ("step_overhead_s", "layer_overhead_s", "all_reduce_s", "sequence_overhead_s")
_PREFILL_OVERHEADS = ("chunk_layer_overhead_s",)


def step_values(labels: Labels) -> dict[str, Field]:
    """Achieved shares, overheads and the link of each cell, and which halves of a step are stated as a whole (1 or 0).

    Without an engine, or without a model whose layers could be charged, nothing is added to what is read.
    """
    end = labels.resolver.resolve("step_constants", labels.space.constant("best", object))
    # Shares before overheads: whether an engine's entry states one decides the others.
    decode, prefill = _stated(labels, "mbu", _DECODE), _stated(labels, "mfu", _PREFILL)
    values = {"decode_stated": decode, "prefill_stated": prefill}
    for name in STEP_CONSTANTS:
        if name == "link_share":
            continue
        default = _constant(labels, name, end)
        if name in _DECODE_OVERHEADS:
            default = combine(_unless, decode, default)
        elif name in _PREFILL_OVERHEADS:
            default = combine(_unless, prefill, default)
        elif name == "mbu_experts":
            # A stated share is that of all reads, the experts' too.
            default = combine(first_given, labels.resolver.peek("mbu"), default)
        values[name] = labels.resolver.resolve(name, default, _origin(labels, name, end))
    share = _constant(labels, "link_share", end)
    peak = lookup(lambda g: UNKNOWN_LINK if g is None else labels.catalog.gpu(g).link_bytes_per_s, labels.gpu)
    link = combine(np.multiply, peak, share)
    origin = labels.of("gpu", labels.gpu, labels.catalog.gpu)
    values["link_bandwidth_bytes_per_s"] = labels.resolver.resolve("link_bandwidth_bytes_per_s", link, origin)
    values["hidden_size"] = labels.by_model(lambda m: m.hidden_size)
    return values


def _unless(stated: np.ndarray, default: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(stated == 1, 0.0, default))


def _stated(labels: Labels, share: str, names: tuple[str, ...]) -> Field:
    """1 where the contract, or an engine's entry of one's own, states the share or a time of that half of a step."""

    def by_entry(engine: str | None, model: str | None) -> float:
        known = engine is not None and model is not None
        return float(not known or getattr(labels.catalog.engine(str(engine)), share) is not None)

    found = lookup(by_entry, labels.engine, labels.model)
    for name in names:
        found = combine(_or_given, found, labels.resolver.peek(name))
    return found


def _or_given(found: np.ndarray, given: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(np.isnan(given), found, 1.0))


def _row(labels: Labels, name: str, engine: str | None, gpu: str | None, model: str | None) -> StepConstant:
    catalog = labels.catalog
    entry = None if engine is None else catalog.engine(engine)
    is_moe = model is not None and bool(catalog.model(model).num_experts)
    name = "mbu" if name == "mbu_experts" and not is_moe else name  # a dense model reads no experts
    return catalog.step_constant(name, entry, None if gpu is None else catalog.gpu(gpu), is_moe)


def _own(entry: Engine, name: str) -> float | None:
    """A share that an engine's entry states itself."""
    own: float | None = getattr(entry, "mbu" if name == "mbu_experts" else name, None)
    return own


def _constant(labels: Labels, name: str, end: Field) -> Field:
    """The constant of each cell at the wanted end of its interval; NaN where no engine is named."""

    def value(engine: str | None, gpu: str | None, model: str | None, which: str) -> float | None:
        if engine is None:
            return None
        own = _own(labels.catalog.engine(engine), name)
        return _row(labels, name, engine, gpu, model).at(which) if own is None else own

    return lookup(value, labels.engine, labels.gpu, labels.model, end)


def _origin(labels: Labels, name: str, end: Field) -> OriginOf:
    """The row of the table, or the engine's entry that states the share."""

    def origin(index: Mapping[str, int]) -> Origin:
        at: Callable[[Field], str | None] = partial(_at, labels, index)
        engine = at(labels.engine)
        if engine is None:
            return Origin("", "not given", provider="none")
        entry = labels.catalog.engine(engine)
        if _own(entry, name) is not None:
            return Origin(entry.step_cls, entry.step_source, entry.step_as_of or "", f"engine {engine}")
        row = _row(labels, name, engine, at(labels.gpu), at(labels.model))
        where = f"step constants, {row.gpu_families} {row.engine} {row.kind}"
        return Origin(row.cls, row.source, row.as_of or "", where if at(end) == "best" else f"{where}, {at(end)} end")

    return origin


def _at(labels: Labels, index: Mapping[str, int], item: Field) -> str | None:
    found: str | None = item.at(labels.space, index)
    return found
