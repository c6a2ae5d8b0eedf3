"""Percentiles of measures over uncertain inputs: samples streamed through the cube and folded, never kept as a cube."""

from __future__ import annotations

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
        for a factor of it, a mapping, or a list of measured values. An axis whose input is sampled in place of its labels is
        gone from the answer.
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
        On the axes that are left. Of numbers `<measure>_mean`, `_sd`, `_min`, `_p10` and so on, `_max`, of the samples
        with a value, and `_null_share`, the share of samples without one. `_p90` is the least value that 90% of them do
        not exceed: exact up to 4 million values (samples times cells), beyond within 0.5%. Of true or false
        `<measure>_share` of the samples with a value for which it is true, and `_null_share`. Of text
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
    cells = study.cells
    if n * cells > KEPT_VALUES and any(not dictionary()[name].is_label for name in names):
        _check_sketches(names, cells)
    chunk = 1 << max(0, min(n, CHUNK_CELLS // cells).bit_length() - 1)
    folds: dict[str, NumberFold | LabelFold] = {
        name: LabelFold(cells) if dictionary()[name].is_label else NumberFold(n, cells) for name in names
    }
    states = LabelFold(cells)
    first: xr.Dataset | None = None
    for points in points_of(len(study.distributions), n, seed, method, chunk):
        cube = study.cube(values_at(study.distributions, points), dict.fromkeys([*names, "status"]))
        first = cube if first is None else first
        dims = [name for name in cube.sizes if name != "sample"]
        for name, fold in [*folds.items(), ("status", states)]:
            fold.add(_rows(cube, name, dims, points.shape[0]))
    assert first is not None
    found = _dataset(first, folds, states, percentiles)
    return found.assign_attrs(_about(found, study, n, seed, method, folds))


def _rows(cube: xr.Dataset, name: str, dims: Sequence[Any], samples: int) -> NDArray[Any]:
    """A measure with one row a sample and one column a cell."""
    shape = (samples, *(cube.sizes[dim] for dim in dims))
    item = cube[name]
    place = tuple(slice(None) if dim in item.dims else np.newaxis for dim in ("sample", *dims))
    ordered = item.transpose(*(dim for dim in ("sample", *dims) if dim in item.dims)).values
    return np.broadcast_to(np.asarray(ordered)[(*place, ...)], shape).reshape(samples, -1)


def _dataset(
    cube: xr.Dataset, folds: Mapping[str, NumberFold | LabelFold], states: LabelFold, percentiles: Sequence[float]
) -> xr.Dataset:
    import xarray as xr

    dims = [str(name) for name in cube.sizes if name != "sample"]
    shape = [cube.sizes[name] for name in dims]
    coords: dict[str, Any] = {name: cube[name].variable for name in dims}
    variables: dict[str, Any] = {}
    share = {"unit": "1", "long_name": "share of samples"}
    for name, fold in folds.items():
        row = dictionary()[name]
        if isinstance(fold, LabelFold):
            labels = sorted(fold.counts)
            stacked = np.stack([fold.share(label) for label in labels], axis=-1) if labels else np.zeros(0)
            coords[name] = np.array(labels, dtype=object)
            variables[f"{name}_share"] = ([*dims, name], stacked.reshape([*shape, len(labels)]), share)
            continue
        results = fold.results(percentiles)
        if row.dtype == "bool":
            results = {"share": results["mean"], "null_share": results["null_share"]}
        for kind, values in results.items():
            unit = "1" if kind.endswith("share") else row.unit
            about = {"unit": unit, "long_name": f"{row.long_name}: {_KINDS.get(kind, f'{kind[1:]}th percentile')}"}
            variables[f"{name}_{kind}"] = (dims, values.reshape(shape), about)
    infeasible = {"unit": "1", "long_name": "share of samples without a plan"}
    variables["infeasible_share"] = (dims, states.share("infeasible").reshape(shape), infeasible)
    return xr.Dataset(variables, coords)


_KINDS = {
    "mean": "mean",
    "sd": "standard deviation",
    "min": "lowest",
    "max": "highest",
    "share": "share of the samples with a value",
    "null_share": "share of samples without a value",
}


def _about(
    found: xr.Dataset, study: Study, n: int, seed: int, method: str, folds: Mapping[str, NumberFold | LabelFold]
) -> dict[str, Any]:
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


def _check_sketches(names: Sequence[str], cells: int) -> None:
    """Refuse what quantiles in bounded memory cannot do."""
    problems = []
    if cells > MAX_SKETCHES:
        said = f"{cells:,} cells with so many samples are too many for percentiles (at most {MAX_SKETCHES:,}): fix axes"
        problems.append(Problem(said, key="n"))
    if SIGNED in names:
        said = f"{SIGNED} may be negative: at most {KEPT_VALUES:,} values, samples times cells"
        problems.append(Problem(said, key="n"))
    if problems:
        raise ContractError(problems)
