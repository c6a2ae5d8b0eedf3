"""The catalog: accelerators, models, rentable shapes, engines and number formats, all with source, date and class.

>>> from gridplan.catalog import load_catalog
>>> load_catalog().gpu("h100-sxm").memory_bandwidth_bytes_per_s
3350000000000.0
"""

from __future__ import annotations

from gridplan.catalog.book import Catalog, load_catalog
from gridplan.catalog.entries import (
    ActivationFamily,
    Dtype,
    Engine,
    Entry,
    Gpu,
    Instance,
    LayerGroup,
    MemoryTerm,
    Model,
    StepConstant,
    as_dict,
)
from gridplan.catalog.layers import groups_text
from gridplan.catalog.legality import compute_flops, dtype_problem
from gridplan.catalog.names import find_model
from gridplan.catalog.parallelism import (
    context_parallel_problem,
    data_parallel_problem,
    expert_parallel_problem,
    pipeline_parallel_problem,
    tensor_parallel_problem,
)
from gridplan.catalog.parts import kv_projection_params, router_params
from gridplan.catalog.pricing import cheapest_list_instance
from gridplan.catalog.select import select_gpus, select_instances, select_models
from gridplan.catalog.step_constants import ENDS, STEP_CONSTANTS

__all__ = [
    "ENDS",
    "STEP_CONSTANTS",
    "ActivationFamily",
    "Catalog",
    "Dtype",
    "Engine",
    "Entry",
    "Gpu",
    "Instance",
    "LayerGroup",
    "MemoryTerm",
    "Model",
    "StepConstant",
    "as_dict",
    "cheapest_list_instance",
    "compute_flops",
    "context_parallel_problem",
    "data_parallel_problem",
    "dtype_problem",
    "expert_parallel_problem",
    "find_model",
    "groups_text",
    "kv_projection_params",
    "load_catalog",
    "pipeline_parallel_problem",
    "router_params",
    "select_gpus",
    "select_instances",
    "select_models",
    "tensor_parallel_problem",
]
