"""The face of the formulas: kinds in and out, names, NaN, narrow integers, no warnings."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

from gridplan import formulas
from gridplan.formulas import (
    binding_constraint,
    compute_ceiling,
    concurrency_ceiling,
    kv_bytes_per_token_attention,
    lambda_safe,
    lowest,
    replicas_active,
    replicas_needed,
    tensor_parallel_legal,
    usd_per_mtok,
)


def test_reference_functions_have_the_agreed_names_orders_and_defaults() -> None:
    expected = {
        concurrency_ceiling: "kv_bytes, per_seq_bytes, efficiency=1.0",
        compute_ceiling: "machine_intensity, bytes_per_param",
        replicas_needed: "lam, W, rho_target, concurrency",
        binding_constraint: "memory_ceiling, compute_ceiling_value",
    }
    for function, text in expected.items():
        parameters = inspect.signature(function).parameters.values()
        assert ", ".join(p.name + (f"={p.default}" if p.default is not p.empty else "") for p in parameters) == text


def test_scalars_give_python_scalars() -> None:
    assert type(concurrency_ceiling(40e9, 500e6, 0.9)) is int
    assert type(compute_ceiling(300, 2)) is float
    assert type(replicas_needed(np.float64(500), 4, 0.7, np.int64(72))) is int
    assert type(binding_constraint(72, 300.0)) is str
    assert type(tensor_parallel_legal(8, 8, 64, 2)) is bool
    assert [type(part) for part in lowest(1, 2.0)] == [float, int, int]
    assert type(replicas_active(math.nan, 1.0)) is float


def test_arrays_broadcast_and_stay_float64() -> None:
    load, rate = np.array([[10.0], [20.0]]), np.array([7.0, 4.9, 3.0])
    result = replicas_active(load, rate)
    assert result.dtype == np.float64
    assert result.tolist() == [[2.0, 3.0, 4.0], [3.0, 5.0, 7.0]]
    assert replicas_active([21, 7], 0.7).tolist() == [30.0, 10.0]
    assert binding_constraint(np.array([1.0, 2.0, 3.0]), 2).tolist() == ["memory", "balanced", "compute"]


def test_labelled_arrays_line_up_by_name_and_drop_false_attributes() -> None:
    load = xr.DataArray([10.0, 20.0], dims="arrival_rate", attrs={"units": "req/s"}, name="arrival_rate")
    rate = xr.DataArray([7.0, 3.0], dims="gpu", coords={"gpu": ["a", "b"]})
    result = replicas_active(load, rate)
    assert result.dims == ("arrival_rate", "gpu")
    assert result.sel(gpu="b").values.tolist() == [4.0, 7.0]
    assert result.attrs == {}
    assert result.name is None
    assert load.attrs == {"units": "req/s"}
    labels = binding_constraint(memory_ceiling=load, compute_ceiling_value=rate)
    assert isinstance(labels, xr.DataArray)
    assert labels.values.tolist() == [["compute", "compute"], ["compute", "compute"]]
    minimum, index, ties = lowest(load, rate, np.nan)
    assert minimum.values.tolist() == [[7.0, 3.0], [7.0, 3.0]]
    assert index.values.tolist() == [[1, 1], [1, 1]]
    assert ties.values.tolist() == [[2, 2], [2, 2]]
    assert isinstance(lambda_safe(xr.DataArray(10.0), 0.7), xr.DataArray)
    assert binding_constraint(xr.DataArray(1.0), 2).item() == "memory"


@pytest.mark.parametrize("join", ["exact", "inner", "outer"])
def test_labelled_arrays_of_other_labels_are_refused_whatever_the_join(join: str) -> None:
    a = xr.DataArray([1.0, 2.0], dims="gpu", coords={"gpu": ["a", "b"]})
    b = xr.DataArray([1.0, 2.0], dims="gpu", coords={"gpu": ["b", "c"]})
    with xr.set_options(arithmetic_join=join), pytest.raises(ValueError, match="labels of gpu"):
        lambda_safe(a, b)


def test_a_dataset_is_taken_variable_by_variable() -> None:
    result = lambda_safe(xr.Dataset({"a": ("x", [1.0, 2.0]), "b": ((), 3.0)}), 0.5)
    assert result["a"].values.tolist() == [0.5, 1.0]
    assert result["b"].item() == 1.5


def test_narrow_numbers_become_float64_before_they_wrap() -> None:
    # Public trap: int32 131072 * 131072 is 0 in NumPy; float32 counts end at 2**24.
    big = np.array([131072], dtype=np.int32)
    assert kv_bytes_per_token_attention(big, big, big, 2).tolist() == [2.0 * 131072**3 * 2]
    assert lambda_safe(np.array([16777217], dtype=np.int32), np.array([1.0], dtype=np.float32)).tolist() == [16777217.0]
    labelled = xr.DataArray(big, dims="x")
    assert kv_bytes_per_token_attention(labelled, labelled, 1, 1).values.tolist() == [2.0 * 131072**2]
    assert lambda_safe(np.array([1, 2], dtype=object), True).tolist() == [1.0, 2.0]


def test_division_by_zero_is_a_value_not_a_warning() -> None:
    assert usd_per_mtok(1.0, 0.0) == math.inf
    assert math.isnan(usd_per_mtok(0, 0))
    assert replicas_needed(1, 1, 0.5, 0) == math.inf
    assert np.isinf(usd_per_mtok(np.array([1.0]), np.array([0.0]))).all()
    assert np.isinf(usd_per_mtok(xr.DataArray([1.0], dims="x"), 0.0)).all()


def test_keywords_bind_like_any_python_call() -> None:
    assert concurrency_ceiling(per_seq_bytes=500e6, kv_bytes=40e9) == 80
    assert concurrency_ceiling(40e9, efficiency=0.9, per_seq_bytes=500e6) == 72
    with pytest.raises(TypeError, match="rho"):
        lambda_safe(10.0, rho=0.7)
    with pytest.raises(TypeError, match="rho_target"):
        lambda_safe(lambda_instance=10.0)
    with pytest.raises(TypeError, match="multiple values"):
        lambda_safe(10.0, 0.7, lambda_instance=1.0)
    with pytest.raises(TypeError):
        lambda_safe(10.0)


def test_the_bare_kernel_is_reachable_for_hot_loops() -> None:
    a = np.array([10.0, 20.0])
    np.testing.assert_array_equal(lambda_safe.__wrapped__(a, 0.7), lambda_safe(a, 0.7))  # type: ignore[attr-defined]


def test_everything_exported_exists_and_is_documented_with_an_example() -> None:
    assert len(set(formulas.__all__)) == len(formulas.__all__)
    for name in formulas.__all__:
        member = getattr(formulas, name)
        if inspect.isroutine(member):
            assert ">>> " in (inspect.getdoc(member) or ""), name


def test_formulas_load_neither_label_nor_table_libraries() -> None:
    code = "import sys, gridplan.formulas; print(sorted({'xarray', 'pandas', 'pyarrow', 'yaml'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
