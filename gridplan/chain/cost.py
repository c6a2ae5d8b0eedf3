"""The bill and its honest denominators: prices per token are at average load, never at the peak."""

from __future__ import annotations

import numpy as np

from gridplan.chain.graph import Array, spread
from gridplan.chain.memory import first_given

__all__ = [
    "nodes_unrounded",
    "usd_per_day",
    "usd_per_gpu_hour_used",
    "usd_per_hour",
    "usd_per_month_unrounded",
    "usd_per_mtok",
    "usd_per_mtok_decode_full",
    "usd_per_mtok_full",
    "usd_per_mtok_output_unrounded",
]


def usd_per_hour(
    nodes: Array,
    usd_per_node_hour: Array,
    gpus: Array,
    usd_per_gpu_hour: Array,
    nodes_given: Array,
    gpus_per_node: Array,
) -> Array:
    """Bill of an hour [USD/h]: whole nodes where nodes are rented, else GPUs; all GPUs of nodes already bought."""
    # Which bill applies, and whether nodes were bought, is known without looking at each cell.
    rented = ~np.isnan(usd_per_node_hour * gpus_per_node)
    by_nodes = nodes * usd_per_node_hour
    if np.all(rented):
        return spread(by_nodes, gpus, usd_per_gpu_hour)
    bought = nodes_given * gpus_per_node
    absent = np.isnan(bought)
    counted = gpus if np.all(absent) else np.where(absent, gpus, np.where(np.isnan(gpus), np.nan, bought))
    by_gpus = counted * usd_per_gpu_hour
    return np.where(rented, by_nodes, by_gpus) if np.any(rented) else spread(by_gpus, by_nodes)


def usd_per_gpu_hour_used(usd_per_gpu_hour: Array, usd_per_node_hour: Array, gpus_per_node: Array) -> Array:
    """Price of one GPU-hour in this plan [USD/h]."""
    return first_given(usd_per_node_hour / gpus_per_node, usd_per_gpu_hour)


def usd_per_mtok(usd_per_request: Array, tokens_mean: Array) -> Array:
    """Price of a million tokens [USD/Mtok] of which a request has `tokens_mean`."""
    return usd_per_request * (1e6 / tokens_mean)


def usd_per_mtok_full(usd_per_gpu_hour_used: Array, gpus_per_replica: Array, seconds_per_token: Array) -> Array:
    """Price of a million tokens on one replica that does nothing else [USD/Mtok]."""
    return usd_per_gpu_hour_used * gpus_per_replica * seconds_per_token / 3600 * 1e6


def usd_per_day(usd_per_hour: Array) -> Array:
    """Bill of a day [USD/day]."""
    return usd_per_hour * 24.0


def usd_per_mtok_decode_full(
    usd_per_gpu_hour_used: Array, gpus_per_replica: Array, decode_step_s: Array, decode_batch_quoted: Array
) -> Array:
    """Price of a million output tokens on one replica that only decodes the quoted batch [USD/Mtok]."""
    return usd_per_mtok_full(usd_per_gpu_hour_used, gpus_per_replica, decode_step_s / decode_batch_quoted)


def nodes_unrounded(replicas_fractional: Array, gpus_per_replica: Array, gpus_per_node: Array) -> Array:
    """Nodes that the fractional replicas would fill [nodes]: no spares, nothing rounded up."""
    return replicas_fractional * gpus_per_replica / gpus_per_node


def usd_per_month_unrounded(
    replicas_fractional: Array, gpus_per_replica: Array, usd_per_gpu_hour_used: Array, hours_per_month: Array
) -> Array:
    """Bill of a month if fractions of replicas could be bought [USD/month]: no spares, nothing rounded up."""
    return replicas_fractional * gpus_per_replica * usd_per_gpu_hour_used * hours_per_month


def usd_per_mtok_output_unrounded(usd_per_month_unrounded: Array, output_tokens_per_month: Array) -> Array:
    """The same for a million output tokens [USD/Mtok]."""
    return usd_per_month_unrounded * 1e6 / output_tokens_per_month
