"""What a choice made before the world is known costs once it is: regret, and what it is worth to know."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gridplan.contract.grid import Grid
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.sensitivity.asked import Split, options_for
from gridplan.sensitivity.axes import named, split_axes
from gridplan.sensitivity.choice import DEFAULT_MEASURE
from gridplan.sensitivity.labels import label_texts, variable
from gridplan.sensitivity.options import Options
from gridplan.sensitivity.ranking import TIE, first_least
from gridplan.sensitivity.regret_arrays import Array, information, regret_of, tail

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["CRITERIA", "Weights", "regret"]

CRITERIA = ("minimax", "expected", "p95")
"""What the best choice has the least of: its greatest, its expected, or its 95th percentile of regret."""

SHARE = 0.95

Weights = Mapping[str, Sequence[float] | Mapping[Any, float]]
"""By axis the weights of its labels, in their order or by label; axes without are weighed evenly."""


def regret(
    source: Grid | xr.Dataset | str | Path,
    measure: str = DEFAULT_MEASURE,
    by: str | Iterable[str] | None = None,
    *,
    levers: str | Iterable[str] | None = None,
    weights: Weights | None = None,
    penalty: float | None = None,
    where: str | Iterable[str] = (),
    accept: Mapping[str, str | Sequence[str]] | None = None,
    survives: str | None = None,
    at: Mapping[str, str | float] | None = None,
    mixed: bool = False,
) -> xr.Dataset:
    """How much more each choice costs than the best one of each state of the world, over all states.

    A choice is one label of each lever, made for all states: one combination of labels of all other axes that are not
    in `by`. Its regret in a state is its measure there less that of the best choice there.

    Parameters
    ----------
    by
        Axes told apart: their labels are no states, and no choices of each other (such as `model`).
    weights
        Weights of the states by axis, multiplied; even ones by default. A state of weight 0 counts for the greatest
        regret and for failing, not for what is expected.
    penalty
        The measure of a choice that fails in a state [unit of the measure]. Without it such a choice has no finite
        regret, and only those that serve every state are compared.
    source, measure, levers, where, accept, survives, at, mixed
        As in `gridplan.cheapest`.

    Returns
    -------
    xarray.Dataset
        On `by` and the levers: `<measure>_regret_max`, `_regret_expected`, `_regret_p95` and `<measure>_expected` in
        the unit of the measure, null for choices that are not compared; `fails` and `unknown`, the states in which a
        choice cannot serve or has no comparable value. On `by`: `states`, `states_unserved` (no choice serves; they
        are left out), `choices`, `choices_compared`, `fewest_fails`; `<measure>_evpi`, the least expected measure of
        the compared choices less that of picking the best choice of every state, so what perfect information is worth
        at most, and `<measure>_evpi_compared`, the same with picks among the compared choices alone. On `by` and
        `criterion` (minimax, expected, p95): `best_choice` and `best_<lever>`, and `best_<measure>_regret`.

    Raises
    ------
    ContractError
        As `gridplan.cheapest`, and for weights that do not fit.

    >>> import xarray as xr
    >>> bills = (("gpu", "arrival_rate"), [[4.0, 9.0], [6.0, 5.0]])
    >>> status = (("gpu", "arrival_rate"), np.full((2, 2), "ok", dtype=object))
    >>> labels = {"gpu": ["a", "b"], "arrival_rate": [1.0, 10.0]}
    >>> cube = xr.Dataset({"usd_per_hour": bills, "status": status}, labels)
    >>> found = regret(cube, "usd_per_hour")
    >>> found.usd_per_hour_regret_max.values.tolist(), float(found.usd_per_hour_evpi)  # 5.5 - (4 + 5) / 2
    ([4.0, 2.0], 1.0)
    """
    if penalty is not None and not (math.isfinite(penalty) and penalty >= 0.0):
        raise ContractError([Problem(f"a finite number that is not negative is due, not {penalty:g}", key="penalty")])
    groups: list[str] = []
    found, attrs = options_for(source, (measure,), _split(by, levers, groups), where, accept, survives, (), at, mixed)
    across = found.by[len(groups) :]
    count = math.prod(found.cube.sizes[name] for name in groups)
    code = found.code.reshape(count, -1, found.code.shape[1])
    values = np.where(code == 0, found.table(found.column(measure)).reshape(code.shape), np.inf)
    served = (code == 0).any(axis=2)
    unknown = found.unknown()[code] & served[:, :, None]
    fails = (code > 0) & ~unknown & served[:, :, None]
    if penalty is not None:
        values[fails] = penalty
        dear = np.max(values[code == 0], initial=0.0)
        if fails.any() and penalty < dear:
            warned = [attrs["warnings"]] if attrs.get("warnings") else []
            said = f"a penalty of {penalty:,.5g} is below what plans that serve cost (to {dear:,.5g}): failing may pay"
            attrs["warnings"] = "\n".join([*warned, said])
    no_value = np.count_nonzero(unknown, axis=1)
    failing = np.count_nonzero(fails, axis=1)
    compared = (no_value == 0) & ((failing == 0) | (penalty is not None)) & served.any(axis=1, keepdims=True)
    share = _state_weights(found, across, weights or {}) * served
    total = share.sum(axis=1, keepdims=True)
    share = np.divide(share, total, out=np.zeros_like(share), where=total > 0)
    figures = _figures(values, served, share, compared, measure)
    tallies = {
        "fails": failing,
        "unknown": no_value,
        "states": np.full(count, served.shape[1]),
        "states_unserved": np.count_nonzero(~served, axis=1),
        "choices": np.full(count, int(code.shape[2])),
        "choices_compared": np.count_nonzero(compared, axis=1),
        "fewest_fails": np.where(no_value == 0, failing, served.shape[1] + 1).min(axis=1),
    }
    tallies["fewest_fails"] = np.minimum(tallies["fewest_fails"], served.sum(axis=1))
    attrs |= {"by": ", ".join(groups), "states": ", ".join(across), "penalty": "" if penalty is None else penalty}
    return _dataset(found, groups, measure, figures, tallies, {k: v for k, v in attrs.items() if v != ""})


def _split(by: str | Iterable[str] | None, levers: str | Iterable[str] | None, groups: list[str]) -> Split:
    """Groups first among the axes that stay; which these are is put into `groups`."""

    def split(sizes: Mapping[str, int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        apart, chosen = named(by) or (), named(levers)
        if chosen is None:
            chosen = tuple(name for name in split_axes(sizes, None, None)[1] if name not in apart)
        split_axes(sizes, apart, [*chosen, *(name for name in sizes if name not in (*apart, *chosen))])
        groups[:] = [name for name in sizes if name in apart]
        _, chosen = split_axes(sizes, None, chosen)
        return (*groups, *(name for name in sizes if name not in (*apart, *chosen))), chosen

    return split


def _state_weights(found: Options, across: Sequence[str], weights: Weights) -> Array:
    """The weights of all states, as one row."""
    problems = [
        Problem(f"{name} is not an axis of the states{suggestion(name, across)}", key="weights")
        for name in weights
        if name not in across
    ]
    total = np.ones(1)
    for name in across:
        labels = found.cube[name].values.tolist()
        stated = weights.get(name, [1.0] * len(labels))
        if isinstance(stated, Mapping):
            unknown = [label for label in stated if label not in labels]
            problems += [Problem(f"{label} is not on the axis", key=f"weights.{name}") for label in unknown]
            stated = [float(stated.get(label, 0.0)) for label in labels]
        own = np.asarray(stated, np.float64)
        if own.shape != (len(labels),) or not np.isfinite(own).all() or (own < 0).any() or own.sum() <= 0:
            said = f"{len(labels)} weights that are not negative, and not all 0, are due"
            problems.append(Problem(said, key=f"weights.{name}"))
        else:
            total = np.multiply.outer(total, own / own.sum())
    if problems:
        raise ContractError(problems)
    return total.reshape(1, -1)


def _figures(
    values: Array, served: NDArray[np.bool_], share: Array, compared: NDArray[np.bool_], measure: str
) -> dict[str, Array]:
    """Figures of choices (groups x choices), of groups, and the best choice by criterion (`place`, groups x 3)."""
    perfect, robust, choice, expected = information(values, share, compared)
    regrets = np.where(served[:, :, None], regret_of(values), 0.0)
    greatest = np.where(compared, regrets.max(axis=1, initial=0.0), np.nan)
    mean = np.where(compared, np.einsum("gs,gso->go", share, np.where(np.isinf(regrets), 0.0, regrets)), np.nan)
    high = np.where(compared, tail(regrets, share, SHARE), np.nan)
    weighed = share.sum(axis=1) > 0
    for item in (mean, high, expected):
        item[~weighed] = np.nan
    scale = np.where(compared, np.abs(np.where(np.isfinite(values), values, 0.0)).max(axis=1), 0.0).max(axis=1)
    place = np.column_stack([first_least(item, scale) for item in (greatest, mean, high)])
    return {
        f"{measure}_regret_max": greatest,
        f"{measure}_regret_expected": mean,
        f"{measure}_regret_p95": high,
        f"{measure}_expected": expected,
        f"{measure}_evpi": np.where(weighed, _gain(choice, perfect), np.nan),
        f"{measure}_evpi_compared": np.where(weighed, _gain(choice, robust), np.nan),
        "place": place.astype(np.float64),
    }


def _gain(choice: Array, informed: Array) -> Array:
    """What is saved; a rest of rounding is nothing."""
    saved = np.maximum(choice - informed, 0.0)
    return np.where(saved <= TIE * np.abs(choice), 0.0, saved)


def _dataset(
    found: Options,
    groups: Sequence[str],
    measure: str,
    figures: dict[str, Array],
    tallies: Mapping[str, NDArray[Any]],
    attrs: Mapping[str, Any],
) -> xr.Dataset:
    import xarray as xr

    place = figures.pop("place").astype(np.intp)
    shape = tuple(found.cube.sizes[name] for name in groups)
    variables: dict[str, Any] = {}
    unit = found.about(measure)["unit"]
    for name, values in {**figures, **tallies}.items():
        about = {"unit": unit} if name in figures else {"unit": "count", "dtype": "int64"}
        wide = values.ndim == 2
        dims = (*groups, *found.chosen) if wide else tuple(groups)
        variables[name] = (dims, values.reshape(shape + (found.choices if wide else ())), about)
    none, flat = (place < 0).ravel(), np.maximum(place, 0).ravel()
    dims, zero = (*groups, "criterion"), np.zeros(place.size, np.intp)
    texts = label_texts(found, zero, flat, none).reshape((*shape, len(CRITERIA)))
    variables["best_choice"] = variable(dims, texts, {"unit": "label"})
    for name in found.chosen:
        labels = found.pick(name, zero, flat).copy()
        labels[none] = None if labels.dtype == object else np.nan
        labels = labels.reshape((*shape, len(CRITERIA)))
        variables[f"best_{name}"] = variable(dims, labels, found.about(name))
    names = [f"{measure}_regret_{kind}" for kind in ("max", "expected", "p95")]
    own = [figures[name][np.arange(len(place)), np.maximum(place[:, at], 0)] for at, name in enumerate(names)]
    least_regret = np.where(place < 0, np.nan, np.column_stack(own))
    variables[f"best_{measure}_regret"] = (dims, least_regret.reshape((*shape, len(CRITERIA))), {"unit": unit})
    coords: dict[str, Any] = {name: found.cube[name] for name in (*groups, *found.chosen)}
    coords["criterion"] = ("criterion", np.array(CRITERIA, dtype=object))
    return xr.Dataset(variables, coords, dict(attrs))
