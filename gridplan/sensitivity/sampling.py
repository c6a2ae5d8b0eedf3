"""Percentiles of measures over uncertain inputs: samples streamed through the cube and folded, never kept as a cube."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gridplan.contract.grid import Grid
from gridplan.dictionary import all_measures, dictionary
from gridplan.engine.columns import named_outputs
from gridplan.engine.reduce import MAX_SKETCHES
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.sensitivity.distribution_text import DistributionLike
from gridplan.sensitivity.sample_folds import KEPT_VALUES, LabelFold, NumberFold
from gridplan.sensitivity.sample_study import Study, check_count, points_of, study_of
from gridplan.sensitivity.uncertain_inputs import values_at

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["sample"]

CHUNK_CELLS = 1 << 19
"""Cells planned at once, samples times cells (policy): some 4 MB a measure."""

STATUS = "status"

SIGNED = "api_saving_usd_per_month"
"""The measure that may be negative, which a sketch of quantiles does not hold."""


def sample(
    grid: Grid,
    distributions: Mapping[str, DistributionLike],
    measures: Sequence[str] | str,
    *,
    n: int = 65_536,
    seed: int = 0,
    at: Mapping[str, str | float] | None = None,
    percentiles: Sequence[float] = (10, 50, 90),
    method: str = "sobol",
) -> xr.Dataset:
    """Statistics of measures where inputs are uncertain, independently of each other, in every cell of a grid.

    Parameters
    ----------
    grid
        A contract, from `gridplan.load_grid`.
    distributions
        For each uncertain input a text such as `normal(60, 6)` in place of the contract's value, `x normal(1, 0.1)`
        for a factor of it, a mapping, or a list of measured values. An axis whose input is sampled in place of its
        labels is gone from the answer.
    measures
        Names of measures.
    n, seed, method
        Samples: a scrambled Sobol' sequence (`sobol`; n a power of 2) or independent ones (`random`). The same seed
        gives the same samples.
    at
        Labels at which axes are fixed.
    percentiles
        From above 0 to 100.

    Returns
    -------
    xarray.Dataset
        On those of the axes left that change a measure. Of numbers `<measure>_mean`, `_sd`, `_min`, `_p10` and so on,
        `_max`, of the samples with a value, and `_null_share`, the share of samples without one. `_p90` is the least
        value that 90% of them do not exceed: exact up to 4 million values (samples times cells), beyond within 0.5%.
        Of true or false `<measure>_share` of the samples with a value for which it is true, and `_null_share`. Of text
        `<measure>_share` of all samples on one more dimension, the label. Always `infeasible_share`. Attributes say
        what was sampled; `warnings` counts what is missing.

    Raises
    ------
    ContractError
        For anything wrong with the question or the grid, with every problem.
    """
    names = [measures] if isinstance(measures, str) else list(dict.fromkeys(measures))
    names = list(named_outputs(names) or names)
    check_count(n, method)
    _check_names(names, percentiles)
    study = study_of(grid, distributions, names, at)
    chunk = 1 << max(0, min(n, CHUNK_CELLS // study.cells).bit_length() - 1)
    folds: dict[str, NumberFold | LabelFold] = {}
    cube: xr.Dataset | None = None
    drawn = points_of(len(study.distributions), n, seed, method, chunk)
    pieces = (values_at(study.distributions, points) for points in drawn)
    for cube in study.cubes(pieces, dict.fromkeys([*names, STATUS])):
        folds = folds or _folds(cube, names, n)
        for name, fold in folds.items():
            fold.add(_rows(cube, name, cube.sizes["sample"]))
    assert cube is not None
    found = _dataset(cube, names, folds, percentiles)
    return found.assign_attrs(_about(study, n, seed, method, {name: folds[name] for name in names}))


def _own(cube: xr.Dataset, name: str) -> list[str]:
    """The dimensions of a measure beside the samples, in declared order."""
    return [str(dim) for dim in cube[name].dims if dim != "sample"]


def _folds(cube: xr.Dataset, names: Sequence[str], n: int) -> dict[str, NumberFold | LabelFold]:
    """What is kept of each measure. Raises ContractError where quantiles in bounded memory cannot be kept."""
    problems, folds = [], dict[str, NumberFold | LabelFold]()
    for name in dict.fromkeys([*names, STATUS]):
        cells = math.prod(cube.sizes[dim] for dim in _own(cube, name))
        if dictionary()[name].is_label:
            folds[name] = LabelFold(cells)
            continue
        if n * cells > KEPT_VALUES and cells > MAX_SKETCHES:
            said = f"{cells:,} cells of {name} with {n:,} samples are too many for percentiles: fix axes, or take fewer"
            problems.append(Problem(said, key="n"))
        elif n * cells > KEPT_VALUES and name == SIGNED:
            said = f"{SIGNED} may be negative: at most {KEPT_VALUES:,} values, samples times cells"
            problems.append(Problem(said, key="n"))
        else:
            folds[name] = NumberFold(n, cells)
    if problems:
        raise ContractError(problems)
    return folds


def _rows(cube: xr.Dataset, name: str, samples: int) -> NDArray[Any]:
    """A measure with one row a sample and one column for each of its own cells."""
    item = cube[name]
    if "sample" in item.dims:
        return np.asarray(item.transpose("sample", ...).values).reshape(samples, -1)
    return np.broadcast_to(np.asarray(item.values).reshape(1, -1), (samples, item.size))


def _dataset(
    cube: xr.Dataset, names: Sequence[str], folds: Mapping[str, NumberFold | LabelFold], percentiles: Sequence[float]
) -> xr.Dataset:
    """The folds as variables, each on the dimensions of its measure."""
    import xarray as xr

    coords: dict[str, Any] = {
        str(name): cube[name].variable for name in cube.coords if name in cube.sizes and name != "sample"
    }
    variables: dict[str, Any] = {}
    for name in names:
        fold, row, dims = folds[name], dictionary()[name], _own(cube, name)
        shape = [cube.sizes[dim] for dim in dims]
        if isinstance(fold, LabelFold):
            labels = sorted(fold.counts)
            shares = np.stack([fold.share(label) for label in labels], axis=-1) if labels else np.zeros(0)
            coords[name] = np.array(labels, dtype=object)
            about = {"unit": "1", "long_name": f"{row.long_name}: share of samples"}
            variables[f"{name}_share"] = ([*dims, name], shares.reshape([*shape, len(labels)]), about)
            continue
        results = fold.results(percentiles)
        if row.dtype == "bool":
            results = {"share": results["mean"], "null_share": results["null_share"]}
        if row.dtype == "int64" and not fold.exact:
            results.update({kind: np.round(found) for kind, found in results.items() if kind.startswith("p")})
        for kind, values in results.items():
            unit = "1" if kind.endswith("share") else row.unit
            about = {"unit": unit, "long_name": f"{row.long_name}: {_KINDS.get(kind, f'{kind[1:]}th percentile')}"}
            variables[f"{name}_{kind}"] = (dims, values.reshape(shape), about)
    states, dims = folds[STATUS], _own(cube, STATUS)
    assert isinstance(states, LabelFold)
    infeasible = {"unit": "1", "long_name": "share of samples without a plan"}
    lost = states.share("infeasible").reshape([cube.sizes[dim] for dim in dims])
    variables["infeasible_share"] = (dims, lost, infeasible)
    return xr.Dataset(variables, coords)


_KINDS = {
    "mean": "mean",
    "sd": "standard deviation",
    "min": "lowest",
    "max": "highest",
    "share": "share of the samples with a value",
    "null_share": "share of samples without a value",
}


def _about(study: Study, n: int, seed: int, method: str, folds: Mapping[str, NumberFold | LabelFold]) -> dict[str, Any]:
    """Attributes of the answer."""
    warnings = list(study.warnings)
    for name, fold in folds.items():
        if isinstance(fold, NumberFold) and (missing := int(fold.missing.sum())):
            share = missing / (missing + int(fold.count.sum()))
            warnings.append(f"{share:.2%} of the samples have no {name}: its statistics are of the others")
    accuracy = max((fold.accuracy for fold in folds.values() if isinstance(fold, NumberFold)), default=0.0)
    return {
        "grid": study.grid.name,
        "inputs": "; ".join(f"{name} {item}" for name, item in study.distributions.items()),
        **({"at": study.at} if study.at else {}),
        "n": n,
        "seed": seed,
        "method": method,
        "percentile_error": accuracy,
        "warnings": "\n".join(warnings),
    }


def _check_names(names: Sequence[str], percentiles: Sequence[float]) -> None:
    known = all_measures()
    problems = [
        Problem(f"{name} is not a measure{suggestion(name, known)}", key="measures")
        for name in names
        if name not in known
    ]
    if not names:
        problems.append(Problem("name at least one measure", key="measures"))
    wrong = [p for p in percentiles if not 0 < p <= 100]
    problems += [Problem(f"a percentile lies above 0 and up to 100; {p:g} does not", key="percentiles") for p in wrong]
    if problems:
        raise ContractError(problems)
