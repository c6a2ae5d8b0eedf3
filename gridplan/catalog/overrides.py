"""Entries that a person writes: new ones, and fields of known entries that the person knows better.

They stand in the `catalog:` section of a contract or in a catalog folder. All problems are reported at once. An entry
that is touched carries the provenance of where it was written: its `source`, `as_of` and `class` where stated, else the
source `contract` or the file of the folder, no date, and class assumption.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from gridplan.catalog.complete import (
    complete_engine,
    complete_gpu,
    complete_instance,
    complete_model,
    engine_contradictions,
    instance_contradictions,
    model_contradictions,
)
from gridplan.catalog.derive import COUNTS, is_derived, outdated_groups
from gridplan.catalog.entries import Engine, Gpu, Instance, LayerGroup, Model
from gridplan.catalog.fields import FIELDS, FieldSpec
from gridplan.catalog.layer_fields import read_groups
from gridplan.catalog.versions import parse_version, split_spec
from gridplan.errors import Problem, suggestion

__all__ = ["CONTRACT", "Merger"]

E = TypeVar("E", Gpu, Model, Instance, Engine)
CONTRACT = "contract"
"""The source of entries that a contract writes, where it states none; those of a folder carry their file."""

ALIASES = {"gpus": {"peak_flops": "flops"}}


class Merger:
    """Merges written entries over known ones and collects every problem on the way.

    `origins` names the file of each section of a catalog folder; without it the entries are those of a contract.
    """

    def __init__(self, origins: Mapping[str, str] | None = None) -> None:
        self.origins = origins or {}
        self.problems: list[Problem] = []
        self.faulty: set[tuple[str, str]] = set()

    def gpus(self, known: Mapping[str, Gpu], written: Mapping[str, Any]) -> dict[str, Gpu]:
        """Known GPUs with the written ones over them."""
        return dict(known) | dict(self._entries("gpus", known, written, _gpu))

    def models(
        self, known: Mapping[str, Model], written: Mapping[str, Any], dtypes: Collection[tuple[str, str]]
    ) -> dict[str, Model]:
        """Known models with the written ones over them; `dtypes` are the formats there are, by role and name."""
        models = dict(self._entries("models", known, written, _model))
        for model_id, model in models.items():
            outdated = outdated_groups(known[model_id], model) if model_id in known else None
            self._contradictions("models", model_id, model_contradictions(model) if outdated is None else [outdated])
            for role, name in (("weight", model.native_weight_dtype), ("kv", model.native_kv_dtype)):
                self._format(model_id, role, name, [other for of, other in dtypes if of == role])
        return dict(known) | models

    def _format(self, model_id: str, role: str, name: str | None, known: list[str]) -> None:
        """Note a format of weights or cache that there is not."""
        if name is not None and name not in known:
            said = f"unknown {role} format {name}{suggestion(name, known)}; known: {', '.join(known)}"
            self._add("models", model_id, said, f"native_{role}_dtype")

    def instances(
        self, known: Mapping[str, Instance], written: Mapping[str, Any], gpus: Mapping[str, Gpu]
    ) -> dict[str, Instance]:
        """Known shapes with the written ones over them; every shape names a known GPU."""
        instances = dict(self._entries("instances", known, written, _instance))
        for instance_id, instance in instances.items():
            self._contradictions("instances", instance_id, instance_contradictions(instance))
            # A GPU whose own entry is at fault has been named there, and is not again by every shape that holds it.
            if instance.gpu not in gpus and ("gpus", instance.gpu) not in self.faulty:
                message = f"unknown GPU {instance.gpu}{suggestion(instance.gpu, gpus)}"
                self._add("instances", instance_id, message, "gpu")
        return dict(known) | instances

    def engines(self, known: Mapping[str, Engine], written: Mapping[str, Any]) -> dict[str, Engine]:
        """The written engine entries by label; `known` maps each written label to the entry it stands for."""
        readable = {label: raw for label, raw in written.items() if self._is_label(label)}
        engines = dict(self._entries("engines", known, readable, _engine))
        for label, engine in engines.items():
            self._contradictions("engines", label, engine_contradictions(engine))
        return engines

    def _is_label(self, label: str) -> bool:
        """Whether an engine label is a name, or a name and a version."""
        name, version = split_spec(label)
        try:
            if version is not None:
                parse_version(version)
            if name:
                return True
            self._add("engines", label, "the label has no engine name before the @")
        except ValueError as error:
            self._add("engines", label, str(error))
        return False

    def _entries(
        self,
        section: str,
        known: Mapping[str, E],
        written: Mapping[str, Any],
        build: Callable[[str, E | None, dict[str, Any], str], E],
    ) -> Iterator[tuple[str, E]]:
        origin = self.origins.get(section, CONTRACT)
        for entry_id, raw in written.items():
            base = known.get(entry_id)
            before = len(self.problems)
            values = self._values(section, entry_id, raw, None if base is not None else known)
            if values.get("layer_groups"):
                values["layer_groups"] = self._layer_groups(entry_id, values)
            if len(self.problems) == before:
                yield entry_id, build(entry_id, base, values, origin)
            else:
                self.faulty.add((section, entry_id))

    def _values(self, section: str, entry_id: str, raw: object, others: Iterable[str] | None) -> dict[str, Any]:
        """The fields of one entry, read; what cannot be becomes a problem. `others` are the known ids if it is new."""
        if not isinstance(raw, Mapping) or not raw:
            self._add(section, entry_id, f"fields and values are due, not {raw!r}")
            return {}
        specs, aliases = FIELDS[section], ALIASES.get(section, {})
        values: dict[str, Any] = {}
        for key, value in raw.items():
            name = aliases.get(str(key), str(key))
            if name not in specs:
                self._add(section, entry_id, f"unknown field{suggestion(name, [*specs, *aliases])}", str(key))
            elif name in values:
                self._add(section, entry_id, f"given twice, as {key} and under its other name", str(key))
            else:
                values[name] = self._value(section, entry_id, str(key), specs[name], value)
        missing = [name for name, spec in specs.items() if spec.required and name not in values]
        if others is not None and missing:
            self._add(section, entry_id, f"a new entry needs {', '.join(missing)}{suggestion(entry_id, others)}")
        return values

    def _value(self, section: str, entry_id: str, key: str, spec: FieldSpec, value: object) -> object:
        if value is None:
            if spec.required:
                self._add(section, entry_id, "a value is due", key)
            return None
        try:
            return spec.parse(value)
        except ValueError as error:
            self._add(section, entry_id, str(error), key)
            return None

    def _layer_groups(self, entry_id: str, values: Mapping[str, Any]) -> tuple[LayerGroup, ...]:
        """The written layer groups of a model, read; what a group does not state of its origin is the entry's."""
        groups, faults = read_groups(values["layer_groups"], values)
        for place, message in faults:
            self._add("models", entry_id, message, f"layer_groups{place}")
        return groups

    def _contradictions(self, section: str, entry_id: str, messages: Iterable[str]) -> None:
        for message in messages:
            self._add(section, entry_id, message)

    def _add(self, section: str, entry_id: str, message: str, field: str = "") -> None:
        self.problems.append(
            Problem(message, key=".".join(part for part in ("catalog", section, entry_id, field) if part))
        )


def _over(base: Gpu | Model | Instance | Engine | None, values: dict[str, Any], origin: str) -> dict[str, Any]:
    """Values of the known entry with the written ones over them, under the provenance of what was written."""
    old: dict[str, Any] = {} if base is None else {f.name: getattr(base, f.name) for f in dataclasses.fields(base)}
    source = values.pop("source", None)
    if not source:
        source = origin
    elif origin != CONTRACT:
        source = f"{source} ({origin})"
    if base is not None and base.source:
        source = f"{source}; fields it does not give: {base.source}"
    stated = {"source": source, "cls": values.pop("class", None) or "assumption", "as_of": values.pop("as_of", None)}
    return old | stated | values


def _who(origin: str) -> str:
    """Who gave a value, as a label."""
    return CONTRACT if origin == CONTRACT else "catalog_folder"


def _gpu(gpu_id: str, base: Gpu | None, written: dict[str, Any], origin: str) -> Gpu:
    values = _over(base, written, origin)
    if "memory_bytes" in written:
        values["memory_source"] = _who(origin)
    peaks = {**(base.flops if base is not None else {}), **(written.get("flops") or {})}
    values["flops"] = {name: rate for name, rate in peaks.items() if rate is not None}
    return complete_gpu(gpu_id, values)


def _model(model_id: str, base: Model | None, written: dict[str, Any], origin: str) -> Model:
    values = _over(base, written, origin)
    if base is not None:
        for name in _stale(base, written):
            values.pop(name)
    return complete_model(model_id, values)


def _stale(base: Model, written: dict[str, Any]) -> Iterator[str]:
    """Fields that followed from others which are now written anew."""
    if "params_embedding" not in written and {"vocab_size", "hidden_size"} & written.keys():
        yield "params_embedding"
    if "params_active" not in written and base.params_active == base.params_total:
        yield "params_active"
    experts = {"num_layers", "num_moe_layers", "num_experts", "hidden_size", "moe_intermediate_size"}
    if "params_routed_experts" not in written and experts & written.keys():
        yield "params_routed_experts"
    down = {"num_layers", "hidden_size", "q_lora_rank", "kv_lora_rank", "qk_rope_head_dim"}
    if "params_replicated" not in written and down & written.keys():
        yield "params_replicated"
    if "layer_groups" in written:
        yield from (name for name in COUNTS if name not in written)
    elif "kv_layers" not in written and {"num_layers", *COUNTS} & written.keys():
        yield "kv_layers"
    if "layer_groups" not in written and is_derived(base.layer_groups):
        yield "layer_groups"
    if "num_moe_layers" not in written and {"num_layers", "num_experts"} & written.keys():
        yield "num_moe_layers"


def _instance(instance_id: str, base: Instance | None, written: dict[str, Any], origin: str) -> Instance:
    values = _over(base, written, origin)
    if base is None:
        values.setdefault("provider", _who(origin))
    if "usd_per_node_hour" in written and "price_kind" not in written:
        values["price_kind"] = None
    if "gpus_per_node" in written and "scale_up_gpus" not in written:
        values["scale_up_gpus"] = None
    return complete_instance(instance_id, values)


def _engine(label: str, base: Engine | None, written: dict[str, Any], origin: str) -> Engine:
    values = _over(base, written, origin)
    if "default_fraction" in written and "fraction_rule" not in written:
        values["fraction_rule"] = "fixed"
    if {"mbu", "mfu"} & written.keys():
        values |= {"step_cls": values["cls"], "step_source": values["source"], "step_as_of": values["as_of"]}
    name, version = split_spec(label)
    if base is None and version is not None:
        values = {"version_from": version, "version_to": version} | values
    return complete_engine(name, values)
