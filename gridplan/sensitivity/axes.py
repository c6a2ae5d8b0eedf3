"""Which axes of a cube are chosen along, and which stay: the split that every question of choice starts with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from gridplan.errors import ContractError, Problem, suggestion
from gridplan.sensitivity.roles import levers as levers_of

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["FREE_LEVERS", "SPARES", "axes_of", "free_levers", "named", "split_axes"]

FREE_LEVERS = frozenset(
    {"model", "rho_target", "goodput_target", "capacity_model", "resident_context", "step_context", "hours_per_month"}
    | {"failure_policy", "redundancy", "redundancy_basis", "failure_domain", "availability_target"}
    | {"maintenance_units", "maintenance_domain", "routing", "gpu_memory_utilization", "reserve_bytes"}
)
"""Levers that are a promise or a convention: free to choose, the cheapest plan is that which promises least (policy).
Limits and margins are such levers too."""

SPARES = frozenset(
    {"failure_policy", "redundancy", "redundancy_basis", "failure_domain", "availability_target"}
    | {"maintenance_units", "maintenance_domain"}
)
"""Those that what a plan survives takes care of."""


def axes_of(cube: xr.Dataset) -> tuple[str, ...]:
    """The dimensions of a cube in declared order."""
    first = [str(name) for name in cube.coords if name in cube.sizes]
    return (*first, *(str(name) for name in cube.sizes if name not in first))


def named(names: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """One name, several separated by commas, or a sequence of names, as a tuple."""
    if names is None:
        return None
    return tuple(item.strip() for item in names.split(",") if item.strip()) if isinstance(names, str) else tuple(names)


def split_axes(
    sizes: Mapping[str, int], by: str | Iterable[str] | None, levers: str | Iterable[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The axes that stay and those that are chosen along, each in declared order; `sizes` has all axes.

    Without `by` all stay that are no levers; without `levers` those of class policy that do not stay are chosen. An
    axis with one label never is left over.

    Raises
    ------
    ContractError
        For an unknown axis, one that is both, and one that is neither: nobody chooses what happens.

    >>> split_axes({"gpu": 3, "arrival_rate": 9, "kv_dtype": 2}, None, None)
    (('arrival_rate',), ('gpu', 'kv_dtype'))
    """
    stay, chosen = named(by), named(levers)
    problems = [
        Problem(f"{name} is not an axis of this cube{suggestion(name, sizes)}", key=key)
        for key, names in (("by", stay or ()), ("levers", chosen or ()))
        for name in names
        if name not in sizes
    ]
    problems += [Problem(f"{name} is in levers too", key="by") for name in stay or () if name in (chosen or ())]
    if chosen is None:
        chosen = tuple(name for name in levers_of(sizes) if name not in (stay or ()))
    if stay is None:
        stay = tuple(name for name in sizes if name not in chosen)
    over = [name for name in sizes if name not in (*stay, *chosen)]
    problems += [
        Problem(f"{name} is not chosen, it happens: add it to by, fix it with at, or name it in levers", key="by")
        for name in over
        if sizes[name] > 1
    ]
    if problems:
        raise ContractError(problems)
    stay = (*stay, *over)
    return tuple(name for name in sizes if name in stay), tuple(name for name in sizes if name in chosen)


def free_levers(sizes: Mapping[str, int], chosen: Sequence[str], tied: Iterable[str], survives: bool) -> list[str]:
    """Axes chosen along that are a promise or a convention, and that no constraint of `tied` names."""
    return [
        name
        for name in chosen
        if sizes[name] > 1
        and name not in set(tied)
        and (name in FREE_LEVERS or "_slo_" in name or name.startswith("margin_"))
        and not (survives and name in SPARES)
    ]
