"""From a published config.json to an entry of the catalog, as a contract's `catalog: {models: ...}` takes it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridplan.catalog.fields import UNKNOWN
from gridplan.catalog.hf.beside import INDEX_FILE, SIDE_FILE, beside, checked_index_bytes, format_in_name, scheme_of
from gridplan.catalog.hf.extras import EXTRAS, chosen
from gridplan.catalog.hf.fields import Report
from gridplan.catalog.hf.params import active, by_part, replicated, routed
from gridplan.catalog.hf.positions import longest
from gridplan.catalog.hf.published import Published, read_published
from gridplan.catalog.hf.quant import Scheme
from gridplan.catalog.hf.reader import read_json
from gridplan.catalog.hf.storage import stored
from gridplan.catalog.hf.weights import Weight, total

__all__ = ["EXTRAS", "Imported", "import_model"]

_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


@dataclass(frozen=True)
class Imported:
    """A model that was read: its entry, parameters by part, and the parts that are not in its total.

    `entry` has the fields of a catalog entry for a model. `apart` has the parameters of parts that were counted and
    left out; a part whose count is not known is named in the notes of the entry.
    """

    entry: Mapping[str, Any]
    parts: Mapping[str, int]
    apart: Mapping[str, int]


def import_model(
    path: str | Path,
    weights_index: str | Path | None = None,
    quant_config: str | Path | None = None,
    extras: Collection[str] = (),
    shown: str = "",
) -> Imported:
    """Read a config.json.

    Parameters
    ----------
    path
        The config.json. A hf_quant_config.json and a model.safetensors.index.json beside it are read as well.
    weights_index
        The index of the checkpoint, whose total size [bytes] wins over the computed one.
    quant_config
        A hf_quant_config.json that lies elsewhere.
    extras
        Parts to count in: mtp, vision.
    shown
        The name under which provenance and problems name the file; omitted = the path.

    Raises
    ------
    CatalogError
        With every fault of the file, each with its key: what is missing, malformed or not understood.
    """
    where = Path(path)
    source = read_json(where)
    report = Report(shown or source.file)
    model = read_published(source, report)
    scheme, side_source = scheme_of(model, beside(where, quant_config, SIDE_FILE))
    plain = _plain_dtype(model, scheme)
    if scheme is None and (named := format_in_name(where)):
        none = f"no quantization_config in the file and no {SIDE_FILE} beside it"
        report.note(f"the name says {named}, with {none}: 16 bits are taken")
    report.raise_if_any()
    weights, apart = chosen(model, extras)
    loaded = "bf16" if plain == "fp32" else plain
    if plain == "fp32":
        report.note("stored in 32 bits; engines load it in 16: bf16 is taken")
    kept = stored(weights, loaded, scheme)
    if kept.note:
        report.note(kept.note)
    sources = [f"{shown or where.name}, sha256 {source.sha256}", *side_source]
    checkpoint, parts_apart = kept.bytes, by_part(apart)
    index = beside(where, weights_index, INDEX_FILE)
    if index is not None:
        size = checked_index_bytes(index, stored([*weights, *apart], plain, scheme).bytes)
        if plain == "fp32":
            report.note(f"{index.name} counts 32 bits: checkpoint_bytes is computed")
            index = None
        else:
            checkpoint = size
            sources.append(f"{index.name}, metadata.total_size")
    if index is not None and (apart or model.plan.not_counted):
        report.note("checkpoint_bytes is that of the whole index, with the parts that are not in params_total")
    entry = _entry(model, weights)
    entry |= {"checkpoint_bytes": checkpoint, "native_weight_dtype": kept.dtype}
    entry |= {"native_kv_dtype": scheme.kv if scheme is not None else None}
    if index is None:
        entry |= {"params_vision": UNKNOWN if "vision" in model.plan.not_counted else parts_apart.get("vision")}
    entry |= {"class": "fact", "source": "; ".join(sources), "notes": "; ".join(report.notes)}
    kept_fields = {name: value for name, value in entry.items() if value not in (None, "")}
    return Imported(kept_fields, by_part(weights), parts_apart)


def _plain_dtype(model: Published, scheme: Scheme | None) -> str:
    """The format of what is not quantised."""
    for own in (model.fields, model.top):
        name = own.first("torch_dtype", "dtype")
        if own.has(name):
            return _DTYPES[own.choice(name, _DTYPES, "bfloat16")]
    if scheme is None:
        model.top.report.note("torch_dtype is not in the file: bf16 is assumed")
    return "bf16"


def _entry(model: Published, weights: list[Weight]) -> dict[str, Any]:
    """The fields of the entry, but for those about storage and provenance."""
    plan, base = model.plan, model.plan.base
    return {
        "family": model.family,
        "params_total": total(weights),
        "params_active": active(plan, weights),
        "params_embedding": base.vocab * base.hidden,
        "params_routed_experts": routed(weights) or None,
        "params_replicated": replicated(weights) or None,
        "num_layers": base.layers,
        "hidden_size": base.hidden,
        "max_position_embeddings": longest(model.fields),
        **plan.facts,
        "vocab_size": base.vocab,
        "tie_word_embeddings": base.tied,
        "layer_groups": plan.groups,
    }
