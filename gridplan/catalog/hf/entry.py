"""From a published config.json to an entry of the catalog, as a contract's `catalog: {models: ...}` takes it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridplan.catalog.fields import UNKNOWN
from gridplan.catalog.hf.base import Plan
from gridplan.catalog.hf.fields import Fields, Report
from gridplan.catalog.hf.params import active, by_part, replicated, routed
from gridplan.catalog.hf.positions import longest
from gridplan.catalog.hf.published import Published, read_published
from gridplan.catalog.hf.quant import Scheme, read_scheme, with_experts
from gridplan.catalog.hf.reader import read_json
from gridplan.catalog.hf.storage import stored
from gridplan.catalog.hf.weights import Weight, total
from gridplan.catalog.safetensors import index_bytes
from gridplan.errors import CatalogError, Problem

__all__ = ["EXTRAS", "Imported", "import_model"]

EXTRAS = ("mtp", "vision")
"""Parts that serving text does without, and that are counted on request."""
SIDE_FILE, INDEX_FILE = "hf_quant_config.json", "model.safetensors.index.json"
_EXTRA_FIELDS = {"mtp": "num_nextn_predict_layers", "vision": "vision_config"}
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
    scheme, side_source = _scheme(model, _beside(where, quant_config, SIDE_FILE))
    plain = _plain_dtype(model, scheme)
    report.raise_if_any()
    weights, apart = _chosen(model.plan, extras, report)
    kept = stored(weights, plain, scheme)
    if kept.note:
        report.note(kept.note)
    sources = [f"{shown or where.name}, sha256 {source.sha256}", *side_source]
    checkpoint = kept.bytes
    index = _beside(where, weights_index, INDEX_FILE)
    if index is not None:
        checkpoint = _index_bytes(index)
        sources.append(f"{index.name}, metadata.total_size")
        if apart or model.plan.not_counted:
            report.note("checkpoint_bytes is that of the whole index, with the parts that are not in params_total")
    entry = _entry(model, weights)
    entry |= {"checkpoint_bytes": checkpoint, "native_weight_dtype": kept.dtype}
    if index is None:
        entry |= {"params_vision": UNKNOWN if "vision" in model.plan.not_counted else apart.get("vision")}
    entry |= {"class": "fact", "source": "; ".join(sources), "notes": "; ".join(report.notes)}
    return Imported({name: value for name, value in entry.items() if value not in (None, "")}, by_part(weights), apart)


def _beside(path: Path, given: str | Path | None, name: str) -> Path | None:
    """The file that was given, else the one of that name beside the config, if there is one."""
    if given is not None:
        return Path(given)
    found = path.parent / name
    return found if found.is_file() and found != path else None


def _scheme(model: Published, side: Path | None) -> tuple[Scheme | None, list[str]]:
    """How the weights are stored: as the file itself says, else as the file beside it does; None in 16 bits."""
    report = model.top.report
    for own in (model.fields, model.top):
        if own.has("quantization_config"):
            stated = own.sub("quantization_config")
            report.raise_if_any()
            return with_experts(read_scheme(stated), model.fields), []
    if side is None:
        return None, []
    source = read_json(side, f"a {SIDE_FILE}")
    other = Report(source.file)
    scheme = read_scheme(Fields(source.data, other).sub("quantization"))
    for problem in other.problems:
        report.problems[problem] = None
    for note in other.notes:
        report.note(note)
    return scheme, [f"{side.name}, sha256 {source.sha256}"]


def _plain_dtype(model: Published, scheme: Scheme | None) -> str:
    """The format of what is not quantised."""
    for own in (model.fields, model.top):
        name = own.first("torch_dtype", "dtype")
        if own.has(name):
            return _DTYPES[own.choice(name, _DTYPES, "bfloat16")]
    if scheme is None:
        model.top.report.note("torch_dtype is not in the file: bf16 is assumed")
    return "bf16"


def _chosen(plan: Plan, extras: Collection[str], report: Report) -> tuple[list[Weight], dict[str, int]]:
    """The weights that count, and the parameters of the parts that do not."""
    weights = list(plan.weights)
    apart: dict[str, int] = {}
    for name, part in plan.extra.items():
        if name in extras:
            weights += part
        else:
            apart |= by_part(part)
    for name, reason in plan.not_counted.items():
        report.note(f"{name}: {reason}")
    for name in extras:
        if name not in plan.extra:
            reason = plan.not_counted.get(name, f"this architecture has no {name} that can be counted")
            report.add(_EXTRA_FIELDS[name], f"--with {name}: {reason}")
    if apart:
        report.note(f"not in params_total: {', '.join(f'{name} {count:,}' for name, count in apart.items())}")
    report.raise_if_any()
    return weights, apart


def _index_bytes(index: Path) -> int:
    try:
        return index_bytes(index)
    except ValueError as error:
        raise CatalogError([Problem(str(error).removeprefix(f"{index} "), str(index))]) from None


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
