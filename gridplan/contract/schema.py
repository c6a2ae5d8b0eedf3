"""The JSON Schema of a contract file: the shapes of the models, with unit, bounds and choices from the dictionary.

Editors complete and check a contract by it. What a schema cannot say (weights that sum to 1, labels that must agree)
stays with `load_grid`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gridplan.contract import forms, models
from gridplan.contract.bounds import bounds_of
from gridplan.contract.models import Contract, section_inputs
from gridplan.dictionary import Quantity, dictionary
from gridplan.quantities import accepted_units

if TYPE_CHECKING:
    from gridplan.catalog import Catalog

__all__ = ["contract_schema"]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SECTIONS = ("WorkloadSection", "Slo", "Deployment", "Capacity", "Policy")
_MAY_BE_EMPTY = ("workload", "slo", "deployment", "capacity", "policy", "catalog", "axes", "scenarios")
_NUMBER = r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?"
_WITH_UNIT = rf"^\s*(?!{_NUMBER}\s*$){_NUMBER}\s*\S.*$"  # a number and more, but not a number alone
_MODELS = (
    *(forms.Arange, forms.CatalogAxis, forms.Geomspace, forms.Linspace, forms.AddTo, forms.ByLabel),
    *(models.Capacity, models.CatalogEntries, models.ClassChange, models.ClassEntry, models.Deployment),
    *(
        forms.LengthForm,
        models.LimitChange,
        forms.MultiplyBy,
        models.Policy,
        models.ScenarioEntry,
        models.Slo,
        models.SloLimit,
        forms.Stated,
    ),
    models.WorkloadSection,
)


def contract_schema(catalog: Catalog | None = None) -> dict[str, Any]:
    """The schema as plain data, draft 2020-12, with the ids of `catalog` (the shipped one unless given).

    >>> contract_schema()["$defs"]["input.rho_target"]["x-home-section"]
    'policy'
    """
    from gridplan.catalog import load_catalog

    known = catalog or load_catalog()
    schema, definitions = _structure()
    for name in section_inputs():
        definitions[f"plain.{name}"] = {"anyOf": _plain(dictionary()[name], known)}
        definitions[f"input.{name}"] = _input(name, ("ByLabel", "Stated"))
        definitions[f"change.{name}"] = _change(name)
        definitions[f"axis.{name}"] = _axis(name)
    for section in _SECTIONS:
        _refer(definitions[section]["properties"], "input")
    for name in ("prompt_tokens", "output_tokens"):
        either = [{"$ref": f"#/$defs/input.{name}"}, {"$ref": "#/$defs/LengthForm"}]
        said = definitions[f"input.{name}"]["description"]
        definitions["WorkloadSection"]["properties"][name] = {"description": said, "anyOf": either}
    _refer(definitions["ScenarioEntry"]["properties"], "change")
    properties = schema["properties"]
    properties["axes"] = {
        "type": "object",
        "description": properties["axes"]["description"],
        "properties": {name: {"$ref": f"#/$defs/axis.{name}"} for name in section_inputs()},
        "additionalProperties": False,
    }
    scenarios = properties["scenarios"]
    scenarios["additionalProperties"] = _or_null(scenarios["additionalProperties"])
    for name in _MAY_BE_EMPTY:
        properties[name] = _or_null(properties[name])
    return {"$schema": _DIALECT, "title": "gridplan contract", **schema, "$defs": definitions}


def _structure() -> tuple[dict[str, Any], dict[str, Any]]:
    """The models as a schema and its definitions; the input fields of the sections are still empty."""
    return Contract.definition(), {model.__name__: model.definition() for model in _MODELS}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A section of which every line is commented out is a null."""
    description = schema.pop("description", None)
    return {"anyOf": [schema, {"type": "null"}], **({"description": description} if description else {})}


def _refer(properties: dict[str, Any], kind: str) -> None:
    for name in section_inputs():
        if name in properties:
            properties[name] = {"$ref": f"#/$defs/{kind}.{name}"}


def _input(name: str, forms: Sequence[str]) -> dict[str, Any]:
    """One input of a section, plain or in one of the other forms."""
    row = dictionary()[name]
    return {
        "description": _description(row),
        "anyOf": [{"$ref": f"#/$defs/{form}"} for form in (f"plain.{name}", *forms)],
        "x-home-section": row.section,
        "x-unit": row.unit,
        "x-class": row.cls,
    }


def _change(name: str) -> dict[str, Any]:
    """What a scenario may do to one input: a text is set, a number is also scaled and shifted."""
    scales = () if dictionary()[name].is_label else ("MultiplyBy", "AddTo")
    return _input(name, ("ByLabel", "Stated", *scales))


def _axis(name: str) -> dict[str, Any]:
    row = dictionary()[name]
    generators = ["CatalogAxis"] if name in ("gpu", "model", "instance") else []
    generators += [] if row.is_label else ["Linspace", "Geomspace", "Arange"]
    labels = {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"$ref": f"#/$defs/plain.{name}"}}
    return {
        "description": _description(row),
        "anyOf": [labels, *({"$ref": f"#/$defs/{form}"} for form in generators)],
    }


def _description(row: Quantity) -> str:
    parts = [row.long_name or row.name]
    if row.meaning and row.meaning != row.long_name:
        parts.append(row.meaning)
    if not row.is_label:
        base = "a plain number" if row.unit == "1" else f"a number in {row.unit}"
        parts.append(f"{base}, or a text with a unit ({accepted_units(row.unit)})")
    if bounds := str(bounds_of(row.name)):
        parts.append(f"must be {bounds}")
    if row.default:
        parts.append(f"default: {row.default}")
    return "; ".join(parts)


def _plain(row: Quantity, catalog: Catalog) -> list[dict[str, Any]]:
    """The schemas of a plain value."""
    if row.name.endswith("_percentile"):
        return [{"const": "mean"}, {"type": "number", **_range(row.name)}]
    if row.is_label:
        labels = _labels(row, catalog)
        known: list[dict[str, Any]] = [{"enum": labels}] if labels else []
        # A contract may add ids of its own, and an engine may carry a version.
        is_open = row.name in ("gpu", "model", "draft_model", "instance", "engine") or not labels
        return [*known, *([{"type": "string"}] if is_open else [])]
    kind = "integer" if row.dtype == "int64" else "number"
    return [{"type": kind, **_range(row.name)}, {"type": "string", "pattern": _WITH_UNIT}]


def _labels(row: Quantity, catalog: Catalog) -> list[str]:
    formats = {"weight_dtype": "weight", "kv_dtype": "kv"}
    ids = {"gpu": catalog.gpus, "model": catalog.models, "draft_model": catalog.models, "instance": catalog.instances}
    if row.name in ids:
        return list(ids[row.name])
    if row.name in formats:
        return [name for role, name in catalog.dtypes if role == formats[row.name]]
    if row.name == "engine":
        return list(dict.fromkeys(entry.name for entry in catalog.engines))
    return list(row.labels)


def _range(name: str) -> dict[str, float]:
    bounds = bounds_of(name)
    ends: dict[str, float] = {}
    if bounds.low > -math.inf:
        ends["minimum" if bounds.low_included else "exclusiveMinimum"] = bounds.low
    if bounds.high < math.inf:
        ends["maximum" if bounds.high_included else "exclusiveMaximum"] = bounds.high
    return ends
