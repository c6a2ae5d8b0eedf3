"""Headroom that is paid for twice: what a plan below the rate at the limits covers already, said with its numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridplan.chain.graph import Array
from gridplan.contract.margins import MARGINS
from gridplan.engine.bundle import Inputs
from gridplan.engine.field import Field
from gridplan.engine.purchase import OF_PRICES, price_warnings
from gridplan.engine.routing import routing_warnings

__all__ = ["COUNTED_TWICE", "OF_CELLS", "cell_warnings", "headroom_warnings"]

COUNTED_TWICE = "headroom_counted_twice"
"""Begins every sentence of this module."""

OF_CELLS = (COUNTED_TWICE, "routing_credit ", "routing ", OF_PRICES)
"""Beginnings of the warnings that hold for some cells of a cube and not for others."""


def cell_warnings(inputs: Inputs) -> tuple[str, ...]:
    """Warnings that depend on the cell: of a whole cube, or of the one cell that `inputs` were cut down to."""
    return (*headroom_warnings(inputs.values, inputs.labels), *routing_warnings(inputs), *price_warnings(inputs))


def headroom_warnings(values: Mapping[str, Field], labels: Mapping[str, Field]) -> list[str]:
    """One sentence for each kind of headroom that some cell pays for twice."""
    margins = {name: values[name].data for name in MARGINS}
    model = labels["capacity_model"].data
    sampled = ((model == "queueing") & (values["any_percentile"].data == 1), _measured(values, labels))
    percentile = sampled[0] | sampled[1]
    said = (
        _unnamed(values["rho_target"].data, margins, percentile, sampled),
        _statistic(margins["margin_statistic"], percentile, sampled),
        _spares(margins["margin_failure"], values["redundancy"].data),
        _cold_start(margins["margin_cold_start"], values["rho_target"].data),
    )
    return [f"{COUNTED_TWICE}: {sentence}" for sentence in said if sentence]


def _measured(values: Mapping[str, Field], labels: Mapping[str, Field]) -> Array:
    """Where lambda_basis is percentile_measured: a measured rate, here or carried here, under some limit."""
    carried = (values["measured_here"].data == 1) | ~np.isnan(values["lambda_anchor"].data)
    return np.asarray((labels["capacity_model"].data == "measured") & carried & (values["any_slo"].data == 1))


def _unnamed(rho: Array, margins: Mapping[str, Array], percentile: Array, sampled: tuple[Array, Array]) -> str:
    named = np.any(np.broadcast_arrays(*(margin < 1.0 for margin in margins.values())), axis=0)
    twice = percentile & (rho < 1.0) & ~named
    if not twice.any():
        return ""
    return (
        f"rho_target {_span(rho, twice)} on lambda_basis {_basis(sampled, twice)}, a rate at which limits hold under "
        "arrivals as they come: variability is inside it. Say what rho_target still pays for by margin_forecast, "
        "margin_skew or margin_model_error, whose product it is, or set rho_target: 1"
    )


def _statistic(margin: Array, percentile: Array, sampled: tuple[Array, Array]) -> str:
    twice = percentile & (margin < 1.0)
    if not twice.any():
        return ""
    return (
        f"margin_statistic {_span(margin, twice)} on lambda_basis {_basis(sampled, twice)}: the step from means to "
        "percentiles is inside that rate. Leave margin_statistic out"
    )


def _spares(margin: Array, redundancy: Array) -> str:
    twice = (margin < 1.0) & (redundancy > 0)
    if not twice.any():
        return ""
    return (
        f"margin_failure {_span(margin, twice)} beside redundancy {_span(redundancy, twice)}: spares replace what "
        "fails, and the margin keeps room for the same load. Leave margin_failure out, or set redundancy: 0"
    )


def _cold_start(margin: Array, rho: Array) -> str:
    rest = rho / margin
    twice = (margin < 1.0) & (rest < 1.0 - 1e-9)
    if not twice.any():
        return ""
    return (
        f"margin_cold_start {_span(margin, twice)} on a rate that the other margins hold at {_span(rest, twice)} of "
        "lambda_instance already (lambda_safe): their room takes load that arrives while a replica starts. Leave "
        "margin_cold_start out; where the rise is known, add rise x start time [req/s] to arrival_rate instead"
    )


def _basis(sampled: tuple[Array, Array], cells: Array) -> str:
    names = ("percentile_model", "percentile_measured")
    return " and ".join(name for name, where in zip(names, sampled, strict=True) if np.any(where & cells))


def _span(values: Array, cells: Array) -> str:
    """The value of those cells, or its range."""
    chosen = np.broadcast_to(values, np.broadcast_shapes(values.shape, cells.shape))[
        np.broadcast_to(cells, np.broadcast_shapes(values.shape, cells.shape))
    ]
    least, most = float(chosen.min()), float(chosen.max())
    return f"{least:.6g}" if least == most else f"{least:.6g} to {most:.6g}"
