"""What a kind of purchase needs, and what is said about the prices that it found."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridplan import chain
from gridplan.chain.codes import choices, code
from gridplan.chain.graph import Array
from gridplan.chain.purchase import PRICE_RANGE
from gridplan.engine.bundle import Inputs
from gridplan.engine.catalog_warnings import listed
from gridplan.engine.field import Field
from gridplan.engine.resolve import Resolver

__all__ = ["OF_PRICES", "check_purchase", "price_warnings"]

OF_PRICES = "price_flag "
"""Begins every sentence about prices of some cells."""

MOST_NAMED = 1_000_000
"""Combinations of prices up to which single ones are named (policy: some milliseconds)."""

_OWNED = ("capital_usd_per_node", "amortization_years", "pue", "usd_per_kwh", "power_w_per_gpu")
"""What the price of a node of one's own cannot do without."""

_READ = ("price_flag_code", "base_usd_per_node_hour", "base_usd_per_gpu_hour", "spot_share_used")

_MISSING = {
    "no_spot_price": "no spot price, so these have no cost: give spot_usd_per_node_hour, or name an instance that has "
    "one",
    "no_reserved_price": "no reserved price, so these have no cost: give reserved_usd_per_node_hour or "
    "reserved_discount (no catalog has them)",
    "needs_node_size": "a price of nodes, and gpus_per_node is not known, so these have no cost: name an instance or "
    "give gpus_per_node",
}
"""Flags of a purchase that was asked for and has no price."""


def check_purchase(resolver: Resolver, values: Mapping[str, Field], labels: Mapping[str, Field]) -> None:
    """Note what own hardware lacks, and prices of a node whose size nobody states."""
    owned = _is(values, "owned")
    missing = [name for name in _OWNED if (owned & np.isnan(values[name].data)).any()]
    if missing:
        resolver.problem(
            f"purchase owned needs {', '.join(missing)}: an hour of a node of one's own is its capital over the hours "
            "of its years, hosting, and energy",
            "purchase",
        )
    named = labels["instance"].data != None  # noqa: E711 - elementwise on labels
    guessed = ~named & np.isnan(resolver.peek("gpus_per_node").data) & ~np.isnan(values["gpus_per_node"].data)
    on_spot = _is(values, "spot", "portfolio") | (values["spot_share"].data > 0)
    used = {
        "spot_usd_per_node_hour": on_spot,
        "reserved_usd_per_node_hour": _is(values, "reserved", "portfolio"),
        "capital_usd_per_node": owned,
    }
    for name, cells in used.items():
        if (cells & guessed & ~np.isnan(resolver.peek(name).data)).any():
            resolver.problem(f"{name} is of a node of how many GPUs? Name an instance, or give gpus_per_node", name)


def price_warnings(inputs: Inputs) -> list[str]:
    """One sentence on prices that are absurd, and one for each kind of price that was asked for and is not there."""
    steps = chain.needed(inputs.steps, _READ)
    dims = chain.propagate(steps, inputs.dims)["price_flag_code"]
    sizes = dict(zip(inputs.space.names, inputs.space.shape, strict=True))
    if np.prod([sizes[name] for name in dims], dtype=float) > MOST_NAMED:
        return [f"{OF_PRICES}(on request) says which prices are missing or doubtful: there are too many to name here"]
    found = chain.evaluate(steps, {name: item.data for name, item in inputs.values.items()})
    flags = found["price_flag_code"]
    said = [
        f"{OF_PRICES}{flag}: {sentence}: {listed(_labels(inputs, flags == _flag(flag)))}"
        for flag, sentence in _MISSING.items()
        if np.any(flags == _flag(flag))
    ]
    said += _unjudged(inputs, found)
    absurd = flags == _flag("absurd")
    return [*said, _absurd(inputs, found, absurd)] if np.any(absurd) else said


def _unjudged(inputs: Inputs, found: Mapping[str, Array]) -> list[str]:
    """A budget is no limit where nothing has a price."""
    budget = inputs.values["budget_usd_per_month"].data
    unpriced = np.isnan(found["base_usd_per_node_hour"]) & np.isnan(found["base_usd_per_gpu_hour"])
    unpriced = unpriced | ((found["spot_share_used"] > 0) & np.isnan(found["spot_usd_per_node_hour"]))
    cells = unpriced & ~np.isnan(budget)
    sentence = "budget_usd_per_month is not judged where there is no price"
    return [f"{OF_PRICES}no_price: {sentence}: {listed(_labels(inputs, cells))}"] if np.any(cells) else []


def _absurd(inputs: Inputs, found: Mapping[str, Array], cells: Array) -> str:
    """The prices outside the range, as they are stated."""
    least, most = PRICE_RANGE
    node, gpu, size = found["base_usd_per_node_hour"], found["base_usd_per_gpu_hour"], found["gpus_per_node"]
    spot = np.where(found["spot_share_used"] > 0, found["spot_usd_per_node_hour"], np.nan)
    prices = {
        "a node at": (node, node / size),
        "a GPU at": (np.where(np.isnan(node), gpu, np.nan), gpu),
        "a node on spot at": (np.where(spot == node, np.nan, spot), spot / size),
    }
    said: dict[str, None] = {}
    for word, (price, of_gpu) in prices.items():
        outside = cells & ((of_gpu < least) | (of_gpu > most))
        mask, by, value = np.broadcast_arrays(outside, inputs.labels["priced_by"].data, price)
        pairs = zip(by[mask].tolist(), value[mask].tolist(), strict=True)
        said |= {f"{name} ({word} {number:g} USD/h)": None for name, number in pairs if number == number}
    rule = f"outside {least:g} to {most:,.0f} USD per GPU-hour, as no rental is (a slip of unit or decimal point?)"
    return f"{OF_PRICES}absurd: {rule}: {listed(said)}"


def _labels(inputs: Inputs, cells: Array) -> list[str]:
    """Instances, else GPUs, of some cells."""
    mask, instance, gpu = np.broadcast_arrays(cells, inputs.labels["instance"].data, inputs.labels["gpu"].data)
    pairs = dict.fromkeys(zip(instance[mask].tolist(), gpu[mask].tolist(), strict=True))
    return list(dict.fromkeys(str(instance or gpu or "a fleet without a GPU") for instance, gpu in pairs))


def _flag(name: str) -> int:
    return choices("price_flag").index(name)


def _is(values: Mapping[str, Field], *kinds: str) -> Array:
    return np.isin(values["purchase_code"].data, [code("purchase", kind) for kind in kinds])
