"""The load over the hours of a month: stated hour by hour, or by a peak-to-average ratio and a floor."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridplan.engine.field import Field
from gridplan.engine.resolve import Origin, Resolver

__all__ = ["check_load", "load_values"]

RATIO_SLACK = 1e-6
"""Relative distance by which a stated peak-to-average ratio may miss that of the hours (policy: six digits)."""


def load_values(resolver: Resolver) -> dict[str, Field]:
    """`hourly_load` with the hours last, NaN where none are stated, and `peak_to_average`, which follows from them."""
    workloads = resolver.grid.workloads
    several = "workload" in resolver.space.labels
    width = max(1, *(len(workload.hourly_load) for workload in workloads))
    hours = np.full((len(workloads), width), np.nan)
    for row, workload in zip(hours, workloads, strict=True):
        row[: len(workload.hourly_load)] = workload.hourly_load
    varies = several and bool(~np.isnan(hours).all())
    shape = [len(workloads) if varies and name == "workload" else 1 for name in resolver.space.names]
    dims = frozenset({"workload"}) if varies else frozenset[str]()
    if np.isnan(hours).all():
        none = Field(np.full((*shape, width), np.nan), dims)
        return {"hourly_load": none, "peak_to_average": resolver.resolve("peak_to_average")}
    found = Field(hours.reshape(*shape, width), dims)
    stated = ~np.isnan(hours[:, 0])
    ratios = [1.0 / np.nanmean(row) if known else np.nan for row, known in zip(hours, stated, strict=True)]
    ratio = Field(np.reshape(ratios, shape), dims)
    of_hours = Origin("assumption", "max / mean of hourly_load")
    resolved = resolver.resolve("peak_to_average", ratio, lambda _: of_hours)
    stated_origin = resolver.origins["peak_to_average"]

    def origin(index: Mapping[str, int]) -> Origin:
        found = stated_origin(index)
        return of_hours if found.provider == "none" else found  # another workload states the ratio itself

    resolver.origins["peak_to_average"] = origin
    _check_ratio(resolver, resolved, ratio)
    return {"hourly_load": found, "peak_to_average": resolved}


def _check_ratio(resolver: Resolver, resolved: Field, ratio: Field) -> None:
    """A ratio beside the hours must be theirs."""
    stated, of_hours = np.broadcast_arrays(resolved.data, ratio.data)
    apart = np.abs(stated - of_hours) > RATIO_SLACK * of_hours
    if apart.any():
        worst = tuple(np.argwhere(apart)[0])
        resolver.problem(
            f"peak_to_average {stated[worst]:g} contradicts hourly_load, whose highest hour is {of_hours[worst]:.9g} "
            "times the mean one: leave it out",
            "peak_to_average",
        )


def check_load(resolver: Resolver, values: Mapping[str, Field]) -> None:
    """Note a floor that the mean load does not leave room for, or that stands beside the hours themselves."""
    by_hours = ~np.isnan(values["hourly_load"].data[..., 0])
    stated = ~np.isnan(resolver.peek("load_floor").data) | (values["load_floor"].data > 0)  # a scenario may add to it
    if (by_hours & stated).any():
        place = next(workload.hourly_place for workload in resolver.grid.workloads if workload.hourly_load)
        resolver.problem("hourly_load states the quietest hour, too: load_floor cannot stand beside it", "", place)
    floor, ratio = values["load_floor"].data, values["peak_to_average"].data
    with np.errstate(invalid="ignore"):
        high = ~by_hours & (ratio > 1) & (floor >= 1 / ratio)
    if high.any():
        worst = tuple(np.argwhere(high)[0])
        floor, ratio = (np.broadcast_to(item, high.shape)[worst] for item in (floor, ratio))
        resolver.problem(
            f"load_floor {floor:g} is not below the mean load, which is 1/{ratio:g} = {1 / ratio:.4g} of the peak",
            "load_floor",
        )
