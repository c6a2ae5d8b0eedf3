"""What an entry lacks for a plan: values that a contract must state then, or the cells that need them have no plan."""

from __future__ import annotations

from gridplan.catalog.entries import Engine, Entry, Gpu, Instance, Model

__all__ = ["missing_for_plan"]

_ENGINE = ("activation_rule", "non_torch_gib_tp1", "non_torch_gib_tp2plus", "cuda_graphs_in_budget")
_SCHEDULER = (
    *("max_num_seqs_large_gpu", "max_num_seqs_else"),
    *("max_num_batched_tokens_large_gpu", "max_num_batched_tokens_else"),
)
"""Limits from which an engine sizes the run that it profiles its activations with."""


def missing_for_plan(entry: Entry) -> tuple[str, ...]:
    """Fields that a plan reads of an entry and that it does not know; empty where it is complete.

    >>> from gridplan.catalog import load_catalog
    >>> missing_for_plan(load_catalog().gpu("h100-sxm")), missing_for_plan(load_catalog().gpu("mi325x"))
    ((), ('memory_bytes',))
    """
    names: tuple[str, ...] = ()
    if isinstance(entry, Gpu):
        names = ("memory_bytes", "memory_bandwidth_bytes_per_s", "flops")
    elif isinstance(entry, Model):
        # The bytes of a checkpoint say what is stored, and no count of parameters is needed for that.
        weights = () if entry.checkpoint_bytes else ("params_total",)
        names = (*weights, "params_active", "layer_groups")
    elif isinstance(entry, Instance):
        names = ("usd_per_node_hour",)
    elif isinstance(entry, Engine):
        graphs = ("cuda_graphs_gib",) if entry.cuda_graphs_in_budget else ()
        profiled = (entry.activation_rule or "").startswith("sampler_forward")
        names = (*_ENGINE, *graphs, *(_SCHEDULER if profiled else ()))
    return tuple(name for name in names if getattr(entry, name) in (None, "", (), {}))
