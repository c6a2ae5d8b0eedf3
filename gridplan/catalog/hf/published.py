"""A published file as a whole: where its language model stands, which architecture that is, what lies beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gridplan.catalog.hf.architectures import ARCHITECTURES, BY_CLASS, FAMILIES, Builder
from gridplan.catalog.hf.base import Plan
from gridplan.catalog.hf.fields import Fields, Report
from gridplan.catalog.hf.inert import check_understood
from gridplan.catalog.hf.reader import JsonFile
from gridplan.catalog.hf.vision import TOWERS, qwen_tower
from gridplan.errors import suggestion

__all__ = ["ENCODERS", "Published", "read_published"]

_TEXT = ("text_config", "llm_config", "language_config")
"""Where a model of several parts keeps its language model."""
ENCODERS = ("vision_config", "audio_config", "visual", "vision_tower_config")
"""Fields that describe what a model sees or hears with."""
_WITH_HEAD = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel", "ForCausalLMV2", "Model")
"""Endings of classes that generate text."""
_READ_ELSEWHERE = ("model_type", "max_position_embeddings", "quantization_config", "expert_dtype", *ENCODERS, *_TEXT)


@dataclass(frozen=True)
class Published:
    """The plan of a file, the family of the model, the fields of its language model, and those of the whole file."""

    plan: Plan
    family: str
    fields: Fields
    top: Fields


def read_published(source: JsonFile, report: Report) -> Published:
    """The plan of a config.json; CatalogError with every fault, and with every field that is not understood."""
    top = Fields(source.data, report)
    name = next((name for name in _TEXT if isinstance(source.data.get(name), dict)), "")
    fields = top.sub(name) if name else top
    model_type = _model_type(fields, top)
    builder = _builder(model_type, fields, top)
    if name and "tie_word_embeddings" not in fields.data and top.has("tie_word_embeddings"):
        tied = top.flag("tie_word_embeddings", False)
        fields = Fields({**fields.data, "tie_word_embeddings": tied}, report, f"{name}.")
    plan = builder(fields)
    report.seen.update(fields.key(known) for known in _READ_ELSEWHERE)
    check_understood(report, fields.data, f"{name}." if name else "", model_type)
    # A model of several parts may be of another family than its language model.
    family = FAMILIES.get(top.text("model_type"), ARCHITECTURES[model_type][0])
    return Published(_with_towers(plan, top), family, fields, top)


def _model_type(fields: Fields, top: Fields) -> str:
    """The model type that stands for the architecture of the language model."""
    classes = [*fields.texts("architectures"), *top.texts("architectures")]
    named = fields.text("model_type") or (top.text("model_type") if fields is not top else "")
    if named in ARCHITECTURES:
        return named
    return next((BY_CLASS[item] for item in classes if item in BY_CLASS), named)


def _builder(model_type: str, fields: Fields, top: Fields) -> Builder:
    fields.report.raise_if_any()
    if not model_type and top.has("quantization"):
        fields.refuse("model_type", "is missing: this is a hf_quant_config.json; give the config.json beside it")
    elif not model_type:
        fields.refuse("model_type", "is missing: is it the config.json of a model?")
    elif model_type not in ARCHITECTURES:
        near = suggestion(model_type, ARCHITECTURES)
        fields.refuse("model_type", f"{model_type[:60]!a} is not understood{near}: what its layers keep is not known")
    if fields.flag("is_encoder_decoder", False) or top.flag("is_encoder_decoder", False):
        top.refuse("is_encoder_decoder", "is true: what an encoder and cross attention keep is not understood")
    odd = [name for name in top.texts("architectures") if not name.endswith(_WITH_HEAD)]
    if odd:
        top.refuse("architectures", f"{odd[0]!a} is not a model that generates text: its head is not understood")
    fields.report.raise_if_any()
    return ARCHITECTURES[model_type][1]


def _with_towers(plan: Plan, top: Fields) -> Plan:
    """The plan with the vision tower as an extra part, or the reason why it is not counted."""
    extra, reasons = dict(plan.extra), dict(plan.not_counted)
    for name in ENCODERS:
        if not top.has(name):
            continue
        if name == "vision_config" and top.text("model_type") in TOWERS:
            extra["vision"] = qwen_tower(top.sub(name))
        else:
            reasons["vision"] = f"{name} is not counted for this architecture"
    top.report.raise_if_any()
    return replace(plan, extra=extra, not_counted=reasons)
