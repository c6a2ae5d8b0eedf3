"""Axes: lists, even and geometric rows, selections of the catalog; labels once each and of one kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridplan.contract import loads_grid
from gridplan.errors import ContractError

HEAD = "schema: 1\nworkload: {arrival_rate: 10}\npolicy: {rho_target: 0.7}\n"


def labels(name: str, form: str) -> list[float | str]:
    """The labels of an axis written as `form`."""
    head = HEAD.replace("policy: {rho_target: 0.7}", "policy: {}") if name == "rho_target" else HEAD
    head = head.replace("arrival_rate: 10", "") if name == "arrival_rate" else head
    axis = loads_grid(f"{head}axes:\n  {name}: {form}\n").axis(name)
    assert axis is not None
    return list(axis.labels)


def problem(form: str, name: str = "tensor_parallel") -> tuple[int | None, str | None, str]:
    """Line, key and message of the one problem of an axis; it stands on line 5."""
    with pytest.raises(ContractError) as caught:
        loads_grid(f"{HEAD}axes:\n  {name}: {form}\n")
    (found,) = caught.value.problems
    return found.line, found.key, found.message


@pytest.mark.parametrize(
    ("name", "form", "expected"),
    [
        ("kv_dtype", "[bf16, fp8, int8]", ["bf16", "fp8", "int8"]),
        ("context_tokens", "[2048, 8k tokens, 64Ki tokens]", [2048.0, 8000.0, 65536.0]),
        ("tpot_slo_s", "[25 ms, 0.05]", [0.025, 0.05]),
        ("rho_target", "{linspace: [0.5, 0.9, 5]}", [0.5, 0.6, 0.7, 0.8, 0.9]),
        ("rho_target", "{arange: [0.5, 0.95, 0.05]}", [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]),
        ("rho_target", "{arange: [0.5, 0.94, 0.1]}", [0.5, 0.6, 0.7, 0.8, 0.9]),
        ("rho_target", "{arange: [90%, 50%, -0.2]}", [0.9, 0.7, 0.5]),
        ("arrival_rate", "{geomspace: [0.1, 100, 4]}", [0.1, 1.0, 10.0, 100.0]),
        ("arrival_rate", "{geomspace: [3, 300 req/s, 3]}", [3.0, 30.0, 300.0]),
        (
            "context_tokens",
            "{geomspace: [2Ki tokens, 64Ki tokens, 6]}",
            [2048.0, 4096.0, 8192.0, 16384.0, 32768.0, 65536.0],
        ),
        ("tensor_parallel", "{arange: [1, 8, 1]}", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]),
        ("ttft_slo_percentile", "[mean, 95, 99.9]", ["mean", "95", "99.9"]),
        ("kv_efficiency", "[0.1, 0.30000000000000004]", [0.1, 0.3]),
        ("kv_efficiency", "[0.333333333333333333]", [0.333333333333]),
    ],
)
def test_forms(name: str, form: str, expected: list[float | str]) -> None:
    assert labels(name, form) == expected


def test_catalog_selection_is_in_the_order_of_the_catalog() -> None:
    found = labels("gpu", "{catalog: gpus, where: {vendor: NVIDIA, memory_at_least: 170 GiB}}")
    assert found == ["b200", "b300", "gb200", "gb300"]
    assert len(labels("model", "{catalog: models, where: {supported: true}}")) > 20
    assert labels("instance", "{catalog: instances, where: {gpu: mi355x}}") == ["oci-bm-gpu-mi355x-8"]


def test_a_contracts_own_entries_are_selected_too() -> None:
    text = HEAD + (
        "catalog: {instances: {ours: {gpu: l4, gpus_per_node: 3, usd_per_node_hour: 2}}}\n"
        "axes: {instance: {catalog: instances, where: {gpu: l4, gpus_per_node: 3}}}\n"
    )
    axis = loads_grid(text).axis("instance")
    assert axis is not None
    assert axis.labels == ("ours",)


@pytest.mark.parametrize(
    ("form", "name", "key", "part"),
    [
        ("[1, 2, 1]", "tensor_parallel", "axes.tensor_parallel[2]", "label 1 is given twice (items 1 and 3)"),
        ("[0.3, 0.30000000000000004]", "kv_efficiency", "axes.kv_efficiency[1]", "label 0.3 is given twice"),
        ("[1k tokens, 1000]", "context_tokens", "axes.context_tokens[1]", "label 1000 is given twice"),
        ("[fp8, bf16, fp8]", "kv_dtype", "axes.kv_dtype[2]", "label fp8 is given twice"),
        ("[]", "kv_dtype", "axes.kv_dtype", "an axis has at least one"),
        ("3", "tensor_parallel", "axes.tensor_parallel", "must be a list, {linspace:"),
        ("{logspace: [1, 2, 3]}", "tensor_parallel", "axes.tensor_parallel", "must be a list, {linspace:"),
        ("[1, two]", "tensor_parallel", "axes.tensor_parallel[1]", "'two' is not a number"),
        ("[fp8, 16]", "kv_dtype", "axes.kv_dtype[1]", "kv_dtype is a text; 16 is a number"),
        ("[fp8, null]", "kv_dtype", "axes.kv_dtype[1]", "has no value"),
        ("[fp8, true]", "kv_dtype", "axes.kv_dtype[1]", "not true or false"),
        ("[fp8, [bf16]]", "kv_dtype", "axes.kv_dtype[1]", "not a list"),
        ("[1, '2']", "tensor_parallel", "axes.tensor_parallel[1]", "remove the quotes"),
        ("[1, 2.5]", "tensor_parallel", "axes.tensor_parallel[1]", "must be a whole number; 2.5 is not"),
        ("[0]", "tensor_parallel", "axes.tensor_parallel[0]", ">= 1; 0 is not"),
        ("[l4, h100]", "gpu", "axes.gpu[1]", "unknown gpu h100 (did you mean h100-"),
        ("[llama-3-8b, lamma]", "model", "axes.model[1]", "unknown model lamma"),
        ("[queuing]", "capacity_model", "axes.capacity_model[0]", "queuing is not"),
        ("[1]", "replicas", "axes.replicas", "is a measure"),
        ("[a]", "scenario", "axes.scenario", "comes from the section scenarios"),
        ("[a]", "workload", "axes.workload", "comes from the section workloads"),
        (
            "[1]",
            "redundncy",
            "axes.redundncy",
            "is not an input, so it cannot be an axis (did you mean redundancy, redundancy_basis?)",
        ),
        ("[1, -2]", "arrival_scv", "axes.arrival_scv[1]", "arrival_scv must be >= 0; -2 is not"),
        ("{linspace: [1, 2]}", "mbu", "axes.mbu.linspace", "must have three items"),
        ("{linspace: [1, 2, 3, 4]}", "mbu", "axes.mbu.linspace", "must have three items"),
        ("{linspace: [0.1, 0.2, 2.5]}", "mbu", "axes.mbu.linspace[2]", "must be a whole number; 2.5 is not"),
        ("{linspace: [0.1, 0.2, 1]}", "mbu", "axes.mbu.linspace[2]", "must be from 2 to 1,000,000; 1 is not"),
        ("{linspace: [0.1, 0.2, 9999999]}", "mbu", "axes.mbu.linspace[2]", "must be from 2 to 1,000,000"),
        ("{linspace: [0.1, 1.2, 3]}", "mbu", "axes.mbu.linspace[1]", "<= 1; 1.2 is not"),
        ("{linspace: [1, 2, 3]}", "tensor_parallel", "axes.tensor_parallel.linspace", "whole number; 1.5 is not"),
        ("{linspace: [0.5, 0.5, 2]}", "mbu", "axes.mbu", "label 0.5 is given twice"),
        ("{geomspace: [0, 4, 3]}", "redundancy", "axes.redundancy.geomspace", "needs ends > 0"),
        ("{arange: [0.1, 0.5, 0]}", "mbu", "axes.mbu.arange[2]", "does not lead from 0.1 to 0.5"),
        ("{arange: [0.1, 0.5, -0.1]}", "mbu", "axes.mbu.arange[2]", "does not lead from 0.1 to 0.5"),
        ("{arange: [0.1, 0.5, 1e-9]}", "mbu", "axes.mbu.arange[2]", "gives 400,000,001 labels"),
        ("{linspace: [1, 2, 3]}", "kv_dtype", "axes.kv_dtype.linspace", "has texts for labels; write a list"),
        ("{catalog: models}", "gpu", "axes.gpu.catalog", "write catalog: gpus"),
        ("{catalog: gpu}", "gpu", "axes.gpu.catalog", "did you mean gpus?"),
        ("{catalog: gpus}", "kv_dtype", "axes.kv_dtype.catalog", "only gpu, model and instance have one"),
        ("{catalog: gpus, where: {vendr: NVIDIA}}", "gpu", "axes.gpu.where.vendr", "did you mean vendor"),
        ("{catalog: gpus, where: {vendor: Nobody}}", "gpu", "axes.gpu", "none of the"),
        ("{catalog: gpus, were: {}}", "gpu", "axes.gpu.were", "did you mean where?"),
    ],
)
def test_one_fault(form: str, name: str, key: str, part: str) -> None:
    line, found_key, message = problem(form, name)
    assert (line, found_key) == (5, key)
    assert part in message


def test_a_base_value_beside_its_axis_names_both_lines() -> None:
    text = "schema: 1\nworkload:\n  arrival_rate: 10\naxes:\n  rho_target: [0.7]\n  arrival_rate: [1, 2]\n"
    with pytest.raises(ContractError) as caught:
        loads_grid(text)
    (found,) = caught.value.problems
    assert (found.line, found.key) == (3, "workload.arrival_rate")
    assert found.message == "arrival_rate is an axis (line 6) and has a base value here; keep one"


def test_a_base_value_of_one_workload_beside_its_axis() -> None:
    text = (
        "schema: 1\nworkloads:\n  a: {arrival_rate: 1, output_tokens: 3}\n  b: {arrival_rate: 2}\n"
        "policy: {rho_target: 0.7}\naxes: {output_tokens: [1, 2]}\n"
    )
    with pytest.raises(ContractError) as caught:
        loads_grid(text)
    assert [(item.line, item.key) for item in caught.value.problems] == [(3, "workloads.a.output_tokens")]


@given(
    st.integers(1, 400).map(lambda n: n / 100), st.integers(1, 300).map(lambda n: n / 100), st.integers(2, 60)
)  # fmt: skip
def test_three_ways_to_write_one_row_give_one_set_of_labels(start: float, step: float, count: int) -> None:
    stop = round(start + step * (count - 1), 10)
    even = labels("arrival_rate", f"{{linspace: [{start!r}, {stop!r}, {count}]}}")
    assert labels("arrival_rate", f"{{arange: [{start!r}, {stop!r}, {step!r}]}}") == even
    listed = ", ".join(repr(start + step * index) for index in range(count))
    assert labels("arrival_rate", f"[{listed}]") == even


@given(st.floats(1e-300, 1e300), st.floats(1e-300, 1e300), st.integers(2, 40))
def test_geomspace_keeps_its_ends_and_is_finite(start: float, stop: float, count: int) -> None:
    low, high = (float(f"{value:.12g}") for value in sorted((start, stop)))
    if low * 2 > high:
        return
    found = labels("arrival_rate", f"{{geomspace: [{low!r}, {high!r}, {count}]}}")
    assert (found[0], found[-1], len(found)) == (low, high, count)
    assert found == sorted(found)
