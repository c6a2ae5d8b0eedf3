"""The price of a GPU when a plan names no instance: the lowest on-demand list price that can hold a replica."""

from __future__ import annotations

from fractions import Fraction

from gridplan.catalog.book import Catalog
from gridplan.catalog.entries import Instance

__all__ = ["cheapest_list_instance", "holds_replica"]


def holds_replica(instance: Instance, tp: int, pp: int) -> bool:
    """Whether nodes of this shape hold replicas of tp x pp GPUs without a tensor-parallel group leaving its fabric.

    Only pipeline stages and whole replicas may cross hosts, so eight one-GPU rentals are no TP8 node; four-GPU trays of
    one 72-GPU fabric are. The node's GPUs are a multiple of a replica's, or divide them.
    """
    width = tp * pp
    fits = instance.gpus_per_node % width == 0 or width % instance.gpus_per_node == 0
    return fits and tp <= instance.scale_up_gpus


def cheapest_list_instance(
    catalog: Catalog, gpu_id: str, tp: int = 1, pp: int = 1, gpus_per_node: int | None = None
) -> Instance | None:
    """The instance with the lowest on-demand USD per GPU-hour for a replica of tp x pp GPUs; None when there is none.

    `gpus_per_node`, where given, is the only node size considered. Only `price_kind` list counts: historic prices,
    marketplaces and ranges are never chosen by default. Prices are compared exactly, and equal ones are decided by id.

    >>> from gridplan.catalog import load_catalog
    >>> cheapest_list_instance(load_catalog(), "h100-sxm", tp=8, pp=1).id
    'lambda-gpu-8x-h100-sxm'
    """
    fitting = [
        (Fraction(str(instance.usd_per_node_hour)) / instance.gpus_per_node, instance.id)
        for instance in catalog.instances.values()
        if instance.gpu == gpu_id
        and instance.price_kind == "list"
        and instance.usd_per_node_hour is not None
        and gpus_per_node in (None, instance.gpus_per_node)
        and holds_replica(instance, tp, pp)
    ]
    return catalog.instances[min(fitting)[1]] if fitting else None
