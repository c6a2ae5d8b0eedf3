"""Weights of the labels of axes, as a person gives them: a list in the order of the labels, or one number a label."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridplan.errors import ContractError, Problem, suggestion

__all__ = ["AxisWeights", "weights_of"]

AxisWeights = Mapping[str, Sequence[float] | Mapping[Any, float]]

Label = str | float


def weights_of(given: AxisWeights | None, axes: Mapping[str, Sequence[Label]]) -> dict[str, NDArray[np.float64]]:
    """Weights by axis in the order of its labels; axes that none are given for are left out.

    Raises ContractError for an unknown axis or label, for a number of weights that is not that of the labels, and for
    weights that are negative, not finite or all 0, with every problem.

    >>> weights_of({"redundancy": {1: 0.75, 0: 0.25}}, {"redundancy": [0.0, 1.0]})["redundancy"].tolist()
    [0.25, 0.75]
    """
    problems: list[Problem] = []
    found: dict[str, NDArray[np.float64]] = {}
    for name, weights in (given or {}).items():
        if name not in axes:
            problems.append(Problem(f"{name} is not an axis of this cube{suggestion(name, axes)}", key="weights"))
            continue
        listed = _in_order(name, weights, axes[name], problems)
        if listed is None:
            continue
        if len(listed) != len(axes[name]):
            said = f"{name} has {len(axes[name])} labels ({_short(axes[name])}) and {len(listed)} weights"
            problems.append(Problem(said, key="weights"))
        elif not all(math.isfinite(weight) and weight >= 0 for weight in listed) or not sum(listed) > 0:
            problems.append(Problem(f"weights of {name} must be >= 0, and one above 0", key="weights"))
        else:
            found[name] = np.asarray(listed, dtype=np.float64)
    if problems:
        raise ContractError(problems)
    return found


def _in_order(
    name: str, weights: Sequence[float] | Mapping[Any, float], labels: Sequence[Label], problems: list[Problem]
) -> list[float] | None:
    """Weights in the order of the labels; None where a label is missing or unknown."""
    if not isinstance(weights, Mapping):
        return [float(weight) for weight in weights]
    unknown = [label for label in weights if label not in labels]
    missing = [label for label in labels if label not in weights]
    for label in unknown:
        near = suggestion(str(label), [str(known) for known in labels])
        problems.append(Problem(f"{label} is not a label of {name}{near}", key="weights"))
    if missing:
        problems.append(Problem(f"{name} needs a weight for every label; none for {_short(missing)}", key="weights"))
    return None if unknown or missing else [float(weights[label]) for label in labels]


def _short(labels: Sequence[Label]) -> str:
    shown = [label if isinstance(label, str) else f"{label:g}" for label in labels]
    return ", ".join(shown) if len(shown) <= 12 else f"{', '.join(shown[:3])}, ..., {shown[-1]}"
