"""What a measured rate belongs to: `applies_to`, `measured_at` and `fallback` of the capacity section."""

from __future__ import annotations

from gridplan.contract.faults import unknown_input
from gridplan.contract.grid import Measured, Scalar
from gridplan.contract.models import Capacity, section_inputs
from gridplan.contract.values import Reader
from gridplan.contract.yaml import KeyPath
from gridplan.errors import suggestion

__all__ = ["SETTINGS", "read_measured"]

SETTINGS = (
    *("gpu", "model", "engine", "weight_dtype", "kv_dtype", "tensor_parallel", "pipeline_parallel", "data_parallel"),
    *("classes", "prefix_hit_ratio", "scheduler", "slo"),
)
"""The settings that a measurement belongs to; `classes`, `scheduler` and `slo` stand for several inputs each."""

_SEVERAL = {
    "classes": "workload, prompt_tokens, output_tokens or context_tokens",
    "scheduler": "max_num_seqs or max_num_batched_tokens",
    "slo": "ttft_slo_s, tpot_slo_s, e2e_slo_s or itl_slo_s",
}


def read_measured(reader: Reader, capacity: Capacity) -> Measured:
    """The checked statement; settings that are wrong are left out."""
    applies_to = frozenset({"any"})
    if capacity.applies_to != "any":
        applies_to = frozenset(capacity.applies_to)
        for name in capacity.applies_to:
            if name not in SETTINGS and name not in section_inputs():
                hint = suggestion(name, [*SETTINGS, *section_inputs()])
                path: KeyPath = ("capacity", "applies_to", name)
                reader.problems.add(path, f"unknown setting{hint}; settings: {', '.join(SETTINGS)}", at_key=True)
    stated = capacity.measured_at.items()
    at = {name: _setting(reader, name, raw, ("capacity", "measured_at", name)) for name, raw in stated}
    place = reader.problems.place(("capacity",), at_key=True)
    return Measured(
        {name: value for name, value in at.items() if value is not None}, applies_to, capacity.fallback, place
    )


def _setting(reader: Reader, name: str, raw: Scalar, path: KeyPath) -> Scalar | None:
    if name in _SEVERAL:
        reader.problems.add(path, f"stands for several inputs; name them: {_SEVERAL[name]}", at_key=True)
    elif name == "workload":
        if raw in reader.workloads:
            return raw
        reader.problems.add(path, f"unknown workload {raw}{suggestion(str(raw), reader.workloads)}")
    elif name not in section_inputs():
        reader.problems.add(path, unknown_input(name), at_key=True)
    else:
        return reader.scalar(name, raw, path)
    return None
