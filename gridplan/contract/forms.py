"""The forms that one value of a contract file may take, as frozen models.

A value is a number, a text with a unit, `{by: dimension, label: value, ...}` or `{value: ..., class: ..., ...}`.
A scenario may also write `{multiply: x}` and `{add: x}`; an axis is a list or one of four generators.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, PlainValidator, StrictInt, Tag, WithJsonSchema
from pydantic_core import PydanticCustomError

__all__ = [
    "AddTo",
    "AppliesTo",
    "Arange",
    "AxisForm",
    "ByLabel",
    "CatalogAxis",
    "ChangeForm",
    "Geomspace",
    "Linspace",
    "MultiplyBy",
    "PlainOrBy",
    "Scalar",
    "Stated",
    "Strict",
    "Text",
    "ValueForm",
]


def kind_of(value: object) -> str:
    """What a plain value is, in words."""
    names = {dict: "a mapping", list: "a list", bool: "true or false", str: "a text"}
    return names.get(type(value), "a number")


def _scalar(value: object) -> object:
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        return value
    raise PydanticCustomError("kind", "must be a number or a text, not {kind}", {"kind": kind_of(value)})


def _text(value: object) -> object:
    if isinstance(value, str):
        return value
    raise PydanticCustomError("kind", "must be a text, not {kind}", {"kind": kind_of(value)})


def _form(message: str, *keys: str) -> Any:
    """Choose among the members of a union by the first telling key of a mapping; the tags are `<key>`.

    Tags stand in angle brackets, so that they cannot be taken for keys of the file when an error names its path.
    """

    def tag(value: object) -> str | None:
        if isinstance(value, dict):
            return next((f"<{key}>" for key in keys if key in value), None)
        return "<list>" if isinstance(value, list) and "list" in keys else "<plain>" if "plain" in keys else None

    return Discriminator(tag, custom_error_type="form", custom_error_message=message)


Scalar = Annotated[int | float | str, PlainValidator(_scalar), WithJsonSchema({"type": ["number", "string"]})]
Text = Annotated[str, PlainValidator(_text), WithJsonSchema({"type": "string"})]


class Strict(BaseModel):
    """Base of all models: frozen, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class ByLabel(Strict):
    """One value per label of a dimension: `{by: model, llama-3.3-70b: 4, default: 1}`."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Scalar]

    by: Text
    """The label-valued dimension whose labels are the other keys: model, gpu, instance, workload, engine, a dtype."""
    default: Scalar | None = None
    """The value of every label that is not listed."""

    @property
    def values(self) -> Mapping[str, int | float | str]:
        """The values by label."""
        return self.__pydantic_extra__


PlainOrBy = Annotated[
    Annotated[Scalar, Tag("<plain>")] | Annotated[ByLabel, Tag("<by>")],
    _form("must be a number, a text or {by: ...}", "plain", "by"),
]


class Stated(Strict):
    """A value with its provenance."""

    value: PlainOrBy
    """The value, in base units or as text with a unit."""
    cls: Literal["fact", "policy", "measurement", "assumption"] | None = Field(default=None, alias="class")
    """What kind of statement it is; omitted = the dictionary's class of the input."""
    source: Text = ""
    """Where the value comes from."""
    as_of: Text = ""
    """The date of the value, YYYY-MM-DD."""


AppliesTo = Annotated[
    Annotated[Literal["any"], Tag("<plain>")] | Annotated[dict[str, Literal["any"]], Tag("<by>")],
    Discriminator(lambda value: "<by>" if isinstance(value, dict) else "<plain>"),
]


class MultiplyBy(Strict):
    """Scale an input in a scenario."""

    multiply: PlainOrBy
    """The factor: 1.5, or 150%."""


class AddTo(Strict):
    """Shift an input in a scenario."""

    add: PlainOrBy
    """What is added, in the unit of the input; may be negative."""


ValueForm = Annotated[
    Annotated[Scalar, Tag("<plain>")] | Annotated[ByLabel, Tag("<by>")] | Annotated[Stated, Tag("<value>")],
    _form("must be a number, a text, {by: ...} or {value: ..., class: ..., source: ...}", "plain", "by", "value"),
]
ChangeForm = Annotated[
    Annotated[Scalar, Tag("<plain>")]
    | Annotated[ByLabel, Tag("<by>")]
    | Annotated[Stated, Tag("<value>")]
    | Annotated[MultiplyBy, Tag("<multiply>")]
    | Annotated[AddTo, Tag("<add>")],
    _form(
        "must be a value, {by: ...}, {value: ...}, {multiply: ...} or {add: ...}",
        *("plain", "by", "value", "multiply", "add"),
    ),
]


class Linspace(Strict):
    """Labels at equal distances."""

    linspace: tuple[Scalar, Scalar, StrictInt]
    """[first, last, number of labels]"""


class Geomspace(Strict):
    """Labels at equal ratios."""

    geomspace: tuple[Scalar, Scalar, StrictInt]
    """[first, last, number of labels]"""


class Arange(Strict):
    """Labels a step apart; the last is included when it lies on the grid."""

    arange: tuple[Scalar, Scalar, Scalar]
    """[first, last, step]"""


class CatalogAxis(Strict):
    """The entries of a catalog that meet every condition, in the order of the catalog."""

    catalog: Literal["gpus", "models", "instances"]
    """Which catalog; gpus for the axis gpu, models for model, instances for instance."""
    where: dict[str, Any] = Field(default_factory=dict)
    """Conditions by field: a value, a list of values, or <field>_at_least and <field>_at_most."""


AxisForm = Annotated[
    Annotated[list[Scalar], Tag("<list>")]
    | Annotated[Linspace, Tag("<linspace>")]
    | Annotated[Geomspace, Tag("<geomspace>")]
    | Annotated[Arange, Tag("<arange>")]
    | Annotated[CatalogAxis, Tag("<catalog>")],
    _form(
        "must be a list, {linspace: [first, last, number]}, {geomspace: [first, last, number]}, "
        "{arange: [first, last, step]} or {catalog: ..., where: ...}",
        *("list", "linspace", "geomspace", "arange", "catalog"),
    ),
]
