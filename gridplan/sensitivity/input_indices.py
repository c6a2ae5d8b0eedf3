"""Which uncertain input explains a figure: sampled Sobol indices of any function, or of a measure of one cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gridplan.contract.grid import Grid
from gridplan.dictionary import all_measures, dictionary
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.sensitivity.distribution_text import DistributionLike, parse_distributions
from gridplan.sensitivity.distributions import Distribution
from gridplan.sensitivity.saltelli import SampledShares, saltelli_shares
from gridplan.sensitivity.sample_study import check_count, points_of, study_of
from gridplan.sensitivity.uncertain_inputs import values_at

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["input_indices", "sobol_indices"]

WIDE = 0.2
"""Width of an interval above which an answer says that it is a rough one (policy)."""

CHUNK = 1 << 18
"""Samples given to the function at once (policy)."""

MAX_EVALUATIONS = 1 << 26
"""Values kept (policy): 512 MB."""

Columns = Mapping[str, NDArray[Any]]

Function = Callable[[Columns], NDArray[Any]]

Planned = Callable[[Iterable[Columns]], Iterator[NDArray[Any]]]
"""The function at one piece of the samples after another."""


def sobol_indices(
    function: Function,
    distributions: Mapping[str, DistributionLike],
    n: int = 4096,
    seed: int = 0,
    *,
    resamples: int = 200,
    confidence: float = 0.95,
) -> xr.Dataset:
    """First-order and total Sobol indices of a function of independent uncertain inputs, from n (inputs + 2) samples.

    Parameters
    ----------
    function
        Takes an array of values for each input, by name, and gives an array of as many values; NaN where there is none.
    distributions
        The inputs, as for `gridplan.sample`.
    n
        Rows of the matrices, a power of 2: points of a scrambled Sobol' sequence.
    seed
        Of the sequence and of the bootstrap.
    resamples, confidence
        Of the bootstrap intervals.

    Returns
    -------
    xarray.Dataset
        On `input`: `first_order`, `total` and `interaction` with `first_order_low`, `first_order_high`, `total_low` and
        `total_high`, the ends of the intervals. Attributes: `mean` and `sd` of the function, `n`, `rows` (with a value
        in every sample), `evaluations`, `null_share`, `warnings`.

    Raises
    ------
    ContractError
        For wrong distributions and sizes.

    Examples
    --------
    >>> found = sobol_indices(lambda x: 2 * x["a"] + x["b"], {"a": "normal(0, 1)", "b": "normal(5, 1)"}, 1024)
    >>> found.total.values.round(1).tolist()
    [0.8, 0.2]
    """
    if not distributions:
        raise ContractError([Problem("name at least one input and its distribution", key="distributions")])
    parsed = parse_distributions(distributions)
    values = _values(lambda parts: map(function, parts), parsed, n, seed)
    return _table(saltelli_shares(*values, resamples=resamples, confidence=confidence, seed=seed), values, parsed, seed)


def input_indices(
    grid: Grid,
    distributions: Mapping[str, DistributionLike],
    measure: str,
    n: int = 4096,
    seed: int = 0,
    *,
    at: Mapping[str, str | float] | None = None,
    resamples: int = 200,
    confidence: float = 0.95,
) -> xr.Dataset:
    """`sobol_indices` of a measure in one cell of a grid: which uncertain input its spread comes from.

    `at` fixes every axis with more than one label whose input is not sampled (a scenario is nominal unless fixed).
    Attributes have also `measure`, `unit`, `at` and `inputs`.

    Raises
    ------
    ContractError
        As `gridplan.sample`, for a measure that is text, and for axes that are not fixed, with their labels.
    """
    if measure not in all_measures():
        said = f"{measure} is not a measure{suggestion(measure, all_measures())}"
        raise ContractError([Problem(said, key="measure")])
    if dictionary()[measure].is_label:
        raise ContractError([Problem(f"{measure} is text and has no variance", key="measure")])
    study = study_of(grid, distributions, [measure], at, one_cell=True)

    def planned(parts: Iterable[Columns]) -> Iterator[NDArray[Any]]:
        for cube in study.cubes(parts, [measure]):
            yield np.broadcast_to(cube[measure].values.ravel(), (cube.sizes["sample"],))

    values = _values(planned, study.distributions, n, seed)
    shares = saltelli_shares(*values, resamples=resamples, confidence=confidence, seed=seed)
    found = _table(shares, values, study.distributions, seed)
    warnings = [*study.warnings, *str(found.attrs["warnings"]).splitlines()]
    about = {"measure": measure, "unit": dictionary()[measure].unit, **({"at": study.at} if study.at else {})}
    return found.assign_attrs({**about, **found.attrs, "warnings": "\n".join(warnings)})


def _values(
    planned: Planned, distributions: Mapping[str, Distribution], n: int, seed: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Values at A, at B, and at A with each column of B."""
    check_count(n, "sobol")
    width = len(distributions)
    if n * (width + 2) > MAX_EVALUATIONS:
        said = f"{n * (width + 2):,} samples are more than {MAX_EVALUATIONS:,}; take a smaller n"
        raise ContractError([Problem(said, key="n")])
    points = next(points_of(2 * width, n, seed, "sobol", n))
    a, b = values_at(distributions, points[:, :width]), values_at(distributions, points[:, width:])
    size = min(CHUNK, n)
    parts = (
        {name: column[start : start + size] for name, column in columns.items()}
        for columns in (a, b, *({**a, name: b[name]} for name in distributions))
        for start in range(0, n, size)
    )
    found = np.stack([_checked(values, size) for values in planned(parts)]).reshape(width + 2, n)
    return found[0], found[1], found[2:]


def _checked(values: NDArray[Any], size: int) -> NDArray[Any]:
    """What a function gave for so many samples. Raises ContractError when it is something else."""
    values = np.asarray(values, dtype=np.float64)
    if values.shape != (size,):
        said = f"the function gives values of shape {values.shape} for {size} samples"
        raise ContractError([Problem(said, key="function")])
    return values


def _table(
    shares: SampledShares, values: tuple[NDArray[Any], ...], distributions: Mapping[str, Distribution], seed: int
) -> xr.Dataset:
    import xarray as xr

    a, b, ab = values
    columns = {
        "first_order": (shares.first_order, "share of the variance that the input alone explains"),
        "first_order_low": (shares.first_interval[:, 0], "lower end of the interval of first_order"),
        "first_order_high": (shares.first_interval[:, 1], "upper end of the interval of first_order"),
        "total": (shares.total, "share of the variance that is left when all other inputs are known"),
        "total_low": (shares.total_interval[:, 0], "lower end of the interval of total"),
        "total_high": (shares.total_interval[:, 1], "upper end of the interval of total"),
        "interaction": (shares.total - shares.first_order, "total - first_order"),
    }
    variables = {
        name: (["input"], np.asarray(data), {"unit": "1", "long_name": text}) for name, (data, text) in columns.items()
    }
    missing = float(np.mean(np.isnan(np.concatenate([a, b]))))
    warnings = []
    if shares.rows < a.size:
        warnings.append(
            f"{a.size - shares.rows:,} of {a.size:,} rows have a sample without a value ({missing:.2%} of samples): "
            "indices are of the other rows, in which inputs are not independent, and need not add up"
        )
    if (np.diff(shares.total_interval, axis=0) > WIDE).any():
        warnings.append(f"intervals of shares are wider than {WIDE:.0%}: more samples are due than {a.size:,} rows")
    if shares.variance == 0:
        warnings.append("the value is the same in every sample that has one")
    attrs = {
        "inputs": "; ".join(f"{name} {item}" for name, item in distributions.items()),
        "mean": shares.mean,
        "sd": math.sqrt(shares.variance) if shares.variance >= 0 else math.nan,
        "n": int(a.size),
        "rows": shares.rows,
        "evaluations": int(a.size + b.size + ab.size),
        "seed": seed,
        "null_share": missing,
        "warnings": "\n".join(warnings),
    }
    return xr.Dataset(variables, {"input": np.array(list(distributions), dtype=object)}, attrs)
