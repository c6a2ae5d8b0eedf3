"""Shapes: what a value of a contract file may be, as pydantic's core checks it and as JSON Schema says it.

pydantic makes both from annotated classes, which takes several times as long as reading a contract. A shape states them
side by side as plain data: a check needs `pydantic_core` alone, and the JSON Schema needs neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, ClassVar, NamedTuple

__all__ = [
    "ANY",
    "Field",
    "Shape",
    "Strict",
    "checked",
    "choice",
    "list_of",
    "literal",
    "map_of",
    "optional",
    "required",
    "row_of",
    "shape_of",
]


class Shape(NamedTuple):
    """One shape: `core` is a schema of pydantic's core, `json` the same as JSON Schema."""

    core: dict[str, Any]
    json: dict[str, Any]


class Field(NamedTuple):
    """What stands under one key of a model; `key` is its name in the file where the attribute has another."""

    shape: Shape
    description: str
    required: bool
    default: Any
    key: str

    def core(self) -> dict[str, Any]:
        """The field as pydantic's core takes it."""
        schema = self.shape.core
        if not self.required:
            # An empty mapping is checked like one in the file, so that an absent section is a model with its defaults.
            check = isinstance(self.default, dict)
            schema = {"type": "default", "schema": schema, "default": self.default, "validate_default": check}
        return {"type": "model-field", "schema": schema, **({"validation_alias": self.key} if self.key else {})}

    def schema(self) -> dict[str, Any]:
        """The field as JSON Schema, a copy of its own."""
        said = {"description": self.description} if self.description else {}
        return {**said, **deepcopy(self.shape.json)}


def required(shape: Shape, description: str, key: str = "") -> Any:
    """A field that a file must give."""
    return Field(shape, description, True, None, key)


def optional(shape: Shape, description: str, default: object = None, key: str = "") -> Any:
    """A field that a file may leave out; the default `{}` becomes what an empty mapping would."""
    return Field(shape, description, False, default, key)


class Strict:
    """Base of all models: frozen, and a key that is neither a field nor one of `others` is an error.

    pydantic's core makes the objects and fills the slots. Fields are written in the class body with their type and one
    of `required` and `optional`; they become `fields`.
    """

    __slots__ = ("__dict__", "__pydantic_extra__", "__pydantic_fields_set__", "__pydantic_private__")
    fields: ClassVar[Mapping[str, Field]] = {}
    others: ClassVar[Shape | None] = None
    """The shape of what stands under keys that are no fields; None = there are no such keys."""

    __pydantic_extra__: dict[str, Any] | None
    __pydantic_fields_set__: set[str]

    def __init_subclass__(cls) -> None:
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Field)}
        for name in own:
            delattr(cls, name)
        cls.fields = {**cls.fields, **own}

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.given_keys)})"

    @property
    def given_keys(self) -> set[str]:
        """The fields that the file gives."""
        return self.__pydantic_fields_set__

    @classmethod
    def keys(cls) -> list[str]:
        """The keys that a file may write."""
        return [field.key or name for name, field in cls.fields.items()]

    @classmethod
    def definition(cls) -> dict[str, Any]:
        """The model as a definition of JSON Schema."""
        must = [field.key or name for name, field in cls.fields.items() if field.required]
        properties = {field.key or name: field.schema() for name, field in cls.fields.items()}
        return {
            "additionalProperties": False if cls.others is None else deepcopy(cls.others.json),
            "description": (cls.__doc__ or "").strip(),
            "properties": properties,
            **({"required": must} if must else {}),
            "type": "object",
        }


def shape_of(model: type[Strict]) -> Shape:
    """A mapping that becomes an object of that model."""
    extra: dict[str, Any] = {"extra_behavior": "forbid"}
    if model.others is not None:
        extra = {"extra_behavior": "allow", "extras_schema": model.others.core}
    fields = {name: field.core() for name, field in model.fields.items()}
    inner = {"type": "model-fields", "model_name": model.__name__, "fields": fields, **extra}
    return Shape({"type": "model", "cls": model, "schema": inner}, {"$ref": f"#/$defs/{model.__name__}"})


ANY = Shape({"type": "any"}, {})


def checked(function: Callable[[object], object], *types: str) -> Shape:
    """What a function lets through: a value of one of these types of JSON."""
    core = {"type": "function-plain", "function": {"type": "no-info", "function": function}}
    return Shape(core, {"type": types[0] if len(types) == 1 else list(types)})


def literal(*values: str | int) -> Shape:
    """One of these values."""
    kind = "integer" if isinstance(values[0], int) else "string"
    said: dict[str, Any] = {"const": values[0]} if len(values) == 1 else {"enum": list(values)}
    return Shape({"type": "literal", "expected": list(values)}, {**said, "type": kind})


def list_of(item: Shape) -> Shape:
    """A list of any length."""
    return Shape({"type": "list", "items_schema": item.core}, {"items": item.json, "type": "array"})


def row_of(*items: Shape) -> Shape:
    """A list with exactly these items, read as a tuple."""
    count = {"maxItems": len(items), "minItems": len(items)}
    return Shape(
        {"type": "tuple", "items_schema": [item.core for item in items]},
        {**count, "prefixItems": [item.json for item in items], "type": "array"},
    )


def map_of(value: Shape) -> Shape:
    """A mapping from any name."""
    core = {"type": "dict", "keys_schema": {"type": "str"}, "values_schema": value.core}
    return Shape(core, {"additionalProperties": value.json or True, "type": "object"})


def choice(shapes: Mapping[str, Shape], message: str = "") -> Shape:
    """One of several shapes by tag; `message` says what is due where no tag fits.

    A list has the tag `<list>` and a mapping `<mapping>`, where there is one; else a mapping has the tag of the first
    telling key that it holds, as `<by>`, and everything else is `<plain>`. The tags stand in angle brackets, so that
    they cannot be taken for keys of the file when an error names its path.
    """

    def tag_of(value: object) -> str | None:
        if isinstance(value, dict):
            return "<mapping>" if "<mapping>" in shapes else next((tag for tag in shapes if tag[1:-1] in value), None)
        tag = "<list>" if isinstance(value, list) and "<list>" in shapes else "<plain>"
        return tag if tag in shapes else None

    core = {"type": "tagged-union", "discriminator": tag_of, "choices": {tag: shapes[tag].core for tag in shapes}}
    if message:
        core |= {"custom_error_type": "form", "custom_error_message": message}
    distinct = [item.json for index, item in enumerate(shapes.values()) if item not in [*shapes.values()][:index]]
    return Shape(core, {"oneOf": distinct})
