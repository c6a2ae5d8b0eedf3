"""Layer groups of the model in each cell as arrays of the chain: rows last, padded with rows that cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from gridplan.catalog import Engine, LayerGroup
from gridplan.engine.field import Field, combine, lookup, varying
from gridplan.engine.kv_rows import UNKNOWN, Charge, Row, Setting, charge_of, read_of
from gridplan.engine.labels import Labels

__all__ = ["kv_values"]

EMPTY = Row(0.0, 1.0, 0.0, 0.0)

_READ = (
    *("kv_bits", "tensor_parallel", "pipeline_parallel", "decode_context_parallel", "kv_block_tokens"),
    *("state_blocks", "num_speculative_tokens", "draft_layers", "kv_bytes_per_token_given"),
)

NO_ENGINE_POLICY = "ideal_window"
"""Without an engine nothing is known of what it reserves: a layer keeps its window (policy of this project)."""


def kv_values(labels: Labels, known: Mapping[str, Field]) -> dict[str, Field]:
    """Rows of the layer groups: as charged on one rank and in the whole model, and as a decode step reads them.

    A given figure per token replaces them: on a rank it is sharded as the model's own layers, without a model evenly.
    """
    own = _policies(labels)
    read = {**known, **own, "kv_bytes_per_token_given": labels.resolver.resolve("kv_bytes_per_token_given")}
    fields = (labels.model, labels.draft_model, labels.engine, own["sliding_policy"], *(read[name] for name in _READ))
    made = {name: item for name, item in own.items() if name != "sliding_policy"}
    made["nothing"] = labels.space.constant(np.nan, np.float64)
    reserved = combine(np.multiply, read["max_num_batched_tokens"], read["in_flight_steps"])
    one = labels.space.constant(1.0, np.float64)
    for suffix, on_rank in (("", True), ("_model", False)):
        view = "model" if suffix else "rank"
        charges = lookup(_charger(labels, charge_of, on_rank), *fields, dtype=object)
        made[f"kv_rows_{view}"] = _packed(labels, charges, reserved)
        # While it decodes, a sequence's windows are freed at each step: one token stands beside them.
        made[f"kv_rows_held{suffix}"] = _packed(labels, charges, one)
        made[f"kv_uniform{suffix}"] = _numbers(labels, charges, lambda item: float(item.uniform))
        # Blocks differ between engines, the bytes of a token in them do not.
        made[f"kv_any_token{suffix}_bytes"] = _numbers(labels, charges, _any_token)
        if on_rank:
            made["kv_page_bytes"] = _numbers(labels, charges, lambda item: item.page_bytes)
        reads = lookup(_charger(labels, read_of, on_rank), *fields, dtype=object)
        made[f"kv_rows_read{suffix}"] = _packed(labels, reads, one)
    made["kv_rank_share"] = varying(labels.space, _rank_share(labels, read))
    return made


def _policies(labels: Labels) -> dict[str, Field]:
    """What the engine reserves for windows and states, where the contract does not say."""
    engine, resolver = labels.catalog.engine, labels.resolver
    policy = lookup(lambda e: NO_ENGINE_POLICY if e is None else _policy(engine(e)), labels.engine, dtype=object)
    counts = {
        name: lookup(lambda e, name=name: 1.0 if e is None else getattr(engine(e), name) or 1.0, labels.engine)
        for name in ("in_flight_steps", "state_blocks")
    }
    origin = labels.of("engine", labels.engine, engine)
    none = labels.space.constant(0.0, np.float64)
    return {
        "sliding_policy": resolver.resolve("sliding_policy", policy, origin),
        **{name: resolver.resolve(name, count, origin) for name, count in counts.items()},
        **{name: resolver.resolve(name, none) for name in ("num_speculative_tokens", "draft_layers")},
    }


def _policy(engine: Engine) -> str:
    """An engine with a pool of its own for windows admits by it: `engine_admission` in its own way."""
    return "engine_admission" if engine.sliding_policy == "engine_pool" else engine.sliding_policy or NO_ENGINE_POLICY


def _charger(labels: Labels, charge: Callable[..., Charge], on_rank: bool) -> Callable[..., Charge]:
    catalog = labels.catalog

    def charged(
        model: str | None,
        draft_model: str | None,
        engine: str | None,
        policy: str,
        bits: float,
        tp: float,
        pp: float,
        dcp: float,
        block: float,
        states: float,
        speculative: float,
        draft_layers: float,
        given: float,
    ) -> Charge:
        entry = None if engine is None else catalog.engine(engine)
        setting = Setting(
            kv_bits=bits,
            tensor_parallel=tp if on_rank else 1.0,
            pipeline_parallel=pp if on_rank else 1.0,
            decode_context_parallel=dcp if on_rank else 1.0,
            block_tokens=block,
            sliding_policy=policy,
            sliding_pool_ratio=None if entry is None else entry.sliding_pool_ratio,
            chunks_in_full=entry is not None and entry.chunked_policy == "full",
            block_alignment_tokens=float((entry and entry.block_alignment_tokens) or block),
            state_blocks=states,
            num_speculative_tokens=speculative,
            draft_layers=draft_layers,
            mla_row_align_bytes=None if entry is None else entry.mla_row_align_bytes,
        )
        groups = catalog.model(model).layer_groups if model else ()
        if not np.isnan(given):
            return _of_given(given, groups, setting)
        drafts = catalog.model(draft_model).layer_groups if draft_model else ()
        return charge(groups, setting, drafts) if groups else UNKNOWN

    return charged


def _of_given(given: float, groups: tuple[LayerGroup, ...], setting: Setting) -> Charge:
    """One row for a stated figure per token of the whole model, on a rank in proportion to the model's own layers."""
    share = _share(groups, setting.kv_bits, setting.tensor_parallel, setting.pipeline_parallel)
    size = given * share * setting.block_tokens
    return Charge((Row(size, setting.block_tokens * setting.decode_context_parallel, np.inf, 0.0),), size, True)


def _share(groups: tuple[LayerGroup, ...], kv_bits: float, tp: float, pp: float) -> float:
    """What one rank holds of a token's bytes [1]: by the model's own layers; evenly split without any."""
    whole, rank = (
        sum(row.block_bytes for row in charge_of(groups, item).rows if row.limit_tokens)
        for item in (Setting(kv_bits, sliding_policy="full"), Setting(kv_bits, tp, pp, sliding_policy="full"))
    )
    # Layers that keep states alone are split evenly, as no model at all.
    return rank / whole if whole else 1.0 / (tp * pp)


def _rank_share(labels: Labels, read: Mapping[str, Field]) -> Field:
    """Share of a sequence's bytes that one rank holds, for bytes that the contract gives [1]."""

    def share(model: str | None, bits: float, tp: float, pp: float, dcp: float) -> float:
        groups = labels.catalog.model(model).layer_groups if model else ()
        return _share(groups, bits, tp, pp) / dcp

    names = ("kv_bits", "tensor_parallel", "pipeline_parallel", "decode_context_parallel")
    return lookup(share, labels.model, *(read[name] for name in names))


def _any_token(charge: Charge) -> float:
    """Bytes of a token by the first row [bytes]: of any token where all cost the same."""
    return charge.rows[0].block_bytes / charge.rows[0].block_tokens


def _packed(labels: Labels, charges: Field, in_flight: Field) -> Field:
    """Rows as an array (..., rows, 4), with `in_flight` tokens kept beside the windows that admit them.

    Of all that a charge may depend on (GPU, engine, degrees), most models heed little: other dimensions are dropped.
    """
    width = max(len(item.rows) for item in charges.unique)
    table = {item: (*item.rows, *[EMPTY] * (width - len(item.rows))) for item in charges.unique}
    data = np.array([table[item] for item in charges.data.ravel().tolist()], dtype=np.float64)
    data = data.reshape((*charges.data.shape, width, len(EMPTY)))
    beside = data[..., -1] == 1
    packed = Field(data[..., :-1], charges.dims)
    if beside.any():
        kept = data[..., 2] + np.where(beside, in_flight.data[..., np.newaxis], 0.0)
        parts = np.broadcast_arrays(data[..., 0], data[..., 1], kept, data[..., 3])
        packed = Field(np.stack(parts, axis=-1), charges.dims | in_flight.dims)
    return varying(labels.space, packed)


def _numbers(labels: Labels, charges: Field, read: Callable[[Charge], float]) -> Field:
    return varying(labels.space, lookup(read, charges))
