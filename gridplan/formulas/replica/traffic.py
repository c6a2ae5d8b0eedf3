"""The load of one replica: request classes and step times, checked and lined up once.

Outside, the class axis is the last one, as callers hold it. Inside it is the first: leading axes then broadcast by
themselves, a sum over classes is a sum of a few whole arrays, and an input that does not vary stays small.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gridplan.formulas._types import Value

__all__ = [
    "UNLIMITED",
    "Array",
    "Traffic",
    "by_class_last",
    "class_first",
    "class_first_within",
    "read_traffic",
    "traffic_mean",
]

Array = npt.NDArray[np.float64]

WEIGHT_SUM_TOLERANCE = 1e-9
"""How far class weights may sum from 1 (policy)."""
UNLIMITED = 1e15
"""Stands for an infinite token budget or number of slots in arithmetic where infinity would give NaN (policy)."""


@dataclass(frozen=True, eq=False)
class Traffic:
    """One replica's requests and step times, class axis first.

    rate [req/s], arrival_scv [1], weights [share], prompt, uncached, output [tokens], prefill [s by class],
    steps [1 by class]: decode steps, output - 1; context [s]: extra time that a request adds to each of its decode
    steps; step [s]: weight read and fixed overhead; budget [tokens a step], slots [sequences]; held [sequences]: most
    that run at once, more than the slots where these must not be credited with keeping steps short.
    """

    rate: Array
    arrival_scv: Array
    weights: Array
    prompt: Array
    uncached: Array
    output: Array
    prefill: Array
    steps: Array
    context: Array
    context_token: Array
    sequence: Array
    step: Array
    budget: Array
    slots: Array | None
    held: Array | None
    lead: tuple[int, ...]
    classes: int

    def take(self, rows: npt.NDArray[np.intp]) -> Traffic:
        """The load of some replicas only, where there is one a row."""
        named = {item.name: getattr(self, item.name) for item in fields(self)}
        found: dict[str, Any] = {
            name: np.take(value, rows, -1) for name, value in named.items() if isinstance(value, np.ndarray)
        }
        return replace(self, **{**found, "lead": (rows.size,)})


def read_traffic(
    class_weights: Value,
    prompt_tokens: Value,
    uncached_tokens: Value,
    output_tokens: Value,
    step_weights_s: Value,
    step_per_context_token_s: Value,
    prefill_per_token_s: Value,
    step_per_sequence_s: Value,
    prefill_s: Value | None,
    token_budget: Value,
    slots: Value | None,
    arrival_rate: Value,
    arrival_scv: Value,
) -> Traffic:
    """Check all inputs and line up their axes; ValueError names the first input that cannot be right."""
    by_class = {
        "class_weights": _floats("class_weights", class_weights, 0.0),
        "prompt_tokens": _floats("prompt_tokens", prompt_tokens, 0.0),
        "uncached_tokens": _floats("uncached_tokens", uncached_tokens, 0.0),
        "output_tokens": _floats("output_tokens", output_tokens, 1.0),
    }
    if prefill_s is not None:
        by_class["prefill_s"] = _floats("prefill_s", prefill_s, 0.0)
    plain = {
        "arrival_rate": _floats("arrival_rate", arrival_rate, 0.0),
        "arrival_scv": _floats("arrival_scv", arrival_scv, 0.0),
        "step_weights_s": _floats("step_weights_s", step_weights_s, 0.0),
        "step_per_context_token_s": _floats("step_per_context_token_s", step_per_context_token_s, 0.0),
        "prefill_per_token_s": _floats("prefill_per_token_s", prefill_per_token_s, 0.0),
        "step_per_sequence_s": _floats("step_per_sequence_s", step_per_sequence_s, 0.0),
        "token_budget": _floats("token_budget", token_budget, 1.0, infinite=True),
        "slots": _floats("slots", np.inf if slots is None else slots, 1.0, infinite=True),
    }
    by_class = {name: array if array.ndim else array[None] for name, array in by_class.items()}
    classes = _class_count(by_class)
    lead = _lead_shape(by_class, plain)
    weights, prompt, uncached, output = (
        class_first(by_class[name], len(lead))
        for name in ("class_weights", "prompt_tokens", "uncached_tokens", "output_tokens")
    )
    _check_weights(weights, classes)
    if np.any(uncached > prompt):
        raise ValueError("uncached_tokens must not exceed prompt_tokens")
    own = class_first(by_class["prefill_s"], len(lead)) if prefill_s is not None else None
    context_token, sequence = plain["step_per_context_token_s"], plain["step_per_sequence_s"]
    return Traffic(
        rate=plain["arrival_rate"],
        arrival_scv=plain["arrival_scv"],
        weights=np.broadcast_to(weights, (classes, *weights.shape[1:])),
        prompt=prompt,
        uncached=uncached,
        output=output,
        prefill=plain["prefill_per_token_s"] * uncached if own is None else own,
        steps=output - 1.0,
        # The mean over the steps of one request: it holds P + 1 tokens in its first decode step and P + O - 1 in its
        # last one, P + O/2 on average.
        context=np.where(output > 1.0, context_token * (prompt + 0.5 * output) + sequence, 0.0),
        context_token=context_token,
        sequence=sequence,
        step=plain["step_weights_s"],
        budget=np.minimum(plain["token_budget"], UNLIMITED),
        slots=None if slots is None else np.minimum(plain["slots"], UNLIMITED),
        held=None if slots is None else np.minimum(plain["slots"], UNLIMITED),
        lead=lead,
        classes=classes,
    )


def traffic_mean(weights: Array, values: Array) -> Array:
    """Mean over requests, class axis first."""
    total: Array = (weights * values).sum(axis=0)
    return total


def by_class_last(values: Array, traffic: Traffic) -> Array:
    """An array by class as callers hold it: leading axes, then the class axis."""
    return np.moveaxis(np.broadcast_to(values, (traffic.classes, *traffic.lead)), 0, -1)


def _floats(name: str, value: Value, least: float, infinite: bool = False) -> Array:
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be numbers, not {array.dtype}")
    array = array.astype(np.float64, copy=False)
    if np.any(array < least):
        raise ValueError(f"{name} must be at least {least:g}, not {np.nanmin(array):g}")
    if not infinite and np.any(np.isinf(array)):
        raise ValueError(f"{name} must be finite")
    return array


def _class_count(by_class: dict[str, Array]) -> int:
    counts = {array.shape[-1] for array in by_class.values()} - {1}
    if len(counts) > 1 or 0 in counts:
        sizes = ", ".join(f"{name} {array.shape[-1]}" for name, array in by_class.items())
        raise ValueError(f"the last axis is the class axis and must agree: {sizes}")
    return counts.pop() if counts else 1


def _lead_shape(by_class: dict[str, Array], plain: dict[str, Array]) -> tuple[int, ...]:
    shapes = [array.shape[:-1] for array in by_class.values()] + [array.shape for array in plain.values()]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        named = [f"{name} {array.shape[:-1]} by class" for name, array in by_class.items() if array.ndim > 1]
        named += [f"{name} {array.shape}" for name, array in plain.items() if array.ndim]
        raise ValueError(f"leading axes do not broadcast: {', '.join(named)}") from None


def class_first(array: Array, lead: int) -> Array:
    """(..., classes) to (classes, ...) with all leading axes present, so that plain broadcasting lines them up."""
    full = array.reshape((1,) * (lead + 1 - array.ndim) + array.shape)
    return np.ascontiguousarray(np.moveaxis(full, -1, 0))


def class_first_within(name: str, array: Array, load: Traffic) -> Array:
    """A further array by class, class axis first; ValueError where its axes are not those of the load."""
    fits = array.ndim <= len(load.lead) + 1 and array.shape[-1] in (1, load.classes)
    try:
        fits = fits and np.broadcast_shapes(array.shape[:-1], load.lead) == load.lead
    except ValueError:
        fits = False
    if not fits:
        whole = (*load.lead, load.classes)
        raise ValueError(f"{name} of shape {array.shape} does not broadcast to {whole}, the class axis last")
    return class_first(array, len(load.lead))


def _check_weights(weights: Array, classes: int) -> None:
    total = weights.sum(axis=0) * (classes if weights.shape[0] == 1 else 1)
    if np.any(np.abs(total - 1.0) > WEIGHT_SUM_TOLERANCE):
        worst = total.flat[np.nanargmax(np.abs(total - 1.0))]
        raise ValueError(f"class_weights must sum to 1 over the last axis, not {worst:.12g}")
