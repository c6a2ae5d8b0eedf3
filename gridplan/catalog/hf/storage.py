"""Bytes of a checkpoint in its own format, and the name of that format in the catalog."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from gridplan.catalog.hf.quant import Scheme
from gridplan.catalog.hf.weights import Weight

__all__ = ["Stored", "stored"]

NOTHING = "the quantisation that is stated names no weight of this model: all of them are counted in 16 bits"
EXPERTS_ALONE = {"int4": "int4_experts"}
"""Formats for which the catalog has a second name, where only routed experts are quantised."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The format of most quantised parameters, the bytes of all, and a remark where there is more than one format."""

    dtype: str
    bytes: int
    note: str = ""


def stored(weights: Iterable[Weight], plain: str, scheme: Scheme | None) -> Stored:
    """How the weights are stored; `plain` is the format of what is not quantised.

    >>> stored([Weight("norm", "norms", 4096)], "bf16", None)
    Stored(dtype='bf16', bytes=8192, note='')
    """
    width = 32 if plain == "fp32" else 16
    params: dict[str, int] = {}
    parts: set[str] = set()
    bits = Fraction(0)
    for weight in weights:
        found = None if scheme is None else scheme.format_of(weight)
        bits += weight.params * Fraction(found.bits if found is not None else width)
        if found is not None:
            params[found.name] = params.get(found.name, 0) + weight.params
            parts.add(weight.part)
    size = -(-bits // 8)
    if not params:
        return Stored(plain, int(size), "" if scheme is None or scheme.is_empty else NOTHING)
    name = max(params, key=lambda key: params[key])
    dtype = EXPERTS_ALONE.get(name, name) if parts == {"experts"} else name
    if len(params) == 1:
        return Stored(dtype, int(size))
    shares = ", ".join(f"{count / 1e9:.6g}e9 parameters in {key}" for key, count in sorted(params.items()))
    return Stored(dtype, int(size), f"formats differ by module: {shares}; checkpoint_bytes counts each")
