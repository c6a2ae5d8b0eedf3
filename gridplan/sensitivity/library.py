"""Standard scenarios of a stress test, made for the grid at hand: only what it states or the catalog gives is moved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridplan.contract.grid import Change, Grid, Scenario
from gridplan.engine.bundle import Inputs
from gridplan.engine.inputs import build_inputs

__all__ = ["SPOT_LOSS", "library_scenarios"]

SPOT_LOSS = "spot_loss"
"""The row that takes all spot nodes back: no input says so, the fleet as bought does."""

SURGE, CONTEXT, OUTPUT, LIMIT, PRICE, SPEED = 1.5, 2.0, 1.5, 0.8, 1.2, 0.85
"""What the standard scenarios multiply by (policy)."""

_LIMITS = ("ttft_slo_s", "tpot_slo_s", "e2e_slo_s", "itl_slo_s")
_PRICES = ("usd_per_node_hour", "usd_per_gpu_hour", "spot_usd_per_node_hour")
_RESERVED = "reserved_usd_per_node_hour"
_RATES = ("mbu", "mbu_experts", "mfu", "lambda_instance_given", "decode_tokens_per_s")
_TIMES = ("e2e_latency_s", "step_weights_s", "step_per_sequence_s", "step_per_context_token_s", "prefill_per_token_s")


def library_scenarios(grid: Grid) -> tuple[tuple[Scenario, ...], dict[str, str]]:
    """The standard scenarios that this grid can have, and the others with the reason why they are left out.

    Surge 1.5 times the peak, prompts twice as long, outputs 1.5 times, an FP8 cache, every stated limit at 0.8, one
    GPU, node and zone lost, all spot nodes taken back, prices 1.2 times, an engine at 0.85 of its speed (achieved
    shares and measured rates; stated times longer by as much), no prefix cache. Where the contract has a scenario of
    that name, `_library` stands behind it.
    """
    inputs = build_inputs(grid, lenient=True)
    moves = {
        **_traffic(inputs),
        "fp8_kv": _fp8(inputs),
        f"limits_x{LIMIT:g}": _limits(grid, inputs),
        **_losses(inputs),
        f"price_x{PRICE:g}": _prices(inputs) or "no price of a node or GPU is known",
        f"slower_x{SPEED:g}": {**_times(inputs, _RATES, SPEED), **_times(inputs, _TIMES, 1 / SPEED)}
        or "no achieved share and no measured rate is known",
        "no_prefix_cache": _no_hits(grid, inputs),
    }
    taken = {scenario.name for scenario in grid.scenarios}
    found, left_out = [], {}
    for name, move in moves.items():
        if isinstance(move, str):
            left_out[name] = move
            continue
        own = f"{name}_library" if name in taken else name
        changes = {key: change for key, change in move.items() if isinstance(change, Change)}
        classes = {key: part for key, part in move.items() if not isinstance(part, Change)}
        found.append(Scenario(own, changes, classes))
    return tuple(found), left_out


Move = Mapping[str, Change | Mapping[str, Change]]
"""Changes of inputs, and of the inputs of classes by the name of the class."""


def _nominal(inputs: Inputs, name: str) -> NDArray[Any]:
    """An input in the nominal scenario: what a scenario multiplies."""
    data, labels = inputs.stated[name].data, inputs.space.labels
    if "scenario" not in labels or "scenario" not in inputs.stated[name].dims:
        return data
    return data.take([labels["scenario"].index("nominal")], axis=list(labels).index("scenario"))


def _known(inputs: Inputs, name: str) -> bool:
    """Whether some cell has a number for it."""
    return name in inputs.stated and not bool(np.isnan(_nominal(inputs, name)).all())


def _times(inputs: Inputs, names: tuple[str, ...], factor: float) -> dict[str, Change]:
    """Those of the inputs that have a value, multiplied."""
    return {name: Change("multiply", factor) for name in names if _known(inputs, name)}


def _traffic(inputs: Inputs) -> dict[str, Move | str]:
    grid = inputs.grid
    has_classes = any(workload.classes for workload in grid.workloads)
    prompt = "prompt_tokens" if has_classes or not _known(inputs, "context_tokens") else "context_tokens"
    known = has_classes or _known(inputs, prompt)
    outputs = has_classes or _known(inputs, "output_tokens")
    lengths = "no lengths of requests are known"
    return {
        f"surge_x{SURGE:g}": _times(inputs, ("arrival_rate",), SURGE) or "no arrival rate is known",
        f"{prompt.removesuffix('_tokens')}_x{CONTEXT:g}": {prompt: Change("multiply", CONTEXT)} if known else lengths,
        f"output_x{OUTPUT:g}": {"output_tokens": Change("multiply", OUTPUT)} if outputs else lengths,
    }


def _prices(inputs: Inputs) -> dict[str, Change]:
    """Prices of nodes and GPUs; one under a commitment that is a discount on the list price moves with that."""
    grid = inputs.grid
    own = _RESERVED in grid.given or grid.axis(_RESERVED) is not None
    spot = _on_spot(inputs) or "portfolio" in _nominal(inputs, "purchase")
    names = [name for name in _PRICES if spot or name != "spot_usd_per_node_hour"]
    return _times(inputs, (*names, _RESERVED) if own else tuple(names), PRICE)


def _on_spot(inputs: Inputs) -> bool:
    return bool((_nominal(inputs, "spot_share") > 0).any()) or "spot" in _nominal(inputs, "purchase")


def _fp8(inputs: Inputs) -> Move | str:
    if inputs.grid.axis("kv_dtype") is not None:
        return "kv_dtype is an axis of this grid: its labels show it"
    if "kv_dtype" in inputs.labels and set(inputs.labels["kv_dtype"].data.ravel()) == {"fp8"}:
        return "the cache is fp8 already"
    return {"kv_dtype": Change("set", "fp8")}


def _limits(grid: Grid, inputs: Inputs) -> Move | str:
    of_all = _times(inputs, _LIMITS, LIMIT)
    own = {
        item.name: {name: Change("multiply", LIMIT) for name in _LIMITS if name in item.own}
        for workload in grid.workloads
        for item in workload.classes
        if item.name and any(name in item.own for name in _LIMITS)
    }
    return {**of_all, **own} or "no latency limit is stated"


def _losses(inputs: Inputs) -> dict[str, Move | str]:
    def lost(domain: str) -> Move:
        return {"lost_units": Change("set", 1.0), "lost_domain": Change("set", domain)}

    zones = bool((_nominal(inputs, "zones") > 1).any())
    return {
        "gpu_loss": lost("gpu"),
        "node_loss": lost("node") if _known(inputs, "gpus_per_node") else "no size of a node is known",
        "zone_loss": lost("zone") if zones else "the fleet has one zone",
        SPOT_LOSS: {} if _on_spot(inputs) else "nothing is on spot",
    }


def _no_hits(grid: Grid, inputs: Inputs) -> Move | str:
    none = {"prefix_hit_ratio": Change("set", 0.0)}
    own = {
        item.name: none
        for workload in grid.workloads
        for item in workload.classes
        if item.name and "prefix_hit_ratio" in item.own
    }
    shared = none if bool((_nominal(inputs, "prefix_hit_ratio") > 0).any()) else {}
    return {**shared, **own} or "no prompt token is cached"
