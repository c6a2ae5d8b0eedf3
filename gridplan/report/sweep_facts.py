"""What a contract says of a load test: its limits, the requests it plans for, and the least that its machine can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from gridplan.contract.grid import Given, Grid, Lengths
from gridplan.engine.inputs import catalog_of
from gridplan.errors import CatalogError, ContractError, Problem
from gridplan.measured.sustained import Least, Slo

__all__ = ["Facts", "facts_of_grid", "facts_of_machine", "limits_of_grid"]

FIGURES = ("ttft", "tpot", "e2e", "itl")
PEAK = {"mbu": 1.0, "mfu": 1.0, "mbu_experts": 1.0}
_GIVEN_OF_STEP = ("step_weights_s", "prefill_per_token_s")


@dataclass(frozen=True)
class Facts:
    """Limits, least possible latencies, classes by weight and tokens, and what could not be told, in sentences."""

    slos: tuple[Slo, ...] = ()
    least: Least = field(default_factory=Least)
    output_lengths: tuple[tuple[float, float], ...] = ()
    prompt_lengths: tuple[tuple[float, float], ...] = ()
    notes: tuple[str, ...] = ()


def facts_of_machine(
    weights_bytes: float | None = None,
    bandwidth_bytes_per_s: float | None = None,
    achieved_bytes_per_s: float | None = None,
    params: float | None = None,
    peak_flops: float | None = None,
) -> Facts:
    """The least possible from figures of one GPU [bytes, bytes/s, parameters, FLOP/s].

    >>> round(facts_of_machine(15998753177.6, 2039e9, 1550e9).least.step_peak_s * 1e3, 2)
    7.85
    """
    return Facts(
        least=Least(
            step_peak_s=_over(weights_bytes, bandwidth_bytes_per_s),
            step_stated_s=_over(weights_bytes, achieved_bytes_per_s),
            prefill_peak_s=_over(None if params is None else 2.0 * params, peak_flops),
        )
    )


def _over(value: float | None, rate: float | None) -> float | None:
    return None if value is None or rate is None else value / rate


def facts_of_grid(grid: Grid, limits_wanted: bool = True) -> Facts:
    """What a contract says, in its nominal scenario.

    Of several cells the least latencies count, so that no figure is called impossible that one of them allows.

    Raises
    ------
    ContractError
        If limits are wanted and the contract has none, or has several.
    """
    notes: list[str] = []
    outputs, prompts, hits = _lengths(grid, notes)
    return Facts(
        slos=_slos(grid, notes) if limits_wanted else (),
        least=replace(_least(grid, notes), uncached_share=1.0 - hits),
        output_lengths=outputs,
        prompt_lengths=prompts,
        notes=tuple(notes),
    )


def limits_of_grid(grid: Grid) -> tuple[Slo, ...]:
    """The limits of a contract; none where it has none, or several of one."""
    try:
        return _slos(grid, [])
    except ContractError:
        return ()


def _slos(grid: Grid, notes: list[str]) -> tuple[Slo, ...]:
    found: list[Slo] = []
    problems: list[Problem] = []
    axes = {axis.name for axis in grid.axes}
    for figure in FIGURES:
        limit, percentile = f"{figure}_slo_s", f"{figure}_slo_percentile"
        several = [name for name in (limit, percentile) if name in axes or not _is_one(grid.given.get(name))]
        if several:
            problems += [Problem(f"{name} has several values: give --slo", grid.name) for name in several]
            continue
        if limit in grid.given:
            stated = grid.given.get(percentile)
            label = "mean" if stated is None else str(stated.value)
            statistic = "mean" if label == "mean" else float(label)
            found.append(Slo(figure, statistic, float(grid.given[limit].value)))  # type: ignore[arg-type]
    if "goodput_target" in axes or not _is_one(grid.given.get("goodput_target")):
        problems.append(Problem("goodput_target has several values: give --slo", grid.name))
    elif "goodput_target" in grid.given:
        found.append(Slo("goodput", None, float(grid.given["goodput_target"].value)))  # type: ignore[arg-type]
    own = [item.name for load in grid.workloads for item in load.classes if any("_slo_" in name for name in item.own)]
    if own:
        notes.append(f"limits of single classes ({', '.join(own)}) are left out: a load test is of all requests")
    if problems or not found:
        raise ContractError(problems or [Problem("the contract has no limits: give --slo", grid.name)])
    return tuple(found)


def _is_one(given: Given | None) -> bool:
    return given is None or isinstance(given.value, int | float | str)


Pairs = tuple[tuple[float, float], ...]


def _lengths(grid: Grid, notes: list[str]) -> tuple[Pairs, Pairs, float]:
    """Output and prompt tokens by weight, where they are fixed numbers; and the largest share of hits planned."""
    ratio = grid.given.get("prefix_hit_ratio")
    axis = [float(label) for item in grid.axes if item.name == "prefix_hit_ratio" for label in item.labels]
    hits = [*axis, float(ratio.value) if ratio is not None and isinstance(ratio.value, int | float) else 0.0]
    axes = {item.name for item in grid.axes}
    if len(grid.workloads) != 1 or axes & {"prompt_tokens", "output_tokens", "context_tokens", "workload"}:
        notes.append("the contract has several workloads: requests are taken as the load test states them")
        return (), (), max(hits)
    load = grid.workloads[0]
    for owner in (load.given, *(item.own for item in load.classes)):
        own = owner.get("prefix_hit_ratio")
        hits += [float(own.value)] if own is not None and isinstance(own.value, int | float) else []
    classes = [(item.weight, item.prompt_tokens, item.output_tokens) for item in load.classes]
    if not classes and _both(load.given):
        classes = [(1.0, _number(load.given, "prompt_tokens"), _number(load.given, "output_tokens"))]
    if any(isinstance(length, Lengths) for _, *both in classes for length in both):
        notes.append("lengths of the contract are random: percentiles are not held against them")
        return (), (), max(hits)
    outputs = tuple((weight, float(out)) for weight, _, out in classes)  # type: ignore[arg-type]
    return outputs, tuple((weight, float(prompt)) for weight, prompt, _ in classes), max(hits)  # type: ignore[arg-type]


def _both(given: Mapping[str, Given]) -> bool:
    return all(
        name in given and isinstance(given[name].value, int | float) for name in ("prompt_tokens", "output_tokens")
    )


def _number(given: Mapping[str, Given], name: str) -> float:
    return float(given[name].value)  # type: ignore[arg-type]


def _least(grid: Grid, notes: list[str]) -> Least:
    """Decode step and prefill token at the peak of the hardware and as the contract states them [s]."""
    stated_step = any(name in grid.given for name in _GIVEN_OF_STEP)
    at_peak = None if stated_step else _times(grid, PEAK, notes)
    as_stated = _times(grid, {}, notes)
    tokens, share = 1.0 + _largest(grid, "num_speculative_tokens"), _active_share(grid)
    if tokens > 1.0:
        notes.append(f"a step may give {tokens:g} tokens of a sequence: least times are divided by it")
    scale = share / tokens
    return Least(
        step_peak_s=None if at_peak is None else _scaled(at_peak[0], scale),
        step_stated_s=None if as_stated is None else _scaled(as_stated[0], scale),
        prefill_peak_s=None if at_peak is None else at_peak[1],
        prefill_stated_s=None if as_stated is None else as_stated[1],
    )


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _times(grid: Grid, stated: Mapping[str, float], notes: list[str]) -> tuple[float | None, float | None] | None:
    from gridplan.engine.evaluate import evaluate

    extra = {name: Given(value, "policy", "peak of the hardware") for name, value in stated.items()}
    axes = tuple(axis for axis in grid.axes if axis.name not in extra)
    nominal = replace(grid, scenarios=(), axes=axes, given={**grid.given, **extra})
    try:
        cube = evaluate(nominal, ["step_weights_read_s", "prefill_compute_per_token_s"])
    except (ContractError, CatalogError) as error:
        said = f"the least possible latencies are not known: {error.problems[0].message}"
        if said not in notes:
            notes.append(said)
        return None
    return _smallest(cube["step_weights_read_s"].values), _smallest(cube["prefill_compute_per_token_s"].values)


def _smallest(values: object) -> float | None:
    known = np.asarray(values, dtype=np.float64).ravel()
    known = known[np.isfinite(known) & (known > 0)]
    return float(known.min()) if known.size else None


def _largest(grid: Grid, name: str) -> float:
    given = grid.given.get(name)
    labels = [float(label) for axis in grid.axes if axis.name == name for label in axis.labels]
    stated = [float(given.value)] if given is not None and isinstance(given.value, int | float) else []
    return max([0.0, *labels, *stated])


def _active_share(grid: Grid) -> float:
    """Least share of the parameters that one token of any model in the contract multiplies."""
    catalog = catalog_of(grid)
    given = grid.given.get("model")
    names = [str(label) for axis in grid.axes if axis.name == "model" for label in axis.labels]
    names += [str(given.value)] if given is not None and isinstance(given.value, str) else []
    shares = []
    for name in names:
        model = catalog.model(name)
        if model.params_active and model.params_total:
            shares.append(min(1.0, model.params_active / model.params_total))
    return min(shares, default=1.0)
