"""The forms that one value of a contract file may take, as frozen models.

A value is a number, a text with a unit, `{by: dimension, label: value, ...}` or `{value: ..., class: ..., ...}`.
A scenario may also write `{multiply: x}` and `{add: x}`; an axis is a list or one of four generators.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from gridplan.contract.shapes import (
    ANY,
    Shape,
    Strict,
    checked,
    choice,
    list_of,
    literal,
    map_of,
    optional,
    required,
    row_of,
    shape_of,
)

__all__ = [
    "APPLIES_TO",
    "AXIS",
    "CHANGE",
    "CLASS_LENGTH",
    "LENGTH",
    "SCALAR",
    "TEXT",
    "VALUE",
    "AddTo",
    "Arange",
    "AxisForm",
    "ByLabel",
    "CatalogAxis",
    "ChangeForm",
    "Geomspace",
    "LengthForm",
    "Linspace",
    "MultiplyBy",
    "PlainOrBy",
    "Scalar",
    "Stated",
    "ValueForm",
    "kind_of",
]


def kind_of(value: object) -> str:
    """What a plain value is, in words."""
    names = {dict: "a mapping", list: "a list", bool: "true or false", str: "a text"}
    return names.get(type(value), "a number")


def _scalar(value: object) -> object:
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        return value
    raise _kind_error("must be a number or a text, not {kind}", value)


def _text(value: object) -> object:
    if isinstance(value, str):
        return value
    raise _kind_error("must be a text, not {kind}", value)


def _kind_error(message: str, value: object) -> Exception:
    from pydantic_core import PydanticCustomError  # the JSON Schema is made without it

    return PydanticCustomError("kind", message, {"kind": kind_of(value)})


Scalar = int | float | str
SCALAR = checked(_scalar, "number", "string")
TEXT = checked(_text, "string")
_WHOLE = Shape({"type": "int", "strict": True}, {"type": "integer"})


class ByLabel(Strict):
    """One value per label of a dimension: `{by: model, llama-3.3-70b: 4, default: 1}`."""

    others = SCALAR

    by: str = required(
        TEXT,
        "The label-valued dimension whose labels are the other keys: model, gpu, instance, workload, engine, a dtype.",
    )
    default: Scalar | None = optional(SCALAR, "The value of every label that is not listed.")

    @property
    def values(self) -> Mapping[str, Scalar]:
        """The values by label."""
        return self.__pydantic_extra__ or {}


PlainOrBy = Scalar | ByLabel
_BY = shape_of(ByLabel)
_PLAIN_OR_BY = choice({"<plain>": SCALAR, "<by>": _BY}, "must be a number, a text or {by: ...}")


class Stated(Strict):
    """A value with its provenance."""

    value: PlainOrBy = required(_PLAIN_OR_BY, "The value, in base units or as text with a unit.")
    cls: Literal["fact", "policy", "measurement", "assumption"] | None = optional(
        literal("fact", "policy", "measurement", "assumption"),
        "What kind of statement it is; omitted = the dictionary's class of the input.",
        key="class",
    )
    source: str = optional(TEXT, "Where the value comes from.", "")
    as_of: str = optional(TEXT, "The date of the value, YYYY-MM-DD.", "")


class MultiplyBy(Strict):
    """Scale an input in a scenario."""

    multiply: PlainOrBy = required(_PLAIN_OR_BY, "The factor: 1.5, or 150%.")


class AddTo(Strict):
    """Shift an input in a scenario."""

    add: PlainOrBy = required(_PLAIN_OR_BY, "What is added, in the unit of the input; may be negative.")


class LengthForm(Strict):
    """Random lengths: a kind with its mean and squared coefficient of variation, or quantiles."""

    mean: Scalar | None = optional(SCALAR, "The mean length in tokens.")
    scv: Scalar | None = optional(
        SCALAR,
        "Squared coefficient of variation, variance / mean^2; 1 for exponential and 0 for deterministic lengths.",
    )
    kind: str | None = optional(
        TEXT, "deterministic, exponential, gamma or lognormal; empirical for quantiles, which need not say so."
    )
    quantiles: dict[str, Scalar] | None = optional(
        map_of(SCALAR), "Lengths in tokens by percentile, instead of mean and scv: {50: 120, 90: 800, 99: 4000}."
    )
    max: Scalar | None = optional(SCALAR, "The longest length in tokens; omitted = that of the longest node.")
    nodes: Scalar | None = optional(
        SCALAR,
        "Number of equally probable lengths that stand for the distribution, 1 to 256; omitted = 16, or 8 for "
        "a prompt whose output is random too.",
    )


class Linspace(Strict):
    """Labels at equal distances."""

    linspace: tuple[Scalar, Scalar, int] = required(row_of(SCALAR, SCALAR, _WHOLE), "[first, last, number of labels]")


class Geomspace(Strict):
    """Labels at equal ratios."""

    geomspace: tuple[Scalar, Scalar, int] = required(row_of(SCALAR, SCALAR, _WHOLE), "[first, last, number of labels]")


class Arange(Strict):
    """Labels a step apart; the last is included when it lies on the grid."""

    arange: tuple[Scalar, Scalar, Scalar] = required(row_of(SCALAR, SCALAR, SCALAR), "[first, last, step]")


class CatalogAxis(Strict):
    """The entries of a catalog that meet every condition, in the order of the catalog."""

    catalog: Literal["gpus", "models", "instances"] = required(
        literal("gpus", "models", "instances"),
        "Which catalog; gpus for the axis gpu, models for model, instances for instance.",
    )
    where: dict[str, Any] = optional(
        map_of(ANY), "Conditions by field: a value, a list of values, or <field>_at_least and <field>_at_most.", {}
    )


ValueForm = PlainOrBy | Stated
ChangeForm = ValueForm | MultiplyBy | AddTo
AxisForm = list[Scalar] | Linspace | Geomspace | Arange | CatalogAxis

_VALUES = {"<plain>": SCALAR, "<by>": _BY, "<value>": shape_of(Stated)}
VALUE = choice(_VALUES, "must be a number, a text, {by: ...} or {value: ..., class: ..., source: ...}")
CHANGE = choice(
    {**_VALUES, "<multiply>": shape_of(MultiplyBy), "<add>": shape_of(AddTo)},
    "must be a value, {by: ...}, {value: ...}, {multiply: ...} or {add: ...}",
)
_RANDOM = dict.fromkeys(("<mean>", "<quantiles>", "<kind>", "<scv>"), shape_of(LengthForm))
_RANDOM_FORMS = "{mean: ..., scv: ..., kind: ...} or {quantiles: {50: ..., 99: ...}}"
LENGTH = choice(
    {**_VALUES, **_RANDOM},
    f"must be a number, a text, {{by: ...}}, {{value: ..., class: ..., source: ...}}, {_RANDOM_FORMS}",
)
CLASS_LENGTH = choice({"<plain>": SCALAR, **_RANDOM}, f"must be a number, a text, {_RANDOM_FORMS}")
AXIS = choice(
    {
        "<list>": list_of(SCALAR),
        **{"<linspace>": shape_of(Linspace), "<geomspace>": shape_of(Geomspace), "<arange>": shape_of(Arange)},
        "<catalog>": shape_of(CatalogAxis),
    },
    "must be a list, {linspace: [first, last, number]}, {geomspace: [first, last, number]}, "
    "{arange: [first, last, step]} or {catalog: ..., where: ...}",
)
APPLIES_TO = choice({"<plain>": literal("any"), "<mapping>": map_of(literal("any"))})
