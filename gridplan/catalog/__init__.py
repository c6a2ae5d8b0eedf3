"""The catalog: accelerators, models, rentable shapes, engines and number formats, all with source, date and class.

>>> from gridplan.catalog import load_catalog
>>> load_catalog().gpu("h100-sxm").memory_bandwidth_bytes_per_s
3350000000000.0
"""

from __future__ import annotations

from gridplan.catalog.book import Catalog, load_catalog
from gridplan.catalog.entries import ActivationFamily, Dtype, Engine, Entry, Gpu, Instance, Model, as_dict
from gridplan.catalog.legality import compute_flops, dtype_problem, planning_problem, tensor_parallel_problem
from gridplan.catalog.pricing import cheapest_list_instance
from gridplan.catalog.select import select_gpus, select_instances, select_models

__all__ = [
    "ActivationFamily",
    "Catalog",
    "Dtype",
    "Engine",
    "Entry",
    "Gpu",
    "Instance",
    "Model",
    "as_dict",
    "cheapest_list_instance",
    "compute_flops",
    "dtype_problem",
    "load_catalog",
    "planning_problem",
    "select_gpus",
    "select_instances",
    "select_models",
    "tensor_parallel_problem",
]
