"""What a mix of request classes asks for: mean and longest lengths, resident tokens, tokens read by a decode step.

The class axis is the last one of every argument (for labelled arrays the last dimension of `class_weight`), weights sum
to 1 along it, and the result has no class axis any more. Plain sequences are read as one row of classes. Symbols: w
weight, P prompt tokens, O output tokens of a class. Source: "Capacity Planning: From Traffic Profile to GPU Count",
section 1.2; "Inference system design chains" for the mean context while decoding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gridplan.formulas._broadcast import formula, is_labelled
from gridplan.formulas._types import Value

__all__ = [
    "RESIDENT_CONTEXTS",
    "STEP_CONTEXTS",
    "context_tokens_max",
    "context_tokens_mean",
    "output_tokens_mean",
    "over_classes",
    "prompt_tokens_max",
    "prompt_tokens_mean",
    "resident_tokens",
    "resident_tokens_final",
    "resident_tokens_max",
    "resident_tokens_mean",
    "resident_tokens_residence_weighted",
    "step_context_tokens",
    "step_context_tokens_final",
    "step_context_tokens_mean",
]

_Kernel = Callable[..., npt.NDArray[np.float64]]


def prompt_tokens_mean(class_weight: Value, class_prompt_tokens: Value) -> Value:
    """Mean prompt length [tokens]: sum w P.

    >>> round(prompt_tokens_mean([0.7, 0.2, 0.1], [32, 128, 512]), 9)
    99.2
    """
    return over_classes(lambda w, p: np.sum(w * p, axis=-1), class_weight, class_prompt_tokens)


def output_tokens_mean(class_weight: Value, class_output_tokens: Value) -> Value:
    """Mean output length [tokens]: sum w O.

    >>> round(output_tokens_mean([0.7, 0.2, 0.1], [64, 256, 256]), 9)
    121.6
    """
    return over_classes(lambda w, o: np.sum(w * o, axis=-1), class_weight, class_output_tokens)


def context_tokens_mean(class_weight: Value, class_prompt_tokens: Value, class_output_tokens: Value) -> Value:
    """Mean length of a finished request [tokens]: sum w (P + O).

    >>> round(context_tokens_mean([0.7, 0.2, 0.1], [32, 128, 512], [64, 256, 256]), 9)
    220.8
    """
    return over_classes(_final, class_weight, class_prompt_tokens, class_output_tokens)


def context_tokens_max(class_weight: Value, class_prompt_tokens: Value, class_output_tokens: Value) -> Value:
    """Longest finished request [tokens]: max (P + O) over the classes that occur (weight above 0).

    >>> context_tokens_max([0.7, 0.3, 0.0], [32, 128, 9999], [64, 256, 1])
    384.0
    """
    return over_classes(_longest, class_weight, class_prompt_tokens, class_output_tokens)


def prompt_tokens_max(class_weight: Value, class_prompt_tokens: Value) -> Value:
    """Longest prompt [tokens]: max P over the classes that occur (weight above 0).

    >>> prompt_tokens_max([0.7, 0.2, 0.1], [32, 128, 512])
    512.0
    """
    return over_classes(lambda w, p: _longest(w, p, 0.0), class_weight, class_prompt_tokens)


def resident_tokens_final(class_weight: Value, class_prompt_tokens: Value, class_output_tokens: Value) -> Value:
    """Tokens a sequence is charged for, each at its final length [tokens]: sum w (P + O).

    >>> round(resident_tokens_final([0.7, 0.2, 0.1], [32, 128, 512], [64, 256, 256]), 9)
    220.8
    """
    return over_classes(_final, class_weight, class_prompt_tokens, class_output_tokens)


def resident_tokens_mean(class_weight: Value, class_prompt_tokens: Value, class_output_tokens: Value) -> Value:
    """Tokens a sequence holds on average while it decodes [tokens]: sum w (P + O/2).

    >>> resident_tokens_mean([1.0], [2000], [300])
    2150.0
    """
    return over_classes(_halfway, class_weight, class_prompt_tokens, class_output_tokens)


def resident_tokens_residence_weighted(
    class_weight: Value, class_prompt_tokens: Value, class_output_tokens: Value
) -> Value:
    """Final length of a sequence found in the cache [tokens]: sum w O (P + O) / sum w O.

    A class is found there in proportion to its share of arrivals times its stay, and the stay goes with its output.

    >>> round(resident_tokens_residence_weighted([0.7, 0.2, 0.1], [32, 128, 512], [64, 256, 256]), 4)
    358.7368
    """
    return over_classes(_residence_weighted, class_weight, class_prompt_tokens, class_output_tokens)


def resident_tokens_max(class_weight: Value, class_prompt_tokens: Value, class_output_tokens: Value) -> Value:
    """Tokens a sequence is charged for when every one may be the longest [tokens]: max (P + O), weight above 0.

    >>> resident_tokens_max([0.7, 0.2, 0.1], [32, 128, 512], [64, 256, 256])
    768.0
    """
    return over_classes(_longest, class_weight, class_prompt_tokens, class_output_tokens)


def step_context_tokens_mean(class_weight: Value, class_prompt_tokens: Value, class_output_tokens: Value) -> Value:
    """Tokens a decode step reads for a running sequence, on average [tokens]: sum w O (P + O/2) / sum w O.

    Each class appears in a step in proportion to the steps it takes, which is its output length.

    >>> round(step_context_tokens_mean([0.7, 0.2, 0.1], [32, 128, 512], [64, 256, 256]), 4)
    266.1053
    """
    return over_classes(_step_halfway, class_weight, class_prompt_tokens, class_output_tokens)


def step_context_tokens_final(class_weight: Value, class_prompt_tokens: Value, class_output_tokens: Value) -> Value:
    """Tokens a decode step reads if every sequence had its final length [tokens]: sum w (P + O), an upper figure.

    >>> round(step_context_tokens_final([0.7, 0.2, 0.1], [32, 128, 512], [64, 256, 256]), 9)
    220.8
    """
    return over_classes(_final, class_weight, class_prompt_tokens, class_output_tokens)


def resident_tokens(
    class_weight: Value, class_prompt_tokens: Value, class_output_tokens: Value, convention: Value
) -> Value:
    """Tokens charged to one resident sequence [tokens] under a named convention.

    `convention` is one of `RESIDENT_CONTEXTS` (`final`, `mean`, `residence_weighted`, `max`) or an array of such names
    that broadcasts to the result. Raises ValueError for another name.

    >>> resident_tokens([1.0], [1000], [5000], "final"), resident_tokens([1.0], [1000], [5000], "mean")
    (6000.0, 3500.0)
    """
    return _by_name(RESIDENT_CONTEXTS, convention, class_weight, class_prompt_tokens, class_output_tokens)


def step_context_tokens(
    class_weight: Value, class_prompt_tokens: Value, class_output_tokens: Value, convention: Value
) -> Value:
    """Tokens a decode step reads for one sequence [tokens] under a named convention.

    `convention` is one of `STEP_CONTEXTS` (`mean`, `final`) or an array of such names that broadcasts to the result.
    Raises ValueError for another name.

    >>> step_context_tokens([1.0], [1500], [400], "mean")
    1700.0
    """
    return _by_name(STEP_CONTEXTS, convention, class_weight, class_prompt_tokens, class_output_tokens)


RESIDENT_CONTEXTS: dict[str, Callable[[Value, Value, Value], Value]] = {
    "final": resident_tokens_final,
    "mean": resident_tokens_mean,
    "residence_weighted": resident_tokens_residence_weighted,
    "max": resident_tokens_max,
}
"""Conventions of `resident_tokens`, by name."""

STEP_CONTEXTS: dict[str, Callable[[Value, Value, Value], Value]] = {
    "mean": step_context_tokens_mean,
    "final": step_context_tokens_final,
}
"""Conventions of `step_context_tokens`, by name."""


def _final(w: Any, p: Any, o: Any) -> Any:
    return np.sum(w * (p + o), axis=-1)


def _halfway(w: Any, p: Any, o: Any) -> Any:
    return np.sum(w * (p + 0.5 * o), axis=-1)


def _longest(w: Any, p: Any, o: Any) -> Any:
    return np.max(np.where(w == 0.0, -np.inf, w * 0.0 + p + o), axis=-1)


def _residence_weighted(w: Any, p: Any, o: Any) -> Any:
    return np.sum(w * o * (p + o), axis=-1) / np.sum(w * o, axis=-1)


def _step_halfway(w: Any, p: Any, o: Any) -> Any:
    return np.sum(w * o * (p + 0.5 * o), axis=-1) / np.sum(w * o, axis=-1)


def over_classes(kernel: _Kernel, *values: Value) -> Value:
    """Apply a kernel that reduces the last axis; labelled arrays are lined up by name first, class dimension last."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if not any(is_labelled(value) for value in values):
            result = kernel(*(np.atleast_1d(np.asarray(value, dtype=np.float64)) for value in values))
            return float(result) if result.ndim == 0 else result
        class_dim = next(value for value in values if is_labelled(value)).dims[-1]
        zero = sum(0.0 * value for value in values)
        aligned = [(value + zero).transpose(..., class_dim) for value in values]
        template = aligned[0].isel({class_dim: 0}, drop=True)
        result = template.copy(data=kernel(*(array.data for array in aligned)))
    result.attrs, result.name = {}, None
    return result


def _by_name(table: dict[str, Callable[[Value, Value, Value], Value]], convention: Value, *classes: Value) -> Value:
    names = np.unique(np.asarray(convention).astype(str)).tolist()
    unknown = [name for name in names if name not in table]
    if unknown:
        raise ValueError(f"unknown convention {', '.join(map(repr, unknown))}: one of {', '.join(table)}")
    if np.ndim(convention) == 0:
        return table[names[0]](*classes)
    labels = convention if is_labelled(convention) else np.asarray(convention)
    result: Value = np.nan
    for name in names:
        result = _choose(labels == name, table[name](*classes), result)
    return result


@formula
def _choose(chosen: Value, value: Value, other: Value) -> Value:
    return np.where(chosen != 0.0, value, other)
