"""Parts that serving text does without: which of them are counted in, and what is said of the others."""

from __future__ import annotations

from collections.abc import Collection

from gridplan.catalog.hf.base import Plan
from gridplan.catalog.hf.fields import Fields
from gridplan.catalog.hf.mtp import MTP_FIELDS
from gridplan.catalog.hf.params import by_part
from gridplan.catalog.hf.published import ENCODERS, Published
from gridplan.catalog.hf.weights import Weight

__all__ = ["EXTRAS", "chosen"]

EXTRAS = ("mtp", "vision")
"""Parts that serving text does without, and that are counted on request."""
_NAMED_BY = {"mtp": (*MTP_FIELDS, "mtp_hybrid_override_pattern", "mtp_layers_block_type"), "vision": ENCODERS}
"""Fields that say that a file has the part."""


def chosen(model: Published, extras: Collection[str]) -> tuple[list[Weight], list[Weight]]:
    """The weights that count, and those of the parts that do not; a part that cannot be counted in is a fault."""
    plan, report = model.plan, model.top.report
    weights = list(plan.weights)
    apart: list[Weight] = []
    for name, part in plan.extra.items():
        (weights if name in extras else apart).extend(part)
    for name, reason in plan.not_counted.items():
        report.note(f"{name}: {reason}")
        if name in extras:
            report.add(_key(model, name), f"--with {name}: {reason}")
    for name in extras:
        if name not in plan.extra and name not in plan.not_counted:
            report.note(f"{name} was asked for, and the file has no such part")
    if apart:
        report.note(f"not in params_total: {', '.join(f'{name} {count:,}' for name, count in by_part(apart).items())}")
    if "mtp" in extras and plan.extra.get("mtp"):
        report.note(_uncached(plan))
    report.raise_if_any()
    return weights, apart


def _uncached(plan: Plan) -> str:
    """What the entry does not hold of extra layers that are counted in."""
    layers = len({tuple(weight.name.split(".")[:2]) for weight in plan.extra["mtp"]})
    held = "the mtp layer" if layers == 1 else f"the {layers} mtp layers"
    return f"layer_groups do not hold the cache of {held}: draft_layers: {layers} in the contract does"


def _key(model: Published, name: str) -> str:
    """The dotted key of the field that names a part."""
    places: tuple[Fields, ...] = (model.fields, model.top)
    found = (own.key(field) for own in places for field in _NAMED_BY[name] if own.data.get(field))
    return next(found, "")
