"""Columns of a stress table: differences against the nominal plan, and what each column says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridplan.dictionary import dictionary

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["COMPARED", "described", "with_deltas"]

COMPARED = (
    *("lambda_safe", "replicas_active", "replicas", "nodes", "gpus_deployed", "usd_per_month"),
    "usd_per_mtok_output",
)
"""Columns that are compared with the nominal plan."""

_OWN = {
    "arrival_rate_in_scenario": ("req/s", "float64", "peak arrival rate of the scenario"),
    "bought_replicas": ("count", "int64", "replicas of the fleet as bought"),
    "bought_replicas_left": ("count", "int64", "replicas of it that the scenario leaves"),
    "bought_arrival_rate_safe": ("req/s", "float64", "rate they carry with the headroom kept"),
    "bought_arrival_rate_slo": ("req/s", "float64", "rate they carry within limits"),
    "bought_utilization": ("1", "float64", "peak over replicas left * lambda_instance"),
    "bought_utilization_safe": ("1", "float64", "peak over replicas left * lambda_safe"),
    "bought_headroom_kept": ("bool", "bool", "the planned headroom is kept"),
    "bought_slo_held": ("bool", "bool", "latency limits hold"),
    "bought_breaks": ("label", "string", "what gives way first: replica, limits, headroom or nothing"),
    "bought_note": ("label", "string", "why the fleet as bought has no answer"),
    "rate_note": ("label", "string", "what to know of lambda_instance"),
}


def with_deltas(table: xr.Dataset) -> xr.Dataset:
    """The table with `<name>_delta` and `<name>_delta_pct` [%] against the nominal plan of the same cell."""
    nominal = table.sel(scenario="nominal", drop=True)
    found = {}
    for name in COMPARED:
        change = table[name] - nominal[name]
        found[f"{name}_delta"] = change
        found[f"{name}_delta_pct"] = 100.0 * change / nominal[name].where(nominal[name] > 0)
    return table.assign({name: item.transpose(*table[COMPARED[0]].dims) for name, item in found.items()})


def described(table: xr.Dataset) -> xr.Dataset:
    """Every column with unit and long name; whole numbers and flags say so in `dtype`."""
    for name in map(str, table.data_vars):
        base = name.removesuffix("_pct").removesuffix("_delta")
        if name in _OWN:
            unit, dtype, said = _OWN[name]
            attrs = {"unit": unit, "long_name": said, "dtype": dtype}
        else:
            row = dictionary()[base]
            attrs = {"unit": row.unit, "long_name": row.long_name, "dtype": row.dtype}
        if name.endswith("_pct"):
            attrs = {"unit": "%", "long_name": f"{attrs['long_name']}, change against nominal", "dtype": "float64"}
        elif base != name:
            attrs["long_name"] += ", less that of nominal"
        if attrs["dtype"] not in ("int64", "bool"):
            del attrs["dtype"]
        table[name].attrs = attrs
    return table
