"""Pools and pairs as aligned text: one table for the fleet, one for what each label takes, one for the zones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gridplan.report.aligned import aligned, are_numbers
from gridplan.report.solution import rows_of

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["SHOWN_ROWS", "data_of", "flat", "pair_page", "pool_page"]

SHOWN_ROWS = 60
"""Rows of a table that are printed (policy); the others are counted, and written by -o."""

_TITLES = {
    "pool_nodes": "nodes",
    "pool_nodes_bound": "bound",
    "pool_gap": "gap",
    "pool_nodes_separate": "separate",
    "pool_gpus": "GPUs",
    "pool_gpus_stranded": "stranded",
    "pool_usd_per_hour": "USD/h",
    "pool_usd_per_hour_separate": "USD/h separate",
    "pool_infeasible_label": "no plan for",
    "pool_infeasible_reason": "because",
    "infeasible_reason": "because",
    "gpus_per_replica": "GPUs each",
    "pool_label_nodes_separate": "nodes alone",
    "pool_label_share": "share of bill",
    "pool_label_replicas_left": "left after loss",
    "pool_label_headroom_kept": "headroom kept",
    "pool_label_slo_held": "limits hold",
    "pool_zone_nodes": "nodes",
    "pool_zone_replicas": "replicas",
    "pair_instance_1": "kind",
    "pair_nodes_1": "nodes",
    "pair_replicas_1": "replicas",
    "pair_instance_2": "second kind",
    "pair_nodes_2": "its nodes",
    "pair_replicas_2": "its replicas",
    "pair_request_share_1": "requests to the first",
    "pair_usd_per_hour": "USD/h",
    "pair_single_instance": "cheapest alone",
    "pair_single_nodes": "its nodes alone",
    "pair_single_usd_per_hour": "USD/h alone",
    "pair_saving_usd_per_hour": "saved USD/h",
    "pair_left_out": "left out",
}
"""Heads of printed columns; others are printed under their names."""

_AFTER_LOSS = ("pool_label_replicas_left", "pool_label_headroom_kept", "pool_label_slo_held")

_OF_LABEL = (
    *("replicas", "gpus_per_replica", "pool_label_nodes_separate", "pool_label_share", *_AFTER_LOSS),
    "infeasible_reason",
)


def pool_page(found: xr.Dataset) -> str:
    """The tables of a pool."""
    over, lost = found.attrs["pool_over"], found.attrs["lost_nodes"]
    of_pool = [name for name in found.data_vars if str(name).startswith("pool_") and "label_" not in str(name)[:11]]
    of_pool = [name for name in of_pool if "zone" not in found[name].dims]
    zones = [name for name in ("pool_zone_nodes", "pool_zone_replicas") if name in found]
    parts = [
        f"the services along {over} on one fleet of equal nodes{_at(found)}",
        *_table(found[of_pool], of_pool),
        "",
        f"what each takes, and what is left of it after the loss of the {_nodes(lost)} most of it",
        *_table(found[list(_OF_LABEL)], _OF_LABEL, said=False),
    ]
    if zones:
        after = [f"{name}_zone" for name in _AFTER_LOSS]
        parts += ["", "what stands in each zone", *_table(found[zones], zones, said=False)]
        parts += ["", "what is left of each after the loss of the zone that holds most of it"]
        parts += _table(found[after], after, said=False)
    return "\n".join(parts)


def pair_page(found: xr.Dataset) -> str:
    """The table of a pair."""
    table = flat(found)
    names = list(table.data_vars)
    return "\n".join([f"the cheapest fleet of one or two kinds of nodes{_at(found)}", *_table(table, names)])


def flat(found: xr.Dataset) -> xr.Dataset:
    """What goes into rows: of a pair one row a fleet, in which `pair_left_out` names the kinds left out."""
    if "pair_left_out_reason" not in found:
        return found
    return found.drop_vars([name for name in found.variables if "instance" in found[name].dims])


def _nodes(number: int) -> str:
    return "node that holds" if number == 1 else f"{number} nodes that hold"


def _at(found: xr.Dataset) -> str:
    return f", at {found.attrs['at']}" if "at" in found.attrs else ""


def _table(part: xr.Dataset, figures: Sequence[Any], said: bool = True) -> list[str]:
    """Rows of some figures, without those that nobody has; labels that are the same in all rows are said above."""
    rows = rows_of(part)
    values = {name: [row[name] for row in rows] for name in rows[0]}
    own = set(map(str, figures))
    alike = {name: items[0] for name, items in values.items() if name not in own and len(set(items)) == 1}
    kept = [
        name
        for name, items in values.items()
        if name not in alike and (name not in own or any(item is not None for item in items))
    ]
    lines = ["at " + ", ".join(f"{name}={_shown(item)}" for name, item in alike.items())] if alike and said else []
    columns = [
        [_TITLES.get(name.removesuffix("_zone"), name), *map(_shown, values[name][:SHOWN_ROWS])] for name in kept
    ]
    lines += aligned(columns, [are_numbers(values[name]) for name in kept])
    if len(rows) > SHOWN_ROWS:
        lines.append(f"... {len(rows) - SHOWN_ROWS:,} more rows: fix an axis with --at, or write them with -o")
    return lines


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def data_of(found: xr.Dataset) -> Mapping[str, Any]:
    """The answer for JSON: what it is about, warnings as a list, one row per combination of all dimensions."""
    about = {str(name): value for name, value in found.attrs.items() if name != "warnings"}
    return {**about, "warnings": str(found.attrs.get("warnings", "")).splitlines(), "rows": rows_of(flat(found))}
